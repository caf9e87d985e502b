"""Lesson 70: GTN, images that a generator makes for training in steps."""

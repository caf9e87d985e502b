"""Lesson 20, inverting a network."""

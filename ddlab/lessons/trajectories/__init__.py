"""Lesson 62: MTT, images that lead a student along an expert's path."""

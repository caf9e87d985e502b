"""Lesson 85: At work."""

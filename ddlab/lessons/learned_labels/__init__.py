"""Lesson 65: LD, labels that are learned for images that stay as they are."""

"""Lesson 41, views: Boost, predefined views of every image, and what all of it takes of a storage budget."""

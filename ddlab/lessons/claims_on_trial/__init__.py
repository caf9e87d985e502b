"""Lesson 90, claims on trial: what printed theorems say, at every setting of their sliders."""

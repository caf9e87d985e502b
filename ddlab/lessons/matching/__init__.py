"""Lesson 05, matching: learned images that beat real ones with class numbers alone (DM; DC and
DSA).
"""

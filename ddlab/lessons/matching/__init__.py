"""Lesson 05, matching: learned images that beat real ones with class labels alone (DM; DC and
DSA).
"""

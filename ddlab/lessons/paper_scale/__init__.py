"""Lesson 95, at paper scale: a printed number beside one that is made here, and what a difference
says.
"""

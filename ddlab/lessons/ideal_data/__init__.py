"""Lesson 10, ideal data: the toy world of two Gaussian classes, and which samples and targets teach
fastest.
"""

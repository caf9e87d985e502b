"""Lesson 45, representations: any network's answers as targets that speed up learning without
labels (ReLA).
"""

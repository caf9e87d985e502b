"""Lesson 00, the start page: labels or images?"""

"""Lesson 90, theorems on trial: what five printed statements say, at every setting of their
sliders.
"""

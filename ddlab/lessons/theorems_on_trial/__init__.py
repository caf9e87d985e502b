"""Lesson 90, theorems on trial: what four printed statements say at every setting of their sliders."""

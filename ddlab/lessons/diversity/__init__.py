"""Lesson 21, diversity: DWA and what pulls the images of one class apart."""

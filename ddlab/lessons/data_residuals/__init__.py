"""Lesson 30, data residuals: FADRM and what mixing real images back in does."""

"""Lesson 00, dataset distillation in five minutes."""

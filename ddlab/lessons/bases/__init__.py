"""Lesson 40, bases: KRR-ST, pairs that teach without labels, and images as sums of few bases."""

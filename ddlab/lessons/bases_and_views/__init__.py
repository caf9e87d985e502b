"""Lesson 40, bases and views: KRR-ST and Boost, sets that teach without labels."""

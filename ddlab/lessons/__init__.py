"""Lessons: the frame that every notebook uses. `lesson = ddlab.start("20_inverting_a_network")` ... `lesson.finish()`."""

from ..explorers import Prediction
from .claims import CLAIMS, Claim, Verdict, judge
from .contents import index
from .lesson import LESSONS, Budget, Lesson, start

__all__ = ["CLAIMS", "LESSONS", "Budget", "Claim", "Lesson", "Prediction", "Verdict", "index", "judge", "start"]

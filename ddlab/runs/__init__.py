"""Runs: a process driven step by step, watched, left and resumed."""

from .look import Look, Number, default_look, look
from .run import Frame, Keep, Run, Runs
from .source import source

__all__ = ["Frame", "Keep", "Look", "Number", "Run", "Runs", "default_look", "look", "source"]

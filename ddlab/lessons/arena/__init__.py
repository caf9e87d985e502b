"""Lesson 75: Mnemonics, and what else can be kept of earlier classes."""

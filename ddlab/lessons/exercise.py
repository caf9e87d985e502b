"""Exercises of a teacher's own, on any page, also where the packages of notebooks are missing.

    from ddlab.lessons import exercise

    mean = exercise.Exercise(
        arguments=("values [n]",),
        cases=lambda: [(torch.tensor([1.0, 2.0, 6.0]),)],
        expected=lambda values: values.mean(),
        mistakes={"That is the median.": lambda values: values.median()},
        look="Add them up; by what do you divide?",
        success="Each value counts one n-th.",
    )
    exercise.check(mean, answer)             # prints "Right. ..." or "Not yet: ...", and returns which

`Exercise` says what the table may hold, and how answers are compared.
"""

from .answers import Exercise, NotYet, check, judge

__all__ = ["Exercise", "NotYet", "check", "judge"]

"""What the tests of all lessons ask of lesson 00; `tests.lessons.rows` says which."""

LABS = {
    "Blend": lambda g: {"data": g.data, "teacher": g.teacher},
    "LabelsAgainstImages": lambda g: {
        "data": g.data,
        "teacher": g.teacher,
        "sets": dict.fromkeys(("real", "noise", "recovered"), g.distilled),
        "config": g.student,
    },
}

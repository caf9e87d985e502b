"""What the tests of all lessons ask of lesson 95; `tests.lessons.rows` says which."""

LABS = {
    "Replications": lambda g: {},
    "ProtocolLab": lambda g: {
        "data": g.data,
        "sets": [g.distilled, g.distilled],
        "printed": (50.0, 1.0, 5),
    },
}

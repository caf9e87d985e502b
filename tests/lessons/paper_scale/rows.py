"""What the tests of all lessons ask of lesson 95; `tests.lessons.rows` says which."""

from tests.lessons.rows import Recipe

LABS = {
    "Replications": lambda g: {},
    "ProtocolLab": lambda g: {
        "data": g.data,
        "sets": [g.distilled, g.distilled],
        "printed": (50.0, 1.0, 5),
    },
}


RECIPES = [
    Recipe("The same", (("width", 16), ("epochs", 125), ("width", 64), ("epochs", 60))),
]

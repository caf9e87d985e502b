"""The bar that says how far a computation is, and paces the pictures of it."""

import pytest

from ddlab.explorers import lines as progress
from ddlab.explorers.lines import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    return seconds


def test_it_says_what_is_computed_and_rests() -> None:
    bar = Progress(words="14em")
    assert (bar.value, bar.max, bar.description, bar.style.description_width) == (
        0,
        1,
        "",
        "14em",
    )
    assert bar.layout.visibility == "hidden"
    bar.show("students", 0.4)
    assert (bar.value, bar.description, bar.layout.visibility) == (0.4, "students", "visible")
    bar.show_rest()
    assert (bar.value, bar.description, bar.layout.visibility) == (0, "", "hidden")


def test_ten_pictures_a_second_at_most(clock: list[float]) -> None:
    bar = Progress()
    pictures = 0
    for tick in range(1000):
        clock[0] = 100 + tick / 1000
        if bar.is_due:
            bar.show("images", tick / 1000)
            pictures += 1
    assert pictures in (9, 10)


@pytest.mark.parametrize("seconds", [0.01, 0.2, 1.0])
def test_drawing_takes_a_quarter_of_the_time_at_most(seconds: float, clock: list[float]) -> None:
    bar = Progress()
    spent = 0.0
    while clock[0] < 200:
        clock[0] += 0.001
        if bar.is_due:
            start_time = clock[0]
            clock[0] += seconds
            spent += seconds
            bar.note_drawing(start_time)
    assert spent / (clock[0] - 100) == pytest.approx(
        seconds / (seconds + max(0.1, 3 * seconds)), rel=0.05
    )

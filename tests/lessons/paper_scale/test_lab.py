"""The laboratory of protocols, on sets that any student learns in no time."""

import math
import statistics
from collections.abc import Iterator

import pytest

from ddlab.core import DDLabError
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.explorers import Laboratory
from ddlab.lessons.paper_scale import lab as protocols
from ddlab.lessons.paper_scale.lab import ProtocolLab, Settings, Tried, z_score


@pytest.fixture
def lab(
    grey: ImageData, distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Laboratory]:
    """Its students need no training: their accuracy follows from the protocol."""

    def student(self, number, protocol, seed, *, watch) -> float:
        epochs, width, views = protocol
        return 80 + epochs / 25 + (width == 64) / 2 - 4 * (views == "none") + number + seed / 100

    monkeypatch.setattr(protocols.World, "student", student)
    laboratory = ProtocolLab(grey, [distilled, distilled], printed=(85.0, 0.6, 5))
    yield laboratory
    laboratory.close()


def test_a_row_for_each_protocol_and_z_of_the_one_on_show(lab: Laboratory) -> None:
    words = (
        "50 epochs, width 32, views, 2 students of each set: 82.5% (sets 82.0, 83.0), -2.5 points"
    )
    z_words = f"z = {-2.495 / 0.5672:+.1f} (with 2 sets, ask for 4)."
    assert lab.sentence.startswith(words) and lab.sentence.endswith(z_words)
    lab.panel.value = lab.panel.value.replace(epochs=75)
    lab.runner.join(10)
    labels = [row.label for row in lab.results.shared]
    assert labels == ["75 epochs, width 32, views", "50 epochs, width 32, views"]
    assert list(lab.widget(protocols.chart).figure.layout.yaxis.ticktext) == labels


def test_more_students_make_no_new_protocol(lab: Laboratory) -> None:
    lab.panel.value = lab.panel.value.replace(students=5)
    lab.runner.join(10)
    (row,) = lab.results.shared
    assert [len(students) for students in row.sets] == [5, 5]


def test_the_quest_asks_for_two_widths(lab: Laboratory) -> None:
    assert not lab.quest.met
    for epochs, width in ((101, 16), (101, 64)):
        assert not lab.quest.met
        lab.panel.value = lab.panel.value.replace(epochs=epochs, width=width)
        lab.runner.join(10)
    assert lab.quest.met


def test_z_takes_the_errors_of_both() -> None:
    tried = Tried(Settings(), ((89.0, 91.0), (88.0, 88.0), (90.0, 92.0)))
    means = [90.0, 88.0, 91.0]
    own = statistics.stdev(means) / math.sqrt(3)
    expected = (statistics.fmean(means) - 89.7) / math.hypot(own, 0.6 / math.sqrt(5))
    assert z_score(tried, 89.7, 0.6 / math.sqrt(5)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sets": 1}, "sets must be at least two"),
        ({"printed": (89.7, 0.6)}, "printed must be \\(mean, deviation, number of sets\\)"),
        ({"printed": (89.7, 0.6, 0)}, "printed\\[2\\] must be an integer of at least 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    changes: dict, message: str, grey: ImageData, distilled: DistilledSet
) -> None:
    options = {"sets": 2, "printed": (89.7, 0.6, 5)} | changes
    with pytest.raises(DDLabError, match=message):
        ProtocolLab(grey, [distilled] * options["sets"], printed=options["printed"])

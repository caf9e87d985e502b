"""The bar stops where nothing can be written, and what it counts goes on."""

import io
import sys

import pytest

from ddlab.core.progress import progress_bar, say


class Writes:
    """What scripts put in the place of standard output: it writes, and no more."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text


class Broken(Writes):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("output", [lambda: None, Writes, Broken, closed])
@pytest.mark.parametrize("is_shown", [True, False])
def test_a_run_goes_on_whatever_its_output_is(output, is_shown, monkeypatch) -> None:
    stream = output()
    monkeypatch.setattr(sys, "stdout", stream)
    with progress_bar("count", 3, is_shown) as bar:
        for _ in range(3):
            bar.update()
    say("done")
    if isinstance(stream, Writes) and not isinstance(stream, Broken):
        assert ("count" in stream.text) is is_shown and stream.text.endswith("done\n")

"""Damaged files: a checkpoint, a network and a distilled set, cut short, with flipped bytes,
swapped blocks and false descriptions.

Reading one gives ddlab's own error in one sentence, or what was saved; it never changes the file.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ddlab import networks
from ddlab.core import DDLabError, storage
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.networks import Network
from ddlab.runs import Inputs, checkpoint
from ddlab.training import supervised
from tests.support import assert_same, assert_sentence, leaves

PLACES = 100
Kind = tuple[Path, Callable[[], Any], str]


@pytest.fixture(params=["checkpoint", "network", "distilled set"])
def kind(
    request: pytest.FixtureRequest,
    grey: ImageData,
    teacher: Network,
    distilled: DistilledSet,
    tmp_path: Path,
) -> Kind:
    """A whole file, how it is read, and as what `storage` has written it."""
    file = tmp_path / "file"
    if request.param == "network":
        return teacher.save(file), lambda: networks.load(file), request.param
    if request.param == "distilled set":
        return distilled.save(file), lambda: DistilledSet.load(file), request.param
    config = supervised.Config.teaching(
        "teacher", network=networks.spec("convnet", width=4), epochs=1
    )
    inputs = Inputs(data=grey)
    checkpoint.save(file, supervised, config, inputs, supervised.init(config, inputs))
    return file, lambda: checkpoint.load(file, supervised, config, inputs), request.param


def refused(kind: Kind, content: bytes, damage: str) -> bool:
    """Whether the damage is refused; a foreign exception, or a change of the file, fails the test."""
    file, read, _ = kind
    file.write_bytes(content)
    try:
        read()
    except DDLabError as problem:
        assert_sentence(problem)
        return True
    except Exception as problem:
        raise AssertionError(f"{damage}: {type(problem).__name__}: {problem}") from problem
    finally:
        assert file.read_bytes() == content, f"{damage}: reading changed the file"
    return False


def test_cut_short(kind: Kind) -> None:
    whole = kind[0].read_bytes()
    for place in sorted({round((len(whole) - 1) * step / (PLACES - 1)) for step in range(PLACES)}):
        assert refused(kind, whole[:place], f"cut at {place} of {len(whole)}")
    assert not refused(kind, whole, "whole")


def test_flipped_bytes(kind: Kind) -> None:
    """At a hundred places over the file, and at each of the first thousand: there the description
    stands.
    """
    whole = kind[0].read_bytes()
    draw = random.Random(1)
    was = dict(leaves(kind[1]()))
    places = {round((len(whole) - 1) * step / (PLACES - 1)) for step in range(PLACES)} | set(
        range(1000)
    )
    for place in sorted(places):
        damaged = bytearray(whole)
        damaged[place] ^= draw.randrange(1, 256)
        if not refused(kind, bytes(damaged), f"byte {place} flipped"):
            assert_same(dict(leaves(kind[1]())), was)  # a space of the description, say


def test_damage_of_the_payload_is_refused(kind: Kind) -> None:
    whole = kind[0].read_bytes()
    draw = random.Random(3)
    begin = 8 + int.from_bytes(whole[:8], "little")
    for turn in range(90):
        damaged, place, other_place = (
            bytearray(whole),
            *(draw.randrange(begin, len(whole) - 8) for _ in range(2)),
        )
        first_slice = slice(place, place + 8)
        second_slice = slice(other_place, other_place + 8)
        if turn % 3 == 0:
            damaged[place] ^= 1 << draw.randrange(8)
        elif turn % 3 == 1:
            damaged[first_slice] = bytes(8)
        else:
            damaged[first_slice], damaged[second_slice] = (
                damaged[second_slice],
                damaged[first_slice],
            )
        assert bytes(damaged) == whole or refused(kind, bytes(damaged), f"turn {turn} at {place}")


def test_a_false_description_is_refused_in_a_sentence_or_of_no_account(kind: Kind) -> None:
    """Each entry of the description replaced by what it never is, with a right digest."""
    file, _, name = kind
    tensors, header = storage.load(file, name)
    for key in header:
        for wrong in (None, 5, "x", [], {}, [None], {"x": 1}, 1e400, True):
            storage.save(file, tensors, {**header, key: wrong}, name)
            refused(kind, file.read_bytes(), f"{key} is {wrong!r}")

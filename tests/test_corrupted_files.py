"""Every kind of file that ddlab reads, cut short at a hundred places and with flipped bytes.

Reading one gives ddlab's own error in one sentence; or, where the damage cannot be seen (the bytes of a reader's pixel), something whole.
ddlab's own files have a digest: what is read from one is what was saved. Reading never changes the file. A new kind of file is one
function in `KINDS`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from ddlab import data, networks, records
from ddlab.core import storage
from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, RegressionLabels, Representations, shift_models
from ddlab.lessons import claims
from ddlab.networks import Network
from ddlab.runs import checkpoint
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from ddlab.training.relabelling import relabelled
from tests.data.test_torchvision_sets import write_cifar, write_mnist
from tests.support import assert_same, assert_sentence, leaves

PLACES = 100


@dataclasses.dataclass(frozen=True)
class Kind:
    """A whole file and how it is read.

    `may_be_shorter`: what stands at its end can be lost without harm (an image's end mark, a last line break). `head`: how many
    bytes at its beginning are damaged one by one. `sealed`: as what `storage` has written it, with a digest.
    """

    file: Path
    read: Callable[[], Any]
    may_be_shorter: bool = False
    head: int = 200
    sealed: str = ""


@dataclasses.dataclass(frozen=True)
class Given:
    """What files are made of."""

    folder: Path
    data: ImageData
    teacher: Network
    distilled: DistilledSet
    patch: pytest.MonkeyPatch


def a_checkpoint(given: Given) -> Kind:
    config = supervised.Config.teaching("teacher", network=networks.spec("convnet", width=4), epochs=1)
    inputs = Inputs(data=given.data)
    file = checkpoint.save(given.folder / "checkpoint", supervised, config, inputs, supervised.init(config, inputs))
    return Kind(file, lambda: checkpoint.load(file, supervised, config, inputs), head=1000, sealed="checkpoint")


def a_network(given: Given) -> Kind:
    file = given.teacher.save(given.folder / "network")
    return Kind(file, lambda: networks.load(file), head=1000, sealed="network")


def a_distilled_set(given: Given) -> Kind:
    values = RegressionLabels(torch.zeros(len(given.distilled), given.distilled.classes))
    file = given.distilled.with_targets(values).save(given.folder / "set")
    return Kind(file, lambda: DistilledSet.load(file), head=1000, sealed="distilled set")


def a_set_with_labels_of_each_epoch(given: Given) -> Kind:
    """Of two teachers, who are named in the description, as the views are."""
    both = (given.teacher, networks.initialise(given.teacher.spec, seed=1))
    made = relabelled(given.distilled, both, labels="online")
    views = supervised.Config.teaching(batch_size=4)
    file = relabelled(made, both, labels="epochs", views=views, epochs=2).save(given.folder / "epochs")
    return Kind(file, lambda: DistilledSet.load(file), head=2500, sealed="distilled set")


def a_set_of_factors(given: Given) -> Kind:
    """Images and representations as bases and coefficients, with networks for the views; scale and views are described."""
    draw = torch.Generator().manual_seed(0)
    images = {
        "image_bases": torch.randn((3, 1, 4, 4), generator=draw),
        "image_coefficients": torch.randn((4, 3), generator=draw),
    }
    shifts = shift_models.first_networks(3, 2, hidden=2, seed=0)
    targets = {
        "bases": torch.randn((2, 5), generator=draw),
        "coefficients": torch.randn((4, 2), generator=draw),
        **shifts,
    }
    made = DistilledSet(
        kind="factorised", tensors=images, settings={"scale": 2}, targets=(Representations(targets, "rotation", "networks"),),
        class_names=(), mean=given.data.mean, std=given.data.std,
    )  # fmt: skip
    file = made.save(given.folder / "factors")
    return Kind(file, lambda: DistilledSet.load(file), head=1000, sealed="distilled set")


def a_picture(given: Given, *, suffix: str, mode: str) -> Kind:
    draw = random.Random(0)
    for name in ("cat", "dog"):
        for number in range(2):
            file = given.folder / "pictures" / name / f"{number}{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            size = (12, 12)
            Image.frombytes(mode, size, draw.randbytes(len(Image.new(mode, size).tobytes()))).save(file)
    file = given.folder / "pictures" / "cat" / f"0{suffix}"
    return Kind(file, lambda: data.load("folder", given.folder / "pictures", size=8), may_be_shorter=True)


def a_raw_file(given: Given, *, file: str) -> Kind:
    write_mnist(given.folder)
    return Kind(given.folder / "MNIST" / "raw" / file, lambda: data.load("mnist", given.folder))


def a_batch(given: Given) -> Kind:
    write_cifar(given.folder, "cifar10", given.patch)
    return Kind(given.folder / "cifar-10-batches-py" / "data_batch_1", lambda: data.load("cifar10", given.folder))


def the_digits(given: Given) -> Kind:
    """scikit-learn's own file, in a copy."""
    from sklearn.datasets import _base

    source = Path(_base.__file__).parent / "data" / "digits.csv.gz"
    file = given.folder / "digits.csv.gz"
    file.write_bytes(source.read_bytes())
    given.patch.setattr(_base.resources, "files", lambda _: _Elsewhere(given.folder))
    return Kind(file, lambda: data.load("digits", size=8))


class _Elsewhere:
    """Stands in for the folder in which scikit-learn keeps its data; descriptions are not read from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __truediv__(self, name: str) -> Path:
        file = self.folder / name
        if name.endswith(".rst"):
            file.write_text("")
        return file


def the_verdicts(given: Given) -> Kind:
    file = given.folder / "verdicts.json"
    file.write_bytes(claims.RECORD.read_bytes())
    given.patch.setattr(claims, "RECORD", file)
    lessons = {claim.lesson for claim in claims.CLAIMS.values()}  # not every lesson has claims of its own
    return Kind(
        file,
        lambda: [claims.recorded(name) for name in claims.CLAIMS] + [claims.table(), *map(claims.provenance, lessons)],
        True,
    )


def a_record(given: Given) -> Kind:
    rows = tuple({"method": "DWA", "seed": seed, "online": seed / 7} for seed in range(20))
    made = records.Record(
        name="test",
        description="A test.",
        columns=("method", "seed", "online"),
        rows=rows,
        provenance={"cpu_seconds": 1.5},
    )
    file = made.save(given.folder / "test.json")
    return Kind(file, lambda: records.read(file).values("online", method="DWA"), may_be_shorter=True, head=600)


def a_finished_point(given: Given) -> Kind:
    sweep = records.Sweep(name="test", description="", settings=[{"seed": 0}], run=lambda point, place: {"value": 0.25})
    place = records.Place(folder=given.folder)
    records.run(sweep, place)
    (file,) = (given.folder / "points").iterdir()
    return Kind(file, lambda: records.table(sweep, records.run(sweep, place), "").values("value"), head=600)


KINDS: dict[str, Callable[[Given], Kind]] = {
    "checkpoint": a_checkpoint,
    "network": a_network,
    "distilled set": a_distilled_set,
    "labels of each epoch": a_set_with_labels_of_each_epoch,
    "set of factors": a_set_of_factors,
    "png": functools.partial(a_picture, suffix=".png", mode="RGB"),
    "grey png": functools.partial(a_picture, suffix=".png", mode="L"),
    "jpg": functools.partial(a_picture, suffix=".jpg", mode="RGB"),
    "mnist images": functools.partial(a_raw_file, file="train-images-idx3-ubyte"),
    "mnist labels": functools.partial(a_raw_file, file="t10k-labels-idx1-ubyte"),
    "cifar batch": a_batch,
    "digits": the_digits,
    "verdicts": the_verdicts,
    "record": a_record,
    "finished point": a_finished_point,
}


_SEALED = (a_checkpoint, a_network, a_distilled_set, a_set_with_labels_of_each_epoch, a_set_of_factors)


@pytest.fixture
def given(
    grey: ImageData, teacher: Network, distilled: DistilledSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Given:
    return Given(tmp_path, grey, teacher, distilled, monkeypatch)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, given: Given) -> Kind:
    return KINDS[request.param](given)


def looks_whole(found: Any) -> bool:
    """What was read in spite of the damage is of the right size and kind: constructors have checked it; here only that it can be used."""
    for _, value in leaves(found):
        if isinstance(value, torch.Tensor):
            assert value.numel() == 0 or value.cpu().flatten()[-1] is not None
    return found is not None


def read_damaged(kind: Kind, content: bytes, where: str) -> bool:
    """Whether the damage went unseen; a foreign exception, or a change of the file, fails the test."""
    kind.file.write_bytes(content)
    try:
        seen = not looks_whole(kind.read())
    except DDLabError as problem:
        assert_sentence(problem)
        seen = True
    except Exception as problem:
        raise AssertionError(f"{kind.file.name}, {where}: {type(problem).__name__}: {problem}") from problem
    assert kind.file.read_bytes() == content, f"{kind.file.name}, {where}: reading changed the file"
    return not seen


@pytest.mark.timeout(120)
def test_cut_short_at_a_hundred_places(kind: Kind) -> None:
    whole = kind.file.read_bytes()
    assert looks_whole(kind.read())
    last = len(whole) - 1
    places = sorted({round(last * step / (PLACES - 1)) for step in range(PLACES)})
    assert places[0] == 0 and places[-1] == last and len(places) >= min(PLACES, last)
    unseen = [place for place in places if read_damaged(kind, whole[:place], f"cut at {place} of {len(whole)}")]
    assert not unseen or (kind.may_be_shorter and min(unseen) > len(whole) * 0.8), f"read as if whole: {unseen}"


@pytest.mark.timeout(120)
def test_flipped_bytes(kind: Kind) -> None:
    """At a hundred places over the file, and at every one of its first bytes: there the description stands."""
    whole, draw = kind.file.read_bytes(), random.Random(1)
    was = leaves(kind.read())
    places = {round((len(whole) - 1) * step / (PLACES - 1)) for step in range(PLACES)} | set(
        range(min(kind.head, len(whole)))
    )
    for place in sorted(places):
        damaged = bytearray(whole)
        damaged[place] ^= draw.randrange(1, 256)
        if read_damaged(kind, bytes(damaged), f"byte {place} flipped") and kind.sealed:
            assert_same(dict(leaves(kind.read())), dict(was))  # a space of the description, say


@pytest.mark.parametrize("name", [name for name, make in KINDS.items() if make in _SEALED])
def test_damage_of_the_payload_is_seen(name: str, given: Given) -> None:
    """60 flipped bits, zeroed blocks and swapped blocks each in what follows the description: none is read as if nothing had happened."""
    kind = KINDS[name](given)
    whole, draw = kind.file.read_bytes(), random.Random(3)
    begin = 8 + int.from_bytes(whole[:8], "little")
    for turn in range(180):
        damaged, place = bytearray(whole), draw.randrange(begin, len(whole) - 8)
        other = draw.randrange(begin, len(whole) - 8)
        if turn % 3 == 0:
            damaged[place] ^= 1 << draw.randrange(8)
        elif turn % 3 == 1:
            damaged[place : place + 8] = bytes(8)
        else:
            damaged[place : place + 8], damaged[other : other + 8] = (
                damaged[other : other + 8],
                damaged[place : place + 8],
            )
        unseen = read_damaged(kind, bytes(damaged), f"turn {turn} at {place}")
        assert not unseen or bytes(damaged) == whole, f"turn {turn} at {place} is read as if whole"


@pytest.mark.parametrize("name", [name for name, make in KINDS.items() if make in _SEALED])
def test_crafted_descriptions(name: str, given: Given) -> None:
    """Every part of a description replaced by what it never is, with a right digest: refused in a sentence, or of no account."""
    kind = KINDS[name](given)
    tensors, header = storage.load(kind.file, kind.sealed)
    for path in _paths(header):
        for wrong in (None, 5, -1, "x", [], {}, [None], {"x": 1}, 1e400, True):
            storage.save(kind.file, tensors, _with(header, path, wrong), kind.sealed)
            read_damaged(kind, kind.file.read_bytes(), f"{path} is {wrong!r}")


def _paths(value: Any, deepest: int = 3) -> list[tuple[Any, ...]]:
    """Of every part of nested lists and mappings, down to some depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[tuple[Any, ...]] = []
    for key, part in list(items)[:12]:
        found += [(key,), *((key, *path) for path in (_paths(part, deepest - 1) if deepest else []))]
    return found


def _with(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    if not path:
        return wrong
    changed = copy.copy(value)
    changed[path[0]] = _with(value[path[0]], path[1:], wrong)
    return changed


@pytest.mark.timeout(120)
def test_a_piece_of_another_file(kind: Kind) -> None:
    whole, draw = kind.file.read_bytes(), random.Random(2)
    for _ in range(20):
        place = draw.randrange(len(whole))
        length = draw.randrange(1, 64)
        read_damaged(
            kind, whole[:place] + draw.randbytes(length) + whole[place + length :], f"{length} bytes at {place}"
        )

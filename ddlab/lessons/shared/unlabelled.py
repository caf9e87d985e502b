"""What the lessons without labels (40 and 41) share: the points of their records, the rows as lessons call them, sets made here and now.

Each seed is one pair: it is the seed of the draw of images, of the pool, of the pre-trained network. All points share one teacher, trained
without labels, which is shipped.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ... import records
from ...distilled import DistilledSet
from ...evaluation import pretrained, probe
from ...methods import krr_st
from ...networks import Network
from ...records import self_supervised
from ...records.self_supervised import BOOST, KRR_ST, SELECTED
from ...records.setting import kept
from ...records.sweep import Place, Point
from ...runs import process
from ...runs.process import Inputs
from ...training import pretraining
from .recorded import compared, near

SETTING = "shapes 16 px, ConvNet-3 of width 32 as teacher without labels"
ON_SHAPES = "shapes 16 px, ConvNets of 16, 32 and 64 channels, teacher without labels, 300 outer steps"
PROBE = "accuracy of a linear probe on the source"
BUDGET, BUDGETS = 20, (10, 20, 40)  # images
PROBE_STRENGTH = 1e-3  # of the linear probe, for all points alike
FIELDS = (
    "kind", "targets_count", "augmentation", "image_bases", "representation_bases", "bases_start", "coefficients_start", "reset",
)  # fmt: skip
PUBLISHED: dict[str, Point] = {
    KRR_ST: {"reset": True},
    BOOST: {
        "augmentation": "rotation", "image_bases": 40, "representation_bases": 40, "bases_start": "principal",
        "coefficients_start": "projection", "reset": True,
    },
    SELECTED: {"kind": "random", "targets_count": False, "augmentation": "none"},
}  # fmt: skip
"""The columns that apply to each method, as published: twice as many bases as images (Table 5)."""
FITTING = {"targets_count": True, "augmentation": "rotation"}
"""Random real images with their turned views and the teacher's representations of all of them, inside the budget."""
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "random real images": (SELECTED, {}),
    "k-means": (SELECTED, {"kind": "k_means"}),
    "random and turned, free": (SELECTED, {"augmentation": "rotation"}),
    "random and turned, paid": (SELECTED, FITTING),
    "KRR-ST": (KRR_ST, {}),
    "bases": (BOOST, {"augmentation": "none"}),
    "Boost": (BOOST, {}),
}
"""What the lessons call rows of the record: (method, changes)."""


def point(method: str, *, seed: int, budget: int = BUDGET, **changes: Any) -> Point:
    """One point; a column that does not apply to its method is None, the others are as published but for the changes."""
    return {"method": method, "budget": budget} | dict.fromkeys(FIELDS) | PUBLISHED[method] | changes | {"seed": seed}


def values(column: str = "source", method: str = BOOST, *, budget: int = BUDGET, **changes: Any) -> list[float]:
    """A column of the record, one number per seed: of a method as published, but for these changes.

    Other budgets have twice as many bases as images.
    """
    sizes = {"image_bases": 2 * budget, "representation_bases": 2 * budget} if method == BOOST else {}
    wanted = point(method, seed=0, budget=budget, **sizes | changes)
    return records.load("self_supervised").values(column, **{name: wanted[name] for name in wanted if name != "seed"})


def row(name: str, column: str = "source") -> list[float]:
    """One of `ROWS`, one number per seed."""
    method, changes = ROWS[name]
    return values(column, method, **changes)


def comparison(names: Sequence[str], column: str = "source") -> Any:
    """Mean, 95% interval and seeds of some of `ROWS`."""
    where = {"source": "shapes", "other": "digits"}[column]
    title = f"A linear probe on {where}, budget of twenty images (recorded)"
    return compared({name: row(name, column) for name in names}, title, x_label="pre-trained on")


def percent(accuracy: float | None) -> str:
    """As the papers print it."""
    return "-" if accuracy is None else f"{accuracy:.2f}%"


# -- sets, and what they are worth


def distilled(point: Point, place: Place, *, scale: str = "shapes16", **changes: Any) -> DistilledSet:
    """The set of a point; `changes` are further fields of its method's Config."""
    shared = self_supervised.world(place, scale)
    own = {column: value for column, value in point.items() if column != "method"}
    module, config = shared.config(point["method"], **own | changes)
    return kept(module, config, shared.inputs(place), place, DistilledSet.load, long=shared.long)


def accuracies(
    made: DistilledSet, seed: int, place: Place, *, scale: str = "shapes16", config: pretraining.Config | None = None
) -> dict[str, float]:
    """source, other: test accuracy of a linear probe of one network pre-trained on the set, fractions in [0, 1]."""
    shared = self_supervised.world(place, scale)
    found = pretrained(
        made,
        {"source": shared.data, "other": shared.other},
        candidates=(PROBE_STRENGTH,),
        seeds=(seed,),
        config=shared.pretraining if config is None else config,
        device=place.device,
    )
    return {name: found.of(name).mean for name in ("source", "other")}


def unlearned(config: pretraining.Config, place: Place) -> dict[str, float]:
    """`accuracies` of the network with which a pre-training begins."""
    shared = self_supervised.world(place)
    inputs = Inputs(distilled=distilled(point(SELECTED, seed=config.seed), place), device=place.device)
    network = pretraining.finish(config, inputs, process.start(pretraining, config, inputs))
    options: dict[str, Any] = {
        "kind": "linear",
        "seeds": (config.seed,),
        "candidates": (PROBE_STRENGTH,),
        "keep": False,
    }
    datasets = {"source": shared.data, "other": shared.other}
    return {name: probe(network, each, device=place.device, **options).mean for name, each in datasets.items()}


# -- here and now


def world() -> self_supervised.World:
    """Images, other images, networks and pre-training of the records, so that a point of theirs can be repeated here."""
    return self_supervised.world(Place())


@functools.cache
def inputs() -> Inputs:
    """The images and the shipped teacher."""
    return world().inputs(Place())


def teacher() -> Network:
    """The shipped one."""
    return inputs().teachers[0]


def config(method: str, *, seed: int, **changes: Any) -> krr_st.Config:
    """Of KRR-ST or Boost, as published but small: what the records ran."""
    return world().config(method, budget=BUDGET, seed=seed, **PUBLISHED[method] | changes)[1]


def selected(*, seed: int, **changes: Any) -> DistilledSet:
    """Real images with the teacher's representations: by default as many random ones as the budget has images."""
    return distilled(point(SELECTED, seed=seed, **changes), Place())


def worth(made: DistilledSet, *, seed: int) -> dict[str, float]:
    """source, other: accuracy of a linear probe of one network that is pre-trained on the set; as the records measure it."""
    return accuracies(made, seed, Place())


@functools.cache
def untrained(*, seed: int) -> dict[str, float]:
    """The same of the network before its pre-training."""
    return unlearned(world().pretraining.replace(seed=seed), Place())


def teacher_accuracy() -> float:
    """Test accuracy of a linear probe of the teacher's features."""
    return probe(teacher(), world().data, kind="linear", candidates=(PROBE_STRENGTH,), device="cpu", keep=False).mean


def worth_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """What one network learns from each set, here and now, as a Markdown table."""
    lines = ["| pre-trained on | probe on shapes | probe on digits |", "|---|---|---|"]
    return "\n".join(
        lines + [f"| {name} | {each['source']:.3f} | {each['other']:.3f} |" for name, each in found.items()]
    )


def repeated(found: Mapping[str, float], method: str, **changes: Any) -> str:
    """What was found here of a point of the record, beside its seeds.

    Raises:
        AssertionError: it is not `near` them.
    """
    lines = []
    for column, value in found.items():
        known = values(column, method, **changes)
        mean, spread = statistics.fmean(known), statistics.stdev(known)
        assert near(value, known), f"{column} of {method} is far from the record"
        lines.append(f"{method}, {column}: here {value:.3f}, recorded {mean:.3f} (standard deviation {spread:.3f})")
    return "\n".join(lines)

"""Makes ddlab/records/tables/unlabelled_sets.json: what sets without labels teach for the floats of
twenty images, which lesson 40 shows.

python notebooks/studies/unlabelled_sets.py            # half an hour
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from study import Setting, Study

from ddlab.lessons.bases import unlabelled
from ddlab.lessons.bases.world import World
from ddlab.methods import boost, krr_st, representation_selection
from ddlab.runs import NOTHING, Inputs, Run
from ddlab.unlabelled import probing

SHARED: dict[str, Any] = {"budget": unlabelled.BUDGET}
FEW = 10  # bases of vectors, in the place of 40
SETS = (
    "real",
    "real, turned, free",
    "real, turned, paid",
    "KRR-ST",
    "bases, no views",
    "Boost",
    "bases, no views, few",
    "Boost, few",
)
BEGINNINGS = ("principal", "principal, few")  # the laboratory's own bases
# Boost's pairs as they begin, not learned.
NOT_LEARNED = ("bases, no views, not learned", "bases, no views, few, not learned")


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """The teacher once, then each kind of images and a network that learned nothing."""
    yield "teacher", 0
    for seed in seeds:
        yield from ((images, seed) for images in (*SETS, *BEGINNINGS, *NOT_LEARNED, "untrained"))


@functools.cache
def world() -> World:
    """The shapes, and the vectors of the shipped teacher."""
    return World(unlabelled.images(), unlabelled.teacher())


def config_of(images: str, seed: int) -> tuple[Any, Any]:
    """A method and its settings."""
    if images.startswith("real"):
        turned = {"augmentation": "rotation"} if "turned" in images else {}
        paid = {"targets_count": "paid" in images}
        return representation_selection, representation_selection.Config.teaching(
            seed=seed, **SHARED, **turned, **paid
        )
    if images == "KRR-ST":
        return krr_st, krr_st.Config.teaching(network=unlabelled.NETWORK, seed=seed, **SHARED)
    config = unlabelled.config(seed=seed)
    config = config.replace(representation_bases=FEW) if "few" in images else config
    return boost, config if "Boost" in images else config.replace(augmentation="none")


def measure(images: str, seed: int) -> tuple[int, float]:
    """Return the floats of a set, and the accuracy of a linear probe."""
    data = unlabelled.images()
    teacher = unlabelled.teacher()
    if images == "teacher":
        return 0, probing.probe(teacher, data, device="cpu")
    if images == "untrained":
        pictures, vectors = world().images["train"][:2], world().vectors["train"][:2]
        return 0, unlabelled.untrained(data, pictures, vectors, seed=seed)
    if images in BEGINNINGS:
        usual = unlabelled.config(seed=0)
        vector_bases = FEW if "few" in images else usual.representation_bases
        split = (2, usual.image_bases, vector_bases)
        floats = world().sizes(*split).bill(world().pairs(*split)).total
        return floats, world().probe_score(*split, seed, watch=lambda *_: None)
    method, config = config_of(images, seed)
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    run = Run(method, config, inputs, keep=NOTHING)
    distilled = run.result() if images in NOT_LEARNED else run.to_end()
    return distilled.storage_floats(), probing.probe_score(distilled, data, seed=seed)


STUDY = Study(
    name="unlabelled_sets",
    description="Shapes at 16 px (5,000 images), a ConvNet-3 of width 32 as teacher without labels "
    "(Barlow Twins; shipped), the floats of twenty images, 300 outer steps with a pool of three "
    "networks, which are ConvNets of 16, 32 and 64 channels like the pre-trained ones (300 "
    "epochs). Bases: 40 of images, 40 or (few) 10 of vectors; principal: the "
    "laboratory's, from 1,000 images, with a mean; not learned: Boost's as they begin. A seed is that "
    "of every draw. Accuracy of a linear probe.",
    setting=("images", "seed"),
    measured=("floats", "accuracy"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()

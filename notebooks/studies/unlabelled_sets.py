"""Makes ddlab/records/tables/unlabelled_sets.json: what sets without labels teach for the floats of
twenty images, which lesson 40 shows.

python notebooks/studies/unlabelled_sets.py            # half an hour
"""

import time
from typing import Any

import torch
from table import save

from ddlab.lessons.bases import unlabelled
from ddlab.lessons.bases.world import World
from ddlab.methods import boost, krr_st, representation_selection
from ddlab.runs import NOTHING, Inputs, Run
from ddlab.unlabelled import probing

SEEDS = range(10)
SHARED: dict[str, Any] = {"budget": unlabelled.BUDGET}
FEW = 10  # bases of vectors, in the place of 40
ARMS = (
    "real",
    "real, turned, free",
    "real, turned, paid",
    "KRR-ST",
    "bases, no views",
    "Boost",
    "bases, no views, few",
    "Boost, few",
)


def config_of(arm: str, seed: int) -> tuple[Any, Any]:
    """A method and its settings."""
    if arm.startswith("real"):
        turned = {"augmentation": "rotation"} if "turned" in arm else {}
        paid = {"targets_count": "paid" in arm}
        return representation_selection, representation_selection.Config.teaching(
            seed=seed, **SHARED, **turned, **paid
        )
    if arm == "KRR-ST":
        return krr_st, krr_st.Config.teaching(network=unlabelled.NETWORK, seed=seed, **SHARED)
    config = unlabelled.config(seed=seed)
    config = config.replace(representation_bases=FEW) if "few" in arm else config
    return boost, config if "Boost" in arm else config.replace(augmentation="none")


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    rows = []
    data = unlabelled.images()
    teacher = unlabelled.teacher()
    world = World(data, teacher)
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    rows.append(["teacher", 0, 0, round(probing.probe_once(teacher, data, 0), 4)])
    for seed in SEEDS:
        for arm in ARMS:
            method, config = config_of(arm, seed)
            distilled = Run(method, config, inputs, keep=NOTHING).to_end()
            rows.append(
                [
                    arm,
                    seed,
                    distilled.storage_floats(),
                    round(probing.probe_score(distilled, data, seed=seed), 4),
                ]
            )
        for arm, vector_bases in (
            ("principal", unlabelled.config(seed=0).representation_bases),
            ("principal, few", FEW),
        ):
            split = (2, unlabelled.config(seed=0).image_bases, vector_bases)
            floats = world.sizes(*split).bill(world.pairs(*split)).total
            rows.append(
                [
                    arm,
                    seed,
                    floats,
                    round(world.worth(*split, seed, watch=lambda words, share: None), 4),
                ]
            )
        nothing = unlabelled.untrained(
            data, world.images["train"][:2], world.vectors["train"][:2], seed=seed
        )
        rows.append(["untrained", seed, 0, round(nothing, 4)])
        print(*rows[-len(ARMS) - 3 :], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Shapes at 16 px (5,000 images), a ConvNet-3 of width 32 as teacher without labels "
        "(Barlow Twins; shipped), the floats of twenty "
        "images, 300 outer steps with a pool of three networks, which are ConvNets of 16, 32 "
        "and 64 channels like the pre-trained ones "
        "(300 epochs). Bases: 40 of images, 40 or (few) 10 of vectors; principal: as they "
        "begin, not learned. A seed is that of every draw. Accuracy of a linear probe."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("unlabelled_sets", description, ["images", "seed", "floats", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()

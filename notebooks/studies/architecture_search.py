"""Makes ddlab/records/tables/architecture_search.json: 48 networks ranked by students of small sets,
which lesson 85 shows.

python notebooks/studies/architecture_search.py RUNS 2     # two processes; RUNS keeps what is finished: the same call goes on

One image of each class with ten draws of each proxy, and students of 150 updates (of digits also 15
and 50); ten images with five draws and 50 updates. Each network is trained three times on all data.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from study import save
from torch.nn import functional

import ddlab
from ddlab import data as datasets
from ddlab import methods, networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation.network_search import EARLY
from ddlab.training import supervised

DATA: dict[str, dict[str, Any]] = {"digits": {}, "shapes": {"size": 16, "train": 2000}}
DRAWS = {1: 10, 10: 5}  # by images of each class
TRAININGS = 3
SMALL = "small random"
# Of a student, by data and images of each class.
EPOCHS = {
    ("digits", 1): (15, 50, 150),
    ("digits", 10): (25,),
    ("shapes", 1): (150,),
    ("shapes", 10): (25,),
}
COLUMNS = [
    "data",
    "images_per_class",
    "updates",
    "proxy",
    "draw",
    "accuracies",
    "seconds",
    "floats",
]


def proxies(count: int) -> dict[str, Any]:
    """The sets of so many images of each class, and early stopping."""
    chosen = {
        name: methods.selection.Config(kind=kind, images_per_class=count)
        for name, kind in (
            ("random", "random"),
            ("herding", "herding"),
            ("k-means", "k_means"),
            ("class means", "centres"),
        )
    }
    # A hundred networks, of ten images of each class, would take half an hour.
    fewer: dict[str, Any] = {"networks": 5} if count > 1 else {}
    learned = {
        "DM": methods.dm.Config.teaching(images_per_class=count),
        "DC": methods.dc.Config.teaching(images_per_class=count, **fewer),
        "DSA": methods.dsa.Config.teaching(images_per_class=count, **fewer),
        "MTT": methods.mtt.Config.teaching(images_per_class=count),
    }
    return {**chosen, EARLY: EARLY, **learned}


def rows_of(runs: Path, name: str, count: int, epochs: int, jobs: int) -> list[list[Any]]:
    """A row for each draw of each proxy, and for each training on all data."""
    data = datasets.load(name, **DATA[name])
    student = supervised.Config.for_data(data, epochs=epochs)
    updates = epochs * student.steps_per_epoch(count * data.classes)
    is_first = count == 1 and epochs == max(EPOCHS[name, 1])
    search = ddlab.evaluation.architecture_search(
        proxies(count),
        data,
        networks=networks.convnet_grid(),
        seeds=range(DRAWS[count]),
        trainings=TRAININGS if is_first else 1,
        config=student,
        # Trainings on all data are the same in all searches: only those of the first one are kept.
        on_all_data=supervised.Config.for_data(data, "teacher", epochs=15 if is_first else 1),
        folder=runs,
        device="cpu",
        jobs=jobs,
    )
    print(name, count, updates, search, sep="\n")
    rows = []
    for proxy, result in search.proxies.items():
        for seed, accuracies in zip(search.seeds, result.accuracies, strict=True):
            rounded = [round(accuracy, 4) for accuracy in accuracies]
            rows.append(
                [
                    name,
                    count,
                    updates,
                    proxy,
                    seed,
                    rounded,
                    round(result.seconds, 1),
                    result.floats,
                ]
            )
    if is_first:
        for training, accuracies in enumerate(search.on_all_data):
            rounded = [round(accuracy, 4) for accuracy in accuracies]
            rows.append(
                [name, None, None, "all data", training, rounded, round(search.seconds, 1), None]
            )
    return rows


def small_random(data: ImageData, count: int, seed: int) -> DistilledSet:
    """Return random images of half the height and width, four in the place of each, enlarged again."""
    config = methods.selection.Config(kind="random", images_per_class=4 * count, seed=seed)
    chosen = ddlab.distill("selection", data, config=config, device="cpu", progress=False)
    small = functional.avg_pool2d(chosen.images, 2)
    return ddlab.from_images(
        functional.interpolate(small, scale_factor=2, mode="bilinear"), chosen.labels, data
    )


def rows_of_small(runs: Path, name: str, count: int, epochs: int, jobs: int) -> list[list[Any]]:
    """A row for each draw of small random images, by the same rules as the others."""
    data = datasets.load(name, **DATA[name])
    student = supervised.Config.for_data(data, epochs=epochs)
    updates = epochs * student.steps_per_epoch(count * data.classes)
    rows = []
    for seed in range(DRAWS[count]):
        distilled = small_random(data, count, seed)
        epochs_of_small = updates // student.steps_per_epoch(len(distilled))
        search = ddlab.evaluation.architecture_search(
            {SMALL: distilled},
            data,
            networks=networks.convnet_grid(),
            seeds=(seed,),
            config=student.replace(epochs=epochs_of_small),
            on_all_data=supervised.Config.for_data(data, "teacher", epochs=1),
            folder=runs,
            device="cpu",
            jobs=jobs,
        )
        rounded = [round(accuracy, 4) for accuracy in search.proxies[SMALL].accuracies[0]]
        floats = count * data.classes * data.train_images[0].numel()
        rows.append(
            [
                name,
                count,
                updates,
                SMALL,
                seed,
                rounded,
                round(search.proxies[SMALL].seconds, 1),
                floats,
            ]
        )
    return rows


def main() -> None:
    """Search, then save."""
    runs, jobs = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    rows = []
    for (name, count), numbers in EPOCHS.items():
        for epochs in reversed(numbers):
            rows += rows_of(runs, name, count, epochs, jobs)
            rows += rows_of_small(runs, name, count, epochs, jobs)
    description = (
        "48 ConvNets (`networks.convnet_grid()`, whose order the accuracies have) trained on small sets "
        "and on all data, digits and 2,000 shapes of 16 pixels; a row for each draw. Seconds are CPU-seconds of a draw: "
        "its set, and a student of every network."
    )
    save(
        "architecture_search",
        description,
        COLUMNS,
        rows,
        command="python notebooks/studies/architecture_search.py RUNS 2",
        threads=1,
    )


if __name__ == "__main__":
    main()

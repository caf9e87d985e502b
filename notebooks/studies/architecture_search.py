"""Makes ddlab/records/tables/architecture_search.json: 48 networks ranked by students of small sets,
which lesson 85 shows.

python notebooks/studies/architecture_search.py RUNS 2     # two processes; RUNS keeps what is finished: the same call goes on

One image of each class with ten draws of each proxy, and students of 15, 50 and 150 updates; ten
images with five draws and 50 updates. Each network is trained three times on all data.
"""


import itertools
import sys
from pathlib import Path
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import methods, networks
from ddlab.evaluation.network_search import EARLY
from ddlab.training import supervised

DATA: dict[str, dict[str, Any]] = {"digits": {}, "shapes": {"size": 16}}
DRAWS = {1: 10, 10: 5}  # by images of each class
TRAININGS = 3
EPOCHS = {1: (15, 50, 150), 10: (25,)}  # of a student, by images of each class
COLUMNS = ["data", "images_per_class", "updates", "proxy", "draw", "accuracies", "seconds", "floats"]


def proxies(count: int) -> dict[str, Any]:
    """The sets of so many images of each class, and early stopping."""
    chosen = {
        name: methods.selection.Config(kind=kind, images_per_class=count)
        for name, kind in (
            ("random", "random"), ("herding", "herding"), ("k-means", "k_means"), ("class means", "centres"),
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
    is_first = count == 1 and epochs == max(EPOCHS[1])
    search = ddlab.evaluation.architecture_search(
        proxies(count), data, networks=networks.convnet_grid(), seeds=range(DRAWS[count]),
        trainings=TRAININGS if is_first else 1, config=student,
        on_all_data=supervised.Config.for_data(data, "teacher", epochs=15),
        folder=runs, device="cpu", jobs=jobs,
    )
    print(name, count, updates, search, sep="\n")
    rows = []
    for proxy, result in search.proxies.items():
        for seed, accuracies in zip(search.seeds, result.accuracies, strict=True):
            rounded = [round(accuracy, 4) for accuracy in accuracies]
            rows.append([name, count, updates, proxy, seed, rounded, round(result.seconds, 1), result.floats])
    if is_first:
        for training, accuracies in enumerate(search.on_all_data):
            rounded = [round(accuracy, 4) for accuracy in accuracies]
            rows.append([name, None, None, "all data", training, rounded, round(search.seconds, 1), None])
    return rows


def main() -> None:
    """Search, then save."""
    runs, jobs = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    rows = []
    for name, count in itertools.product(DATA, DRAWS):
        for epochs in reversed(EPOCHS[count]):
            rows += rows_of(runs, name, count, epochs, jobs)
    description = (
        "48 ConvNets (`networks.convnet_grid()`, whose order the accuracies have) trained on small sets "
        "and on all data, digits and shapes of 16 pixels; a row for each draw. Seconds are CPU-seconds of a draw: "
        "its set, and a student of every network."
    )
    save("architecture_search", description, COLUMNS, rows, command="python notebooks/studies/architecture_search.py RUNS 2", threads=1)


if __name__ == "__main__":
    main()

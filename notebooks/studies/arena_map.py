"""Makes ddlab/records/tables/arena_map.json: where the images of every method lie among real ones,
which lesson 80 shows.

python notebooks/studies/arena_map.py RUNS            # 55 CPU-minutes; RUNS keeps what is finished: the same call goes on

A t-SNE of the teacher's features is fitted to real training images alone; the images of each
method find their places on it. Coverage is measured in the features.
"""

import itertools
import sys
import time
from pathlib import Path
from typing import Any

import torch
from arena import DATA, NAMES, QUIET, SELECTED, scene, settings
from study import save

import ddlab
from ddlab import networks
from ddlab.core import storage
from ddlab.evaluation import embeddings, measures

SEEDS = range(3)
LARGEST_BUDGETS = {"1": "1", "10": "10", "floats": "10"}  # under whose name a set is shown
POINTS = 300
COLUMNS = ["data", "budget", "method", "labels", "x", "y", "coverages"]
FILMS = Path(ddlab.__file__).parent / "records/films"


def distilled_set(
    runs: Path, name: str, dataset: str, budget: str, seed: int
) -> ddlab.DistilledSet | None:
    """The set, made where it is not there yet; None where the method has none of this size."""
    path = runs / f"{dataset}-{budget}-{name}-{seed}.safetensors"
    data, teacher, _ = scene(dataset)
    config = settings(name, budget, data, seed)
    if isinstance(config, str):
        return None
    if not path.exists():
        began = time.process_time()
        ddlab.distill(
            "selection" if name in SELECTED else name, data, teacher, config, **QUIET
        ).save(path)
        print(path.stem, f"{time.process_time() - began:.0f} s", flush=True)
    return ddlab.DistilledSet.load(path)


def real_pool(data: ddlab.ImageData) -> torch.Tensor:
    """Return the places of the real images, as many of each class."""
    orders = data.orders_by_class(0, "diversity pool")
    return torch.cat([order[: POINTS // data.classes] for order in orders])


def covered(real: torch.Tensor, points: torch.Tensor) -> float:
    """Return the share of real features [n, d] that have a point of a set near them."""
    radii = measures.neighbourhood_radii(real)
    return float(measures.coverage(real, radii, points).double().mean())


def has_classes(distilled: ddlab.DistilledSet) -> bool:
    """Whether each image has a class."""
    return any(target.kind == "hard" for target in distilled.targets)


def class_names(data: ddlab.ImageData, labels: torch.Tensor) -> list[str]:
    """The names of classes."""
    return [data.class_names[label] for label in labels.tolist()]


def places(embedding: embeddings.Embedding, features: torch.Tensor) -> list[list[float]]:
    """x and y of points on the map."""
    return [
        [round(value, 2) for value in axis] for axis in embedding.transform(features).T.tolist()
    ]


def rows_of(runs: Path, dataset: str) -> list[list[Any]]:
    """The real images, then the images of each method within each budget."""
    data, teacher, _ = scene(dataset)
    pool = real_pool(data)
    real = networks.predict(teacher, data.normalised(pool)).features
    embedding = embeddings.fit({"real": real}, embeddings.Config(kind="t_sne"))
    real_places = [
        [round(value, 2) for value in axis] for axis in embedding.positions["real"].T.tolist()
    ]
    rows: list[list[Any]] = [
        [dataset, "all", "everything", class_names(data, data.train_labels[pool]), *real_places, []]
    ]
    for budget, name in itertools.product(LARGEST_BUDGETS, NAMES):
        if budget == "floats" and name != "boost":  # the only one with a set of its own
            continue
        made = [distilled_set(runs, name, dataset, budget, seed) for seed in SEEDS]
        sets = [distilled for distilled in made if distilled is not None]
        if not sets:
            continue
        features = [
            networks.predict(teacher, distilled.images.float()).features for distilled in sets
        ]
        coverages = [round(covered(real, points), 4) for points in features]
        labels = class_names(data, sets[0].labels) if has_classes(sets[0]) else None
        rows.append(
            [
                dataset,
                LARGEST_BUDGETS[budget],
                name,
                labels,
                *places(embedding, features[0]),
                coverages,
            ]
        )
    return rows


def agreement(runs: Path, dataset: str) -> str:
    """How many of the sets have the six images of the arena's film."""
    tensors, header = storage.load(FILMS / f"arena_{dataset}.safetensors", "film")
    same = []
    for setting, images in zip(header["settings"], tensors["images"], strict=True):
        budget = "floats" if setting["method"] == "boost" else setting["budget"]
        distilled = ddlab.DistilledSet.load(
            runs / f"{dataset}-{budget}-{setting['method']}-0.safetensors"
        )
        order = (
            distilled.labels.argsort(stable=True)
            if has_classes(distilled)
            else torch.arange(len(distilled))
        )
        six = distilled.to_uint8()[order[torch.linspace(0, len(distilled) - 1, 6).long()]]
        same.append(bool((six.int() - images.int()).abs().max() <= 1))
    return f"{dataset}: {sum(same)} of {len(same)} sets are those of the arena's film"


def main() -> None:
    """Make the sets, the first seed's first, then the maps."""
    runs = Path(sys.argv[1])
    runs.mkdir(parents=True, exist_ok=True)
    for seed, budget, dataset, name in itertools.product(SEEDS, LARGEST_BUDGETS, DATA, NAMES):
        if budget != "floats" or name == "boost":
            distilled_set(runs, name, dataset, budget, seed)
    description = (
        f"Places of each method's images (first seed) on a t-SNE of the teacher's features of {POINTS} "
        "real images, and the share of these that each of three sets covers (five neighbours). "
        "Boost has as many floats as ten images of each class take."
    )
    rows = [row for dataset in DATA for row in rows_of(runs, dataset)]
    save(
        "arena_map",
        description,
        COLUMNS,
        rows,
        command="python notebooks/studies/arena_map.py RUNS",
        threads=1,
    )
    for dataset in DATA:
        print(agreement(runs, dataset))


if __name__ == "__main__":
    main()

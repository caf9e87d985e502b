"""Makes ddlab/records/tables/arena.json and its sheets of images: every method beside every other,
which lesson 80 shows.

python notebooks/studies/arena.py RUNS 2          # two processes, 8 CPU-hours; RUNS keeps what is finished: the same call goes on
python notebooks/studies/arena.py RUNS 0          # only gathers the budgets whose runs are all there

A set is made within a budget: so many images of each class, or no more floats than ten of each
class take. Students learn from it by one recipe, whose rate was chosen for this method on training
images (with the first seed), for random images too.
"""

import dataclasses
import functools
import itertools
import json
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import joblib
import torch
from study import QUIET, save

import ddlab
from ddlab import data as datasets
from ddlab import methods, networks
from ddlab.core import storage
from ddlab.methods.distillation import from_images
from ddlab.training import supervised

SEEDS = range(5)
RATES = (0.001, 0.005, 0.02)
BUDGETS = ("1", "10", "floats")
DATA: dict[str, dict[str, Any]] = {"digits": {}, "shapes": {"size": 16}}
SELECTED = {
    "random": "random",
    "herding": "herding",
    "nearest to centres": "k_means",
    "class means": "centres",
}
LEARNED_LABELS = {"kip": "regression", "ls": "regression", "ld": "stored"} | dict.fromkeys(
    ("dd", "sldd", "mtt", "gtn"), "steps"
)
# whose own labels are a teacher's, are representations
ONLINE = ("sre2l", "dwa", "fadrm", "rded")
VECTORS = ("krr_st", "boost")
NAMES = (*SELECTED, *ONLINE, *VECTORS, "dc", "dsa", "dm", "mnemonics", *LEARNED_LABELS)
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "class labels": ("hard", {}),
    "teacher": ("online", {}),
    "no views": ("hard", {"mixup_alpha": 0.0, "crop_pixels": 0, "flip": False}),
    "lenet": ("hard", {"network": networks.spec("lenet")}),
    "mlp": ("hard", {"network": networks.spec("mlp")}),
}
OTHER_STUDENTS = ("lenet", "mlp")  # with one image of each class alone
COLUMNS = [
    "data",
    "budget",
    "method",
    "training",
    "accuracies",
    "gains",
    "rate",
    "images",
    "seconds",
    "floats",
    "bytes",
    "missing",
]


@functools.cache
def scene(name: str) -> tuple[ddlab.ImageData, Any, float]:
    """Data, teacher, and its seconds."""
    torch.set_num_threads(1)
    data = datasets.load(name, **DATA[name])
    began = time.process_time()
    return data, ddlab.train_teacher(data, **QUIET), time.process_time() - began


def settings(name: str, budget: str, data: ddlab.ImageData, seed: int) -> Any:
    """The Config of a set, or in words why there is none."""
    count = 10 if budget == "floats" else int(budget)
    pixels = data[0][0].numel()
    if name in SELECTED and budget != "floats":
        return methods.selection.Config(kind=SELECTED[name], images_per_class=count, seed=seed)
    if name == "boost":
        bought = methods.boost.Config.teaching(budget=100, seed=seed)
        if data.channels == 3:
            return "a set of colour images takes it half an hour"
        return bought if budget == "floats" else "its budget is counted in floats, not in images"
    if name == "gtn":  # a step of its curriculum shows an image of each class
        narrow: dict[str, Any] = {"width": 64} if budget == "floats" else {}
        return methods.gtn.Config.teaching(
            steps=count, inner_batch=data.classes, seed=seed, **narrow
        )
    if budget == "floats" and name not in LEARNED_LABELS:
        return "the set of ten images of each class"
    if budget == "floats":  # labels or rates take some of them
        count = (
            count * (pixels + 1) // (pixels + (2 if name in ("dd", "mtt") else data.classes + 1))
        )
    if name == "krr_st":
        return methods.krr_st.Config.teaching(budget=count * data.classes, seed=seed)
    # A hundred networks, of ten images of each class, would take half an hour.
    fewer: dict[str, Any] = {"networks": 5} if name in ("dc", "dsa") and count > 1 else {}
    return methods.get(name).Config.teaching(images_per_class=count, seed=seed, **fewer)


def run(runs: Path, name: str, dataset: str, budget: str, seed: int) -> None:
    """One set and its students: a file of numbers, and the set."""
    path = runs / f"{dataset}-{budget}-{name}-{seed}.json"
    if path.exists():
        return
    data, teacher, taught = scene(dataset)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))[:1000]
    tried = dataclasses.replace(
        data, test_images=data.train_images[order], test_labels=data.train_labels[order]
    )
    began = time.process_time()
    trainings = dict(TRAININGS)
    if budget == "all":
        distilled = from_images(data.normalised(), data.train_labels, data)
        trainings = {"class labels": ("hard", {"epochs": 30})}
    elif isinstance(config := settings(name, budget, data, seed), str):
        path.write_text(json.dumps({"missing": config}))
        return
    else:
        distilled = ddlab.distill(
            "selection" if name in SELECTED else name, data, teacher, config, **QUIET
        )
    seconds = time.process_time() - began + taught * (name in (*ONLINE, *VECTORS))
    scores = dict[str, Any]()
    numbers = (
        distilled.labels
        if any(target.kind == "hard" for target in distilled.targets)
        else teacher(distilled.images).argmax(1)
    )
    plain = from_images(distilled.images, numbers, data, teacher)
    targets = (
        plain.targets
        if name in VECTORS
        else (plain.target("hard"), plain.target("online"), *distilled.targets)
    )
    stored = dataclasses.replace(
        distilled, targets=tuple({target.kind: target for target in targets}.values())
    )
    if budget == "floats":
        trainings = {
            key: value
            for key, value in trainings.items()
            if key != "teacher" and name in ("gtn", "boost")
        }
    if budget != "1":
        trainings = {key: value for key, value in trainings.items() if key not in OTHER_STUDENTS}
    first = (
        json.loads(path.with_name(f"{path.stem[:-2]}-0.json").read_text())["found"]
        if seed
        else scores
    )
    own_labels = {"own": (LEARNED_LABELS[name], dict[str, Any]())} if name in LEARNED_LABELS else {}
    for training, (labels, changes) in {**trainings, **own_labels}.items():
        options: dict[str, Any] = {
            "labels": labels,
            "teacher": teacher if labels == "online" else None,
            "seeds": [seed],
            **QUIET,
        }
        student_set = distilled if training == "own" else plain
        like = "class labels" if training == "no views" else training
        recipes: dict[Any, Any] = {
            rate: supervised.Config.quick(data).replace(learning_rate=rate, **changes)
            for rate in RATES
        }
        if labels == "steps":  # which say their rates
            rate = None
            recipes = {None: None}
        elif like in first:
            rate = first[like]["rate"]
        else:
            rate = max(
                RATES,
                key=lambda rate: (
                    ddlab.evaluate(student_set, tried, config=recipes[rate], **options).mean
                ),
            )
        score = ddlab.evaluate(student_set, data, config=recipes[rate], **options).mean
        scores[training] = {
            "accuracy": score,
            "rate": rate,
            "floats": stored.storage_floats(labels, teacher),
        }
    size = distilled.save(path.with_suffix(".safetensors"), overwrite=True).stat().st_size
    path.write_text(
        json.dumps({"found": scores, "images": len(distilled), "seconds": seconds, "bytes": size})
    )


def read(runs: Path, name: str, data: str, budget: str, seed: int) -> dict[str, Any]:
    """What a method's students of each training gave; with equal floats those of ten images of each
    class, where these fit.
    """
    record = json.loads((runs / f"{data}-{budget}-{name}-{seed}.json").read_text())
    by_training: dict[str, Any] = {
        training: {**score, **{key: record[key] for key in ("images", "seconds", "bytes")}}
        for training, score in record.get("found", {}).items()
    }
    if budget == "floats" and name not in ("gtn", "boost"):
        by_training = {**read(runs, name, data, "10", seed), **by_training}
    by_training = by_training or dict.fromkeys(TRAININGS, record.get("missing"))
    if budget == "floats":
        by_training["teacher"] = "its teacher alone takes more floats than ten images of each class"
        if name in ONLINE:
            by_training["own"] = by_training["teacher"]
    vectors = "its labels are representations (lesson 40)"
    return {
        "own": vectors
        if name in VECTORS
        else by_training["teacher" if name in ONLINE else "class labels"],
        **by_training,
    }


def whole(runs: Path) -> list[str]:
    """The budgets whose runs are all there."""
    files_by_budget = [
        (
            budget,
            [
                f"{data}-{budget}-{name}-{seed}.json"
                for data in DATA
                for name in NAMES
                for seed in SEEDS
            ],
        )
        for budget in BUDGETS
    ]
    return [
        budget for budget, files in files_by_budget if all((runs / file).exists() for file in files)
    ]


def gathered(runs: Path) -> list[list[Any]]:
    """A row for each method within each budget by each training, also where it says why there is
    nothing.
    """
    rows = []
    for data, budget, name, training in itertools.product(
        DATA, whole(runs), NAMES, (*TRAININGS, "own")
    ):
        if budget != "1" and training in OTHER_STUDENTS:
            continue
        records = [read(runs, name, data, budget, seed)[training] for seed in SEEDS]
        if isinstance(records[0], str):
            rows.append([data, budget, name, training, [], [], *[None] * 5, records[0]])
            continue
        rival = {"own": "teacher" if name in ONLINE else "class labels"}.get(training, training)
        random = [
            read(runs, "random", data, "10" if budget == "floats" else budget, seed)[rival]
            for seed in SEEDS
        ]
        scores = [round(record["accuracy"], 4) for record in records]
        gains = [
            round(record["accuracy"] - random_record["accuracy"], 4)
            for record, random_record in zip(records, random, strict=True)
        ]
        means = [
            round(fmean(record[key] for record in records), 2)
            for key in ("images", "seconds", "floats", "bytes")
        ]
        rows.append([data, budget, name, training, scores, gains, records[0]["rate"], *means, None])
    for data in DATA:
        scores = [
            round(read(runs, "everything", data, "all", seed)["class labels"]["accuracy"], 4)
            for seed in SEEDS
        ]
        rows.append([data, "all", "everything", "class labels", scores, [], *[None] * 6])
    return rows


def film(runs: Path, name: str) -> None:
    """Six images, in the order of their classes, of the first seed's sets: what a strip of the
    laboratory shows.
    """
    data = scene(name)[0]
    images = list[torch.Tensor]()
    descriptions = list[dict[str, str]]()
    for budget, method in itertools.product(whole(runs), NAMES):
        path = runs / f"{name}-{budget}-{method}-0.safetensors"
        if not path.exists() or (budget == "floats" and method != "boost"):
            continue
        distilled = ddlab.DistilledSet.load(path)
        numbered = any(target.kind == "hard" for target in distilled.targets)
        order = distilled.labels.argsort(stable=True) if numbered else torch.arange(len(distilled))
        images.append(distilled.to_uint8()[order[torch.linspace(0, len(distilled) - 1, 6).long()]])
        descriptions.append({"budget": "10" if budget == "floats" else budget, "method": method})
    film_path = Path(ddlab.__file__).parent / f"records/films/arena_{name}.safetensors"
    storage.save(
        film_path,
        {"images": torch.stack(images)},
        {"data": data.fingerprint, "settings": descriptions},
        "film",
    )


def main() -> None:
    """Run what is not there yet, then gather."""
    runs = Path(sys.argv[1])
    jobs = int(sys.argv[2])
    runs.mkdir(parents=True, exist_ok=True)
    places = [("everything", data, "all") for data in DATA]
    places += [(name, data, budget) for budget in BUDGETS for data in DATA for name in NAMES]
    for budget in ("1", "10", "all", "floats") * (jobs > 0):
        for seed in SEEDS:  # the first chooses the rates
            tasks = (
                joblib.delayed(run)(runs, *place, seed) for place in places if place[2] == budget
            )
            joblib.Parallel(n_jobs=jobs)(tasks)
    description = (
        "Every method on digits and shapes of 16 pixels, one or ten images of each class or "
        "no more floats than ten take, in teaching "
        "presets (DC and DSA of ten images: five networks): accuracies of five sets with a "
        "student each, and these minus random real "
        "images with the same labels. Seconds are CPU-seconds of one thread, with a "
        "teacher's where a method needs one."
    )
    provenance: dict[str, Any] = {"threads": 1}
    if (about := runs / "about.txt").exists():  # what else there is to know of these runs
        provenance["about"] = about.read_text(encoding="utf-8").strip()
    save(
        "arena",
        description,
        COLUMNS,
        gathered(runs),
        command="python notebooks/studies/arena.py RUNS 2",
        **provenance,
    )
    for name in DATA:
        film(runs, name)


if __name__ == "__main__":
    main()

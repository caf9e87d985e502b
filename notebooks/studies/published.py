"""Makes ddlab/records/tables/replications.json: printed numbers beside ours, on real MNIST,
CIFAR-10 and TREC.

python notebooks/studies/published.py DATA RUNS           # DATA holds mnist and cifar10 (.npz or folders), trec/ as its two files
python notebooks/studies/published.py DATA RUNS kip ls    # only these, by the first word of their names
python notebooks/studies/published.py DATA RUNS teacher   # only the ResNet-18 that sre2l, dwa, rded and fadrm share

An .npz file holds train_images and test_images, uint8 [n, h, w] or [n, h, w, c], and train_labels
and test_labels.

The table takes five hours of one core, or half an hour of a GPU, which is used where there is one:
PyTorch, torchvision and scikit-learn are enough there. RUNS keeps what is finished and what was
begun: the same call goes on from it, also after an interrupt. Rows may be made by several processes
at once, after the teacher; a last call without names collects them.
"""

import functools
import itertools
import json
import re
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from study import save

import ddlab
from ddlab import data as datasets
from ddlab import evaluation, networks, records
from ddlab.methods import mnemonics
from ddlab.training import supervised

# Shorter than printed where a set would take more than half an hour.
ROWS: dict[str, dict[str, Any]] = {
    "kip, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "FC1", "sets": 3},
    "ls, 500 images": {"dataset": "CIFAR-10", "images_per_class": 50, "row": "FC1", "sets": 3},
    "sldd, 10 images": {"dataset": "MNIST", "images_per_class": 1},
    "sldd, 10 images, Adam .02": {"dataset": "MNIST", "images_per_class": 1, "learning_rate": 0.02},
    "sldd, 5 images": {"dataset": "MNIST", "images_per_class": 0.5},
    "dd, one start": {"dataset": "MNIST", "images_per_class": 1},
    "dd, one start, Adam .02": {"dataset": "MNIST", "images_per_class": 1, "learning_rate": 0.02},
    "dd, random starts": {
        "dataset": "MNIST",
        "images_per_class": 10,
        "students": 50,
        "iterations": 1500,
    },
    "ld, ridge": {"dataset": "MNIST", "images_per_class": 10, "students": 20, "iterations": 5000},
    "ld, second order": {
        "dataset": "MNIST",
        "images_per_class": 10,
        "students": 20,
        "solver": "second_order",
    },
    "dm, 10 images": {
        "dataset": "MNIST",
        "images_per_class": 1,
        "sets": 2,
        "students": 5,
        "iterations": 200,
    },
    "dc, 10 images": {"dataset": "MNIST", "images_per_class": 1, "sets": 3, "students": 5},
    "dsa, 10 images": {
        "dataset": "MNIST",
        "images_per_class": 1,
        "sets": 1,
        "students": 5,
        "networks": 100,
    },
    "dc, CIFAR-10": {"dataset": "CIFAR-10", "images_per_class": 1, "sets": 3, "students": 5},
    "dsa, CIFAR-10": {"dataset": "CIFAR-10", "images_per_class": 1, "sets": 1, "students": 5},
    "mtt, CIFAR-10": {
        "dataset": "CIFAR-10",
        "images_per_class": 1,
        "experts": 20,
        "iterations": 1000,
    },
    "sre2l, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10},
    "dwa, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "ResNet-18"},
    "rded, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "ResNet-18"},
    "fadrm, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10},
    # With the published teacher, 200 epochs (FADRM: 50): a GPU takes half an hour for a row.
    "sre2l, published teacher": {"dataset": "CIFAR-10", "images_per_class": 10},
    "dwa, published teacher": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "ResNet-18"},
    "rded, published teacher": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "ResNet-18"},
    "fadrm, CIFAR-100": {"dataset": "CIFAR-100", "images_per_class": 10, "row": "one network"},
    "tdd, 6 sentences": {"dataset": "TREC-6", "images_per_class": 1, "row": "one fixed start"},
    "gtn, 4,096 images": {"dataset": "MNIST", "images_per_class": 409.6, "iterations": 60},
    "mnemonics, five phases": {"dataset": "CIFAR-10", "images_per_class": 20},
}
TEACHER_EPOCHS = 20
SHARE_A_TEACHER = tuple(f"{method}, 100 images" for method in ("sre2l", "dwa", "rded", "fadrm"))
FADRM_EPOCHS = 300  # of a student, in place of 1,000
COLUMNS = [
    "row",
    "method",
    "dataset",
    "images_per_class",
    "network",
    "printed",
    "deviation",
    "ours",
    "low",
    "high",
]
COLUMNS += ["best", "difference", "sets", "students", "seconds", "machine", "differs", "source"]
MACHINE = torch.cuda.get_device_name() if torch.cuda.is_available() else "one core"


@functools.cache
def load(root: Path, dataset: str) -> ddlab.ImageData:
    """Load MNIST, CIFAR-10, CIFAR-100, or TREC's questions of thirty words."""
    if dataset == "TREC-6":
        train = root / "trec/train_5500.label"
        test = root / "trec/TREC_10.label"
        return datasets.text.read(train, test=test, format="trec").embedded
    name = dataset.lower().replace("-", "")
    if not (root / f"{name}.npz").exists():
        return ddlab.data.load("folder", root / name)
    arrays: dict[str, torch.Tensor] = {}
    with np.load(root / f"{name}.npz") as file:
        for split in ("train", "test"):
            pixels = torch.from_numpy(file[f"{split}_images"])
            images = (
                pixels[:, None] if pixels.ndim == 3 else pixels.permute(0, 3, 1, 2).contiguous()
            )
            arrays[f"{split}_images"] = images
            arrays[f"{split}_labels"] = torch.from_numpy(file[f"{split}_labels"]).long()
    height = arrays["train_images"].shape[2]
    classes = int(arrays["train_labels"].max()) + 1
    return ddlab.ImageData(
        name=f"{name}-{height}", class_names=tuple(map(str, range(classes))), **arrays
    )


def shared_teacher(data: ddlab.ImageData, runs: Path) -> networks.Network:
    """Train the ResNet-18 that four methods share, or load it."""
    file = runs / "teacher.safetensors"
    if not file.exists():
        runs.mkdir(parents=True, exist_ok=True)
        config = supervised.Config.paper("cifar10", "teacher", epochs=TEACHER_EPOCHS)
        ddlab.train_teacher(data, config, checkpoint=runs / "teacher").save(file)
    return networks.load(file)


def residual_matching(
    data: ddlab.ImageData, teacher: networks.Network, folder: Path
) -> dict[str, Any]:
    """Compare FADRM's images with RDED's, both with FADRM's students: the paper has no row of
    CIFAR-10.
    """
    start = time.monotonic()
    student_config = supervised.Config.paper(
        "cifar10", recipe="fadrm", labels="online", epochs=FADRM_EPOCHS
    )
    percents = {}
    for method in ("fadrm", "rded"):
        file = folder / f"{method}.json"
        if not file.exists():
            config = ddlab.methods.get(method).Config.paper("cifar10", images_per_class=10)
            distilled = ddlab.distill(
                method, data, teacher, config, checkpoint=folder / f"{method}.running"
            )
            evaluation = ddlab.evaluate(
                distilled, data, labels="online", teacher=teacher, config=student_config, seeds=(0,)
            )
            distilled.save(folder / f"{method}.safetensors", overwrite=True)
            file.write_text(json.dumps(100 * evaluation.mean))
        percents[method] = json.loads(file.read_text())
    published_teacher = supervised.Config.paper("cifar10", "teacher", recipe="fadrm")
    differs = (
        f"no printed number: the paper has CIFAR-100; students' epochs {FADRM_EPOCHS} in "
        "place of 1000; "
        f"RDED's images with the same student {percents['rded']:.1f}; the residual is a "
        f"whole random image; the teacher's epochs {TEACHER_EPOCHS} in place of "
        f"{published_teacher.epochs}, its weight decay 5e-4 in place of "
        f"{published_teacher.weight_decay:g}"
    )
    return {
        "method": "fadrm",
        "dataset": "CIFAR-10",
        "images_per_class": 10,
        "network": "ResNet-18",
        "accuracy": None,
        "deviation": None,
        "ours": percents["fadrm"],
        "low": None,
        "high": None,
        "difference": percents["fadrm"] - percents["rded"],
        "sets": 1,
        "students": 1,
        "seconds": time.monotonic() - start,
        "differs": differs,
        "source": "RDED here",
    }


def memory(data: ddlab.ImageData, folder: Path, seeds: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """Five phases of two classes in the teaching network, exemplars learned and chosen by herding;
    the paper prints CIFAR-100 alone.
    """
    accuracies: dict[str, list[float]] = {"bilevel": [], "none": []}
    folder.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    for seed, (step, values) in itertools.product(seeds, accuracies.items()):
        if not (file := folder / f"{step}-{seed}.txt").exists():
            config = mnemonics.Config.teaching(images_per_class=20, exemplar_step=step)
            result = evaluation.class_incremental(
                None, data, config=config, seeds=(seed,), progress=False
            )
            file.write_text(f"{100 * result.average_accuracy} {time.process_time() - began}")
            began = time.process_time()
        values.append(float(file.read_text().split()[0]))
    ours, herding = (fmean(column) for column in accuracies.values())
    seconds = sum(float(file.read_text().split()[1]) for file in folder.glob("*-?.txt"))
    low, high = evaluation.interval(accuracies["bilevel"]) or (ours, ours)
    differs = (
        f"mean of the phases; herding, same seeds, {herding:.1f}; no printed number: the paper "
        "has CIFAR-100 and ResNet-32"
    )
    return {
        "method": "mnemonics",
        "dataset": "CIFAR-10",
        "images_per_class": 20,
        "network": "ConvNet",
        "accuracy": None,
        "deviation": None,
        "ours": ours,
        "low": low,
        "high": high,
        "difference": ours - herding,
        "sets": len(seeds),
        "students": 1,
        "seconds": seconds,
        "differs": differs,
        "source": "herding here",
    }


def place(name: str) -> str:
    """Its folder's name."""
    return name.replace(", ", "-").replace(" ", "-")


def row(name: str, root: Path, runs: Path) -> dict[str, Any]:
    """Return the numbers of a row: read, or made."""
    folder = runs / place(name)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "row.json"
    if file.exists():
        return json.loads(file.read_text())
    options = dict(ROWS[name])
    method = name.split(",")[0]
    data = load(root, options["dataset"])
    remark = ""
    if name in SHARE_A_TEACHER:
        options["teacher"] = shared_teacher(data, runs)
    if method == "tdd":
        remark = "; vectors of the questions themselves (PPMI, SVD) in place of GloVe's"
    if method == "mnemonics":
        numbers = memory(data, folder)
    elif name == "fadrm, 100 images":
        numbers = residual_matching(data, options["teacher"], folder)
    else:
        result = ddlab.replicate(method, data, **options, folder=folder)
        print(result, flush=True)
        numbers = result.records()[0]
    numbers |= {
        "row": name,
        "printed": numbers["accuracy"],
        "machine": MACHINE,
        "differs": numbers["differs"] + remark,
    }
    file.write_text(json.dumps(numbers))
    return numbers


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each row."""
    lines = [
        "| method | dataset | printed (%) | ours (%) | sets x students | hours, machine | "
        "what differs |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        printed = "-" if row["printed"] is None else f"{row['printed']:g}"
        printed += "" if row["deviation"] is None else f" ± {row['deviation']:g}"
        ours = f"{row['ours']:.1f}"
        if row["low"] is not None:
            ours += f" ({row['low']:.1f} to {row['high']:.1f})"
        if row["best"] is not None:
            ours += f", best {row['best']:.1f}"
        counts = (
            f"{row['sets']} x {row['students']} | {row['seconds'] / 3600:.2f}, {row['machine']}"
        )
        lines.append(
            f"| {row['row']} | {row['dataset']} | {printed} | {ours} | {counts} | "
            f"{row['differs']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Make the rows that are asked for, and write all that are there; a row that RUNS does not hold
    stays as it was.
    """
    torch.set_num_threads(1)
    root, runs, *names = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    if names == ["teacher"]:
        shared_teacher(load(root, "CIFAR-10"), runs)
        return
    earlier = {row["row"]: row for row in records.load("replications").rows}
    lines = []
    for name in ROWS:
        is_asked_for = not names or name.split(",")[0] in names
        if is_asked_for or (runs / place(name) / "row.json").exists():
            numbers = row(name, root, runs)
        elif name in earlier:
            numbers = earlier[name]
        else:
            continue
        values = [numbers.get(column) for column in COLUMNS]
        lines.append([round(value, 2) if isinstance(value, float) else value for value in values])
    description = (
        "What papers print and what their published settings made here, on real data, in "
        "percent of the test images; `differs` says what "
        "was not as in the paper. The interval is over sets, of one set over its students; "
        "`best` is the best test along a run, where "
        "one fixed start has one student."
    )
    cost = {
        "threads": 1,
        "seconds": sum(line[COLUMNS.index("seconds")] for line in lines),
        "device": "as each row says",
    }
    command = "python notebooks/studies/published.py DATA RUNS"
    save("replications", description, COLUMNS, lines, command=command, **cost)
    page = Path(__file__).parent / "FINDINGS.md"
    markdown = table([dict(zip(COLUMNS, line, strict=True)) for line in lines])
    text = re.sub(
        r"(replications: begin -->\n).*?(<!-- replications: end)",
        lambda match: match[1] + markdown + match[2],
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

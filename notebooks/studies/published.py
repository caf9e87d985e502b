"""Makes ddlab/records/tables/replications.json: printed numbers beside ours, on real MNIST, CIFAR-10 and TREC.

python notebooks/studies/published.py DATA RUNS           # DATA holds mnist/ and cifar10/ as image folders, trec/ as its two files
python notebooks/studies/published.py DATA RUNS kip ls    # only these, by the first word of their names

Five hours of one core for the rows of the table, half an hour of a GPU, which is taken where there is one. RUNS keeps what is finished and what was begun: the same call
goes on from it, also after an interrupt.
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

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import evaluation
from ddlab.methods import mnemonics
from ddlab.training import supervised

ROWS: dict[str, dict[str, Any]] = {  # shorter than printed where a set would take more than half an hour
    "kip, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "FC1", "sets": 3},
    "ls, 500 images": {"dataset": "CIFAR-10", "images_per_class": 50, "row": "FC1", "sets": 3},
    "sldd, 10 images": {"dataset": "MNIST", "images_per_class": 1},
    "sldd, 5 images": {"dataset": "MNIST", "images_per_class": 0.5},
    "dd, one start": {"dataset": "MNIST", "images_per_class": 1},
    "dd, random starts": {"dataset": "MNIST", "images_per_class": 10, "students": 50, "iterations": 1500},
    "ld, ridge": {"dataset": "MNIST", "images_per_class": 10, "students": 20, "iterations": 5000},
    "ld, second order": {"dataset": "MNIST", "images_per_class": 10, "students": 20, "solver": "second_order"},
    "dm, 10 images": {"dataset": "MNIST", "images_per_class": 1, "sets": 2, "students": 5, "iterations": 200},
    "dc, 10 images": {"dataset": "MNIST", "images_per_class": 1, "sets": 3, "students": 5},
    "dsa, 10 images": {"dataset": "MNIST", "images_per_class": 1, "sets": 1, "students": 5, "networks": 100},
    "dc, CIFAR-10": {"dataset": "CIFAR-10", "images_per_class": 1, "sets": 3, "students": 5},
    "dsa, CIFAR-10": {"dataset": "CIFAR-10", "images_per_class": 1, "sets": 3, "students": 5},
    "mtt, CIFAR-10": {"dataset": "CIFAR-10", "images_per_class": 1, "experts": 20, "iterations": 1000},
    "sre2l, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10},
    "dwa, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "ResNet-18"},
    "rded, 100 images": {"dataset": "CIFAR-10", "images_per_class": 10, "row": "ResNet-18"},
    "tdd, 6 sentences": {"dataset": "TREC-6", "images_per_class": 1, "row": "one fixed start"},
    "gtn, 4,096 images": {"dataset": "MNIST", "images_per_class": 409.6, "steps": 32, "iterations": 60},
    "mnemonics, five phases": {"dataset": "CIFAR-10", "images_per_class": 20},
}
TEACHER_EPOCHS = 30
COLUMNS = ["row", "method", "dataset", "images_per_class", "network", "printed", "deviation", "ours", "low", "high"]
COLUMNS += ["difference", "sets", "students", "seconds", "machine", "differs", "source"]
MACHINE = torch.cuda.get_device_name() if torch.cuda.is_available() else "one core"


@functools.cache
def load(root: Path, dataset: str) -> ddlab.ImageData:
    """MNIST, CIFAR-10, or TREC's questions of thirty words."""
    if dataset == "TREC-6":
        train, test = root / "trec/train_5500.label", root / "trec/TREC_10.label"
        return datasets.text.read(train, test=test, format="trec").embedded
    return ddlab.data.load("folder", root / dataset.lower().replace("-", ""))


def memory(data: ddlab.ImageData, folder: Path, seeds: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """Five phases of two classes in the teaching network, exemplars learned and chosen by herding; the paper prints CIFAR-100 alone."""
    found: dict[str, list[float]] = {"bilevel": [], "none": []}
    folder.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    for seed, (step, known) in itertools.product(seeds, found.items()):
        if not (file := folder / f"{step}-{seed}.txt").exists():
            config = mnemonics.Config.teaching(images_per_class=20, exemplar_step=step)
            told = evaluation.class_incremental(None, data, config=config, seeds=(seed,), progress=False)
            file.write_text(f"{100 * told.average_accuracy} {time.process_time() - began}")
            began = time.process_time()
        known.append(float(file.read_text().split()[0]))
    ours, herding = (fmean(each) for each in found.values())
    seconds = sum(float(file.read_text().split()[1]) for file in folder.glob("*-?.txt"))
    low, high = evaluation.interval(found["bilevel"]) or (ours, ours)
    differs = f"mean of the phases; herding, same seeds, {herding:.1f}; no printed number: the paper has CIFAR-100 and ResNet-32"
    return {"method": "mnemonics", "dataset": "CIFAR-10", "images_per_class": 20, "network": "ConvNet", "accuracy": None, "deviation": None,
            "ours": ours, "low": low, "high": high, "difference": ours - herding, "sets": len(seeds), "students": 1, "seconds": seconds,
            "differs": differs, "source": "herding here"}  # fmt: skip


def place(name: str) -> str:
    """Its folder's name."""
    return name.replace(", ", "-").replace(" ", "-")


def row(name: str, root: Path, runs: Path) -> dict[str, Any]:
    """Its numbers: read, or made."""
    folder, told = runs / place(name), dict(ROWS[name])
    folder.mkdir(parents=True, exist_ok=True)
    if (file := folder / "row.json").exists():
        return json.loads(file.read_text())
    method, more, data = name.split(",")[0], "", load(root, told["dataset"])
    if method == "mnemonics":
        found = memory(data, folder)
    else:
        if method in ("sre2l", "dwa", "rded"):  # one teacher
            config = supervised.Config.paper("cifar10", "teacher", epochs=TEACHER_EPOCHS)
            told["teacher"] = ddlab.train_teacher(data, config, checkpoint=runs / "teacher")
            more = f"; the teacher is trained for {TEACHER_EPOCHS} epochs in place of {supervised.Config.paper('cifar10', 'teacher').epochs}"
        if method == "tdd":
            more = "; vectors of the questions themselves (PPMI, SVD) in place of GloVe's"
        result = ddlab.replicate(method, data, **told, folder=folder)
        print(result, flush=True)
        found = result.records()[0]
    found = {**found, "row": name, "printed": found["accuracy"], "machine": MACHINE, "differs": found["differs"] + more}
    file.write_text(json.dumps(found))
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each row."""
    lines = [
        "| method | dataset | printed (%) | ours (%) | sets x students | hours, machine | what differs |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        printed = "-" if row["printed"] is None else f"{row['printed']:g}"
        printed += "" if row["deviation"] is None else f" ± {row['deviation']:g}"
        ours = f"{row['ours']:.1f}" + ("" if row["low"] is None else f" ({row['low']:.1f} to {row['high']:.1f})")
        counts = f"{row['sets']} x {row['students']} | {row['seconds'] / 3600:.2f}, {row['machine']}"
        lines.append(f"| {row['row']} | {row['dataset']} | {printed} | {ours} | {counts} | {row['differs']} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Make what is asked for; save all that is there."""
    torch.set_num_threads(1)
    root, runs, *wanted = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    done = []
    for name in ROWS:
        if not wanted or name.split(",")[0] in wanted or (runs / place(name) / "row.json").exists():
            found = row(name, root, runs)
            done.append([round(found[key], 2) if isinstance(found[key], float) else found[key] for key in COLUMNS])
    description = (
        "What papers print and what their published settings made here, on real data, in percent of the test images; `differs` says what "
        "was not as in the paper. The interval is over sets, of one set over its students."
    )
    cost = {"threads": 1, "seconds": sum(row[COLUMNS.index("seconds")] for row in done), "device": "as each row says"}
    save("replications", description, COLUMNS, done, command="python notebooks/studies/published.py DATA RUNS", **cost)
    told = [dict(zip(COLUMNS, row, strict=True)) for row in done]
    page = Path(__file__).parent / "FINDINGS.md"
    text = re.sub(r"(replications: begin -->\n).*?(<!-- replications: end)", lambda found: found[1] + table(told) + found[2],
                  page.read_text(encoding="utf-8"), flags=re.DOTALL)  # fmt: skip
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

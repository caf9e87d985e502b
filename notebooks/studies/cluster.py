"""Make printed numbers again on a dask cluster, one row a task.

python notebooks/studies/cluster.py RUNS                            # four workers here, digits in place of MNIST
python notebooks/studies/cluster.py RUNS DATA                       # the whole table of `published.py`, its data in DATA
python notebooks/studies/cluster.py RUNS DATA tcp://scheduler:8786  # on a cluster that is running

RUNS is a folder that all workers see. It keeps what is finished and what was begun: if a worker is
lost, dask gives its row to another one, which goes on from there, and so does the same call later.
`published.py` makes the table of what stands in it.
"""

import sys
from pathlib import Path
from typing import Any

import joblib
import published
from distributed import Client, LocalCluster

import ddlab
from ddlab.evaluation.parallel import run_tasks

# Methods with settings that take seconds.
STAND_INS: dict[str, dict[str, Any]] = {
    "dm": {"sets": 2, "students": 2, "iterations": 2, "student": {"epochs": 2}},
    "dc": {"sets": 1, "students": 2, "networks": 1, "student": {"epochs": 2}},
    "dd": {"iterations": 10},
    "sldd": {"iterations": 10},
    "ld": {"images_per_class": 10, "students": 2, "iterations": 10},
    "kip": {"iterations": 5, "row": "FC"},
}


def stand_in(name: str, _root: Path, runs: Path) -> dict[str, Any]:
    """Replicate a method's row of MNIST with small digits, and return its numbers."""
    options: dict[str, Any] = {"dataset": "MNIST", "images_per_class": 1} | STAND_INS[name]
    digits = ddlab.data.load("digits")
    folder = runs / name
    result = ddlab.replicate(name, digits, folder=folder, device="cpu", progress=False, **options)
    return result.records()[0] | {"row": name}


def main() -> None:
    """Send one task for each row, and print each row when it is finished."""
    runs, root, address = (*sys.argv[1:], "", "")[:3]
    make, names = (published.row, published.ROWS) if root else (stand_in, STAND_INS)
    tasks = [(name, Path(root), Path(runs)) for name in names]
    with Client(address or LocalCluster(n_workers=4)) as client:
        # Workers of other machines have no copy of the scripts in this folder.
        for script in ("study.py", "published.py"):
            client.upload_file(str(Path(__file__).with_name(script)))
        with joblib.parallel_config(backend="dask"):
            for _, row in run_tasks(make, tasks, jobs=None):
                print(f"{row['row']}: {row['ours']:.1f}% (printed: {row['accuracy']})", flush=True)


if __name__ == "__main__":
    main()

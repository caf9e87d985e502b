"""Makes ddlab/records/films/diversity.safetensors: DWA's images for ninety settings, which lesson
21 shows at once.

python notebooks/studies/diversity_film.py            # six CPU-minutes
"""

import datetime
import itertools
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed

import ddlab
from ddlab import networks
from ddlab.core import storage
from ddlab.methods import dwa
from ddlab.training import supervised

STARTS = ("real", "noise")
WEIGHTS = (0.01, 0.03, 0.11, 0.33, 1.0)
RADII = (0.015, 0.05, 0.15, 0.5)
PUSHES = [("none", 0.015), *itertools.product(("directed", "random"), RADII)]
FILE = Path(ddlab.__file__).parent / "records/films/diversity.safetensors"


def distilled_images(settings: dict[str, Any], inputs: ddlab.Inputs) -> torch.Tensor:
    """uint8 [30, 3, 16, 16]: the images of a setting, by class."""
    torch.set_num_threads(1)
    distilled = ddlab.Run(dwa, dwa.Config.teaching(**settings), inputs).advance().result()
    return distilled.to_uint8()[distilled.labels.argsort(stable=True)]


def main() -> None:
    """Compute and save."""
    began = time.time()
    (data, teacher) = lesson_21()
    settings = [
        {
            "images_per_class": 3,
            "iterations": 100,
            "seed": 0,
            "initialisation": start,
            "lambda_var": weight,
            "perturbation": push,
            "adjustment_radius": radius,
        }
        for start, weight, (push, radius) in itertools.product(STARTS, WEIGHTS, PUSHES)
    ]
    inputs = ddlab.Inputs(data=data, teachers=(teacher,), device="cpu")
    images = torch.stack(
        Parallel(n_jobs=2, verbose=5)(
            delayed(distilled_images)(run_settings, inputs) for run_settings in settings
        )
    )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    provenance = {
        "command": "python notebooks/studies/diversity_film.py",
        "commit": commit.stdout.strip(),
        "threads": 1,
        "device": "cpu",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "cpu_seconds": round(2 * (time.time() - began), 1),
        "teacher_accuracy": ddlab.accuracy(teacher, data),
    }
    description = {"data": data.fingerprint, "settings": settings, "provenance": provenance}
    storage.save(FILE, {"images": images}, description, "film")


def lesson_21() -> tuple[ddlab.ImageData, networks.Network]:
    """The lesson's data and teacher."""
    data = ddlab.data.load("shapes", size=16)
    config = supervised.Config.for_data(data, "teacher", network=networks.spec("convnet", width=32))
    return data, ddlab.train_teacher(data, config, device="cpu", progress=False)


if __name__ == "__main__":
    main()

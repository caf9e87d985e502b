"""Small sweeps that worker processes can import, and a folder of pictures."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from ddlab.core import randomness
from ddlab.records import Place, Sweep

SETTINGS = [{"method": method, "x": x, "seed": seed} for method in ("a", "b") for x in (1.5, 3) for seed in range(2)]


def calls(place: Place) -> list[str]:
    """Which points were computed, in the order of their names."""
    assert place.folder is not None
    return sorted(file.name for file in place.folder.glob("call-*"))


def measured(point: dict, place: Place) -> dict[str, float]:
    """Numbers that follow from the point; a file says that it was computed."""
    assert place.folder is not None
    count = 0
    while (file := Path(place.folder) / f"call-{point['method']}-{point['x']}-{point['seed']}-{count}").exists():
        count += 1
    file.touch()
    draw = randomness.generator(point["seed"], 0, point["method"])
    found = torch.randn((40, 40), generator=draw) @ torch.randn((40, 40), generator=draw)
    return {"value": float(found.sum()) * point["x"], "largest": float(found.max())}


def surroundings(point: dict, place: Place) -> dict[str, float]:
    """What a worker looks like, and how many points were kept before this one."""
    assert place.folder is not None
    kept = len(list((Path(place.folder) / "points").glob("*.json")))
    time.sleep(0.2)  # so that another worker takes the next point
    return {"threads": torch.get_num_threads(), "process": os.getpid(), "kept": kept, "in_cluster": _in_cluster()}


def _in_cluster() -> int:
    """1 in a worker of dask."""
    worker: Any = sys.modules.get("distributed.worker")
    try:
        return int(worker is not None and worker.get_worker() is not None)
    except ValueError:
        return 0


def failing(point: dict, place: Place) -> dict[str, float]:
    """One point fails, another gives NaN, a third a column of the setting."""
    special = {("a", 0): {"value": math.nan}, ("b", 0): {"seed": 3.0}}
    if (point["method"], point["x"], point["seed"]) == ("a", 3, 1):
        raise RuntimeError("the third point is broken")
    return special.get((point["method"], point["seed"]), {"value": 1.0}) if point["x"] == 1.5 else {"value": 2.0}


def ending(point: dict, place: Place) -> dict[str, float]:
    """The first time one point ends its worker."""
    assert place.folder is not None
    found = measured(point, place)
    if (point["method"], point["x"], point["seed"]) == ("b", 1.5, 0) and len(
        list(place.folder.glob("call-b-1.5-0-*"))
    ) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return found


def interrupted(point: dict, place: Place) -> dict[str, float]:
    """The third point is interrupted the first time."""
    assert place.folder is not None
    flag = Path(place.folder) / "flag"
    if len(calls(place)) == 2 and not flag.exists():
        flag.touch()
        raise KeyboardInterrupt
    return measured(point, place)


def sweep(run=measured, **changes) -> Sweep:
    """Eight points."""
    return Sweep(**{"name": "small", "description": "A test.", "settings": SETTINGS, "run": run} | changes)


def pictures(folder: Path, size: int, classes: int) -> str:
    """A folder of random pictures, as `data.load` names it."""
    draw = np.random.default_rng(0)
    for split, count in (("train", 12), ("test", 2)):
        for label in range(classes):
            for number in range(count):
                file = folder / split / f"class{label}" / f"{number:02}.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                pixels = draw.integers(0, 80, (size, size, 3), dtype=np.uint8) + np.uint8(40 * label)
                Image.fromarray(pixels).save(file)
    return f"folder:{folder}"

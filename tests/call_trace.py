"""How many files of ddlab one change passes on its way: `python -m tests.call_trace`.

Three ways are walked, and the files whose functions are called on them are listed:
- the alpha slider of lesson 30 to a ratio that is known, and to one that is not known yet (its runs included);
- `ddlab.distill("sre2l", ...)` to its first gradient.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import ddlab
from ddlab import networks
from ddlab.lessons.data_residuals.lab import ResidualLab
from ddlab.methods import fadrm, sre2l
from ddlab.training import supervised
from tests.support import made_data

ROOT = Path(ddlab.__file__).parent


class Arrived(Exception):
    """The first gradient."""


def files_passed(do: Callable[[], Any]) -> list[str]:
    """The files of ddlab in which a function was called, in any thread, while `do` ran; lambdas and class bodies do not count."""
    seen: set[str] = set()

    def look(frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and code.co_name not in ("<module>", "<lambda>"):
            seen.add(str(Path(code.co_filename).relative_to(ROOT)))

    threading.setprofile_all_threads(look) if sys.version_info >= (3, 12) else threading.setprofile(look)
    sys.setprofile(look)
    try:
        do()
    finally:
        sys.setprofile(None)
        threading.setprofile_all_threads(None) if sys.version_info >= (3, 12) else threading.setprofile(None)
    return sorted(seen)


def alpha_slider() -> dict[str, list[str]]:
    """A known ratio, then one whose run is computed."""
    data = made_data(size=16, channels=3)
    teacher = networks.initialise(networks.spec("convnet", width=4, head="mean").for_data(data), seed=0)
    config = fadrm.Config(images_per_class=1, iterations=8, merges=1, roll_pixels=1, small_size=8)

    def laboratory() -> Any:
        lab = ResidualLab(data, teacher, config, key="trace")
        lab.runner.join()
        lab.runner.close()
        return lab

    def move(lab: Any, ratio: float) -> None:
        # A fresh thread, so that it is traced from its beginning in every Python.
        lab.runner._closed = False
        lab.panel["merge_ratio"].value = ratio
        lab.runner.join()

    lab = laboratory()
    found = {
        "alpha slider, known": files_passed(lambda: move(lab, 0.8)),
        "alpha slider, computed": files_passed(lambda: move(lab, 0.3)),
    }
    lab.close()
    return found


def first_gradient() -> list[str]:
    """Of `distill` with a teacher that is there."""
    data = made_data(size=16, channels=3)
    teacher = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
    gradient = torch.autograd.grad

    def arrived(*_arguments: Any, **_options: Any) -> None:
        raise Arrived

    def distil() -> None:
        torch.autograd.grad = arrived
        try:
            ddlab.distill("sre2l", data, teacher, sre2l.Config(images_per_class=1, iterations=2), progress=False)
        except Arrived:
            pass
        finally:
            torch.autograd.grad = gradient

    ddlab.distill("sre2l", data, teacher, sre2l.Config(images_per_class=1, iterations=1), progress=False)
    return files_passed(distil)


def main() -> None:
    """Print each way with its files."""
    torch.set_num_threads(1)
    assert supervised.NAME  # what is loaded when first used is not on the way
    for way, files in {**alpha_slider(), 'distill("sre2l") to its first gradient': first_gradient()}.items():
        print(f"{way}: {len(files)} files\n  " + "\n  ".join(files))


if __name__ == "__main__":
    main()

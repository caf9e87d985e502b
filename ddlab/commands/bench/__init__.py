"""Benchmarks: how long and how much memory, as JSON with commit and machine; and the paper preset at full scale.

examples:
  ddlab bench                                          everything that two cores can do in some minutes
  ddlab bench iteration --images 10                    one SRe2L update of ResNet-18 at 32 px
  ddlab bench iteration --images 10 --method dwa       the same of DWA, and its adjustment of the teacher
  ddlab bench iteration --images 100 --method fadrm --size 224 --device cuda    FADRM at ImageNet's size
  ddlab bench outer-step --method krr_st --real-batch 256    an outer iteration of KRR-ST or Boost at the published size
  ddlab bench matching --method dm --images-per-class 10    an update of DC, DSA or DM at the published size
  ddlab bench kernels --images 100 --precision float64   an update of KIP with so many points, beside numpy's matrix products
  ddlab bench objectives --images 128                  an update by each objective without labels, beside the bare network on two views
  ddlab bench gpu --device cuda --precision bfloat16 --execution graphed --repeats 100   steps at 32 and 224 px
  ddlab bench resolutions                              FADRM at 48 and 64 px in turn against 64 px throughout
  ddlab bench toys                                     the toy world with one thread: training, validation, landscape
  ddlab bench sre2l --data folder:PATH --device cuda   the paper preset: teacher, recovery, students

Each measurement runs in a process of its own, so that its peak memory is its own. CPU-seconds count all threads.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import arguments

RESULTS = Path("test-results") / "benchmarks.json"
MEASURED = (
    "all",
    "import",
    "live",
    "iteration",
    "outer-step",
    "matching",
    "kernels",
    "objectives",
    "gpu",
    "resolutions",
    "toys",
    "sre2l",
)


def add(commands: Any) -> None:
    """Add the command to `ddlab`."""
    parser = arguments.add(commands, "bench", __doc__, run)
    parser.add_argument("what", nargs="?", default="all", choices=MEASURED)
    parser.add_argument("--out", type=Path, help="also write the JSON here (all: a file in test-results)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument(
        "--images",
        type=int,
        default=100,
        help="iteration, objectives: images in the batch; kernels: points that are learned",
    )
    parser.add_argument("--precision", default="float32", choices=("float32", "tf32", "bfloat16", "float64"))
    parser.add_argument(
        "--method",
        default="sre2l",
        choices=("sre2l", "dwa", "fadrm", "krr_st", "boost", "dc", "dsa", "dm"),
        help="iteration: of one of the first three; outer-step: of the next two; matching: of one of the last three",
    )
    parser.add_argument(
        "--execution",
        default="eager",
        choices=("eager", "compiled", "graphed"),
        help="gpu: of a step of SRe2L, FADRM or DWA",
    )
    parser.add_argument("--real-batch", type=int, default=1024, help="outer-step, kernels: real images in the loss")
    parser.add_argument(
        "--repeats", type=int, default=5, help="outer-step, kernels, objectives, gpu: how many are timed"
    )
    parser.add_argument(
        "--size",
        type=int,
        help="iteration, objectives, gpu: height and width of the images in pixels (32; gpu: 32 and 224)",
    )
    parser.add_argument("--data", default="digits", help="sre2l: a dataset's name, or folder:PATH")
    parser.add_argument("--limit", type=int, help="sre2l: so many images per class at most")
    parser.add_argument("--images-per-class", type=int, default=10)
    parser.add_argument("--iterations", type=int, help="sre2l: instead of the preset's")
    parser.add_argument("--teacher-epochs", type=int, help="sre2l: instead of the preset's")
    parser.add_argument("--student-epochs", type=int, help="sre2l: instead of the preset's")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="sre2l: settings for two CPU cores")
    parser.add_argument("--keep", help="sre2l: folder for the teacher's checkpoint and the distilled set")


def run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Measure what was asked for."""
    out = RESULTS if options.out is None and options.what == "all" else options.out
    from ...core.arithmetic import arithmetic

    with arithmetic(options.precision, options.device):
        found = _measured(options)
    return 0, reported(found, out)


def reported(results: list[dict[str, Any]], out: Path | None) -> dict[str, Any]:
    """The results with what they were measured on: printed, and written to `out`."""
    from ...core.storage import write_atomically

    found = {"machine": machine(), "results": results}
    text = json.dumps(found, indent=1)
    print(text)
    if out is not None:
        write_atomically(out, (text + "\n").encode())
    return found


def _measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    from . import steps

    if options.what == "all":
        return everything()
    if options.what == "import":
        return [importing()]
    if options.what == "live":
        return [live()]
    if options.what == "toys":
        return toys()
    if options.what == "objectives":
        settings = {"repeats": options.repeats, "size": options.size or 32}
        return steps.objective_steps(options.images, options.precision, options.device, **settings)
    if options.what == "resolutions":
        return [steps.resolutions(10)]
    if options.what == "iteration":
        settings = {"method": options.method, "size": options.size or 32}
        return [steps.iteration(options.images, options.precision, options.device, **settings)]
    if options.what == "gpu":
        from . import gpu

        sizes = gpu.SIZES if options.size is None else (options.size,)
        return gpu.every(options.device, options.images, options.precision, sizes, options.repeats, options.execution)
    if options.what == "outer-step":
        settings = {"precision": options.precision, "device": options.device, "repeats": options.repeats}
        return [steps.outer_step(options.method, real_batch=options.real_batch, **settings)]
    if options.what == "matching":
        settings = {"precision": options.precision, "device": options.device}
        return [steps.matching(options.method, images_per_class=options.images_per_class, **settings)]
    if options.what == "kernels":
        settings = {"precision": options.precision, "device": options.device, "repeats": options.repeats}
        return [steps.kernel_steps(options.images, real_batch=options.real_batch, **settings)]
    from . import replication

    return [replication.run(options)]


def machine() -> dict[str, Any]:
    """What it was measured on."""
    import torch

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip() or "unknown",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def timed(call: Callable[[], Any], repeats: int, device: str = "cpu") -> dict[str, float]:
    """CPU-seconds and wall seconds per call: the median of `repeats`, after one call to warm up."""
    import torch

    call()
    cpu, wall = [], []
    for _ in range(repeats):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.process_time(), time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return {"cpu_seconds": round(statistics.median(cpu), 4), "wall_seconds": round(statistics.median(wall), 4)}


def importing() -> dict[str, Any]:
    """Seconds of `import ddlab` in a fresh interpreter, and of the interpreter alone."""
    import_seconds = [_fresh("import ddlab") for _ in range(5)]
    empty = [_fresh("pass") for _ in range(5)]
    return {
        "name": "import ddlab",
        "wall_seconds": round(statistics.median(import_seconds) - statistics.median(empty), 4),
        "interpreter_seconds": round(statistics.median(empty), 4),
    }


def live(steps: int = 400) -> dict[str, Any]:
    """Step rate of a recovery on digits through the live explorer against the plain loop, without a browser.

    Rounds alternate, so that both see the same load of the machine.
    """
    from ...data import load
    from ...explorers import Live
    from ...methods import sre2l
    from ...methods.distillation import train_teacher
    from ...runs.process import Inputs
    from ...runs.process import steps as drive

    data = load("digits")
    teacher = train_teacher(data, progress=False)
    config = sre2l.Config.teaching(iterations=steps)
    explorer = Live("sre2l", data, teacher, config)
    inputs = Inputs(data=data, teachers=(teacher,))
    plain, played = [], []
    for _ in range(5):
        start = time.perf_counter()
        for _step in drive(sre2l, config, inputs):
            pass
        plain.append(steps / (time.perf_counter() - start))
        start = time.perf_counter()
        explorer.buttons["play"].click()
        explorer.runner.join(120)
        played.append(steps / (time.perf_counter() - start))
        explorer.buttons["reset"].click()
        explorer.runner.join()
    explorer.close()
    rates = statistics.median(plain), statistics.median(played)
    return {
        "name": "SRe2L live, digits",
        "steps_per_second_plain": round(rates[0], 1),
        "steps_per_second_played": round(rates[1], 1),
        "lost_fraction": round(1 - rates[1] / rates[0], 3),
    }


def toys() -> list[dict[str, Any]]:
    """The toy world with one thread: Figures 1 and 2 with 20 seeds, what judges them, a landscape, and a move of a lab's slider."""
    import torch

    from ... import theory
    from ...lessons.ideal_data import world

    torch.set_num_threads(1)
    settings = [theory.ToyConfig(deviation=sigma) for sigma in world.SIGMAS.values]
    runs = theory.train_toys(settings)
    fresh = itertools.count(1)

    def new_teachers() -> None:
        teacher = 0.1 + 1e-4 * next(fresh)  # teachers are kept from one call to the next; these never were
        theory.train_toys(
            [theory.ToyConfig(deviation=1.0, relabelling=rho, teacher_deviation=teacher) for rho in world.RHOS.values]
        )

    network, axis = runs.networks[-1, 0, 0], torch.linspace(-1, 1, 41)
    points, labels = (half.float() for half in theory.spread_points(settings[0].original, 250))
    directions, view = theory.toy_directions(network), world.Settings()
    work: dict[str, Callable[[], Any]] = {
        "7 Sigmas x 20 seeds x 1000 steps": lambda: theory.train_toys(settings),
        "5 rhos x 20 seeds x 1000 steps, new teachers": new_teachers,
        "their validation, 11 frames": lambda: theory.validate_toys(runs),
        "landscape 41 x 41, 500 points": lambda: theory.toy_surface(network, directions, axis, axis, points, labels),
        "one move of a lab's slider": lambda: world.answer(view, world.SIGMAS),
        "one move with the landscape": lambda: world.answer(view.replace(landscape="contours"), world.SIGMAS),
    }
    return [{"name": f"toys: {name}", **timed(call, 15)} for name, call in work.items()]


def everything() -> list[dict[str, Any]]:
    """All small benchmarks, each in its own process."""
    commands = [["import"], ["live"], ["toys"]]
    commands += [
        ["iteration", "--images", str(images), "--precision", precision]
        for images in (10, 100)
        for precision in ("float32", "bfloat16")
    ]
    commands += [["iteration", "--images", str(images), "--method", "dwa"] for images in (10, 100)]
    commands += [["outer-step", "--method", method, "--real-batch", "256"] for method in ("krr_st", "boost")]
    commands += [
        ["matching", "--method", method, "--images-per-class", count]
        for method in ("dc", "dsa", "dm")
        for count in ("1", "10")
    ]
    commands += [
        ["kernels", "--images", count, "--real-batch", batch, "--precision", "float64"]
        for count in ("10", "100", "500")
        for batch in ("256", "4096")
    ]
    commands += [["objectives", "--images", "32", "--repeats", "3"]]
    found = []
    for command in commands:
        words = [sys.executable, "-m", "ddlab", "bench", *command, "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found += json.loads(done.stdout)["results"]
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


def peak_megabytes(device: str) -> int:
    """The most memory that this process, or its GPU, has held so far."""
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated() // 2**20
    from ...runs import parallel

    return round(parallel.peak_megabytes())


def _fresh(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(
            (line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine()
        )

"""Distil a dataset into a small set that is written to a file.

examples:
  ddlab distill sre2l --data digits -o digits.safetensors
  ddlab distill dwa --data shapes size=16 --config images_per_class=5 iterations=100 --save-teacher teacher.safetensors -o set.safetensors
  ddlab distill fadrm --data shapes size=16 --teacher teacher.safetensors --config '{"images_per_class": 5}' -o set.safetensors
  ddlab distill selection --data photos/ --config kind=k_means -o set.safetensors
  ddlab distill sre2l --data cifar10 root=DATA --preset paper:cifar10 --checkpoint run.safetensors --device cuda -o set.safetensors
  ddlab distill sre2l --data cifar10 root=DATA --preset paper:cifar10 --checkpoint run.safetensors --jobs -1 -o set.safetensors

The first line says what memory the run takes; what does not fit is refused, and --memory stops there.

Methods: `ddlab.methods.names()` or their short names. Where the method needs a teacher and none is given, one is trained. Ctrl-C leaves
what there is, marked as not complete; with --checkpoint the same command goes on from there. With --jobs or --dask the batches of SRe2L,
DWA and FADRM are made at the same time, the same set bit for bit: Ctrl-C then leaves what is done beside the checkpoint, and no set.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import arguments


def add(commands: Any) -> None:
    """Add the command to `ddlab`."""
    parser = arguments.add(commands, "distill", __doc__, run)
    parser.add_argument("method", metavar="METHOD")
    arguments.add_data(parser)
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="where the set is written")
    parser.add_argument(
        "--preset", default="teaching", metavar="teaching|paper[:DATASET]", help="the settings to begin from"
    )
    parser.add_argument(
        "--config", nargs="+", default=(), metavar="NAME=VALUE", help="other settings; or one JSON object"
    )
    teacher = parser.add_mutually_exclusive_group()
    teacher.add_argument("--teacher", metavar="FILE", help="a trained network")
    teacher.add_argument("--save-teacher", metavar="FILE", help="train a teacher and write it here")
    parser.add_argument(
        "--teacher-config", nargs="+", default=(), metavar="NAME=VALUE", help="settings of the teacher trained here"
    )
    parser.add_argument("--checkpoint", metavar="FILE", help="go on from here if it exists, and write to it")
    parser.add_argument("--memory", action="store_true", help="say what memory the run would take, and stop")
    parser.add_argument(
        "--resume-anyway", action="store_true", help="also from a checkpoint of another version of the source"
    )
    arguments.add_workers(parser, "with as many threads each as one alone (OMP_NUM_THREADS)")


def run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Distil, and write the set."""
    from .. import methods, networks
    from ..core import errors, memory
    from ..methods.distillation import distill

    method = methods.get(options.method)
    preset, _, dataset = options.preset.partition(":")
    errors.check_choice("--preset", preset, ("paper",) if dataset else ("teaching", "paper"))
    make = method.Config.teaching if preset == "teaching" else method.Config.paper
    config = make(*filter(None, [dataset]), **arguments.changes(method.Config, "--config", options.config))
    data = arguments.dataset(options)
    shown = {"device": options.device, "progress": arguments.progress(options), "resume_anyway": options.resume_anyway}
    teacher = networks.load(options.teacher) if options.teacher else None
    wanted = method.NEEDS_TEACHER or options.save_teacher or options.teacher_config
    training = _training(options, method, data) if wanted and teacher is None else None
    needed = _memory(method, config, data, teacher, training, options.device)
    each = ", in each process" if options.jobs != 1 or options.dask else ""
    print(f"memory: {memory.text(needed)} at most, beside the data and PyTorch itself{each}")
    if options.memory:
        return 0, {"method": method.NAME, "data": data.name, "memory_bytes": needed, "config": config.to_dict()}
    if training is not None:
        teacher = _trained(options, data, training, shown)
    spread = {"jobs": options.jobs, "dask": options.dask}
    made = distill(method.NAME, data, teacher, config, checkpoint=options.checkpoint, **spread, **shown)
    file = _saved(made, options.out)
    print(f"written: {file}, {len(made)} images{'' if made.complete else ', not complete: interrupted'}")
    found = {"set": str(file), "method": method.NAME, "data": data.name, "images": len(made), "complete": made.complete}
    found["memory_bytes"] = needed
    status = 130 if not made.complete else int(file != Path(options.out))
    return status, found | {"config": config.to_dict()}


def _saved(made: Any, out: str) -> Any:
    """The file: where it was asked for, or, if that cannot be written any more, among the temporary ones."""
    from ..core.errors import DDLabError

    try:
        return made.save(out)
    except DDLabError as problem:
        print(f"{problem} It is kept elsewhere:", file=sys.stderr)
        return made.save(Path(tempfile.mkdtemp(prefix="ddlab-")) / Path(out).name)


def _training(options: argparse.Namespace, method: Any, data: Any) -> Any:
    """The settings of the teacher that the method asks for, with labels or without."""
    from ..training import self_supervised, supervised

    without_labels = getattr(method, "WITHOUT_LABELS", False)
    kind = self_supervised.Config if without_labels else supervised.Config
    settings = arguments.changes(kind, "--teacher-config", options.teacher_config)
    return kind.for_data(data, *(() if without_labels else ("teacher",)), **settings)


def _memory(method: Any, config: Any, data: Any, teacher: Any, training: Any, device: str) -> int:
    """The bytes that the run takes, the training of its teacher included; more than are free are refused."""
    from .. import networks
    from ..runs import memory
    from ..runs.process import Inputs
    from ..training import self_supervised, supervised

    needed = []
    if training is not None:
        own = isinstance(training, self_supervised.Training)
        process = self_supervised.teacher_of(training) if own else supervised
        needed.append(memory.checked_bytes(process, training, Inputs(data=data, device=device)))
        teacher = networks.initialise(training.network.for_data(data), seed=0)  # of the same shapes
    teachers = () if teacher is None else (teacher,)
    return max([*needed, memory.checked_bytes(method, config, Inputs(data=data, teachers=teachers, device=device))])


def _trained(options: argparse.Namespace, data: Any, config: Any, shown: dict[str, Any]) -> Any:
    """The teacher, written where the options say."""
    from ..methods.distillation import train_teacher

    beside = f"{options.checkpoint}.teacher" if options.checkpoint else None
    teacher = train_teacher(data, config, checkpoint=beside, **shown)
    if not teacher.provenance["complete"]:
        raise KeyboardInterrupt("the teacher was still being trained")
    if options.save_teacher:
        print(f"written: {teacher.save(options.save_teacher)}, the teacher")
    return teacher

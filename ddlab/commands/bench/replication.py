"""SRe2L from the data to the students' accuracy, at the published settings or at small ones; `ddlab bench sre2l`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from ... import data, networks
from ...evaluation import accuracy, evaluate
from ...methods import selection, sre2l
from ...runs import checkpoint
from ...runs import process as driver
from ...training import supervised
from .. import arguments
from . import peak_megabytes


def settings(options: argparse.Namespace) -> tuple[supervised.Config, supervised.Config, sre2l.Config]:
    """How teacher, student and images are trained.

    With --small, settings for two cores (ConvNet of width 48, fewer images and iterations); the published ones otherwise.
    """
    epochs = {"epochs": options.teacher_epochs} if options.teacher_epochs else {}
    if options.small:
        common: dict[str, Any] = {"network": networks.spec("convnet", width=48)}
        teaching = supervised.Config.teaching(
            "teacher", **{"crop_pixels": 4, "flip": True, "epochs": 15, "batch_size": 128} | common | epochs
        )
        student = supervised.Config.teaching(crop_pixels=4, flip=True, epochs=options.student_epochs or 300, **common)
        recovery = sre2l.Config(images_per_class=options.images_per_class, iterations=options.iterations or 200)
    else:
        teaching = supervised.Config.paper(role="teacher", **epochs)
        student = supervised.Config.paper(**({"epochs": options.student_epochs} if options.student_epochs else {}))
        recovery = sre2l.Config.paper(images_per_class=options.images_per_class)
        if options.iterations:
            recovery = recovery.replace(iterations=options.iterations)
    return teaching, student, recovery


def run(options: argparse.Namespace) -> dict[str, Any]:
    """SRe2L end to end: teacher, recovery, students; accuracy, seconds per iteration, peak memory.

    With `options.keep` teacher and recovery write checkpoints there, and a second call goes on from them.
    """
    options_of_folder = {"limit": options.limit} if options.limit else {}
    loaded = data.load(options.data, **options_of_folder)
    teaching, student, recovery = settings(options)
    shown = arguments.progress(options)
    folder = Path(options.keep) if options.keep else None
    teacher_file = None if folder is None else folder / "teacher-checkpoint.safetensors"
    start = time.perf_counter()
    teacher = driver.run(
        supervised, teaching, driver.Inputs(data=loaded, device=options.device), progress=shown, checkpoint=teacher_file
    )
    teacher_seconds = time.perf_counter() - start
    inputs = driver.Inputs(data=loaded, teachers=(teacher,), device=options.device)
    start = time.perf_counter()
    made_file = None if folder is None else folder / "recovery-checkpoint.safetensors"
    done_before = 0
    if made_file is not None and made_file.exists():
        done_before = checkpoint.load(made_file, sre2l, recovery, inputs).step
    recovered = driver.run(sre2l, recovery, inputs, progress=shown, checkpoint=made_file)
    per_iteration = (time.perf_counter() - start) / max(sre2l.total_steps(recovery, inputs) - done_before, 1)
    memory = peak_megabytes(options.device)
    real = driver.run(selection, selection.Config(images_per_class=options.images_per_class), inputs)
    if folder is not None:
        recovered.save(folder / "recovered.safetensors")
    seeds = tuple(range(options.seeds))
    accuracies = {}
    for name, chosen in (("recovered", recovered), ("real", real)):
        for labels in ("hard", "stored", "online"):
            result = evaluate(
                chosen, loaded, labels=labels, teacher=teacher, config=student, seeds=seeds, device=options.device
            )
            accuracies[f"{name}, {labels}"] = {
                "mean": round(result.mean, 4),
                "interval": result.interval and [round(end, 4) for end in result.interval],
                "per_seed": [round(value, 4) for value in result.per_seed.values()],
            }
            print(name, result, flush=True)
    return {
        "name": "sre2l end to end", "data": loaded.name, "train_images": len(loaded.train_labels), "small": options.small,
        "images_per_class": options.images_per_class, "config": recovery.to_dict(), "student": student.to_dict(),
        "device": options.device, "teacher_accuracy": round(accuracy(teacher, loaded), 4),
        "teacher_seconds": round(teacher_seconds, 1), "seconds_per_iteration": round(per_iteration, 5),
        "peak_megabytes": memory, "accuracy": accuracies,
    }  # fmt: skip

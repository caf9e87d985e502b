"""What a rebuilding of the house must leave as it is, written down before and after, and compared.

python -m tests.freeze write OLD.json                   on the tree before, with one thread: some minutes
python -m tests.freeze write NEW.json                   on the tree after, on the same machine
python -m tests.freeze compare OLD.json NEW.json        names every difference; exit status 1 if there is one
python -m tests.freeze write OLD.json --only states     one section or several; of `compare` too

Entries are keyed by what a move does not change: names of processes, cases and streams. Tensors are
written as dtype, shape and SHA-256 of their bytes, numbers by `repr`. Run it with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ddlab
from ddlab import evaluation, methods, networks
from ddlab.core import randomness
from ddlab.core.storage import fingerprint
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import dwa, selection, sre2l
from ddlab.networks import Network
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import pretraining, self_supervised, supervised
from tests.contract.cases import CASES, bundle, states
from tests.support import leaves, made_data

Entries = dict[str, Any]

# Every stream that the library draws from; of those whose name has a part that varies, one or two.
_STREAMS = """
augment; cutmix; random part; order; mixup; randomised bases; folder split; shapes train; shapes test;
shuffled pixels; reference noise; reference images; order of classes; held-out part; latents; diversity pool;
diversity view; images for bases, training; images for bases, held-out; real images on the map; assignment case;
assignment pair; images for the rank; exercise; settings of Descent; exercise 1; exercise 2; latents of claim D2;
real images of the map; mixtures of claim R5; lesson 20 noise; claim D1; theorem 3; appendix A.1; corollary 1;
network 0 of the pool; pool steps; crop and flip; real images; roll; noise images; image bases; image coefficients;
representation bases; representation coefficients; random adjustment; outer step; real images of the pairs;
realism crops; k-means of all; average; k-means; network weights; real images of a record; projector weights;
colours; shift networks; crop views; sgd on two classes; views; mixture noise; mixture labels; landscape direction;
toy noise student; toy labels student; toy weights student; toy noise teacher; toy labels teacher;
toy weights teacher; folds of a transport
"""
STREAMS = " ".join(_STREAMS.split()).split("; ")
TINY = networks.spec("convnet", width=8)


# -- how values are written


def written(value: Any) -> str:
    """A value as text: equal texts are equal bits."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        return f"{plain.dtype} {list(plain.shape)} {digest(plain.view(-1).view(torch.uint8).numpy().tobytes())}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)} {digest(np.ascontiguousarray(value).tobytes())}"
    if value is None or isinstance(value, (str, int, float, bool)):
        return repr(value)
    raise TypeError(f"no way to write {type(value).__name__} so that equal texts are equal values")


def digest(content: bytes) -> str:
    """24 hexadecimal digits of the SHA-256."""
    return hashlib.sha256(content).hexdigest()[:24]


def together(value: Any) -> str:
    """Everything inside a value, in one text: of a tensor itself, else one hash of all names and values."""
    found = list(leaves(value))
    if len(found) == 1 and found[0][0] == "":
        return written(value)
    lines = "\n".join(f"{name} {written(item)}" for name, item in found)
    return f"{len(found)} values {digest(lines.encode())}"


def by_field(value: Any) -> Entries:
    """An entry for each field of a dataclass."""
    return {field.name: together(getattr(value, field.name)) for field in dataclasses.fields(value)}


def under(name: str, entries: Mapping[str, Any]) -> Entries:
    """The same entries, below a name."""
    return {f"{name}/{key}": value for key, value in entries.items()}


def of_result(result: Network | DistilledSet) -> Entries:
    """What a process returns: all fields and its fingerprint."""
    return by_field(result) | {"fingerprint": result.fingerprint}


def trained(data: ImageData, seed: int = 0) -> Network:
    """A small teacher."""
    config = supervised.Config.teaching(
        "teacher", network=TINY, epochs=20, batch_size=12, crop_pixels=0, learning_rate=0.02, seed=seed
    )
    return process.run(supervised, config, Inputs(data=data, device="cpu"))


# -- the sections


def of_states() -> Entries:
    """State, Trace and result of every case of the contract, after every update."""
    data = made_data()
    teacher = trained(data)
    chosen = process.run(selection, selection.Config(images_per_class=2), Inputs(data=data, teachers=(teacher,)))
    found: Entries = {}
    for case in CASES:
        inputs = bundle(case, data, teacher, chosen)
        first = case.module.init(case.config, inputs)
        found |= under(f"{case.name}/start", by_field(first))
        found[f"{case.name}/process"] = case.module.NAME
        found[f"{case.name}/config"] = fingerprint(case.config)
        found[f"{case.name}/inputs"] = inputs.fingerprint
        last = first
        for step in states(case, inputs):
            found |= under(f"{case.name}/step {step.index} of {step.total}/state", by_field(step.state))
            found |= under(f"{case.name}/step {step.index} of {step.total}/trace", by_field(step.trace))
            last = step.state
        found |= under(f"{case.name}/result", of_result(case.module.finish(case.config, inputs, last)))
    return found


def of_draws() -> Entries:
    """The first four numbers of every stream."""
    found: Entries = {}
    for stream in ("", *STREAMS):
        for seed, step in ((0, 0), (1, 0), (0, 1), (7, 300), (123456, 2)):
            draw = torch.rand(4, generator=randomness.generator(seed, step, stream)).tolist()
            other = randomness.numpy_generator(seed, step, stream).random(4).tolist()
            name = f"{stream!r}, seed {seed}, step {step}"
            found[f"{name}/torch"], found[f"{name}/numpy"] = repr(draw), repr(other)
            found[f"{name}/seed"] = randomness.derived_seed(seed, step, stream)
    return found


def of_training() -> Entries:
    """Teachers, students and sets by the public functions, and the files that they are kept in."""
    data, other = made_data(train=30), made_data(train=30, seed=5)
    quiet: dict[str, Any] = {"device": "cpu", "progress": False}
    teaching = supervised.Config.teaching("teacher", network=TINY, epochs=3)
    teacher = ddlab.train_teacher(data, teaching, **quiet)
    small: dict[str, Any] = {"network": TINY, "projector_width": 6, "epochs": 3, "warmup_epochs": 1, "batch_size": 16}
    unlabelled = ddlab.train_teacher(data, self_supervised.Config(**small), **quiet)
    found = under("teacher", of_result(teacher)) | under("teacher without labels", of_result(unlabelled))
    found["methods"] = [f"{name}: {' '.join(methods.get(name).ALIASES)}" for name in methods.names()]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.safetensors"
        config = sre2l.Config.teaching(iterations=12, images_per_class=2)
        made = ddlab.distill("sre2l", data, teacher, config, checkpoint=file, **quiet)
        found["sre2l/checkpoint"] = digest(file.read_bytes())
        found["sre2l/file"] = digest(made.save(Path(folder) / "set.safetensors").read_bytes())
        found["teacher/file"] = digest(teacher.save(Path(folder) / "teacher.safetensors").read_bytes())
    found |= under("sre2l", of_result(made))
    adjusted = dwa.Config.teaching(iterations=6, images_per_class=2)
    found |= under("dwa", of_result(ddlab.distill("dwa", data, teacher, adjusted, **quiet)))
    found |= under("random", of_result(ddlab.distill("selection", data, **quiet)))
    student = supervised.Config.teaching(network=TINY, epochs=5)
    for labels in ("hard", "stored", "online"):
        tested = ddlab.evaluate(made, data, labels=labels, teacher=teacher, seeds=(0, 1), config=student, device="cpu")
        found[f"evaluate, {labels}"] = repr(tested.per_seed)
    views = student.replace(mixup_alpha=0.0, cutmix_alpha=1.0)
    stored = ddlab.relabelled(made, teacher, labels="epochs", views=views, epochs=2, device="cpu")
    found |= under("relabelled", of_result(stored))
    shared: dict[str, Any] = {"labels": "online", "teacher": teacher, "seeds": (0,), "config": student, "device": "cpu"}
    families = [networks.spec("convnet", width=4), networks.spec("vit", width=8, depth=1)]
    across = evaluation.across(made, data, networks=families, **shared)
    found["across"] = repr({name: one.per_seed for name, one in across.evaluations.items()})
    tasks = evaluation.class_incremental(made, data, tasks=3, **shared)
    found["class_incremental"] = repr([(stage.classes, stage.evaluation.per_seed) for stage in tasks.stages])
    found["accuracy"] = repr(evaluation.accuracy(teacher, data))
    paired = ddlab.distill("representation_selection", data, unlabelled, **quiet)
    found |= under("representation_selection", of_result(paired))
    learned = evaluation.pretrained(
        paired,
        {"source": data, "other": other},
        seeds=(0,),
        config=pretraining.Config(network=TINY, epochs=3),
        candidates=(1e-2,),
        device="cpu",
    )
    found["pretrained"] = repr({name: learned.of(name).mean for name in ("source", "other")})
    return found


SECTIONS: dict[str, Callable[[], Entries]] = {
    "states": of_states,
    "draws": of_draws,
    "training": of_training,
}


# -- writing and comparing


def write(path: Path, names: list[str]) -> None:
    """Run these sections and write what they found."""
    torch.set_num_threads(1)
    found: dict[str, Any] = {"made with": made_with(), "seconds": {}, "sections": {}}
    for name in names:
        begun = time.process_time()
        entries = json.loads(json.dumps(SECTIONS[name]()))
        spent = round(time.process_time() - begun, 1)
        found["sections"][name], found["seconds"][name] = entries, spent
        print(f"{name}: {len(entries)} entries in {spent:.1f} s of CPU", flush=True)
    path.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def made_with() -> Entries:
    """What the bits may depend on beside the source."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """A line for every entry that is gone, new or another."""
    lines = []
    for name in dict.fromkeys([*old, *new]):
        if name not in new:
            lines.append(f"gone: {name} (was {_short(old[name])})")
        elif name not in old:
            lines.append(f"new: {name} (is {_short(new[name])})")
        elif old[name] != new[name]:
            lines.append(f"changed: {name}: {_apart(old[name], new[name])}")
    return lines


def compare(old: Mapping[str, Any], new: Mapping[str, Any], names: list[str]) -> int:
    """Print every difference and what was compared; the exit status."""
    count = 0
    for line in differences(old["made with"], new["made with"]):
        count += 1
        print(f"made with: {line}")
    for name in names:
        lines = differences(old["sections"].get(name, {}), new["sections"].get(name, {}))
        count += len(lines)
        for line in lines:
            print(f"{name}: {line}")
        sizes = [len(one["sections"].get(name, ())) for one in (old, new)]
        print(f"{name}: {sizes[0]} and {sizes[1]} entries compared, {len(lines)} differences")
        if 0 in sizes:
            count += 1
            print(f"{name}: nothing to compare")
    print("all the same" if count == 0 else f"{count} differences")
    return int(count > 0)


def _apart(old: Any, new: Any) -> str:
    """Where two values differ: of lists what each has alone, of long texts from shortly before the first difference."""
    if isinstance(old, list) and isinstance(new, list):
        gone, more = ([item for item in one if item not in other] for one, other in ((old, new), (new, old)))
        if gone or more:
            return f"{_short(gone)} -> {_short(more)}"
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > 150:
        first = next(n for n, (a, b) in enumerate(zip_longest(old, new)) if a != b)
        start = max(0, first - 30)
        return f"from character {start} on {_short(old[start:])} -> {_short(new[start:])}"
    return f"{_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 150 else f"{text[:150]}..."


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = options.add_subparsers(dest="what", required=True)
    writing, comparing = parts.add_parser("write"), parts.add_parser("compare")
    writing.add_argument("file", type=Path)
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    for part in (writing, comparing):
        part.add_argument("--only", nargs="+", choices=tuple(SECTIONS), default=tuple(SECTIONS), metavar="SECTION")
    given = options.parse_args(arguments)
    if given.what == "write":
        write(given.file, given.only)
        return 0
    old, new = (json.loads(file.read_text(encoding="utf-8")) for file in (given.old, given.new))
    return compare(old, new, given.only)


if __name__ == "__main__":
    sys.exit(main())

"""What a rebuilding of the house must leave as it is: the states of every case of the contract, one
line each.

python -m tests.freeze OLD.txt            on the tree before, and NEW.txt on the tree after, on the same machine
diff OLD.txt NEW.txt                      names every difference

Tensors are written as dtype, shape and SHA-256 of their bytes, numbers by `repr`.
"""

import dataclasses
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ddlab import networks
from ddlab.core.storage import fingerprint
from ddlab.data import ImageData
from ddlab.methods import selection
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.training import supervised
from tests.contract.cases import CASES, bundle, states
from tests.support import leaves, made_data, run_to_end

TINY = networks.spec("convnet", width=8)


def written(value: Any) -> str:
    """A value as text: equal texts are equal bits."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        return (
            f"{plain.dtype} {list(plain.shape)} "
            f"{digest(plain.view(-1).view(torch.uint8).numpy().tobytes())}"
        )
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)} {digest(np.ascontiguousarray(value).tobytes())}"
    if value is None or isinstance(value, (str, int, float, bool)):
        return repr(value)
    raise TypeError(f"no way to write {type(value).__name__} so that equal texts are equal values")


def digest(content: bytes) -> str:
    """24 hexadecimal digits of the SHA-256."""
    return hashlib.sha256(content).hexdigest()[:24]


def together(value: Any) -> str:
    """Everything inside a value, in one text: of a tensor itself, else one hash of all names and
    values.
    """
    named_leaves = list(leaves(value))
    if len(named_leaves) == 1 and named_leaves[0][0] == "":
        return written(value)
    lines = "\n".join(f"{name} {written(item)}" for name, item in named_leaves)
    return f"{len(named_leaves)} values {digest(lines.encode())}"


def by_field(value: Any) -> dict[str, str]:
    """An entry for each field of a dataclass."""
    return {field.name: together(getattr(value, field.name)) for field in dataclasses.fields(value)}


def trained(data: ImageData, seed: int = 0) -> Network:
    """A small teacher."""
    config = supervised.Config.teaching(
        "teacher",
        network=TINY,
        epochs=20,
        batch_size=12,
        crop_pixels=0,
        learning_rate=0.02,
        seed=seed,
    )
    return run_to_end(supervised, config, Inputs(data=data, device="cpu"))


def lines() -> Iterator[str]:
    """State, Trace and result of every case, after every update."""
    data = made_data()
    teacher = trained(data)
    chosen = run_to_end(
        selection, selection.Config(images_per_class=2), Inputs(data=data, teachers=(teacher,))
    )
    for case in CASES:
        inputs = bundle(case, data, teacher, chosen)
        last = case.module.init(case.config, inputs)
        yield f"{case.name}: {case.module.NAME} {fingerprint(case.config)} {inputs.fingerprint}"
        parts = {"start": last}
        for step in states(case, inputs):
            parts |= {f"state {step.index}": step.state, f"trace {step.index}": step.trace}
            last = step.state
        parts["result"] = case.module.finish(case.config, inputs, last)
        for part, value in parts.items():
            yield from (
                f"{case.name}/{part}/{name}: {text}" for name, text in by_field(value).items()
            )


if __name__ == "__main__":
    torch.set_num_threads(1)
    Path(sys.argv[1]).write_text("\n".join(lines()) + "\n", encoding="utf-8")

"""`pretrained`: a network of ours with the weights that torchvision publishes, from a local file.

From 65 px on these families have torchvision's names and shapes: resnet18, resnet50, mobilenet_v2, shufflenet_v2_x0_5, efficientnet_b0 and
densenet121. Our vgg11 and alexnet have other heads; `from_module` takes torchvision's own modules, these too.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from ..core import errors, storage
from ..core.boundary import checked
from ..core.errors import DDLabError
from ._stems import is_small
from .family import said
from .specification import FAMILIES, ImageSize, Network, hooked_layers, skeleton, spec

IMAGENET = {"mean": torch.tensor([0.485, 0.456, 0.406]), "std": torch.tensor([0.229, 0.224, 0.225])}
"""How torchvision's weights expect images: `dataclasses.replace(data, **networks.IMAGENET)` normalises them so, at every stage."""

_OLD_DENSENET = re.compile(
    r"(denselayer\d+\.(?:norm|conv))\.([12])"
)  # norm.1 in torchvision's files, norm1 in its modules


@checked
def pretrained(family: str, path: str | os.PathLike[str], *, image_size: ImageSize = (224, 224)) -> Network:
    """A network of ours with the weights of a state_dict, as torchvision publishes them, for as many classes as it has.

    A `.safetensors` file, or a `.pth` of torch. That one is a pickle, and the only one that ddlab reads: by torch's restricted reader
    (`weights_only=True`), which makes tensors and containers of them and runs no code of the file.

    Its images are to be normalised by `IMAGENET`, not by the mean and std of your images:
    `data = dataclasses.replace(data, **networks.IMAGENET)` before anything is made of them.

    Args:
        family: whose names and shapes those of the file are: "resnet18", "resnet50", "mobilenet_v2", "shufflenet_v2_x0_5",
            "efficientnet_b0", "densenet121".
        image_size: (height, width), above 64 px: smaller images get another stem here.

    Raises:
        DDLabError: a missing, damaged or foreign file, or one of another architecture.
    """
    errors.check_choice("family", family, tuple(FAMILIES))
    if is_small(image_size):
        errors.fail("image_size", "above 64 px, where the stem is torchvision's", image_size)
    path = storage.checked_path(path)
    found = {_OLD_DENSENET.sub(r"\1\2", name): value for name, value in _state_dict(path).items()}
    described = replace(spec(family), channels=3, classes=1, image_size=image_size)
    last = found.get(f"{hooked_layers(described)[1]}.weight", torch.zeros(1))
    described = replace(described, classes=len(last) if last.ndim else 1)
    # Files from before torch 0.4 do not count batches; nothing here reads the count.
    counted = (name for name, _ in skeleton(described).named_buffers() if name.endswith(".num_batches_tracked"))
    weights = {name: torch.tensor(0) for name in counted} | found
    with storage.made_from(path, f"state_dict of {family}"):
        return Network(spec=described, weights=weights, provenance={"process": "pretrained", "file": path.name})


def _state_dict(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name."""
    if not path.is_file():
        raise DDLabError(f"path must be an existing file of weights; given {str(path)!r}, which is no file.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's on old formats
            found: Any = (
                safetensors.torch.load_file(path)
                if path.suffix == ".safetensors"
                else torch.load(path, map_location="cpu", weights_only=True)
            )
    except Exception as problem:  # torch raises a dozen kinds for files that are not its own
        reason = f"which is none or a damaged one ({said(problem)})"
        raise DDLabError(f"path must be a state_dict in .safetensors or .pth; given {str(path)!r}, {reason}.") from None
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise DDLabError(
            f"path must be a state_dict, names with tensors; given {str(path)!r}, which holds something else."
        )
    return {str(name): value.detach() for name, value in found.items()}

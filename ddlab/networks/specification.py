"""Networks as data: a spec, and a flat dict of weights and buffers."""

import copy
import os
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, Self

import torch
from torch import Tensor, nn

from ..core import DDLabError, Parameters, as_usual, describe, devices, errors, randomness, storage
from . import convnet, mlp, text, vit, zoo
from .family import REGISTERED, Family, on_meta, refuse, tensors_of, try_module

# A module, or an Architecture.
FAMILIES: dict[str, Any] = {
    "convnet": convnet,
    **zoo.FAMILIES,
    "vit": vit,
    "mlp": mlp,
    **text.FAMILIES,
}
# Channels, classes and pixels of a side; far above what fits, and far below what overflows.
LARGEST = 10**5
_cache = threading.local()  # .skeletons: dict[NetworkSpec, nn.Module]
_tried: set["NetworkSpec"] = set()  # whose factory is known to start anew by the seed


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """An architecture: a family, its options, and the data it is built for.

    channels, classes and image_size (height, width) stay None until `for_data` fills them in.
    """

    family: str
    options: Parameters
    channels: int | None = None
    classes: int | None = None
    image_size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        errors.check_choice("family", self.family, (*FAMILIES, *REGISTERED))
        if not isinstance(self.options, _family(self.family).Options):
            errors.fail("options", f"the Options of {self.family}", self.options)
        for name in ("channels", "classes"):
            if getattr(self, name) is not None:
                errors.check_integer(name, getattr(self, name), 1, LARGEST)
        if self.image_size is not None:
            size = check_size("image_size", self.image_size, _family(self.family).SMALLEST_IMAGE)
            object.__setattr__(self, "image_size", size)

    def for_data(self, data: Any, *, outputs: int | None = None) -> Self:
        """Return the same architecture for the channels, classes and image size of `data`.

        `data` is an ImageData or a DistilledSet.

        Args:
            outputs: of the last layer where they are not the classes: the size of the
                representations that it learns.
        """
        family = _family(self.family)
        if not all(hasattr(data, name) for name in ("channels", "classes", "image_size")):
            errors.fail("data", "an ImageData or a DistilledSet", data)
        # Said here, with the size that would do; torch's own error speaks of a kernel larger than
        # its input.
        if min(data.image_size) < family.SMALLEST_IMAGE:
            raise DDLabError(
                f"image_size must be at least {family.SMALLEST_IMAGE} for {self.family}; "
                f"given {tuple(data.image_size)}."
            )
        classes = data.classes if outputs is None else outputs
        return replace(
            self, channels=data.channels, classes=classes, image_size=tuple(data.image_size)
        )

    @property
    def complete(self) -> bool:
        """True if the data's shape is known."""
        return None not in (self.channels, self.classes, self.image_size)

    @property
    def title(self) -> str:
        """The family with the options that differ from their defaults."""
        changed = self.options.to_string()
        return f"{self.family}({changed})" if changed else self.family

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON types."""
        size = None if self.image_size is None else list(self.image_size)
        described: dict[str, Any] = {"family": self.family, "options": self.options.to_dict()}
        return described | {"channels": self.channels, "classes": self.classes, "image_size": size}

    @classmethod
    def from_name(cls, argument: str, name: str) -> Self:
        """Return a family with its default options: `argument` is what an error calls it."""
        return cls(**_parts(name, {}, argument))

    @classmethod
    def from_dict(cls, described: Mapping[str, Any] | str) -> Self:
        """Return the inverse of `to_dict`; a text is the name of a family."""
        if isinstance(described, str):
            return cls.from_name("network", described)
        if not isinstance(described, Mapping) or not isinstance(
            described.get("options", {}), Mapping
        ):
            errors.fail(
                "network",
                "a mapping of family, options, channels, classes and image_size",
                described,
            )
        family = described.get("family")
        size = described.get("image_size")
        # A file says "small", which somebody registered elsewhere: the sentence says how to do it
        # here.
        if isinstance(family, str) and family not in (*FAMILIES, *REGISTERED):
            errors.fail(
                "family",
                f"one of ddlab's or made known by networks.register({family!r}, factory)",
                family,
            )
        shape: dict[str, Any] = {"image_size": tuple(size) if isinstance(size, list) else size}
        for name in ("channels", "classes"):
            shape[name] = described.get(name)
        return cls(**_parts(family, described.get("options", {})), **shape)


def check_size(argument: str, size: Any, low: int = 1) -> tuple[int, int]:
    """Return (height, width) if that is what it is, of at least `low` pixels each."""
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        errors.fail(argument, "(height, width)", size)
    height, width = (errors.check_integer(argument, side, low, LARGEST) for side in size)
    return height, width


ImageSize = Annotated[tuple[int, int], check_size]


def spec(family: str, **options: Any) -> NetworkSpec:
    """Describe a network.

    Args:
        family: one of `ddlab.networks.FAMILIES`, or one of your own (`register`); with options in
            brackets, as tables print it.
        options: of that family (convnet: width, growth, depth, norm, activation, pooling, head;
            vit: patch_size, width, depth, heads, norm).

    Raises:
        DDLabError: an unknown family or option, or a value that is not allowed.

    >>> spec("convnet", width=64).title
    'convnet(width=64)'
    >>> spec("convnet(width=64)") == spec("convnet", width=64)
    True
    """
    return NetworkSpec(**_parts(family, options))


def _parts(family: Any, options: Mapping[str, Any], argument: str = "family") -> dict[str, Any]:
    if isinstance(family, str) and family.endswith(")") and family not in REGISTERED:
        # "convnet(width=64)" is what tables print, so it can be pasted back.
        family, _, text = family[:-1].partition("(")
        if family in FAMILIES:
            printed = FAMILIES[family].Options.from_string(text)
            options = {name: getattr(printed, name) for name in describe(printed)} | dict(options)
    try:
        errors.check_choice(argument, family, (*FAMILIES, *REGISTERED))
    except DDLabError as problem:
        raise DDLabError(
            f"{str(problem)[:-1]}, which networks.register has not made known."
        ) from None
    kind = _family(family)
    is_own = isinstance(kind, Family)
    return {
        "family": family,
        "options": kind.options(dict(options)) if is_own else kind.Options(**options),
    }


def _family(name: str) -> Any:  # ours, or a Family
    return REGISTERED.get(name) or FAMILIES[name]


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A spec with weights.

    Attributes:
        spec: complete (made with `for_data`).
        weights: parameters and buffers by name, as in the module's state_dict.
        provenance: how it came about (JSON types): process, config, accuracy, whether training was
            complete.
        class_names: what its outputs are, in order; None where nobody said it, or where they are no
            classes. No part of the fingerprint.
        normalisation: (mean, std) of the images that it was trained on, a number for each channel,
            in units of [0, 1] pixels; None where nobody said it. No part of the fingerprint.
    """

    spec: NetworkSpec
    weights: dict[str, Tensor]
    provenance: dict[str, Any] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None
    normalisation: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        _check_complete(self.spec)
        check_weights(
            self.spec, errors.check_instance("weights", self.weights, dict, "a dict of tensors")
        )
        for name, value in self.weights.items():
            if not errors.is_dense(value):
                errors.check_tensor(f"weights[{name!r}]", value, finite=False)
        errors.check_instance("provenance", self.provenance, dict, "a dict of JSON types")
        if self.class_names is not None:
            names = errors.check_names("class_names", self.class_names)
            if len(names) != self.spec.classes:
                errors.fail(
                    "class_names",
                    f"a name for each of {self.spec.classes} outputs",
                    f"{len(names)} names",
                )
            object.__setattr__(self, "class_names", names)
        if self.normalisation is not None:
            mean, std = (tuple(map(float, values)) for values in self.normalisation)
            if not len(mean) == len(std) == self.spec.channels:
                errors.fail(
                    "normalisation",
                    f"mean and std of {self.spec.channels} channels",
                    self.normalisation,
                )
            object.__setattr__(self, "normalisation", (mean, std))

    def __repr__(self) -> str:
        numbers = sum(value.numel() for value in self.weights.values())
        height, width = self.spec.image_size or (0, 0)
        shape = f"{self.spec.channels} x {height} x {width} to {self.spec.classes} outputs"
        return f"<Network {self.spec.title}: {shape}, {numbers:,} numbers>"

    @property
    def fingerprint(self) -> str:
        """A hash of architecture and weights, as they are now."""
        return storage.kept_fingerprint(self, self.spec, self.weights)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(iter(self.weights.values())).device

    def to(self, device: torch.device | str) -> Self:
        """Return the same network on a device: "auto", "cpu" or "cuda"."""
        device = devices.checked_device(device)
        if {value.device for value in self.weights.values()} == {device}:
            return self
        return replace(
            self,
            weights={
                name: devices.to_device(value, device) for name, value in self.weights.items()
            },
        )

    def __call__(self, images: Tensor) -> Tensor:
        """Return the logits [n, classes] of normalised images [n, channels, h, w].

        In evaluation mode and without gradients; `module` has them.
        """
        from .calling import predict

        return predict(self, images).logits

    def module(self) -> nn.Module:
        """Return a plain `nn.Module` with copies of the weights, in evaluation mode.

        It is yours to call, to hook and to train.

        Images [n, channels, h, w] in, logits [n, classes] out. Unlike `networks.call` it keeps what
        it is changed to.
        """
        # The skeleton's classes and attributes with tensors of this network's own.
        bare = skeleton(self.spec)
        copies: dict[int, Any] = {}
        for name, value in tensors_of(bare).items():
            tensor = self.weights[name].detach().clone()
            copies[id(value)] = (
                nn.Parameter(tensor, value.requires_grad)
                if isinstance(value, nn.Parameter)
                else tensor
            )
        return copy.deepcopy(bare, copies).eval()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write to one safetensors file, new or of the same kind.

        With `overwrite` any file is replaced.

        Warns:
            UserWarning: a network of a reader's own, whose file holds no code.
        """
        if self.spec.family in REGISTERED:
            call = f"networks.register({self.spec.family!r}, factory)"
            warnings.warn(
                f"the file holds weights alone: where it is loaded, {call} must have been called.",
                stacklevel=2,
            )
        description: dict[str, Any] = {"spec": self.spec.to_dict(), "provenance": self.provenance}
        if self.class_names is not None:
            description["class_names"] = list(self.class_names)
        if self.normalisation is not None:
            description["normalisation"] = [list(values) for values in self.normalisation]
        return storage.save(path, self.weights, description, "network", overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> Network:
    """Read a network that `Network.save` wrote.

    Raises:
        DDLabError: missing, truncated or foreign file, or weights that do not fit the architecture.
    """
    tensors_of, header = storage.load(path, "network")
    with storage.made_from(path, "network"):
        described = NetworkSpec.from_dict(header["spec"])
        about = header["provenance"]
        return Network(
            spec=described,
            weights=tensors_of,
            provenance=about,
            class_names=header.get("class_names"),
            normalisation=header.get("normalisation"),
        )


@as_usual
def initialise(described: NetworkSpec, *, seed: int) -> Network:
    """Draw the weights of a network: the same seed gives the same weights.

    Raises:
        DDLabError: a spec without the data's shape, or a seed below 0.
    """
    _check_complete(described)
    errors.check_integer("seed", seed, 0)
    registered = REGISTERED.get(described.family)
    if registered is not None and described.options.source in registered.templates:  # type: ignore[attr-defined]
        start = f"networks.spec({registered.FAMILY!r}) after networks.register({registered.FAMILY!r}, factory)"
        refuse(
            "a network that starts anew",
            f"have a factory ({start})",
            "the spec of a module that was handed in",
        )
    weights = _draw_weights(described, seed)
    # Two more draws and a pass: once for each architecture and not for each student.
    if registered is not None and described not in _tried:
        _try_out(described, seed, weights)
    return Network(
        spec=described, weights=weights, provenance={"process": "initialise", "seed": seed}
    )


def _draw_weights(described: NetworkSpec, seed: int) -> dict[str, Tensor]:
    # torch's initialisers take no generator; `Draws` hands them ours without touching the global
    # one.
    with randomness.Draws(randomness.generator(seed, 0, "network weights")):
        module = _build(described)
    return {name: value.detach().clone() for name, value in tensors_of(module).items()}


def _try_out(described: NetworkSpec, seed: int, weights: dict[str, Tensor]) -> None:
    """Check that a registered family starts anew by the seed and can be used.

    This is done once for each network, before a student begins.
    """
    family = described.family
    # A factory that seeds for itself, or draws with numpy, would give every student the same start,
    # or none the same twice.
    same_seed_weights = _draw_weights(described, seed)
    other_weights = _draw_weights(described, seed + 1)
    equal_names = [name for name in weights if torch.equal(weights[name], same_seed_weights[name])]
    if len(equal_names) < len(weights) or all(
        torch.equal(weights[name], other_weights[name]) for name in weights
    ):
        problem = (
            "other weights for the same seed"
            if len(equal_names) < len(weights)
            else "the same weights for every seed"
        )
        refuse(
            f"the factory of {family!r}", "draw its weights from torch's global generator", problem
        )
    with randomness.Draws(randomness.generator(seed)):
        try_module(
            f"network {family!r}", _build(described), _shape(described), described.classes or 0
        )
    _tried.add(described)


def skeleton(described: NetworkSpec) -> nn.Module:
    """Return the module without weights (on the meta device), one per thread and spec.

    Running a network swaps tensors in and out of the module, so threads must not share one.
    """
    cache: dict[NetworkSpec, nn.Module] = _cache.__dict__.setdefault("skeletons", {})
    if not isinstance(described, NetworkSpec) or described not in cache:
        _check_complete(described)
        with torch.device("meta"), randomness.Draws(randomness.generator(0)):
            module = _build(described)
        # A factory's is on the CPU.
        cache[described] = on_meta(module) if described.family in REGISTERED else module
    return cache[described]


def parameter_names(described: NetworkSpec) -> list[str]:
    """Return the names of the trainable weights, in the module's order."""
    return [name for name, _ in skeleton(described).named_parameters()]


def batch_norm_layers(described: NetworkSpec) -> list[str]:
    """Return the names of the BatchNorm2d layers, in the module's order."""
    return [
        name
        for name, module in skeleton(described).named_modules()
        if isinstance(module, nn.BatchNorm2d)
    ]


def hooked_layers(described: NetworkSpec) -> tuple[str, str]:
    """Return the names of the last convolutional stage and of the classifier.

    A module of your own may have no such stage: "".
    """
    family = _family(described.family)
    return (
        _find_hooked_layers(described)
        if isinstance(family, Family)
        else (family.last_conv(skeleton(described)), family.CLASSIFIER)
    )


@lru_cache(maxsize=64)
def _find_hooked_layers(described: NetworkSpec) -> tuple[str, str]:
    family: Any = _family(described.family)
    return family.layers(skeleton(described), _shape(described), described.options)


def _shape(described: NetworkSpec) -> tuple[int, int, int]:
    height, width = described.image_size or (0, 0)
    return described.channels or 0, height, width


def _build(described: NetworkSpec) -> nn.Module:
    return _family(described.family).build(
        described.channels, described.classes, described.image_size, described.options
    )


def check_weights(described: NetworkSpec, weights: Mapping[str, Tensor]) -> None:
    """Raise if these are not the tensors of the architecture.

    Names, shapes, and one floating-point dtype are compared.

    Called at every pass: some microseconds.
    """
    layout = _layout(described)
    kinds = set()
    fits = isinstance(weights, Mapping) and weights.keys() == layout.keys()
    for name, (shape, floating) in layout.items() if fits else ():
        value = weights[name]
        fits = (
            fits
            and isinstance(value, Tensor)
            and value.shape == shape
            and value.is_floating_point() == floating
        )
        if fits and floating:
            kinds.add(value.dtype)
    if not fits or len(kinds) > 1:
        _refuse_weights(described, layout, weights)


def _refuse_weights(
    described: NetworkSpec, layout: Mapping[str, tuple[torch.Size, bool]], weights: Any
) -> NoReturn:
    """Say which tensor is the first that does not belong."""
    allowed = f"the parameters and buffers of {described.title}, of one dtype"
    if not isinstance(weights, Mapping) or not weights:
        errors.fail("weights", allowed, weights)
    odd = [f"without {name!r}" for name in layout if name not in weights]
    for name in weights:
        if name not in layout:
            odd.append(f"with {name!r}, which it has not")
    for name, (shape, floating) in layout.items():
        value = weights.get(name, torch.empty(shape))
        if not isinstance(value, Tensor):
            odd.append(f"with {name!r} as {errors.describe(value)}")
        elif value.shape != shape or value.is_floating_point() != floating:
            odd.append(
                f"with {name!r} of {value.dtype} and shape {list(value.shape)} instead of "
                f"{list(shape)}"
            )
    raise DDLabError(
        f"weights must be {allowed}; given tensors {odd[0] if odd else 'of several dtypes'}."
    )


@lru_cache(maxsize=64)
def _layout(described: NetworkSpec) -> dict[str, tuple[torch.Size, bool]]:
    """Return the shape of each tensor, and whether it is a floating-point one."""
    return {
        name: (value.shape, value.is_floating_point())
        for name, value in tensors_of(skeleton(described)).items()
    }


def _check_complete(described: NetworkSpec) -> None:
    if not isinstance(described, NetworkSpec):
        errors.fail("spec", "a NetworkSpec", described)
    if not described.complete:
        errors.fail("spec", "completed with spec.for_data(data)", described.title)

"""`Family`: a reader's own family of networks, with the parts that ours have.

`register` and `from_module` make them (own.py).

Its modules are written by others, so they are tried before they are used. Only there, and in
`takes_size`, does a network run outside of `call`.
"""

from __future__ import annotations  # Options names an attribute of the class too

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, NoReturn

import torch
from torch import Tensor, nn

from ..core import DDLabError, Parameters, errors, parameter
from ..core.randomness import Draws, generator
from ..core.source import code_of, unhashable

Factory = Callable[[int, int, tuple[int, int]], nn.Module]
REGISTERED: dict[str, Family] = {}


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """A family of one's own has no options.

    `source` is filled in: networks of edited code are others, in every key and file.
    """

    source: str = parameter("", help="A hash of the code that builds it.")

    def to_string(self) -> str:
        return ""


@dataclass(frozen=True)
class Template:
    """A module that was handed in, on the meta device.

    `shape` (channels, height, width) and `classes` are what it was made for.
    """

    module: nn.Module
    shape: tuple[int, int, int]
    classes: int
    classifier: str | None
    last_conv: str | None


@dataclass(frozen=True, eq=False)
class Family:
    """A family of networks that a reader has registered or handed in.

    Attributes:
        factory: (channels, classes, image_size) -> module; None where only modules were handed in,
            which cannot start anew.
        CLASSIFIER, LAST_CONV: names of submodules; None where they are found by running it.
        templates: the modules that were handed in, by `Options.source`.
    """

    FAMILY: str
    factory: Factory | None = None
    SMALLEST_IMAGE: int = 1
    CLASSIFIER: str | None = None
    LAST_CONV: str | None = None
    templates: dict[str, Template] = field(default_factory=dict)
    Options: ClassVar = Options

    @property
    def source(self) -> str:
        """A hash of the factory, as it is now."""
        return code_of(self.factory, self.CLASSIFIER, self.LAST_CONV)

    @property
    def is_hashable(self) -> bool:
        """True if `source` tells every edit.

        It does not where the factory names a random generator, an open file and the like.
        """
        return not unhashable(self.factory)

    def options(self, fields: dict[str, Any]) -> Options:
        """Return the options of a module that was handed in, if these are its own.

        Otherwise return those of the factory as it is now.
        """
        options = Options(**fields)
        if options.source in self.templates:
            return options
        if self.factory is None:
            start = f"a factory to be built anew (networks.register({self.FAMILY!r}, factory))"
            raise DDLabError(
                f"network must have {start}; given {self.FAMILY!r}, of which there is a "
                "module alone."
            )
        return Options(source=self.source)

    def build(
        self, channels: int, classes: int, image_size: tuple[int, int], options: Any
    ) -> nn.Module:
        """Return a new module.

        The factory draws it on the CPU; one that was handed in comes without weights.
        """
        template = self.templates.get(options.source)
        # A module that was handed in: its factory, if there is one, may build something else by
        # now.
        if template is not None:
            return self._copy(template, (channels, *image_size), classes, options)
        if self.factory is None or options.source != self.source:
            current = f"that of {self.FAMILY!r} as its factory is now (networks.spec makes it)"
            raise DDLabError(
                f"network must be {current}; given one from before the factory was edited."
            )
        argument = f"the factory of {self.FAMILY!r}"
        with torch.device("cpu"):
            try:
                built = self.factory(channels, classes, image_size)
            except DDLabError:
                raise
            except Exception as problem:
                refuse(
                    argument,
                    f"build a module for ({channels}, {classes}, {image_size})",
                    error_text(problem),
                )
        if not isinstance(built, nn.Module):
            refuse(argument, "return an nn.Module", errors.describe(built))
        return usable(argument, built)

    def _copy(
        self, template: Template, shape: tuple[int, int, int], classes: int, options: Any
    ) -> nn.Module:
        if template.shape != shape:
            refuse(
                f"images for {self.FAMILY!r}",
                f"be of shape {list(template.shape)}",
                str(list(shape)),
            )
        module = copy.deepcopy(template.module)
        if classes != template.classes:  # some of its outputs: `evaluation.incremental`
            _, name = self.layers(module, shape, options)
            last: Any = module.get_submodule(name)
            # A class-incremental teacher answers for the classes so far; the rest of the module
            # stays.
            few = nn.Linear(
                last.in_features,
                classes,
                last.bias is not None,
                device="meta",
                dtype=last.weight.dtype,
            )
            module.set_submodule(name, few)
        return module

    def layers(
        self, module: nn.Module, shape: tuple[int, int, int], options: Any
    ) -> tuple[str, str]:
        """Return the names of the last convolutional map and of the classifier.

        `module` is of this family and on the meta device.
        """
        template = self.templates.get(options.source)
        named = (
            (self.LAST_CONV, self.CLASSIFIER)
            if template is None
            else (template.last_conv, template.classifier)
        )
        return find_layers(f"network {self.FAMILY!r}", module, shape, *named)


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Return parameters and buffers by name, in the order of the state_dict.

    Buffers that it leaves out come last, and tied tensors stand once.
    """
    # `state_dict` alone lacks buffers that are not persistent, and names a tied tensor twice.
    named = dict(module.named_parameters()) | dict(module.named_buffers())
    return {name: named[name] for name in (*module.state_dict(), *named) if name in named}


def on_meta(module: nn.Module) -> nn.Module:
    """Return a copy without weights; `Module.to` would part tied ones."""
    return _copy_with(module, lambda value: value.detach().to("meta"))


def zeros_of(module: nn.Module) -> nn.Module:
    """Return a copy of a module with all weights 0, in evaluation mode on the CPU.

    It serves to follow shapes.

    Of `Module.to_empty`, and of a pass on the meta device, torch would import its compiler: two
    seconds, 140 MB, and an interrupt there breaks it for the rest of the process.
    """
    return _copy_with(
        module, lambda value: torch.zeros(value.shape, dtype=value.dtype, device="cpu")
    ).eval()


def _copy_with(module: nn.Module, replacement: Callable[[Tensor], Tensor]) -> nn.Module:
    """Return a copy with other tensors, tied where they were."""
    copies: dict[int, Any] = {}
    for value in (*module.parameters(), *module.buffers()):
        tensor = replacement(value)
        # `deepcopy` takes its memo as given: each tensor in it is replaced, and ties stay ties.
        copies[id(value)] = (
            nn.Parameter(tensor, value.requires_grad) if isinstance(value, nn.Parameter) else tensor
        )
    return copy.deepcopy(module, copies)


def usable(argument: str, module: nn.Module) -> nn.Module:
    """Return a copy of a module, of float32 numbers.

    Raises:
        DDLabError: a module that cannot be copied, lazy layers, batch norms without running
            statistics, numbers that are not finite.
    """
    # A lazy layer has no shape yet, so nothing below could run.
    lazy = [name for name, value in module.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        refuse(
            argument,
            "be built whole (run it once on an image, or give the sizes)",
            f"a lazy layer ({lazy[0]!r})",
        )
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and not part.track_running_stats:
            refuse(
                argument,
                "have running statistics in each batch norm",
                f"{name!r} with track_running_stats=False",
            )
    for name, value in tensors_of(module).items():
        if (
            value.is_floating_point()
            and not value.is_meta
            and not bool(torch.isfinite(value).all())
        ):
            refuse(argument, "have finite numbers", f"NaN or infinity in {name!r}")
    kinds = {value.dtype for value in tensors_of(module).values() if value.is_floating_point()} - {
        torch.float32
    }
    try:
        copied = copy.deepcopy(module)
    except Exception as problem:
        refuse(argument, "be one that copy.deepcopy can copy", error_text(problem))
    if kinds:
        kind = ", ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        warnings.warn(f"{argument} has {kind} numbers, which become float32.", stacklevel=4)
    return copied.float() if kinds else copied


def try_module(argument: str, module: nn.Module, shape: tuple[int, int, int], classes: int) -> None:
    """Run a module of ours once in evaluation mode, and refuse what no method could use."""
    # Random and not 0: a network of zeros would answer 0 whatever is wrong with it.
    images = torch.randn((2, *shape), generator=generator(0))
    try:
        weights = {
            name: value.detach().clone() for name, value in tensors_of(module.eval()).items()
        }
        like = next(value for value in weights.values() if value.is_floating_point())
        with torch.no_grad(), Draws(generator(0)):
            logits: Any = torch.func.functional_call(module, weights, (images.to(like),))
        fits = logits.shape == (2, classes) and bool(logits.isfinite().all())
    except Exception as problem:
        refuse(argument, f"run on images of shape {list(images.shape)}", error_text(problem))
    if not fits:
        refuse(
            argument,
            f"give finite logits of shape [2, {classes}] for two images",
            errors.describe(logits),
        )
    # Of one class every softmax is 1, and so may any logit be.
    if classes > 1 and errors.are_probabilities(logits):
        refuse(
            argument,
            "give logits (leave the softmax out: training and labels take it themselves)",
            "probabilities, whose rows sum to 1",
        )


def find_layers(
    argument: str,
    module: nn.Module,
    shape: tuple[int, int, int],
    last_conv: str | None,
    classifier: str | None,
) -> tuple[str, str]:
    """Return the names of the last map before global pooling and of the classifier.

    The map is "" where there is none; the classifier's outputs are the logits.

    A module on the meta device runs as a copy with weights of 0 on the CPU.
    """
    maps, linear, logits = _record(argument, module, shape)
    last = _classifier(argument, linear, logits, classifier)
    names = [feature_map.name for feature_map in maps]
    if last_conv is not None:
        if last_conv not in names:
            refuse(
                f"last_conv of {argument}",
                "be the name of a layer with an output [n, c, h, w]",
                repr(last_conv),
            )
        return last_conv, last
    large = max(
        (number for number, feature_map in enumerate(maps) if feature_map.pixels > 1), default=-1
    )
    # What follows the last map of several pixels is a pooling without parameters, or a convolution
    # that ends in one pixel.
    pooled = 0 <= large < len(maps) - 1 and not maps[large + 1].has_parameters
    return (names[large if pooled else -1] if names else ""), last


class _Map(NamedTuple):
    """An output [n, c, h, w] of a layer."""

    name: str
    pixels: int
    has_parameters: bool


def _record(
    argument: str, module: nn.Module, shape: tuple[int, int, int]
) -> tuple[list[_Map], dict[str, Tensor], Tensor]:
    """Return the maps in order, the outputs [n, k] of linear layers by name, and the module's
    output.
    """
    maps: list[_Map] = []
    linear: dict[str, Tensor] = {}

    def record(name: str, part: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        if not isinstance(output, Tensor):
            return
        # Linear layers on tokens [n, t, d] are no classifier.
        if isinstance(part, nn.Linear) and output.ndim == 2 and arguments:
            linear[name] = output
        if output.ndim == 4:
            maps.append(
                _Map(name, output.shape[2] * output.shape[3], bool(list(part.parameters())))
            )

    run = zeros_of(module)
    for name, part in run.named_modules():
        part.register_forward_hook(partial(record, name))
    like = next(run.parameters())
    try:
        with torch.no_grad(), torch.device("cpu"):
            return maps, linear, run(torch.zeros((2, *shape), dtype=like.dtype))
    except Exception as problem:
        refuse(
            argument, f"run on images of shape {[2, *shape]} with weights of 0", error_text(problem)
        )


def _classifier(argument: str, linear: dict[str, Tensor], logits: Tensor, name: str | None) -> str:
    """Return the linear layer of this name, or the last one whose output is the module's."""
    # The same memory and not equal numbers: with weights of 0 every layer's output is equal.
    candidates = [name for name, output in linear.items() if output.is_set_to(logits)]
    requirement = "be the name of a linear layer [n, features] -> [n, classes]"
    listed = f"none whose output is the logits (there are: {', '.join(linear) or 'none'})"
    if name is None:
        return (
            candidates[-1]
            if candidates
            else refuse(f"classifier of {argument}", requirement, listed)
        )
    return name if name in linear else refuse(f"classifier of {argument}", requirement, repr(name))


def parts_of(module: nn.Module) -> list[Any]:
    """Return what a module consists of beside its numbers: classes, plain attributes and shapes."""
    shapes = [
        (name, str(value.dtype), tuple(value.shape)) for name, value in tensors_of(module).items()
    ]
    attributes = []
    for name, part in module.named_modules():
        attributes.append(
            (
                name,
                type(part),
                {
                    key: value
                    for key, value in vars(part).items()
                    if key[0] != "_" and key != "training"
                },
            )
        )
    return [*attributes, shapes]


def refuse(argument: str, requirement: str, problem: str) -> NoReturn:
    """Raise one sentence about somebody's module; `problem` is in words."""
    raise DDLabError(f"{argument} must {requirement}; given {problem}.") from None


def error_text(problem: Exception) -> str:
    """Return the first line of somebody's error, as part of a sentence."""
    words = (str(problem).splitlines() or [""])[0].rstrip(".")[:200]
    return f"{type(problem).__name__}{words and ': '}{words}"

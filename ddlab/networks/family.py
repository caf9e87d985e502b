"""`Family`: a family of one's own, with what a module of ours offers; `register` and `from_module`
make them (own.py).

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

from ..core import errors
from ..core.errors import DDLabError
from ..core.parameters import Parameters, parameter
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
    """A module that was handed in, on the meta device, and what it was made for: (channels, height,
    width), and classes.
    """

    module: nn.Module
    shape: tuple[int, int, int]
    classes: int
    classifier: str | None
    last_conv: str | None


@dataclass(frozen=True, eq=False)
class Family:
    """What a module of a family offers.

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
        """True if `source` tells every edit: not where the factory names a random generator, an
        open file, ...
        """
        return not unhashable(self.factory)

    def options(self, given: dict[str, Any]) -> Options:
        """Return the options of a module that was handed in, if they are these; else those of the factory,
        as it is now.
        """
        asked = Options(**given)
        if asked.source in self.templates:
            return asked
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
        """Return a module that is nobody else's: drawn on the CPU by the factory, or that which was handed
        in, without weights.
        """
        template = self.templates.get(options.source)
        if template is not None:
            return self._copied(template, (channels, *image_size), classes, options)
        if self.factory is None or options.source != self.source:
            now = f"that of {self.FAMILY!r} as its factory is now (networks.spec makes it)"
            raise DDLabError(
                f"network must be {now}; given one from before the factory was edited."
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
                    said(problem),
                )
        if not isinstance(built, nn.Module):
            refuse(argument, "return an nn.Module", errors.describe(built))
        return usable(argument, built)

    def _copied(
        self, template: Template, shape: tuple[int, int, int], classes: int, options: Any
    ) -> nn.Module:
        if template.shape != shape:
            refuse(
                f"images for {self.FAMILY!r}",
                f"be of shape {list(template.shape)}",
                str(list(shape)),
            )
        module = copy.deepcopy(template.module)
        if classes != template.classes:  # some of its outputs: `continual.teacher_of`
            _, name = self.layers(module, shape, options)
            last: Any = module.get_submodule(name)
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
        """Return the names of (last convolutional map, classifier) in a module of this family on the meta
        device.
        """
        template = self.templates.get(options.source)
        named = (
            (self.LAST_CONV, self.CLASSIFIER)
            if template is None
            else (template.last_conv, template.classifier)
        )
        return found_layers(f"network {self.FAMILY!r}", module, shape, *named)


def tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, in the order of the state_dict; then buffers that it leaves
    out. Tied ones stand once.
    """
    known = dict(module.named_parameters()) | dict(module.named_buffers())
    return {name: known[name] for name in (*module.state_dict(), *known) if name in known}


def on_meta(module: nn.Module) -> nn.Module:
    """Return a copy without weights; `Module.to` would part tied ones."""
    return _with(module, lambda value: value.detach().to("meta"))


def zeros_of(module: nn.Module) -> nn.Module:
    """Return a copy of a module without weights on the CPU, all of them 0, in evaluation mode: to follow
    shapes.

    Of `Module.to_empty`, and of a pass on the meta device, torch would import its compiler: two
    seconds, 140 MB, and an interrupt there breaks it for the rest of the process.
    """
    return _with(
        module, lambda value: torch.zeros(value.shape, dtype=value.dtype, device="cpu")
    ).eval()


def _with(module: nn.Module, other: Callable[[Tensor], Tensor]) -> nn.Module:
    """Return a copy with other tensors, tied where they were."""
    held: dict[int, Any] = {}
    for value in (*module.parameters(), *module.buffers()):
        new = other(value)
        held[id(value)] = (
            nn.Parameter(new, value.requires_grad) if isinstance(value, nn.Parameter) else new
        )
    return copy.deepcopy(module, held)


def usable(argument: str, module: nn.Module) -> nn.Module:
    """Return a copy of a module, of float32 numbers.

    Raises:
        DDLabError: a module that cannot be copied, lazy layers, batch norms without running
            statistics, numbers that are not finite.
    """
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
    for name, value in tensors(module).items():
        if (
            value.is_floating_point()
            and not value.is_meta
            and not bool(torch.isfinite(value).all())
        ):
            refuse(argument, "have finite numbers", f"NaN or infinity in {name!r}")
    kinds = {value.dtype for value in tensors(module).values() if value.is_floating_point()} - {
        torch.float32
    }
    try:
        copied = copy.deepcopy(module)
    except Exception as problem:
        refuse(argument, "be one that copy.deepcopy can copy", said(problem))
    if kinds:
        kind = ", ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        warnings.warn(f"{argument} has {kind} numbers, which become float32.", stacklevel=4)
    return copied.float() if kinds else copied


def tried(argument: str, module: nn.Module, shape: tuple[int, int, int], classes: int) -> None:
    """Run a module that is ours once in evaluation mode, as `call` does, and refuse what no method
    could use.
    """
    images = torch.randn((2, *shape), generator=generator(0))
    try:
        weights = {name: value.detach().clone() for name, value in tensors(module.eval()).items()}
        like = next(value for value in weights.values() if value.is_floating_point())
        with torch.no_grad(), Draws(generator(0)):
            logits: Any = torch.func.functional_call(module, weights, (images.to(like),))
        fits = logits.shape == (2, classes) and bool(logits.isfinite().all())
    except Exception as problem:
        refuse(argument, f"run on images of shape {list(images.shape)}", said(problem))
    if not fits:
        refuse(
            argument,
            f"give finite logits of shape [2, {classes}] for two images",
            errors.describe(logits),
        )


def found_layers(
    argument: str,
    module: nn.Module,
    shape: tuple[int, int, int],
    last_conv: str | None,
    classifier: str | None,
) -> tuple[str, str]:
    """(name of the last map before global pooling, "" where there is none; name of the linear layer
    whose outputs are the logits).

    A module on the meta device runs as a copy with weights of 0 on the CPU.
    """
    maps, linear, logits = _recorded(argument, module, shape)
    last = _classifier(argument, linear, logits, classifier)
    names = [one.name for one in maps]
    if last_conv is not None:
        if last_conv not in names:
            refuse(
                f"last_conv of {argument}",
                "be the name of a layer with an output [n, c, h, w]",
                repr(last_conv),
            )
        return last_conv, last
    large = max((number for number, one in enumerate(maps) if one.pixels > 1), default=-1)
    # What follows the last map of several pixels is a pooling without parameters, or a convolution
    # that ends in one pixel.
    pooled = 0 <= large < len(maps) - 1 and not maps[large + 1].has_parameters
    return (names[large if pooled else -1] if names else ""), last


class _Map(NamedTuple):
    """An output [n, c, h, w] of a layer."""

    name: str
    pixels: int
    has_parameters: bool


def _recorded(
    argument: str, module: nn.Module, shape: tuple[int, int, int]
) -> tuple[list[_Map], dict[str, Tensor], Tensor]:
    """Return the maps in the order in which they are made, the outputs [n, k] of linear layers by name,
    and what the module gives.
    """
    maps: list[_Map] = []
    linear: dict[str, Tensor] = {}

    def record(name: str, part: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        if not isinstance(output, Tensor):
            return
        if isinstance(part, nn.Linear) and output.ndim == 2 and given:
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
        refuse(argument, f"run on images of shape {[2, *shape]} with weights of 0", said(problem))


def _classifier(argument: str, linear: dict[str, Tensor], logits: Tensor, asked: str | None) -> str:
    """Return the linear layer that is asked for, or the last one whose output is what the module gives."""
    ends = [name for name, output in linear.items() if output.is_set_to(logits)]
    wanted = "be the name of a linear layer [n, features] -> [n, classes]"
    there = f"none whose output is the logits (there are: {', '.join(linear) or 'none'})"
    if asked is None:
        return ends[-1] if ends else refuse(f"classifier of {argument}", wanted, there)
    return asked if asked in linear else refuse(f"classifier of {argument}", wanted, repr(asked))


def parts_of(module: nn.Module) -> list[Any]:
    """What a module is made of beside its numbers: classes, plain attributes and shapes."""
    shapes = [
        (name, str(value.dtype), tuple(value.shape)) for name, value in tensors(module).items()
    ]
    own = [
        (
            name,
            type(part),
            {
                key: value
                for key, value in vars(part).items()
                if key[0] != "_" and key != "training"
            },
        )
        for name, part in module.named_modules()
    ]
    return [*own, shapes]


def refuse(argument: str, wanted: str, given: str) -> NoReturn:
    """Raise one sentence about somebody's module; `given` is in words."""
    raise DDLabError(f"{argument} must {wanted}; given {given}.") from None


def said(problem: Exception) -> str:
    """Return the first line of somebody's error, as part of a sentence."""
    words = (str(problem).splitlines() or [""])[0].rstrip(".")[:200]
    return f"{type(problem).__name__}{words and ': '}{words}"

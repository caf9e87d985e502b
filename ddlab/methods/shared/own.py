"""A method of your own by its loss: images that descend it. What every such method shares is here.

    def loss(config, inputs, images, labels, step):
        rows = inputs.data.of_class(3)
        return (images[labels == 3].mean(0) - inputs.data.normalised(rows,
        device=inputs.device).mean(0)).square().sum()

    mine = ddlab.from_loss("means", loss, iterations=100)
    ddlab.distill(mine, data)

A method that learns more than images, or in another way, is a process of its own:
`ddlab.runs.process` says of which parts.
"""

from __future__ import annotations  # State and Trace name attributes of the class too

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...core import (
    Parameters,
    checked,
    describe,
    errors,
    optimisers,
    parameter,
    randomness,
    with_default,
)
from ...core.optimisers import AdamState
from ...distilled import DistilledSet
from ...networks import NetworkSpec
from ...runs import Inputs, Look, Number
from . import descent, recovery

Loss = Callable[[Any, Inputs, Tensor, Tensor, int], Any]
_ARGUMENTS = ("config", "inputs", "images", "labels", "step")
_REPEATED = 1e-5  # of the loss: what the order of sums may change
_KINDS = (bool, int, float, str, NetworkSpec, Parameters)


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """What every method from a loss has; `from_loss` adds the loss's own parameters."""

    images_per_class: int = parameter(
        1, range=(1, None), help="Images learned for each class.", explorable=(1, 10)
    )
    iterations: int = parameter(
        100, range=(1, None), help="Updates of the images.", explorable=(10, 400), step=10
    )
    learning_rate: float = parameter(
        0.1,
        range=(0, None),
        open_low=True,
        scale="log",
        help="Adam's on the images.",
        explorable=(0.01, 1.0),
    )
    initialisation: str = parameter(
        "real",
        choices=("real", "noise"),
        help="Where images begin: random real ones, or N(0, 1).",
        explorable=True,
    )
    valid_pixels: bool = parameter(
        True, help="Whether pixels stay between black and white.", explorable=True
    )
    seed: int = parameter(
        0, range=(0, None), help="Of every draw: generator(config.seed, step, stream)."
    )


@dataclass(frozen=True)
class State:
    """All that is needed to go on.

    `images`: float32 [images_per_class * classes, c, h, w], normalised, classes in turn.
    """

    step: int
    images: Tensor
    optimiser: AdamState


@dataclass(frozen=True)
class Trace:
    """The loss before the update, and its terms where it has several."""

    loss: Tensor
    terms: dict[str, Tensor]


class FromLoss:
    """The process that `from_loss` makes."""

    State = State
    Trace = Trace
    ALIASES = ()
    total_steps = staticmethod(descent.total_steps)

    def __init__(
        self, name: str, loss: Loss, config: type[Parameters], needs_teacher: bool
    ) -> None:
        self.NAME = name
        self.loss = loss
        self.NEEDS = ("data", "teacher") if needs_teacher else ("data",)
        self.Config: Any = config
        self.Config.of_method = self  # so that a Config says whose it is, as one of a module does
        self.__module__ = config.__module__  # the user's: whose source a checkpoint is of

    def __repr__(self) -> str:
        return f"<method {self.NAME!r} from a loss>"

    def init(self, config: Any, inputs: Inputs) -> State:
        """Return random real images of each class, or noise."""
        images = descent.first_images(self.NAME, config, inputs)
        self._check_repeatable(config, inputs, images)
        return State(0, images, optimisers.adam_init({"images": images}))

    def _check_repeatable(self, config: Any, inputs: Inputs, images: Tensor) -> None:
        """Raise if the loss of the same images at the same step is another number."""
        losses = []
        for _ in range(2):
            with randomness.seeded(config.seed, 0, self.NAME, inputs.device):
                _, terms = self._terms(config, inputs, images, 0)
            losses.append(sum(float(term.detach()) for term in terms.values()))
        first, second = losses
        # Not equal bits: some sums of a GPU come in any order.
        if abs(first - second) > _REPEATED * max(abs(first), abs(second)):
            errors.fail(
                f"the loss of {self.NAME}",
                "the same number whenever images and step are the same, so that its draws come from "
                "ddlab.methods.generator(config.seed, step, stream)",
                f"{first:.9g}, then {second:.9g}",
            )

    def update(self, config: Any, inputs: Inputs, state: State) -> tuple[State, Trace]:
        """Take one Adam step against the gradient of the loss with respect to the images."""
        images, terms = self._terms(config, inputs, state.images, state.step)
        with torch.enable_grad():
            loss = torch.stack(list(terms.values())).sum()
            (gradient,) = (
                torch.autograd.grad(loss, images, allow_unused=True)
                if loss.requires_grad
                else (None,)
            )
        if gradient is None:
            errors.fail(
                f"the loss of {self.NAME}",
                "computed from images, so that it has a gradient",
                loss.detach(),
            )
        moved, optimiser = optimisers.adam_update(
            {"images": state.images},
            {"images": gradient},
            state.optimiser,
            learning_rate=config.learning_rate,
        )
        images_after = moved["images"]
        if config.valid_pixels:
            images_after = recovery.clamp_to_valid(
                images_after, *inputs.data.valid_range(inputs.device)
            )
        # A single term is the loss itself and would be drawn twice.
        shown_terms = (
            {name: term.detach() for name, term in terms.items()} if len(terms) > 1 else {}
        )
        return State(state.step + 1, images_after, optimiser), Trace(loss.detach(), shown_terms)

    def _terms(
        self, config: Any, inputs: Inputs, images: Tensor, step: int
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return images that learn, and the terms of their loss."""
        learned = images.detach().requires_grad_()
        labels = descent.classes_in_turn(len(images), inputs.data).to(images.device)
        with torch.enable_grad():
            terms = self.loss(config, inputs, learned, labels, step)
        return learned, _checked_terms(self.NAME, terms)

    def finish(self, config: Any, inputs: Inputs, state: State) -> DistilledSet:
        """Return the images with hard labels, and with a teacher's where there is one."""
        return descent.images_in_turn(self.NAME, config, inputs, state, config.iterations)

    def look(self, config: Any, inputs: Inputs, state: State, trace: Trace | None) -> Look:
        """Return the images, the loss and its terms."""
        terms = {} if trace is None else {"loss": trace.loss, **trace.terms}
        numbers = {name: Number(value, curve="loss") for name, value in terms.items()}
        return descent.look_at(inputs, state, numbers)


@checked
def from_loss(name: str, loss: Loss, *, needs_teacher: bool = False, **parameters: Any) -> FromLoss:
    """Return a method whose images descend `loss` by Adam.

    It serves `distill`, `Run`, `Live` and whatever else takes a method.

    Args:
        name: of the method.
        loss: (config, inputs, images, labels, step) -> a tensor of one number, or a dict of such
            terms, of which the sum is the loss. images: float32 [n, channels, height, width],
            normalised like `inputs.data`; labels: int64 [n]; step: updates done, for
            `ddlab.methods.generator(config.seed, step, stream)`. What torch, numpy and Python draw
            without a generator of their own is seeded anew at each step.
        needs_teacher: whether `distill` trains a teacher where none is given
            (`inputs.teachers[0]`).
        parameters: fields of its `Config`: a default (bool, int, float, str, NetworkSpec or
            Parameters), or `ddlab.methods.parameter(default, help=..., range=..., explorable=...)`
            to give it a slider. Other defaults for images_per_class (1), iterations (100),
            learning_rate (0.1), initialisation ("real"), valid_pixels (True) and seed (0) too.

    A method that learns labels, alternates networks and images, or selects, has parts of its own
    (`ddlab.runs.process`). Then
    - its State may hold tensors, None, bool, int, float, str, lists, tuples and dicts of them,
      dataclasses and `Network`, each where an annotation names it: no modules, sets or named
      tuples;
    - before the first update parts, config, data and teacher are checked, and with a checkpoint
      that the State comes back from a file; after each update that `step` has grown; at frames,
      checkpoints and the end that everything is finite;
    - a fifth part, `look(config, inputs, state, trace)`, says what `explorers.Live` shows
      (`ddlab.runs.Look`); without it that is the images of the State and the numbers of the Trace.

    Raises:
        DDLabError: a name that is no identifier, a loss that is no function, a parameter of another
            type; a loss that does not take these five arguments. From a run: a loss that is no
            number, does not depend on the images, or is another number when it is asked again.
    """
    if not name.isidentifier():
        errors.fail("name", "a name such as 'gradient_matching'", name)
    _check_arguments(loss)
    fields = []
    for field, value in parameters.items():
        default = value.default if isinstance(value, dataclasses.Field) else value
        if not isinstance(default, _KINDS):
            errors.fail(
                field,
                "a default of type bool, int, float, str, NetworkSpec or Parameters, or a "
                "parameter()",
                value,
            )
        if isinstance(value, dataclasses.Field):
            field_definition = value
        elif field in describe(Config):
            field_definition = with_default(Config, field, value, source=name)
        else:
            field_definition = parameter(value, help=f"Of the loss of {name}.")
        kind = describe(Config)[field].type if field in describe(Config) else type(default)
        fields.append((field, kind, field_definition))
    namespace = {
        "__module__": getattr(loss, "__module__", None) or "__main__",
        "__qualname__": f"{name}.Config",
        "__doc__": f"Hyper-parameters of {name}.",
    }
    config = dataclasses.make_dataclass(
        "Config", fields, bases=(Config,), namespace=namespace, frozen=True, kw_only=True
    )
    config()  # defaults that are not allowed are refused here
    return FromLoss(name, loss, config, needs_teacher)


def _check_arguments(loss: Loss) -> None:
    """Raise if a loss cannot be called with five arguments in their order."""
    try:
        signature = inspect.signature(loss)
    except ValueError:  # built in: the first call will say
        return
    try:
        signature.bind(*_ARGUMENTS)
    except TypeError:
        errors.fail("loss", f"a function of ({', '.join(_ARGUMENTS)})", f"one of {signature}")


def _checked_terms(name: str, result: Any) -> Mapping[str, Tensor]:
    terms = result if isinstance(result, Mapping) else {"loss": result}
    scalars = [
        value for value in terms.values() if isinstance(value, Tensor) and value.numel() == 1
    ]
    if (
        not terms
        or not all(value.is_floating_point() for value in scalars)
        or len(scalars) < len(terms)
    ):
        errors.fail(
            f"what the loss of {name} returns",
            "a tensor of one number, or a dict of such terms",
            result,
        )
    return {str(term): value.reshape(()) for term, value in terms.items()}

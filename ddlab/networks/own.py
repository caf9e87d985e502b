"""Networks of your own.

`register` makes a factory a family beside ours, `from_module` takes a trained module as it is.

    def small(channels, classes, image_size):
        body = nn.Conv2d(channels, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        return nn.Sequential(*body, nn.Linear(8, classes))

    networks.register("small", small)
    teacher = networks.from_module(trained, (32, 32), 10, name="small")
    ddlab.evaluate(distilled, data, labels="hard", network="small")

A factory draws its weights from torch's global generator, as torch's layers do: the seed of a run
is set before. Its code belongs to the network: one that was edited is another, in every
fingerprint, checkpoint and cache.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import torch
from torch import nn

from ..core import as_usual, checked, errors, within
from ..core.source import code_of
from .calling import call
from .family import (
    REGISTERED,
    Factory,
    Family,
    Template,
    on_meta,
    parts_of,
    refuse,
    tensors_of,
    try_module,
    usable,
)
from .specification import FAMILIES, LARGEST, ImageSize, Network, NetworkSpec, spec

LONGEST = 60  # characters of a name
Number = Annotated[int, within(1, LARGEST)]


def own_name(argument: str, name: str) -> str:
    """Return a name that none of our families has; a rule of the boundary."""
    if len(errors.check_text(argument, name, empty=False)) > LONGEST:
        errors.fail(argument, f"a text of at most {LONGEST} characters", name)
    if name in FAMILIES:
        errors.fail(argument, "none of ddlab's own families", name)
    return name


OwnName = Annotated[str, own_name]


@checked
def register(
    name: OwnName,
    factory: Factory,
    *,
    smallest_image: Number = 1,
    classifier: str | None = None,
    last_conv: str | None = None,
) -> None:
    """Make a factory a family of networks.

    `networks.spec(name)`, or the name itself, then serves wherever an architecture is needed.

    Networks of the family are saved by name and weights, and built by the factory when they are
    loaded: register it before.

    Args:
        name: none of `FAMILIES`.
        factory: (channels, classes, image_size) -> nn.Module; called anew for every network, and
            tried when the first one starts.
        smallest_image: pixels of the smaller side.
        classifier: name of the linear layer whose input are the features and whose output the
            logits; None finds it.
        last_conv: name of the layer with the last map [n, c, h, w] before pooling; None finds it.

    Raises:
        DDLabError: a name of ours or of another factory. The same one again, or edited, takes the
            place of the one before.
    """
    family = REGISTERED.get(name, Family(name))
    # By where it is written and not by the object: a cell that is run again makes a new function of
    # the same name.
    if family.factory is not None and _location(family.factory) != _location(factory):
        before = ".".join(_location(family.factory))
        current = ".".join(_location(factory))
        refuse(f"name {name!r}", f"stay that of {before}, or be another", current)
    REGISTERED[name] = replace(
        family,
        factory=factory,
        SMALLEST_IMAGE=smallest_image,
        CLASSIFIER=classifier,
        LAST_CONV=last_conv,
    )


@as_usual
@checked
def from_module(
    module: nn.Module,
    image_size: ImageSize,
    classes: Number,
    *,
    channels: Number = 3,
    name: OwnName | None = None,
    classifier: str | None = None,
    last_conv: str | None = None,
    class_names: Sequence[str] | None = None,
) -> Network:
    """Return a trained module as a network: a teacher for every method.

    The module is copied and stays as it is.

    It is tried on a few images: logits [n, classes], finite, the same twice in evaluation mode,
    each image judged by itself, tensors left as they are, a derivative by the images and by every
    parameter. Methods that match statistics need batch norms:
    `networks.batch_norm_layers(network.spec)` lists them. Images reach it normalised by the mean
    and std of the ImageData in use, which should be those that it was trained with
    (`dataclasses.replace(data, mean=..., std=...)`).

    Args:
        image_size: (height, width).
        classes: of its logits.
        channels: of its images.
        name: of its family; default the name of its class. If it is registered, the module must be
            what its factory builds; only then can the network be loaded again once saved, and
            students of its kind start anew.
        classifier, last_conv: as for `register`.
        class_names: of its logits, in their order; then it is refused beside data of other classes,
            or of the same in another order.

    Raises:
        DDLabError: a module that fails the trial, or whose classifier is not found; lazy layers,
            batch norms without running statistics, numbers that are not finite.
    """
    name = (
        own_name("the name of the module's class (give another by name=)", type(module).__name__)
        if name is None
        else name
    )
    shape = (channels, *image_size)
    copied = usable("module", module)
    try_module("module", copied, shape, classes)
    weights = {key: value.detach() for key, value in tensors_of(copied).items()}
    family = REGISTERED.get(name, Family(name))
    # Registered: the factory is tried against the module, so that its students are of the same
    # kind.
    if family.factory is not None:
        if classifier not in (None, family.CLASSIFIER) or last_conv not in (None, family.LAST_CONV):
            errors.fail(
                "classifier and last_conv",
                f"those that {name!r} is registered with",
                (classifier, last_conv),
            )
        described = spec(name)
    else:
        source = code_of(parts_of(copied), shape, classes, classifier, last_conv)
        # Without its numbers: they are in the network, and a template lives as long as the process.
        family.templates[source] = Template(on_meta(copied), shape, classes, classifier, last_conv)
        REGISTERED[name] = family
        described = NetworkSpec(family=name, options=family.Options(source=source))
    described = replace(described, channels=channels, classes=classes, image_size=image_size)
    network = Network(
        spec=described,
        weights=weights,
        provenance={"process": "from_module"},
        class_names=class_names,  # type: ignore[arg-type]
    )
    like = next(value for value in weights.values() if value.is_floating_point())
    images = torch.randn((2, *shape), generator=torch.Generator().manual_seed(0)).to(like)
    with torch.no_grad():
        if not torch.equal(call(described, weights, images)[0].logits, copied(images)):
            refuse(
                "module",
                f"be what the factory of {name!r} builds",
                "one that gives other logits by the same weights",
            )
    return network


def _location(factory: Any) -> tuple[str, str]:
    """Return the module and the name of a factory.

    A `partial` is followed to its function, an object to its class.
    """
    while isinstance(factory, partial):
        factory = factory.func
    written = factory if hasattr(factory, "__qualname__") else type(factory)
    return str(written.__module__), written.__qualname__

"""`call`: run a network on given weights.

Pure: weights and buffers that are passed in stay as they are.
"""

import contextlib
import copy
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from ..core import Count, checked, errors, exact_float32, randomness, tensor
from .family import REGISTERED, error_text, refuse, zeros_of
from .specification import ImageSize, Network, NetworkSpec, check_weights, hooked_layers, skeleton

# Of a batch: 512 images of CIFAR's size, and fewer of larger ones, use as much memory.
_PIXELS_AT_ONCE = 512 * 32 * 32
# Of larger images only the shapes are followed; nothing is run.
_PIXELS_RUN = 256 * 256
_local = threading.local()  # .parts: dict[NetworkSpec, _Parts], for skeletons are of one thread

AtBatchNorm = Callable[[str, Tensor], Tensor]


@dataclass(frozen=True)
class Outputs:
    """The outputs of one forward pass.

    Attributes:
        logits: [n, classes].
        features: [n, d], the input of the last linear layer.
        last_conv: [n, c, h, w], the output of the last convolutional stage; for a network without
            convolutions the last hidden layer, with h = w = 1. Of your own modules without maps the
            features.
    """

    logits: Tensor
    features: Tensor
    last_conv: Tensor


def call(
    spec: NetworkSpec,
    weights: Mapping[str, Tensor],
    images: Tensor,
    train: bool = False,
    *,
    at_batch_norm: AtBatchNorm | None = None,
    any_size: bool = False,
) -> tuple[Outputs, dict[str, Tensor]]:
    """Run a network on given weights.

    Args:
        spec: complete.
        weights: all parameters and buffers of the spec, by name.
        images: float [n, channels, height, width], normalised.
        train: batch statistics and updated running statistics (True), or the running statistics
            (False).
        at_batch_norm: a function (layer name, input) -> input that stands in front of every
            BatchNorm2d layer; for terms on these inputs, also with a derivative of their own.
        any_size: also accept images of another size than the spec's, where `takes_size` says that
            the network can.

    Returns:
        The outputs, and the buffers after the pass (changed only with `train`).

    Raises:
        DDLabError: images of another shape than the spec's (with `any_size`: of a size that the
            network cannot take).
    """
    module = skeleton(spec)
    # Checked at every call, in microseconds: a missing buffer would otherwise be the one of the
    # call before.
    check_weights(spec, weights)
    _check_images(spec, weights, images, any_size)
    if train and spec.family in REGISTERED:
        _check_repeatable(spec)
    # `train` walks through all modules, so it is called only where the mode changes.
    parts = _parts_of(spec, module)
    if module.training != train:
        module.train(train)
    buffers = {name: weights[name] for name in parts.buffers}
    if train:
        # The module changes in place those it runs with.
        buffers = {name: value.clone() for name, value in buffers.items()}
    recorded: dict[str, Tensor] = {}
    with (
        _hooks(parts, recorded, at_batch_norm),
        _swapped_tensors(parts, {**weights, **buffers} if train else weights),
    ):
        logits = _run(module, images, train)
    features = recorded["features"]
    last_conv = recorded["last_conv"] if "last_conv" in recorded else features[:, :, None, None]
    return Outputs(logits, features, last_conv), buffers


def _check_images(
    spec: NetworkSpec, weights: Mapping[str, Tensor], images: Any, any_size: bool
) -> None:
    """Raise unless these are images for the spec, of the weights' dtype and on their device."""
    fits = (
        isinstance(images, Tensor)
        and images.ndim == 4
        and images.is_floating_point()
        and errors.is_dense(images)
    )
    size = tuple(images.shape[2:]) if fits else ()
    sized = size == spec.image_size or (
        any_size and len(size) == 2 and min(size) > 0 and takes_size(spec, size)
    )
    if not sized or images.shape[1] != spec.channels:
        height, width = spec.image_size or (None, None)
        alternative = " (or of another size that it can take)" if any_size else ""
        allowed = (
            f"a float tensor of shape [n, {spec.channels}, {height}, {width}] for "
            f"{spec.title}{alternative}"
        )
        errors.fail("images", allowed, images)
    # All weights have one dtype and one device (`check_weights`), so the first one speaks for them.
    weight = next(filter(Tensor.is_floating_point, weights.values()))
    if images.dtype != weight.dtype:
        errors.fail(
            "images", f"of the weights' dtype, {str(weight.dtype).removeprefix('torch.')}", images
        )
    if images.device != weight.device:
        errors.fail("images", f"on the weights' device, {weight.device}", str(images.device))


def _run(module: nn.Module, images: Tensor, train: bool) -> Tensor:
    """Return the logits.

    One value per channel has no variance; torch's own error says so less clearly.
    """
    try:
        return module(images)
    except ValueError as problem:
        if not train or len(images) > 1 or isinstance(problem, errors.DDLabError):
            raise
        errors.fail(
            "images",
            "at least two in training mode for its batch norm (choose another batch_size)",
            images,
        )


@dataclass(frozen=True, eq=False)
class _Parts:
    """Everything that a call needs of a skeleton, looked up once.

    Walking through the modules at each call would take longer than a small network.

    `places`: of each tensor, tied ones at each of their places: the dict that holds it, its key
    there, its name among the weights.
    """

    module: nn.Module
    places: list[tuple[dict[str, Any], str, str]]
    buffers: list[str]
    batch_norms: list[tuple[str, nn.BatchNorm2d]]
    last_conv: nn.Module | None
    classifier: nn.Module


def _parts_of(spec: NetworkSpec, module: nn.Module) -> _Parts:
    parts_by_spec: dict[NetworkSpec, _Parts] = _local.__dict__.setdefault("parts", {})
    if spec not in parts_by_spec or parts_by_spec[spec].module is not module:
        # Tied tensors have one name among the weights and several places in the module.
        names: dict[int, str] = {}
        places: list[tuple[dict[str, Any], str, str]] = []
        for path, part in module.named_modules():
            for tensors in (part._parameters, part._buffers):
                for key, value in tensors.items():
                    if value is not None:
                        places.append(
                            (
                                tensors,
                                key,
                                names.setdefault(id(value), f"{path}.{key}" if path else key),
                            )
                        )
        norms = [
            (name, part)
            for name, part in module.named_modules()
            if isinstance(part, nn.BatchNorm2d)
        ]
        last_conv, classifier = hooked_layers(spec)
        parts_by_spec[spec] = _Parts(
            module,
            places,
            [name for name, _ in module.named_buffers()],
            norms,
            module.get_submodule(last_conv) if last_conv else None,
            module.get_submodule(classifier),
        )
    return parts_by_spec[spec]


@contextlib.contextmanager
def _swapped_tensors(parts: _Parts, tensors: Mapping[str, Tensor]) -> Iterator[None]:
    """Put these weights and buffers into the skeleton for a while, as torch.func.functional_call
    does.
    """
    # The skeleton's own tensors, on the meta device, come back even where the pass raises: another
    # call of this thread is next.
    originals = [tensors_of_part[key] for tensors_of_part, key, _ in parts.places]
    try:
        for tensors_of_part, key, name in parts.places:
            tensors_of_part[key] = tensors[name]
        yield
    finally:
        for (tensors_of_part, key, _), value in zip(parts.places, originals, strict=True):
            tensors_of_part[key] = value


@lru_cache(maxsize=64)
def _check_repeatable(spec: NetworkSpec) -> None:
    """Raise if a reader's module draws in training mode (dropout), for then no run could be
    repeated. It is refused as well if it gives more than logits there.
    """
    # Weights of 0 are enough to see whether anything is drawn.
    module = zeros_of(skeleton(spec)).train()
    like = next(module.parameters())
    with torch.no_grad(), randomness.Draws(randomness.generator(0)) as draws:
        try:
            logits = module(
                torch.zeros((2, spec.channels or 0, *(spec.image_size or ())), dtype=like.dtype)
            )
        except Exception as problem:
            refuse(
                f"network {spec.family!r}",
                "run in training mode on two images",
                error_text(problem),
            )
    if draws.count:
        refuse(
            f"network {spec.family!r}",
            "draw nothing in training mode (set its dropout to 0)",
            "one that draws",
        )
    if not isinstance(logits, Tensor) or logits.shape != (2, spec.classes):
        refuse(
            f"network {spec.family!r}", "give logits in training mode too", errors.describe(logits)
        )


@checked
def takes_size(spec: NetworkSpec, image_size: ImageSize) -> bool:
    """Return whether a network also runs on images of another size, with the same weights.

    Networks that end in global pooling do; those whose last linear layer sees every position do
    not.

    Args:
        spec: complete.
        image_size: (height, width) in pixels.
    """
    skeleton(spec)  # an incomplete spec is named here
    return _runs_on(spec, *image_size)


@lru_cache(maxsize=256)
def _runs_on(spec: NetworkSpec, height: int, width: int) -> bool:
    # Without memory only shapes are followed, of images of any size. But then torch imports its
    # compiler, for 150 MB and two seconds; a few pixels are run in less.
    small = height * width <= _PIXELS_RUN
    module = zeros_of(skeleton(spec)) if small else copy.deepcopy(skeleton(spec)).eval()
    like = next(module.parameters())
    try:
        with torch.no_grad():
            module(
                torch.zeros(
                    (1, spec.channels or 0, height, width), device=like.device, dtype=like.dtype
                )
            )
    except Exception as problem:
        if not isinstance(problem, RuntimeError) and spec.family not in REGISTERED:
            raise
        return False
    return True


@checked
def predict(
    network: Network,
    images: Annotated[Tensor, tensor("n c h w", finite=False)],
    *,
    batch_size: Count | None = None,
) -> Outputs:
    """Return the outputs of a network in evaluation mode, without gradients.

    The images go to the network's device and the outputs come back to the images'.

    Args:
        batch_size: default 512, fewer above 32 px, so that a batch has no more pixels than that.
    """
    if batch_size is None:
        batch_size = max(min(512, _PIXELS_AT_ONCE // max(images.shape[2] * images.shape[3], 1)), 1)
    batch_size = min(batch_size, max(len(images), 1))
    exact_float32(network.device)
    with torch.no_grad():
        # A generator: one batch at a time is on the device.
        batches = (batch.to(network.device) for batch in images.split(batch_size))
        parts = [call(network.spec, network.weights, batch)[0] for batch in batches]
    return Outputs(
        logits=torch.cat([part.logits for part in parts]).to(images.device),
        features=torch.cat([part.features for part in parts]).to(images.device),
        last_conv=torch.cat([part.last_conv for part in parts]).to(images.device),
    )


@contextlib.contextmanager
def _hooks(
    parts: _Parts,
    recorded: dict[str, Tensor],
    at_batch_norm: AtBatchNorm | None,
) -> Iterator[None]:
    """Hook the layers whose inputs or outputs are wanted, for one call.

    The skeleton is shared by all calls of a thread.
    """

    def keep_output(_: nn.Module, __: tuple[Tensor], output: Tensor) -> None:
        recorded["last_conv"] = output

    def keep_input(_: nn.Module, arguments: tuple[Tensor]) -> None:
        recorded["features"] = arguments[0]

    handles = [parts.classifier.register_forward_pre_hook(keep_input)]
    if parts.last_conv is not None:
        handles.append(parts.last_conv.register_forward_hook(keep_output))
    # A hook costs some microseconds at each layer, so they are there only where somebody reads
    # them.
    if at_batch_norm is not None:
        for name, layer in parts.batch_norms:
            hook = partial(_before_batch_norm, at_batch_norm, name)
            handles.append(layer.register_forward_pre_hook(hook))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _before_batch_norm(
    at_batch_norm: AtBatchNorm, name: str, _: nn.Module, arguments: tuple[Tensor]
) -> tuple[Tensor]:
    return (at_batch_norm(name, arguments[0]),)

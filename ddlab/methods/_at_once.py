"""An image update of SRe2L, DWA and FADRM as one function of tensors, its draws and numbers too, for `core.whole_step`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import optimisers, whole_step
from ..core.devices import moved
from ..data.augmentation import places_read
from ..networks import Network, NetworkSpec
from . import recovery

Terms = Callable[..., dict[str, Tensor]]


def update(
    config: Any,
    state: Any,
    terms: Terms,
    *,
    spec: NetworkSpec,
    networks: dict[str, Mapping[str, Tensor]],
    labels: Tensor,
    valid_range: tuple[Tensor, Tensor],
    learning_rate: float,
    smallest_crop: float | None,
) -> tuple[Tensor, optimisers.AdamState, dict[str, Tensor]] | None:
    """Images, optimiser and terms of the loss after an update, or None where this machine cannot do it at once.

    Args:
        config, state: of SRe2L or what stands on it. terms: `sre2l._terms` of the config.
        networks: "weights" that the images are run with, "gap_weights" where the gaps have others.
        smallest_crop: of the random part that is seen; None: all.
    """
    given = _drawn(config, state, learning_rate, smallest_crop) | {
        "images": state.images,
        "first": state.optimiser.first["images"],
        "second": state.optimiser.second["images"],
        "labels": labels,
        "black": valid_range[0],
        "white": valid_range[1],
    }
    betas = (config.beta1, config.beta2)
    key = (spec, config.precision, config.lambda_mean, config.lambda_var, config.first_layer_multiplier, betas)
    found = whole_step.run(config.execution, key, _step(terms, spec, betas), {**given, **networks})
    if found is None:
        return None
    first, second = ({"images": found.pop(name)} for name in ("first", "second"))
    return found.pop("images"), optimisers.AdamState(state.optimiser.step + 1, first, second), found


def _drawn(config: Any, state: Any, learning_rate: float, smallest_crop: float | None) -> dict[str, Tensor]:
    """What the eager step draws, as the places where pixels are read, and the numbers of this update, on the images' device."""
    height, width = state.images.shape[2:]
    corrections = optimisers.bias_corrections(state.optimiser.step + 1, (config.beta1, config.beta2))
    draws = {"numbers": torch.tensor([learning_rate, *corrections], dtype=torch.float64).to(state.images.dtype)}
    down, right = recovery.drawn_shift(config.roll_pixels, seed=config.seed, step=state.step)
    draws |= {"rows": (torch.arange(height) - down) % height, "columns": (torch.arange(width) - right) % width}
    if smallest_crop is not None:
        part, mirrored = recovery.drawn_part(height, width, smallest_crop, seed=config.seed, step=state.step)
        top, left, high, wide = torch.tensor(part, dtype=torch.float64).view(4, 1, 1)
        x = places_read(left, wide, width)[0]
        draws |= {"y": places_read(top, high, height)[0].to(state.images.dtype)}
        draws |= {"x": (x.flip(0) if mirrored else x).to(state.images.dtype)}
    return {name: moved(value, state.images.device) for name, value in draws.items()}


def _step(terms: Terms, spec: NetworkSpec, betas: tuple[float, float]) -> whole_step.Step:
    """The update as a function of `_drawn`, images, moments, labels, black, white and networks."""

    def step(given: dict[str, Any]) -> dict[str, Tensor]:
        leaf = given["images"].detach().requires_grad_()
        with torch.enable_grad():
            view = _part(leaf, given["y"], given["x"]) if "x" in given else leaf
            view = view[:, :, given["rows"]][:, :, :, given["columns"]]
            teacher = Network(spec=spec, weights=given["weights"])
            # What is fast on a CPU looks at numbers, which are not known when the step is recorded.
            how: dict[str, Any] = {"gathered": True, "statistics": recovery.torch_statistics}
            found = terms(teacher, view, given["labels"], given["weights"], given.get("gap_weights"), **how)
            (gradient,) = torch.autograd.grad(found["total_loss"], leaf)
        learning_rate, of_direction, of_spread = given["numbers"].unbind()
        after, moments = optimisers.adam_update(
            {"images": given["images"]},
            {"images": gradient},
            optimisers.AdamState(0, {"images": given["first"]}, {"images": given["second"]}),
            learning_rate=learning_rate,
            betas=betas,
            corrections=(of_direction, of_spread),
        )
        images = recovery.clamp_to_valid(after["images"], given["black"], given["white"])
        held = {"images": images, "first": moments.first["images"], "second": moments.second["images"]}
        return held | {name: value.detach() for name, value in found.items()}

    return step


def _part(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Images [n, c, h, w] read bilinearly at rows `y` [h] and columns `x` [w]."""
    count, _, height, width = images.shape
    grid = torch.stack([x[None, :].expand(height, width), y[:, None].expand(height, width)], 2)
    grid = grid.expand(count, -1, -1, -1)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=True)

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
    draws: list[int],
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
        config, state: of SRe2L or what stands on it. terms: `sre2l._terms` of the config. draws: the steps at which each of the batches
            that are made at once draws.
        networks: "weights" that the images are run with, "gap_weights" where the gaps have others.
        smallest_crop: of the random part that is seen; None: all.
    """
    given = _drawn(config, state, draws, learning_rate, smallest_crop) | {
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


def _drawn(
    config: Any, state: Any, draws: list[int], learning_rate: float, smallest_crop: float | None
) -> dict[str, Tensor]:
    """What the eager step draws, as the places where pixels are read, a row for each batch, and the numbers of this update, on the
    images' device."""
    places = [_places(config, state.images, step, smallest_crop) for step in draws]
    corrections = optimisers.bias_corrections(state.optimiser.step + 1, (config.beta1, config.beta2))
    drawn = {"numbers": torch.tensor([learning_rate, *corrections], dtype=torch.float64).to(state.images.dtype)}
    drawn |= {name: torch.stack([each[name] for each in places]) for name in places[0]}
    return {name: moved(value, state.images.device) for name, value in drawn.items()}


def _places(config: Any, images: Tensor, step: int, smallest_crop: float | None) -> dict[str, Tensor]:
    height, width = images.shape[2:]
    down, right = recovery.drawn_shift(config.roll_pixels, seed=config.seed, step=step)
    places = {"rows": (torch.arange(height) - down) % height, "columns": (torch.arange(width) - right) % width}
    if smallest_crop is not None:
        part, mirrored = recovery.drawn_part(height, width, smallest_crop, seed=config.seed, step=step)
        top, left, high, wide = torch.tensor(part, dtype=torch.float64).view(4, 1, 1)
        x = places_read(left, wide, width)[0]
        places |= {"y": places_read(top, high, height)[0].to(images.dtype)}
        places |= {"x": (x.flip(0) if mirrored else x).to(images.dtype)}
    return places


def _step(terms: Terms, spec: NetworkSpec, betas: tuple[float, float]) -> whole_step.Step:
    """The update as a function of `_drawn`, images, moments, labels, black, white and networks."""

    def step(given: dict[str, Any]) -> dict[str, Tensor]:
        leaf = given["images"].detach().requires_grad_()
        with torch.enable_grad():
            views = []
            for number, part in enumerate(leaf.chunk(len(given["rows"]))):
                seen = _part(part, given["y"][number], given["x"][number]) if "x" in given else part
                views.append(seen[:, :, given["rows"][number]][:, :, :, given["columns"][number]])
            view = torch.cat(views)
            teacher = Network(spec=spec, weights=given["weights"])
            # What is fast on a CPU looks at numbers, which are not known when the step is recorded.
            how: dict[str, Any] = {"gathered": True, "statistics": recovery.torch_statistics}
            found = terms(teacher, view, given["labels"], given["weights"], given.get("gap_weights"), **how)
            (gradient,) = torch.autograd.grad(found["total_loss"], leaf)
            gradient = gradient * len(views)  # the loss is the mean over batches
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

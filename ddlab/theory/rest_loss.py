r"""What a weight change that raises the loss of a batch does to the loss of the rest of the training set.

Du et al. 2024 (DWA), arXiv 2409.17612, section 3.3, with L_A the sum of the cross-entropy over the images of A, B a batch of T:

    eq 13   theta_T minimises L_T, so grad L_T = grad L_B + grad L_(T without B) = 0           -> at_optimum, gradient_ratio
    eq 14   L_(T without B)(theta_T + delta) - L_(T without B)(theta_T) ~ grad L_(T without B) . delta   -> predicted
    eq 15   = - grad L_B . delta ~ -(L_B(theta_T + delta) - L_B(theta_T)) <= 0      -> predicted_from_batch, _from_batch_loss

The last sign is that of the first order, and for a theta_T where grad L_T = 0. At a minimum the second order of L_T is not negative: to
second order L_B gains what L_rest loses plus delta' H delta / 2, and a step that is long enough raises both. A trained network's gradient
is not 0 in general either. `rest_loss_change` measures all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import errors
from ..core.boundary import checked, integers, within
from ..data import ImageData
from ..networks import Network
from ..networks.specification import hooked_layers


@dataclass(frozen=True, kw_only=True)
class RestLossChange:
    """The loss of a batch B and of the rest of T before and after a weight change, in nats per image, and what eq 14 and 15 foresee.

    The paper adds losses up; here every sum over the rest is divided by the number of its images, and every sum over B by that of B.

    Attributes:
        batch_images, rest_images: how many.
        batch_before, batch_after, rest_before, rest_after: mean cross-entropy.
        predicted: grad L_rest . delta / rest_images, the change of the rest's loss by eq 14.
        predicted_from_batch: -grad L_B . delta / rest_images, the same by eq 15, which takes grad L_T = 0.
        gradient_ratio: ||grad L_T|| / ||grad L_B|| of the sums before the change; eq 13 takes it as 0.
    """

    batch_images: int
    rest_images: int
    batch_before: float
    batch_after: float
    rest_before: float
    rest_after: float
    predicted: float
    predicted_from_batch: float
    gradient_ratio: float

    @property
    def batch_change(self) -> float:
        """What B's mean loss rises by."""
        return self.batch_after - self.batch_before

    @property
    def rest_change(self) -> float:
        """What the rest's mean loss rises by; eq 15 says at most 0."""
        return self.rest_after - self.rest_before

    @property
    def predicted_from_batch_loss(self) -> float:
        """-(L_B(theta + delta) - L_B(theta)) / rest_images: the end of eq 15, from B's own change."""
        return -self.batch_change * self.batch_images / self.rest_images


@checked
def rest_loss_change(
    network: Network,
    adjusted_weights: Mapping[str, Tensor],
    data: ImageData,
    batch: Annotated[Tensor, integers("b")],
    *,
    batch_size: Annotated[int, within(1)] = 128,
) -> RestLossChange:
    """Measure eq 13 to 15 for one weight change, in evaluation mode, without augmentation.

    Args:
        network: theta_T, of any floating dtype.
        adjusted_weights: theta_T + delta: parameter name -> tensor. Those that are left out keep their value and count as no part of
            theta: gradients are taken by the adjusted ones alone.
        data: T is its training split. batch: int64 [b], the indices of B in it, each once; not all of them.
        batch_size: how many images are computed at once.

    Raises:
        DDLabError: weights that do not fit, indices outside T, a network that gives losses or gradients that are not finite.
    """
    if network.spec.classes != data.classes:
        errors.fail("network", f"of the data's {data.classes} classes", network.spec.title)
    inside = _mask(batch, len(data.train_labels))
    changed = _adjusted(network, adjusted_weights)
    adjusted, names = replace(network, weights=network.weights | changed), list(changed)
    parts = {"batch": inside.nonzero().flatten(), "rest": (~inside).nonzero().flatten()}
    count = {name: len(indices) for name, indices in parts.items()}
    before, gradients = {}, {}
    for name, indices in parts.items():
        before[name], gradients[name] = _loss_and_gradient(network, names, data, indices, batch_size)
    after = {name: _loss(adjusted, data, indices, batch_size) for name, indices in parts.items()}
    delta = _flat(adjusted, names) - _flat(network, names)
    of_batch = float(gradients["batch"].norm())
    whole = float((gradients["batch"] + gradients["rest"]).norm())
    found = RestLossChange(
        batch_images=count["batch"], rest_images=count["rest"],
        batch_before=before["batch"] / count["batch"], batch_after=after["batch"] / count["batch"],
        rest_before=before["rest"] / count["rest"], rest_after=after["rest"] / count["rest"],
        predicted=float(gradients["rest"] @ delta) / count["rest"],
        predicted_from_batch=-float(gradients["batch"] @ delta) / count["rest"],
        gradient_ratio=whole / of_batch if of_batch > 0 else 0.0 if whole == 0 else math.inf,
    )  # fmt: skip
    if not all(math.isfinite(value) for name, value in vars(found).items() if name != "gradient_ratio"):
        errors.fail(
            "network", "one whose losses and gradients are finite before and after the change", network.spec.title
        )
    return found


@checked
def at_optimum(
    network: Network,
    data: ImageData,
    names: Sequence[str] | None = None,
    *,
    tolerance: Annotated[float, within(0, open_low=True)] = 1e-9,
    iterations: Annotated[int, within(1)] = 2000,
) -> Network:
    """The network in float64, trained on all images at once until grad L_T = 0 (eq 13): a world in which DWA's premise is true.

    By default the last layer alone is trained: logistic regression on the features, convex, so that the minimum is reached in a second
    or two (a whole network rarely gets there). It must be unable to fit the data: where every image can be classified right the
    minimum lies at infinity. L-BFGS with a line search on the mean cross-entropy, without augmentation, in evaluation mode.

    Args:
        names: the parameters that are trained, while the others stay; default those of the last layer. The premise is then true of
            weight changes of these parameters.
        tolerance: the largest entry of the mean loss's gradient that counts as 0. iterations: at most so many.

    Raises:
        DDLabError: the gradient is still larger after `iterations`.
    """
    from scipy import optimize

    if network.spec.classes != data.classes:
        errors.fail("network", f"of the data's {data.classes} classes", network.spec.title)
    weights = {name: value.double() if value.is_floating_point() else value for name, value in network.weights.items()}
    names = _names("names", _last_layer(network) if names is None else names, network)
    shapes = {name: weights[name].shape for name in names}
    images, labels = data.normalised(device=network.device).double(), data.train_labels.to(network.device)
    alone = names == _last_layer(network)
    # What goes into the last layer does not change while it alone is trained.
    features = networks.predict(replace(network, weights=weights), images).features if alone else images

    def unpacked(row: Any) -> dict[str, Tensor]:
        parts = torch.as_tensor(row, device=network.device).split([shape.numel() for shape in shapes.values()])
        return {name: part.view(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)}

    def loss_and_gradient(row: Any) -> tuple[float, Any]:
        leaf = torch.as_tensor(row, device=network.device).requires_grad_()
        trained = unpacked(leaf)
        if alone:
            logits = F.linear(features, *trained.values())
        else:
            logits = networks.call(network.spec, weights | trained, images)[0].logits
        loss = F.cross_entropy(errors.check_tensor("the network's logits", logits), labels)
        return loss.item(), torch.autograd.grad(loss, leaf)[0].cpu().numpy()

    # Not torch.optim's, which loads PyTorch's compiler at its first step: 150 MB.
    search = optimize.minimize(
        loss_and_gradient, _flat(network, names).cpu().numpy(), jac=True, method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 100, "gtol": tolerance, "ftol": 0},
    )  # fmt: skip
    largest = float(abs(search.jac).max())
    if not largest <= tolerance:
        raise errors.DDLabError(
            f"iterations must be enough to bring the gradient to {tolerance:g}; given {iterations}, after which it is {largest:.1e}."
        )
    found = weights | {name: value.clone() for name, value in unpacked(search.x).items()}
    provenance = {"process": "at_optimum", "start": network.fingerprint, "names": names, "largest_gradient": largest}
    return replace(network, weights=found, provenance=provenance)


def _mask(batch: Tensor, count: int) -> Tensor:
    """bool [count]: which training images are in B."""
    if not 0 < len(batch) < count or int(batch.min()) < 0 or int(batch.max()) >= count:
        errors.fail("batch", f"the indices of some of the {count} training images, and not all", batch)
    inside = torch.zeros(count, dtype=torch.bool)
    inside[batch.cpu()] = True
    if int(inside.sum()) < len(batch):
        errors.fail("batch", "indices that are all different", batch)
    return inside


def _last_layer(network: Network) -> list[str]:
    layer = hooked_layers(network.spec)[1]
    return [name for name in networks.parameter_names(network.spec) if name.startswith(f"{layer}.")]


def _names(argument: str, given: Any, network: Network) -> list[str]:
    known = networks.parameter_names(network.spec)
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        errors.fail(argument, "a list of parameter names that is not empty", given)
    names = [errors.check_choice(f"a name in {argument}", name, known) for name in given]
    if len(set(names)) < len(names):
        errors.fail(argument, "parameter names that are all different", given)
    return names


def _adjusted(network: Network, adjusted: Any) -> dict[str, Tensor]:
    if not isinstance(adjusted, Mapping):
        errors.fail("adjusted_weights", "a mapping of parameter names to tensors", adjusted)
    for name in _names("adjusted_weights", list(adjusted), network):
        own = network.weights[name]
        errors.check_tensor(f"adjusted_weights[{name!r}]", adjusted[name], shape=own.shape, dtype=own.dtype)
    return {name: value.detach().to(network.device) for name, value in adjusted.items()}


def _flat(network: Network, names: Sequence[str]) -> Tensor:
    """These parameters in one row, float64."""
    return torch.cat([network.weights[name].detach().double().flatten() for name in names])


def _batches(network: Network, data: ImageData, indices: Tensor, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    dtype = next(value.dtype for value in network.weights.values() if value.is_floating_point())
    for some in indices.split(min(batch_size, len(indices))):
        yield data.normalised(some, device=network.device).to(dtype), data.train_labels[some].to(network.device)


def _summed(network: Network, weights: Mapping[str, Tensor], images: Tensor, labels: Tensor) -> Tensor:
    logits = networks.call(network.spec, weights, images)[0].logits
    return F.cross_entropy(errors.check_tensor("the network's logits", logits), labels, reduction="sum")


def _loss(network: Network, data: ImageData, indices: Tensor, batch_size: int) -> float:
    with torch.no_grad():
        return sum(
            float(_summed(network, network.weights, *some)) for some in _batches(network, data, indices, batch_size)
        )


def _loss_and_gradient(
    network: Network, names: Sequence[str], data: ImageData, indices: Tensor, batch_size: int
) -> tuple[float, Tensor]:
    """The summed cross-entropy and its gradient by these parameters, a row in float64: the rest's and the batch's nearly cancel."""
    free = {name: network.weights[name].detach().clone().requires_grad_() for name in names}
    total, gradient = 0.0, torch.zeros_like(_flat(network, names))
    for images, labels in _batches(network, data, indices, batch_size):
        loss = _summed(network, {**network.weights, **free}, images, labels)
        parts = torch.autograd.grad(loss, list(free.values()), materialize_grads=True)
        total += float(loss.detach())
        gradient += torch.cat([part.double().flatten() for part in parts])
    return total, gradient

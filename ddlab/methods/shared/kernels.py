r"""Kernels of images: RBF, and those of infinitely wide ReLU networks, NNGP and NTK.

Cho & Saul 2009 (arc-cosine kernels, NeurIPS); Lee et al. 2018 (NNGP, arXiv 1711.00165); Jacot et
al. 2018 (NTK, arXiv 1806.07572); Novak et al. 2019 and Arora et al. 2019 (convolutions, arXiv
1810.05148, 1904.11955). A network of infinite width, drawn at random, is a Gaussian process of
covariance K (NNGP); trained by gradient descent it is kernel regression with Theta (NTK).

Symbol              In code                     Shape        What
x, x'               first, second               [n, c, h, w], [m, c, h, w]
K^l, Theta^l        kernel, tangent             [n, m] fc; [n, m, h, w] conv
q^l(x)              variances                   [n, ...]     K^l(x, x), one for each ReLU
sigma_w, sigma_b    weight_std, bias_std        []           of N(0, sigma_w^2 / fan-in) weights and N(0, sigma_b^2) biases
theta               angle                       as K         arccos(K / sqrt(q q'))

Equation                                                                                    Function
K = exp(-gamma ||x - x'||^2 / d)                                                            rbf
K^0 = <x, x'> / d                                                                           inner_products, pixel_products
dense    K <- sigma_w^2 K + sigma_b^2,   Theta <- K + sigma_w^2 Theta                       dense
ReLU     K <- sqrt(q q') (sin theta + (pi - theta) cos theta) / (2 pi)                      relu
         Theta <- Theta (pi - theta) / (2 pi)
conv     K(p, p') <- mean over the 3 x 3 offsets o of K(p + o, p' + o), then dense          filtered

Without pooling only K(p, p), one number for each pixel, is ever asked for. Padding is by zeros, and
the mean counts them. Kernels with pooling (Myrtle, Shankar et al. 2020), with which the paper's
best numbers were made, ask for any two pixels, 1,024 times as much. A kernel is computed in blocks;
with a gradient each block is computed again on the way back, where there are several.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ...core import Parameters, errors, parameter

SIX = ("fc1", "fc2", "fc3", "conv1", "conv2", "conv3")
KERNELS = ("rbf", *SIX)
# Of intermediate arrays; larger kernels are computed block by block.
_MEGABYTES = 512


@dataclass(frozen=True, kw_only=True)
class KernelSpec(Parameters):
    """Which kernel; a config of a method extends it."""

    kernel: str = parameter(
        "fc1",
        choices=KERNELS,
        help="RBF; a network of 1 to 3 hidden fully connected layers, or of 1 to 3 convolutions.",
        explorable=True,
    )
    kind: str = parameter(
        "ntk",
        choices=("ntk", "nngp"),
        help="Of a network: all layers are trained (NTK), or the last alone (NNGP).",
        explorable=True,
    )
    weight_std: float = parameter(
        math.sqrt(2),
        symbol=r"\sigma_w",
        range=(0, 1e3),
        open_low=True,
        help="Of a layer's weights, by fan-in.",
        explorable=(0.5, 3.0),
        source="reference code",
    )
    bias_std: float = parameter(
        0.1,
        symbol=r"\sigma_b",
        range=(0, 1e3),
        help="Of a layer's biases.",
        explorable=(0.0, 1.0),
        source="reference code",
    )
    gamma: float = parameter(
        1.0,
        symbol=r"\gamma",
        range=(0, 1e6),
        open_low=True,
        scale="log",
        explorable=(0.1, 100.0),
        help="Of RBF: how fast it falls with the mean squared difference of two images.",
    )

    @classmethod
    def from_name(cls, argument: str, name: str) -> Self:
        """Return the kernel of that name, otherwise of default settings."""
        return cls(kernel=errors.check_choice(argument, name, KERNELS))


class _ReLU(torch.autograd.Function):
    """Both equations of a ReLU, with their derivatives in closed form.

    By plain autograd the derivative of the first would be the difference of two infinities where
    two images are equal. There the second has none (Theta has a kink), and gets 0.
    """

    @staticmethod
    def forward(ctx: Any, kernel: Tensor, norm: Tensor) -> Any:
        # An output that nobody reads has no gradient then, instead of a tensor of zeros.
        ctx.set_materialize_grads(False)
        smallest = 8 * torch.finfo(kernel.dtype).eps
        cosine = (kernel / norm).clamp_(-1, 1)
        # Equal but for rounding.
        cosine = torch.where(cosine.abs() > 1 - smallest, cosine.sign(), cosine)
        # Not sqrt(1 - cos^2), which loses half of the digits near 1.
        sine = ((1 - cosine) * (1 + cosine)).sqrt_()
        share = cosine.acos().mul_(-0.5 / math.pi).add_(0.5)
        ctx.save_for_backward(cosine, sine, share, norm)
        return (sine / (2 * math.pi)).addcmul_(cosine, share).mul_(norm), share

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor | None) -> Any:
        by_kernel, by_share = slopes
        cosine, sine, share, norm = ctx.saved_tensors
        # d K' / d K = (pi - theta) / 2 pi, the `share`; the derivative of the share has sin theta
        # in the denominator.
        of_kernel = torch.zeros_like(cosine)
        of_norm = torch.zeros_like(cosine)
        if by_kernel is not None:
            of_kernel.addcmul_(by_kernel, share)
            of_norm.addcmul_(by_kernel, sine, value=0.5 / math.pi)
        if by_share is not None:
            divisor = sine * norm * (2 * math.pi)
            turned = torch.where(sine > 0, by_share / divisor, torch.zeros_like(cosine))
            of_kernel += turned
            of_norm -= cosine * turned
        return of_kernel, of_norm


def rbf(first: Tensor, second: Tensor, *, gamma: float = 1.0) -> Tensor:
    """Return exp(-gamma ||x - x'||^2 / d): [n, d] and [m, d] -> [n, m]."""
    # |x|^2 + |y|^2 - 2 <x, y>: one matrix product instead of all differences.
    squares = (
        first.square().mean(1)[:, None]
        + second.square().mean(1)
        - 2 * inner_products(first, second)
    )
    return (-gamma * squares.clamp_min(0)).exp()


def inner_products(first: Tensor, second: Tensor) -> Tensor:
    """Return K^0 = <x, x'> / d: [n, d] and [m, d] -> [n, m]."""
    return first @ second.T / first.shape[1]


def pixel_products(first: Tensor, second: Tensor) -> Tensor:
    """Return K^0 of each pixel, the mean over the channels of their products. [n, c, h, w] and [m,
    c, h, w] -> [n, m, h, w].
    """
    return torch.einsum("nchw,mchw->nmhw", first / first.shape[1], second)


def dense(
    kernel: Tensor, tangent: Tensor | None, *, weight_std: float, bias_std: float
) -> tuple[Tensor, Tensor]:
    """Return K <- sigma_w^2 K + sigma_b^2 and Theta <- K + sigma_w^2 Theta, of one shape.

    Without a tangent it is the first layer, where Theta = K.
    """
    kernel = weight_std**2 * kernel + bias_std**2
    return kernel, kernel if tangent is None else kernel + weight_std**2 * tangent


def relu(kernel: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return E[relu(u) relu(v)] and E[relu'(u) relu'(v)] of Gaussian u and v.

    They are (K, factor of Theta), each of the kernel's shape.

    Args:
        kernel: their covariances.
        first, second: their variances, at least 0, of shapes that broadcast to it.
    """
    # Where a variance is 0 the covariance is, and the derivative is 0.
    tiny = torch.finfo(kernel.dtype).tiny
    norm = (first.clamp_min(tiny).sqrt() * second.clamp_min(tiny).sqrt()).expand_as(kernel)
    result: tuple[Tensor, Tensor] = _ReLU.apply(kernel, norm)
    return result


def filter_kernel(kernel: Tensor) -> Tensor:
    """Return a 3 x 3 convolution: the mean over the nine offsets of both pixels together; [..., h, w]."""
    maps = kernel.reshape(-1, 1, *kernel.shape[-2:])
    return F.avg_pool2d(maps, 3, stride=1, padding=1).view_as(kernel)


def layers(spec: KernelSpec) -> tuple[str, ...]:
    """Return the layers of a network of this kernel, in order.

    They are "dense", "relu", "filter" and "mean"; RBF has none.
    """
    if spec.kernel == "rbf":
        return ()
    if spec.kernel.startswith("fc"):
        return ("dense", "relu") * int(spec.kernel[-1]) + ("dense",)
    convolution = ("filter", "dense", "relu")
    return convolution * int(spec.kernel[-1]) + ("mean", "dense")


def variances(spec: KernelSpec, images: Tensor) -> list[Tensor]:
    """Return q^l(x) before each ReLU. [n] for fully connected networks, else [n, h, w]; RBF has
    none.
    """
    before_relus = []
    if spec.kernel.startswith("conv"):
        kernel = torch.einsum("nchw,nchw->nhw", images, images) / images.shape[1]
    else:
        kernel = torch.einsum("nd,nd->n", images.flatten(1), images.flatten(1)) / images[0].numel()
    for layer in layers(spec):
        # After the mean over pixels there is no ReLU left to ask for.
        if layer == "mean":
            break
        if layer != "relu":
            kernel = _through(spec, layer, kernel, None)[0]
            continue
        before_relus.append(kernel)
        # E[relu(u)^2] of a Gaussian u is half of its variance.
        kernel = kernel / 2
    return before_relus


def network_kernel(
    spec: KernelSpec, kernel: Tensor, first: list[Tensor], second: list[Tensor]
) -> Tensor:
    """Return the NNGP or NTK [n, m] of K^0, through all layers.

    `first` and `second` are the `variances` of both sides.
    """
    tangent = None
    relus = 0
    for layer in layers(spec):
        if layer == "relu":
            kernel, factor = relu(kernel, first[relus][:, None], second[relus])
            tangent = None if tangent is None else tangent * factor
            relus = relus + 1
        else:
            kernel, tangent = _through(spec, layer, kernel, tangent)
            tangent = tangent if spec.kind == "ntk" else None
    return kernel if tangent is None else tangent


def _through(
    spec: KernelSpec, layer: str, kernel: Tensor, tangent: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    if layer == "dense":
        return dense(kernel, tangent, weight_std=spec.weight_std, bias_std=spec.bias_std)

    def changed(value: Tensor) -> Tensor:
        return value.mean((-2, -1)) if layer == "mean" else filter_kernel(value)

    return changed(kernel), None if tangent is None else changed(tangent)


def bytes_per_pair(spec: KernelSpec, *, height: int, width: int, item: int = 8) -> int:
    """Return the working memory for one entry of the kernel with its gradient, in bytes.

    Args:
        height, width: of the images in pixels.
        item: bytes of a number.
    """
    pixels = 1 if spec.kernel == "rbf" or spec.kernel.startswith("fc") else height * width
    # What each ReLU keeps for the way back, and what is there beside it at one time.
    return item * 8 * pixels * (layers(spec).count("relu") + 2)


def _products(spec: KernelSpec, first: Tensor, second: Tensor) -> Tensor:
    """Return K^0."""
    if spec.kernel.startswith("fc"):
        return inner_products(first.flatten(1), second.flatten(1))
    return pixel_products(first, second)


def _block(spec: KernelSpec, first: Tensor, second: Tensor) -> Tensor:
    if spec.kernel == "rbf":
        return rbf(first.flatten(1), second.flatten(1), gamma=spec.gamma)
    return network_kernel(
        spec, _products(spec, first, second), variances(spec, first), variances(spec, second)
    )


def kernel_matrix(
    spec: KernelSpec, first: Tensor, second: Tensor, *, megabytes: float = _MEGABYTES
) -> Tensor:
    """Return the kernel of each image of one side with each of the other. [n, c, h, w] and [m, c,
    h, w] -> [n, m], of their dtype.

    Differentiable in both. In float32 the diagonal of a network's NTK is exact to about 1e-3, in
    float64 to 1e-7.

    Args:
        megabytes: of working memory (`bytes_per_pair`), beside images and result.
    """
    at_once = _pairs_at_once(spec, first, megabytes)
    if len(first) * len(second) <= at_once:
        return _block(spec, first, second)
    # Nearly square blocks read each image least often.
    columns = min(len(second), math.isqrt(at_once))
    rows = at_once // columns
    graph = torch.is_grad_enabled() and (first.requires_grad or second.requires_grad)
    strips = []
    for rows_part in first.split(rows):
        pairs = [(spec, rows_part, columns_part) for columns_part in second.split(columns)]
        strips.append(
            torch.cat([_recompute(*pair) if graph else _block(*pair) for pair in pairs], 1)
        )
    return torch.cat(strips)


def support_and_cross(
    spec: KernelSpec, support: Tensor, queries: Tensor, *, megabytes: float = _MEGABYTES
) -> tuple[Tensor, Tensor]:
    """Return K_ss [n, n] and K_ts [m, n], which a regression on `support` needs.

    Both come from one pass where memory allows.

    Args and errors as `kernel_matrix`; support: [n, c, h, w]; queries: [m, c, h, w].
    """
    rows = len(support) + len(queries)
    if spec.kernel == "rbf" or rows * len(support) > _pairs_at_once(spec, support, megabytes):
        within = kernel_matrix(spec, support, support, megabytes=megabytes)
        cross = kernel_matrix(spec, queries, support, megabytes=megabytes)
        return within, cross
    support_variances = variances(spec, support)
    # Both kernels stacked: each layer is one operation on m + n rows instead of two.
    start = torch.cat([_products(spec, side, support) for side in (support, queries)])
    all_variances = [
        torch.cat(pair) for pair in zip(support_variances, variances(spec, queries), strict=True)
    ]
    stacked = network_kernel(spec, start, all_variances, support_variances)
    return stacked[: len(support)], stacked[len(support) :]


def _pairs_at_once(spec: KernelSpec, images: Tensor, megabytes: float) -> int:
    """Return how many entries of the kernel memory allows; at least one."""
    height, width = images.shape[2:]
    pair = bytes_per_pair(spec, height=height, width=width, item=images.element_size())
    if pair > megabytes * 2**20:
        requirement = (
            f"at least {math.ceil(pair / 2**20)} for one pair of {height} x {width} pixels in "
            f"{spec.kernel}"
        )
        errors.fail("megabytes", requirement, megabytes)
    return int(megabytes * 2**20 / pair)


def _recompute(spec: KernelSpec, first: Tensor, second: Tensor) -> Tensor:
    """Return a block of which nothing is kept: on the way back it is computed again."""
    return checkpoint(_block, spec, first, second, use_reentrant=False, preserve_rng_state=False)

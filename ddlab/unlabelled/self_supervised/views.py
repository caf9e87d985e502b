r"""Two random views of each image: what a self-supervised teacher is to see as the same.

The views of Zbontar et al. 2021 (arXiv 2103.03230, section 2.2; those of Grill et al. 2020, arXiv
2006.07733), in this order:

| step | of each image | here |
|---|---|---|
| random part, scaled back; flip | always; one in two | `augmentation.augment` |
| brightness, contrast, saturation, hue | `jitter_probability` | `with_brightness`, `with_contrast`, `with_saturation`, `with_hue` |
| grey | `grey_probability` | `with_saturation` of 0 |
| solarised: light pixels inverted | a probability for each view | `solarise` |

They are tensor functions of our own, with numbers drawn for each image. torchvision's classes draw
from the global generator, and once for a whole batch, so that a run could not be resumed bit for
bit; its functions are what the tests compare with.

| deviation | what the paper has |
|---|---|
| no blur | one of .1 to 2 px at 224 px, so at most .3 px at 32; solo-learn's CIFAR runs (da Costa et al. 2022) have none |
| parts are scaled bilinearly, colours changed in the order above | bicubic, and an order drawn for each image |
| images of other than three channels keep their hue and saturation | only colour images |
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...core import Parameters, parameter, randomness, to_device
from ...data.augmentation import augment

_GREY = (0.299, 0.587, 0.114)  # ITU-R BT.601, as in PIL and torchvision
_BYOL = "Grill et al. 2020, table 6"


@dataclass(frozen=True, kw_only=True)
class TwoViews(Parameters):
    """Which images make a batch, and how two views of each are drawn.

    Everything is a function of these fields and the step alone.
    """

    batch_size: int = parameter(2048, range=(2, None), unit="images", help="Images per step.")
    crop_area: float = parameter(
        0.08,
        range=(0, 1),
        open_low=True,
        explorable=(0.05, 1),
        help="Least share of an image that a view keeps, scaled back to the whole size; 1 keeps "
        "all of it.",
        source=_BYOL,
    )
    flip: bool = parameter(True, help="Random horizontal flip (not for digits).")
    jitter_probability: float = parameter(
        0.8, range=(0, 1), help="How often colours are changed.", source=_BYOL
    )
    brightness: float = parameter(
        0.4,
        range=(0, 1),
        help="Brightness is multiplied by 1 - this to 1 + this.",
        source=_BYOL,
        explorable=(0, 1),
    )
    contrast: float = parameter(
        0.4,
        range=(0, 1),
        help="Distance from the mean grey, likewise.",
        source=_BYOL,
        explorable=(0, 1),
    )
    saturation: float = parameter(
        0.2, range=(0, 1), help="Distance of each pixel from its own grey, likewise.", source=_BYOL
    )
    hue: float = parameter(
        0.1,
        range=(0, 0.5),
        unit="turns",
        help="The circle of colours is turned by at most this.",
        source=_BYOL,
    )
    grey_probability: float = parameter(
        0.2, range=(0, 1), help="How often a view loses its colours.", source=_BYOL
    )
    second_solarise_probability: float = parameter(
        0.2, range=(0, 1), help="How often the second view is solarised.", source=_BYOL
    )
    seed: int = parameter(0, range=(0, None), help="Of weights, order and views.")

    def steps_per_epoch(self, count: int) -> int:
        """Return how many whole batches `count` images make; fewer images than a batch make one."""
        return max(count // self.batch_size, 1)

    def indices(self, count: int, step: int) -> Tensor:
        """Return which of `count` images are seen at `step`, int64 [batch_size, or count if that is
        less]. The order is new every epoch.
        """
        epoch, number = divmod(step, self.steps_per_epoch(count))
        order = randomness.permutation(count, self.seed, epoch, "order")
        return order[number * self.batch_size : (number + 1) * self.batch_size]

    def pair(
        self, images: Tensor, *, mean: Tensor, std: Tensor, step: int
    ) -> tuple[Tensor, Tensor]:
        """Return two views of images [n, c, h, w] at `step`: [n, c, h, w] each, normalised with
        `mean` and `std` [c].
        """
        # Colours change in [0, 1], where 0 is black; normalised values have no such end.
        shift = to_device(mean.to(images.dtype)[:, None, None], images.device)
        scale = to_device(std.to(images.dtype)[:, None, None], images.device)
        chances = (0.0, self.second_solarise_probability)
        views = []
        for number, chance in enumerate(chances):
            # The two views of a step draw at two positions of their own.
            position = 2 * step + number
            part = augment(
                images,
                crop_pixels=0,
                flip=self.flip,
                mixup_alpha=0.0,
                crop_area=self.crop_area,
                black=images.new_zeros(1, images.shape[1], 1, 1),
                seed=self.seed,
                step=position,
            ).images
            pixels = self._colour((part * scale + shift).clamp(0, 1), chance, position)
            views.append((pixels - shift) / scale)
        return views[0], views[1]

    def _colour(self, pixels: Tensor, solarise_probability: float, position: int) -> Tensor:
        """Colours changed, greyed, solarised; pixels in [0, 1] in and out.

        All is drawn, used or not: one switch moves no other.
        """
        draws = torch.rand(
            (7, len(pixels)), generator=randomness.generator(self.seed, position, "colours")
        )
        chance_jitter, brightness, contrast, saturation, hue, chance_grey, chance_solarise = (
            to_device(draws.to(pixels.dtype), pixels.device)
        )
        jittered = with_brightness(pixels, 1 + self.brightness * (2 * brightness - 1))
        jittered = with_contrast(jittered, 1 + self.contrast * (2 * contrast - 1))
        if pixels.shape[1] == 3:
            jittered = with_saturation(jittered, 1 + self.saturation * (2 * saturation - 1))
            jittered = with_hue(jittered, self.hue * (2 * hue - 1))
        pixels = _choose_by_image(chance_jitter < self.jitter_probability, jittered, pixels)
        if pixels.shape[1] == 3:
            pixels = _choose_by_image(
                chance_grey < self.grey_probability,
                with_saturation(pixels, torch.zeros_like(chance_grey)),
                pixels,
            )
        return _choose_by_image(chance_solarise < solarise_probability, solarise(pixels), pixels)


def with_brightness(pixels: Tensor, factor: Tensor) -> Tensor:
    """Multiply each image [n, c, h, w] by its factor [n], cut off at [0, 1]."""
    return (pixels * factor[:, None, None, None]).clamp(0, 1)


def with_contrast(pixels: Tensor, factor: Tensor) -> Tensor:
    """Move each image [n, c, h, w] away from its mean grey (factor [n] above 1) or towards it, cut
    off at [0, 1].
    """
    grey = _grey(pixels) if pixels.shape[1] == 3 else pixels.mean(1, keepdim=True)
    return _blend(pixels, grey.mean((1, 2, 3), keepdim=True), factor)


def with_saturation(pixels: Tensor, factor: Tensor) -> Tensor:
    """Move each pixel of images [n, 3, h, w] away from its own grey (factor [n] above 1) or towards
    it, cut off at [0, 1].
    """
    return _blend(pixels, _grey(pixels), factor)


def with_hue(pixels: Tensor, turns: Tensor) -> Tensor:
    """Turn the hue of images [n, 3, h, w] by so much of the circle of colours [n].

    Saturation and value (HSV) stay.
    """
    red, green, blue = pixels.unbind(1)
    value = pixels.amax(1)
    least = pixels.amin(1)
    chroma = value - least
    # A grey pixel has no hue, and needs none.
    safe = torch.where(chroma > 0, chroma, torch.ones_like(chroma))
    sixths = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    sixths = sixths + 6 * turns[:, None, None]
    # Red, green and blue are full where the hue is within one sixth of their own, and fall linearly
    # in the next.
    channels = []
    for offset in (5, 3, 1):
        place = (offset + sixths) % 6
        channels.append(value - chroma * torch.minimum(place, 4 - place).clamp(0, 1))
    return torch.stack(channels, 1).clamp(0, 1)


def solarise(pixels: Tensor) -> Tensor:
    """Pixels of 0.5 and lighter inverted, x -> 1 - x: [n, c, h, w] -> the same."""
    return torch.where(pixels >= 0.5, 1 - pixels, pixels)


def _grey(pixels: Tensor) -> Tensor:
    """Return the luma of colour images, [n, 1, h, w]."""
    weights = torch.tensor(_GREY, dtype=pixels.dtype, device=pixels.device)
    return (pixels * weights[:, None, None]).sum(1, keepdim=True)


def _blend(pixels: Tensor, centre: Tensor, factor: Tensor) -> Tensor:
    return (centre + (pixels - centre) * factor[:, None, None, None]).clamp(0, 1)


def _choose_by_image(chosen: Tensor, when_chosen: Tensor, otherwise: Tensor) -> Tensor:
    return torch.where(chosen[:, None, None, None], when_chosen, otherwise)

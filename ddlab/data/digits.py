"""`digits`: 1,797 real handwritten digits that come with scikit-learn.

Source: Alpaydin & Kaynak, Optical Recognition of Handwritten Digits, UCI repository 1998; the test
part, 8 x 8 pixels, 17 grey levels.
"""

from typing import Annotated

import torch
import torch.nn.functional as F

from ..core import DDLabError, checked, within
from .images import ImageData

NAME = "digits"
# Of scikit-learn's set; another number would be another set.
IMAGES = 1797
# 599 test images: an accuracy of 90% has a standard error of 1.2 points.
TEST_FRACTION = 1 / 3


@checked
def load(
    *, size: Annotated[int, within(8, 64)] = 16, seed: Annotated[int, within(0, 2**32 - 1)] = 0
) -> ImageData:
    """Return the digits as 1,198 training and 599 test images of one channel.

    Args:
        size: height and width in pixels, 8 to 64; the 8 x 8 originals are up-sampled bilinearly.
        seed: of the split into training and test images, stratified by class.

    Raises:
        DDLabError: size or seed out of range, or scikit-learn's file is damaged.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    try:
        bunch = load_digits()
    except Exception as problem:  # all that a damaged file makes the readers raise
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        raise DDLabError(
            f"scikit-learn's digits must be readable; given a damaged file ({reason})."
        ) from problem
    if bunch.images.shape != (IMAGES, 8, 8):
        raise DDLabError(
            f"scikit-learn's digits must be {IMAGES} images; given {len(bunch.images)}."
        )
    # 17 levels, 0 to 16, spread over the range of a byte.
    images = torch.from_numpy(bunch.images).float()[:, None] * (255 / 16)
    if size != 8:
        images = F.interpolate(images, size=(size, size), mode="bilinear", align_corners=False)
    pixels = images.round().clamp(0, 255).to(torch.uint8)
    labels = torch.from_numpy(bunch.target).long()
    # Stratified, or a class may have 45 or 75 test images.
    train, test = train_test_split(
        range(len(labels)), test_size=TEST_FRACTION, stratify=bunch.target, random_state=seed
    )
    return ImageData(
        name=f"digits-{size}",
        train_images=pixels[train],
        train_labels=labels[train],
        test_images=pixels[test],
        test_labels=labels[test],
        class_names=tuple(str(digit) for digit in range(10)),
    )

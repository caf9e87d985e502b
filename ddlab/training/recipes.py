"""Published settings of students, as changes to the defaults of `supervised.Config`.

FADRM: Tables 9, 11, 13, 15, 17 and 18 (arXiv 2506.24125). RDED: Sun et al. 2024, arXiv 2312.03526, with what its code sets for each
network and number of images. DC, DSA and DM: Zhao, Mopuri & Bilen 2021, Zhao & Bilen 2021 and 2023 (arXiv 2006.05929, 2102.08259,
2110.04181), with what their shared code sets.

| deviation from | what it does | here |
|---|---|---|
| RDED on ImageNet | the patches of a mosaic change places in every view | they stay |
| RDED's code | a ConvNet on CIFAR-100 has batches of 25 and a rate of .002 only where its teacher is a ConvNet | it has them always |
| FADRM's code on ImageNette | batches of 10, for labels and student | 16, as in Table 15 |
| DC's code on MNIST | each image is moved, scaled or turned in its own way, for 1000 epochs | it is seen as it is, for 300 |
| DC's, DSA's and DM's code | the rate falls an epoch after half, momentum begins anew; one epoch more | at half; momentum stays |
| FADRM's code | the student too sees a batch of 16 as two parts of 8, in two passes before one update | one pass of 16 |
"""

from __future__ import annotations

from typing import Any

from .. import networks
from ..core import errors
from ..data import siamese_views

# Learning rate and eta of S1 to S4 (Table 9).
_SETTINGS = {1: (1e-3, 1.0), 2: (1e-3, 2.0), 3: (5e-4, 1.0), 4: (5e-4, 2.0)}
# dataset -> student -> which of them for 1, 10 and 50 images per class.
_FADRM = {
    "cifar100": {"resnet18": (4, 2, 1), "resnet50": (1, 2, 1)},
    "tiny-imagenet": {"resnet18": (2, 2, 1), "resnet50": (4, 4, 3)},
    "imagenette": {"resnet18": (4, 3, 4), "resnet50": (4, 3, 3)},
    "imagewoof": {"resnet18": (4, 3, 2), "resnet50": (4, 3, 3)},
    "imagenet": {"resnet18": (2, 2, 1), "resnet50": (4, 2, 1)},
}
_RDED_CLASSES = {"cifar10": 10, "cifar100": 100, "tiny-imagenet": 200, "imagenet": 1000}
_RDED_RATES = {
    "resnet18": 1e-3, "resnet50": 1e-3, "convnet": 1e-3, "vgg11": 5e-4, "mobilenet_v2": 2.5e-3, "efficientnet_b0": 2e-3,
}  # fmt: skip
_RDED_BATCHES = {1: 10, 10: 50, 50: 100}
_SHARED: dict[str, Any] = {
    "temperature": 20.0,
    "weight_decay": 0.01,
    "decay_vectors": False,
    "crop_pixels": 0,
    "mixup_alpha": 0.0,
    "cutmix_alpha": 1.0,
}


_UPRIGHT = ("mnist", "svhn")  # digits


def matching_student(dataset: str, recipe: str) -> dict[str, Any]:
    """DC's student, which sees images as they are, or DSA's and DM's, with a view of its own for each image: a ConvNet, class numbers."""
    errors.check_choice("dataset", dataset, ("mnist", "fashion-mnist", "svhn", "cifar10", "cifar100"))
    seen = {"strategy": siamese_views.UPRIGHT if dataset in _UPRIGHT else siamese_views.ALL} if recipe == "dsa" else {}
    optimising = {"optimiser": "sgd", "learning_rate": 0.01, "weight_decay": 5e-4, "schedule": "halfway"}
    return {
        "network": networks.spec("convnet", norm="instance"),
        "epochs": 1000 if recipe == "dsa" else 300,
        "batch_size": 256,
        "crop_pixels": 0,
        "flip": False,
        "mixup_alpha": 0.0,
        **optimising,
        **seen,
    }


def fadrm_student(dataset: str, images_per_class: int | None, family: str) -> dict[str, Any]:
    """FADRM's student: several teachers in train mode on halves of batches of 16, CutMix, cosine with eta."""
    errors.check_choice("dataset", dataset, tuple(_FADRM))
    errors.check_choice("network", family, ("resnet18", "resnet50"))
    place = (1, 10, 50).index(errors.check_choice("images_per_class", images_per_class, (1, 10, 50)))
    learning_rate, stretch = _SETTINGS[_FADRM[dataset][family][place]]
    long = dataset == "cifar100" or (dataset == "tiny-imagenet" and images_per_class == 1)
    teachers = {"teacher_mode": "train", "teacher_batch_size": 8}
    optimising = {"epochs": 1000 if long else 300, "learning_rate": learning_rate, "stretch": stretch}
    return {**_SHARED, "batch_size": 16, "crop_area": 0.08, **teachers, **optimising}


def rded_student(dataset: str, images_per_class: int | None, family: str) -> dict[str, Any]:
    """RDED's student: one teacher in eval mode, CutMix, a cosine that ends at half its start."""
    classes = _RDED_CLASSES[errors.check_choice("dataset", dataset, tuple(_RDED_CLASSES))]
    learning_rate = _RDED_RATES[errors.check_choice("network", family, tuple(_RDED_RATES))]
    count = errors.check_choice("images_per_class", images_per_class, tuple(_RDED_BATCHES))
    batch_size = _RDED_BATCHES[count] * (2 if classes in (100, 1000) else 1)
    if dataset == "tiny-imagenet":
        batch_size = 100
    if (dataset, family) == ("cifar100", "convnet"):
        batch_size, learning_rate = 25, 2e-3
    # One patch of several to a mosaic is the least that is kept of it; with one there is nothing to cut.
    views = {"batch_size": min(batch_size, count * classes), "crop_area": 0.5 if dataset == "imagenet" else 1.0}
    # Two passes: the code measures accuracy in one of its own, on the mixed batch too, for its CutMix changes the images in place.
    return {**_SHARED, **views, "epochs": 300, "learning_rate": learning_rate, "stretch": 2.0, "passes": 2}

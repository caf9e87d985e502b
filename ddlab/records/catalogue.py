"""The sweeps by name: what `ddlab records NAME` runs."""

from __future__ import annotations

import functools

from ..core import errors
from . import diversity, residuals, self_supervised, setting, transfer
from .sweep import Place, Point, Sweep

_ON_SHAPES = "Shapes at 16 px (5,000 images), ConvNet-3 of width 32 as one teacher and as students, 150 iterations, students 100 epochs."
_PAIRS = "A seed is the draw of images and the student's seed."
_AT_64 = (
    "Shapes at 64 px (4,000 images, 1,000 to test), ConvNet-5 of width 16 with a global mean as one teacher (shipped) and as students, "
    "120 iterations, 5 images per class, students 100 epochs."
)
_WITHOUT_LABELS = (
    "Shapes at 16 px (5,000 images), a ConvNet-3 of width 32 as teacher without labels (Barlow Twins, 40 epochs; shipped), 300 outer "
    "steps with a pool of three networks, which are ConvNets of 16, 32 and 64 channels like the pre-trained ones (300 epochs). A seed is "
    "that of every draw. Measured: accuracy of a linear probe on shapes and on digits"
)
_MEASURED = (
    "Measured: accuracy with hard and with online labels, normalised feature distance, coverage of 300 real images."
)


def _diversity(name: str, scale: str, settings: list[Point], description: str) -> Sweep:
    return Sweep(
        name=name,
        description=f"{description} {_PAIRS} {_MEASURED}",
        settings=settings,
        run=functools.partial(diversity.measured, scale=scale),
        prepare=functools.partial(setting.prepare, scale=scale),
    )


SWEEPS: dict[str, Sweep] = {
    sweep.name: sweep
    for sweep in (
        _diversity(
            "variance_sweep", "shapes", diversity.variance_sweep(),
            f"DWA, Fig 3: the weight of the variance term, alone and coupled with the mean's. {_ON_SHAPES} 5 images per class.",
        ),
        _diversity(
            "adjustment_grid", "shapes", diversity.adjustment_grid(),
            f"DWA, Fig 5: steps and radius of the directed adjustment. {_ON_SHAPES} 5 images per class.",
        ),
        _diversity(
            "perturbation_kinds", "shapes", diversity.perturbation_kinds(),
            f"DWA, Table 3: no, random and directed perturbation; real images and SRe2L beside them. {_ON_SHAPES}",
        ),
        Sweep(
            name="architectures",
            description=(
                f"DWA, Table 4: students of other architectures. {_ON_SHAPES} 10 images per class; these students 30 epochs in batches "
                f"of 25, and no EfficientNet, to stay within two cores. {_PAIRS} Measured: accuracy with online labels. The first point "
                "of a set pays for its images."
            ),
            settings=transfer.architectures(),
            run=transfer.across_architectures,
            prepare=functools.partial(setting.prepare, scale="shapes"),
        ),
        Sweep(
            name="continual",
            description=(
                f"DWA, Table 10: class-incremental learning (GDumb), five tasks of two classes. {_ON_SHAPES} 20 images per class. "
                f"{_PAIRS} Measured: accuracy over the classes seen, with hard and with online labels; the teacher knows all classes."
            ),
            settings=transfer.continual(),
            run=transfer.in_tasks,
            prepare=functools.partial(setting.prepare, scale="shapes"),
        ),
        _diversity(
            "cifar10_small", "cifar10_small", diversity.cifar10_small(),
            "The parts of DWA on CIFAR-10: 12,000 images, ConvNet-3 of width 48, 5 images per class, 200 iterations, students "
            "300 epochs.",
        ),
        _diversity(
            "cifar10_paper", "cifar10_paper", diversity.cifar10_paper(),
            "The parts of DWA on CIFAR-10 at the published settings: ResNet-18, 1,000 iterations, students 400 epochs.",
        ),
        Sweep(
            name="residuals",
            description=(
                "FADRM, Tables 3, 5 and 6: merge ratio (1: no residual) by optimisation at full size or at two, number of merges, smaller "
                "size, kind of patch, precision; beside them the patches as they are, RDED, SRe2L, and two other ways to stay near the "
                f"patches. {_AT_64} {_PAIRS} Measured: accuracy with hard and with online labels, entropy of the pixels in bits, standard "
                "deviation within an image."
            ),
            settings=residuals.settings(),
            run=residuals.measured,
        ),
        Sweep(
            name="residuals_paper",
            description=(
                "FADRM on CIFAR-10 at the published settings: ResNet-18, 2,000 steps in mixed precision, 10 images per class, students 400 "
                "epochs; without its residual, stopped early, and beside random images, RDED and SRe2L."
            ),
            settings=residuals.cifar10_paper(),
            run=functools.partial(residuals.measured, scale="cifar10_paper"),
            prepare=functools.partial(setting.prepare, scale="cifar10_paper"),
        ),
        Sweep(
            name="residual_labels",
            description=(
                "Step by step to FADRM's student: class numbers, teacher's labels stored once, for every view, from a teacher in train "
                "mode on halves of batches of 16 (BSSL), CutMix in the place of mixup, labels stored for every epoch, the cosine's eta. "
                f"FADRM's images and their patches. {_AT_64} {_PAIRS} Measured: accuracy."
            ),
            settings=residuals.labels(),
            run=residuals.by_labels,
        ),
        Sweep(
            name="residual_continual",
            description=(
                f"FADRM, Fig 6: class-incremental learning (GDumb), five tasks of two classes. {_AT_64} {_PAIRS} "
                "Measured: accuracy over the classes seen, with hard and with online labels; the teacher knows all classes."
            ),
            settings=residuals.continual(),
            run=residuals.in_tasks,
        ),
        Sweep(
            name="self_supervised",
            description=(
                "Boost, Tables 2, 3, 4 and 12: KRR-ST, bases and coefficients, predefined views, what bases and coefficients begin as, "
                f"budgets, and real images with the teacher's representations. {_WITHOUT_LABELS}, number of pairs, floats."
            ),
            settings=self_supervised.settings(),
            run=self_supervised.measured,
        ),
        Sweep(
            name="self_supervised_architectures",
            description=(
                "Boost, Table 1: networks of other architectures, pre-trained for 60 epochs on random real images with the teacher's "
                f"representations, on KRR-ST's and on Boost's pairs, and on none. {_WITHOUT_LABELS}."
            ),
            settings=self_supervised.architecture_settings(),
            run=self_supervised.by_architecture,
        ),
        Sweep(
            name="self_supervised_paper",
            description=(
                "Boost, Table 3, on CIFAR-10 at the published sizes for 100 images: a ResNet-18 as teacher without labels (Barlow Twins, "
                "1,000 epochs), 30,000 outer steps with ten networks of 128, 256 and 512 channels, pre-training 1,000 epochs. Measured: "
                "accuracy of a linear probe on CIFAR-10 and on digits, number of pairs, floats."
            ),
            settings=self_supervised.paper_settings(),
            run=functools.partial(self_supervised.measured, scale="cifar10_paper"),
            prepare=functools.partial(self_supervised.prepare, scale="cifar10_paper"),
        ),
        Sweep(
            name="shift_models",
            description=(
                "Boost, Table 11: how the representations of views are stored, on one result and on what each model leaves of a budget "
                f"of {self_supervised.BUDGET} images. {_WITHOUT_LABELS}, number of pairs, the model's relative squared error."
            ),
            settings=self_supervised.shift_models_settings(),
            run=self_supervised.by_shift,
        ),
    )
}  # fmt: skip


def run_point(name: str, point: Point, place: Place | None = None) -> dict[str, float]:
    """One point of a record, computed here and now, for comparison with its row.

    Args:
        name: of the record. point: the columns of its setting (`SWEEPS[name].settings`).
        place: device and images; default the CPU and the record's own images.

    Raises:
        DDLabError: an unknown record, or a point with other columns.
    """
    return SWEEPS[errors.check_choice("name", name, tuple(SWEEPS))].measure(point, place)

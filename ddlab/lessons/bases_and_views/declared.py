"""What lesson 40 puts to the test, declared before any run."""

from typing import Any

from ..declaration import Claim

_LESSON_40 = "40_bases_and_views"


def _small(id: str, source: str, statement: str, effect: str, claimed: float, **more: Any) -> Claim:
    return Claim(
        id=id,
        source=f"Boost, {source}",
        statement=statement,
        effect=effect,
        claimed=claimed,
        test="small",
        lesson=_LESSON_40,
        **more,
    )


_PROBE = "accuracy of a linear probe on the source"

DECLARED = (
    _small(
        "B1 real", "Table 4", "Principal components with projected coefficients are a better beginning than real images with random ones.",
        f"{_PROBE}, principal bases and projected coefficients minus real images as bases and random coefficients", 0.02,
    ),
    _small(
        "B1 random", "Table 4", "Real images as bases are a better beginning than random ones, with random coefficients.",
        f"{_PROBE}, real minus random bases, both with random coefficients", 0.02,
    ),
    _small(
        "B1 bases", "Table 4, arms crossed",
        "It is the bases: with projected coefficients too, principal ones are better than real images.",
        f"{_PROBE}, principal bases minus real images, both with projected coefficients", 0.01,
    ),
    _small(
        "B1 coefficients", "Table 4, arms crossed",
        "It is the coefficients: of principal bases, projected ones are better than random ones.",
        f"{_PROBE}, projected minus random coefficients, both with principal bases", 0.02,
    ),
    _small(
        "B2 parts", "Table 3", "Bases and coefficients help.",
        f"{_PROBE}, Boost without views minus KRR-ST, 20 images", 0.01,
    ),
    _small(
        "B2 views", "Table 3", "Predefined views with approximation networks help.",
        f"{_PROBE}, Boost with rotations minus without views, 20 images", 0.01,
    ),
    _small(
        "B2 reset", "Algorithm 1 and KRR-ST's code",
        "Counting a network that was drawn anew from 0, which the authors' code forgets, makes a better set.",
        f"{_PROBE}, KRR-ST with the counter reset minus without", 0.01,
    ),
    _small(
        "B3 bias", "Table 11", "A vector for each view predicts its shift better than no shift.",
        "mean square error of no shift minus that of one vector for each view, over the mean square of the shifts; one result", 0.02,
    ),
    _small(
        "B3 networks", "Table 11", "Approximation networks predict it better than a vector.",
        "the same error of one vector for each view minus that of networks of width 4; one result", 0.1,
    ),
    _small(
        "B3 width", "Table 11", "Wider networks predict it better.",
        "the same error of networks of width 2 minus that of width 8; one result", 0.05,
    ),
    _small(
        "B3 accuracy", "Table 11", "At one budget networks teach more than a vector for each view.",
        f"{_PROBE}, networks of width 4 minus a vector for each view, each with as many pairs as the budget buys", 0.005,
    ),
    _small(
        "B3 budget", "Table 11", "At one budget width 8 teaches less than width 4, because it leaves fewer pairs.",
        f"{_PROBE}, networks of width 4 minus of width 8, each with as many pairs as the budget buys", 0.005,
    ),
    _small(
        "B4 any", "Table 12", "Any of the predefined views is better than none.",
        f"{_PROBE}, the worst of rotations, jigsaws and crops minus no views", 0.01,
    ),
    _small(
        "B4 rotation", "Table 12", "Rotations are the best of them.",
        f"{_PROBE}, rotations minus the better of jigsaws and crops", 0.005,
    ),
    _small(
        "B5 random", "Table 2", "Better than random real images at every budget.",
        f"{_PROBE}, Boost minus random images with the teacher's representations, least of budgets of 10, 20 and 40 images", 0.01,
    ),
    _small(
        "B5 k-means", "Table 2", "Better than images nearest to k-means centres at every budget.",
        f"{_PROBE}, Boost minus images nearest to centres, least of budgets of 10, 20 and 40 images", 0.01,
    ),
    _small(
        "B5 KRR-ST", "Table 2", "Better than KRR-ST at every budget.",
        f"{_PROBE}, Boost minus KRR-ST, least of budgets of 10, 20 and 40 images", 0.01,
    ),
    _small(
        "B5 control", "Table 3, a control the paper has not got",
        "The gain is not that of the teacher's representations of rotated real images.",
        f"{_PROBE}, Boost minus random real images with their rotations and the teacher's representations, which together fit the budget",
        0.01,
    ),
    _small(
        "B6 biased", "section 3.1", "Random views bias the outer gradient.",
        "distance of the mean gradient over all draws of one view of each image from the gradient with all views, as a part of its length",
        0.1,
    ),
    _small(
        "B6 draws", "section 3.1", "It is the draw: with more drawn views of each image the bias falls.",
        "bias with one drawn view of each image minus bias with four, as a part of the length of the gradient with all views", 0.05,
    ),
    _small(
        "B7", "section 1", "Representations of self-supervised teachers span few dimensions.",
        "one minus the effective rank of the teacher's centred representations as a part of their dimension", 0.5,
    ),
    _small(
        "B7 learnt", "section 1", "Learning without labels makes them few: an untrained network's span more.",
        "effective rank of an untrained network's centred features minus that of the teacher's, as a part of their dimension", 0.05,
    ),
    _small(
        "B8 other", "Table 1", "What is learnt is of use for another dataset.",
        "accuracy of a linear probe on digits, Boost minus random images with the teacher's representations, 20 images", 0.005,
    ),
    _small(
        "B8 architectures", "Table 1", "And to networks of other architectures than the one that made the set.",
        f"{_PROBE}, Boost minus random images with representations, mean of VGG11, ResNet-18, AlexNet, MobileNetV2 and ViT", 0.01,
    ),
    _small(
        "B10 time", "Table 13", "A run takes hardly longer than KRR-ST's.",
        "1.3 minus the CPU time of an outer iteration of Boost over that of KRR-ST, 20 images each", 0.0,
    ),
)  # fmt: skip

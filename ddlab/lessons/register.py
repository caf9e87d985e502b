"""The register: what each source claims, and which effect of which size would show it, declared before any run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "small", "scale", "table"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One testable claim.

    Attributes:
        id: as in the register ("D1"), with a word where one entry has several parts ("X1 labels").
        source: paper and place. statement: the claim in one sentence.
        effect: the number that is measured for each pair, in words. claimed: how large it is at least if the claim holds.
        test: what it takes: "exact", "small" (two cores), "scale" (a GPU), "table" (reading).
        lesson: name of the notebook that tests it.
    """

    id: str
    source: str
    statement: str
    effect: str
    claimed: float
    test: Kind
    lesson: str


_D1_PLACE = "Du et al. 2024 (DWA), eq 7"
_START = "00_start"
_LESSON_20 = "20_inverting_a_network"
_LESSON_21 = "21_diversity"

CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            id="D1",
            source=_D1_PLACE,
            statement="The diversity of SRe2L's images comes from the variance term only.",
            effect="share of the normalised feature distance (eq 21) that is lost when lambda_var goes from .01 to 0",
            claimed=0.8,
            test="small",
            lesson=_LESSON_20,
        ),
        Claim(
            id="X1 labels",
            source="control for every method that relabels",
            statement="A teacher's labels raise what a student learns from the same real images.",
            effect="accuracy with online teacher labels minus accuracy with hard labels, same real images",
            claimed=0.05,
            test="small",
            lesson=_LESSON_20,
        ),
        Claim(
            id="X1 images",
            source="control for every method that makes images",
            statement="Recovered images teach more than real images that carry the same teacher's labels.",
            effect="accuracy with recovered images minus accuracy with random real images, both with online teacher labels",
            claimed=0.05,
            test="small",
            lesson=_LESSON_20,
        ),
        # The same two on colour pictures and ten images per class. Declared with the effects of the digits, before the pairs were run.
        Claim(
            id="X1 shapes labels",
            source="control for every method that relabels",
            statement="A teacher's labels raise what a student learns from the same real images.",
            effect="accuracy with online teacher labels minus accuracy with hard labels, same random real images",
            claimed=0.05,
            test="small",
            lesson=_START,
        ),
        Claim(
            id="X1 shapes images",
            source="control for every method that makes images",
            statement="SRe2L's images teach more than real images that carry the same teacher's labels.",
            effect="accuracy with SRe2L's images minus accuracy with random real images, both with online teacher labels",
            claimed=0.05,
            test="small",
            lesson=_START,
        ),
        Claim(
            id="D2 factor",
            source="DWA, eq 19",
            statement="The derivative of the squared variance gap is the printed one.",
            effect="printed derivative over autograd's, mean over all coordinates",
            claimed=1.0,
            test="exact",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D2 one side",
            source="DWA, eq 20",
            statement="The points on one side of the batch mean, and only they, are pulled apart by the two gaps.",
            effect="share of coordinates whose two derivatives are opposed exactly when eq 20 says so",
            claimed=1.0,
            test="exact",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D2 batch",
            source="DWA, A.1 and section 3.1",
            statement="The two gaps work against each other on the batch as a whole.",
            effect="minus the cosine between the two gradients over the whole batch",
            claimed=0.1,
            test="exact",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D3 decoupled",
            source="DWA, Fig 3b",
            statement="A larger weight on the variance gap alone teaches more than the same weight on both gaps.",
            effect="accuracy with lambda_var = .11 and lambda_mean = .01 minus accuracy with both .11; DWA, online labels",
            claimed=0.02,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D3 best",
            source="DWA, Fig 3b",
            statement="lambda_var = .11 teaches more than .01.",
            effect="accuracy with lambda_var = .11 minus accuracy with .01, lambda_mean = .01; DWA, online labels",
            claimed=0.02,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D3 CIFAR-10",
            source="DWA, Fig 3",
            statement="The same decoupling on CIFAR-10, from real images without adjustment.",
            effect="accuracy with lambda_var = .11 and lambda_mean = .01 minus accuracy with both .11; online labels",
            claimed=0.02,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D4",
            source="DWA, Fig 4",
            statement="Decoupling raises the normalised feature distance.",
            effect="feature distance (eq 21) with lambda_var = .11 alone over that with both .11, minus 1; DWA",
            claimed=0.05,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D5",
            source="DWA, eq 11",
            statement="A perturbation of the weights raises the variance of the images.",
            effect="feature distance (eq 21) with a random perturbation over that without, minus 1; 10 images per class",
            claimed=0.05,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D6",
            source="DWA, eq 15",
            statement="The directed step lowers the loss on the data outside its batch.",
            effect="fall of the mean cross-entropy on the rest of the data, as a share of its value before",
            claimed=0.0,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D7 directed",
            source="DWA, Table 3",
            statement="At 10 images per class the directed adjustment teaches more than none.",
            effect="accuracy with directed adjustment minus accuracy without; online labels",
            claimed=0.02,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D7 random",
            source="DWA, Table 3",
            statement="At 10 images per class a random perturbation harms.",
            effect="accuracy without perturbation minus accuracy with a random one; online labels",
            claimed=0.02,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D7 more images",
            source="DWA, Table 3",
            statement="At 50 images per class a random perturbation no longer harms.",
            effect="accuracy with a random perturbation minus accuracy without; online labels",
            claimed=0.0,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D7 CIFAR-10",
            source="DWA, Table 3",
            statement="The directed adjustment teaches more than none, on CIFAR-10 with 5 images per class.",
            effect="accuracy with directed adjustment minus accuracy without; online labels",
            claimed=0.02,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D8",
            source="DWA, Fig 5",
            statement="The adjustment helps over a wide range of K and rho.",
            effect="accuracy, mean over K = 4, 12, 24 and rho = .005, .015, .05, minus accuracy without adjustment; online labels",
            claimed=0.01,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D10",
            source="DWA, Table 10",
            statement="When classes arrive in tasks, DWA's images teach more than SRe2L's at every stage.",
            effect="smallest difference over the stages, accuracy with DWA's images minus with SRe2L's",
            claimed=0.05,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D11",
            source="DWA, Table 11",
            statement="The adjustment adds 7.32% to the time of a recovery.",
            effect="CPU-seconds of the K = 12 steps over those of 1000 image updates",
            claimed=0.07,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D12",
            source="DWA, Fig 1",
            statement="DWA's images lie wider over the real ones than SRe2L's.",
            effect="nearest-neighbour coverage of 300 real images, DWA minus SRe2L; 10 images per class",
            claimed=0.05,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D12 CIFAR-10",
            source="DWA, Fig 1",
            statement="The same on CIFAR-10 with 5 images per class.",
            effect="nearest-neighbour coverage of 300 real images, DWA minus SRe2L",
            claimed=0.05,
            test="small",
            lesson=_LESSON_21,
        ),
        Claim(
            id="D14",
            source="DWA, introduction, sections 4.1 and 4.2, A.2",
            statement="What the paper's sentences say of its Tables 1 to 4, 10 and 11 agrees with these tables.",
            effect="share of the sentences that their table bears out",
            claimed=1.0,
            test="table",
            lesson=_LESSON_21,
        ),
    )
}

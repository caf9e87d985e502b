"""What lessons 00 and 20 put to the test, declared before any run."""

from ..declaration import Claim

_D1_PLACE = "Du et al. 2024 (DWA), eq 7"
_START = "00_start"
_LESSON_20 = "20_inverting_a_network"

DECLARED = (
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
)

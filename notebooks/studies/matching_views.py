"""Makes ddlab/records/tables/matching_views.json: DSA through each of its operations alone, and
through all, which lesson 05 shows.

python notebooks/studies/matching_views.py            # 40 minutes
"""

from collections.abc import Iterable, Iterator

from study import QUIET, Setting, Study, images_of

import ddlab
from ddlab.data import siamese_views
from ddlab.lessons.matching.world import student_config
from ddlab.methods import dsa

# Images per class -> random networks, and seeds: an update of five images has ten inner ones.
SIZES = {1: (100, 8), 5: (20, 5)}
OPERATIONS = {
    "none": "",
    **{name: name for name in ("color", "crop", "cutout", "flip", "scale", "rotate")},
    "all": siamese_views.UPRIGHT,
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each operation for each number of images; five of a class have fewer seeds."""
    chosen = list(seeds)
    for images, (_, count) in SIZES.items():
        for seed in (seed for seed in chosen if seed < count):
            yield from ((operation, images, seed) for operation in OPERATIONS)


def measure(operation: str, images: int, seed: int) -> float:
    """Return the accuracy of a student that sees the images through the same operation."""
    strategy = OPERATIONS[operation]
    networks, _ = SIZES[images]
    config = dsa.Config.teaching(
        strategy=strategy, images_per_class=images, networks=networks, seed=seed
    )
    distilled = ddlab.distill(dsa, images_of("digits"), config=config, **QUIET)
    student = student_config(images_of("digits")).replace(strategy=strategy)
    return ddlab.evaluate(
        distilled, images_of("digits"), labels="hard", seeds=(seed,), config=student, **QUIET
    ).mean


STUDY = Study(
    name="matching_views",
    description="Accuracy on digits (16 px) of students of DSA's images, which were matched through "
    "one of its operations, or all but flips, the same for real and learned images; DSA's teaching "
    "preset, begun as real images, with 100 random networks for one image per class and 20 for "
    "five. Students see the images through the same operation.",
    setting=("operation", "images", "seed"),
    measured=("accuracy",),
    seeds=range(8),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()

"""What the images of one step of a run are worth: a student of them, beside one of as many random
real images.
"""

import dataclasses
from collections.abc import Callable

import torch

from ..distilled import DistilledSet, Representations
from ..evaluation.probing import worth
from ..evaluation.students import student_accuracy
from ..methods import recovery, representation_selection
from ..methods._labelling import labelled_set
from ..runs import process
from ..runs.process import Inputs, Step, require_data
from ..training import supervised


def accuracies(made: DistilledSet, inputs: Inputs, watch: Callable[[Step], None]) -> str:
    """Return the test accuracy of a student of `made` and of one of random real images, in words.

    A set with classes is learnt with the teacher's labels where it has them, online ones before
    stored ones, else with hard ones; one with representations by pre-training, whose features a
    linear probe reads. Nothing is repeated: one student each.

    Args:
        inputs: of the run.
        watch: called after every update; what it raises ends the training.

    Raises:
        DDLabError: a set without images, or with more of a class than there are real ones.
    """
    data = require_data("a student", inputs)
    kinds = [target.kind for target in made.targets]
    if "representations" in kinds:
        sets = made, _real_representations(made, inputs)
        found = [worth(each, data, device=inputs.device, watch=watch) for each in sets]
        return (
            f"a probe of a network that learnt them finds {found[0]:.1%}, of as many random real "
            f"images {found[1]:.1%}"
        )
    labels = next((each for each in ("online", "stored") if each in kinds), "hard")
    config = supervised.Config.quick(data, labels=labels)
    found = []
    for each in (made, _real_images(made, inputs)):
        given = dataclasses.replace(inputs, data=None, distilled=each)
        found.append(student_accuracy(config, given, data, on_step=watch))
    return f"{found[0]:.1%} with {labels} labels, of as many random real images {found[1]:.1%}"


def _real_representations(made: DistilledSet, inputs: Inputs) -> DistilledSet:
    target: Representations = made.target("representations")
    config = representation_selection.Config(budget=len(made), augmentation=target.augmentation)
    return process.run(representation_selection, config, inputs)


def _real_images(made: DistilledSet, inputs: Inputs) -> DistilledSet:
    """As many real images of each class, at random, with the same kinds of labels."""
    data = require_data("a student", inputs)
    counts = torch.bincount(made.labels, minlength=data.classes)
    recovery.check_images_per_class(data, int(counts.max()))
    drawn = recovery.real_image_indices(data, int(counts.max()), seed=0)
    rows = torch.cat([drawn[:count, label] for label, count in enumerate(counts.tolist())])
    images = data.normalised(rows, device=inputs.device)
    return labelled_set(
        images, data.train_labels[rows], inputs, complete=True, provenance={"method": "real images"}
    )

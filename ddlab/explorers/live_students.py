"""What the images of one step of a run are worth: a student of them, beside one of as many random
real images.
"""

import dataclasses
from collections.abc import Callable

import torch

from ..distilled import DistilledSet, Representations
from ..evaluation.students import student_accuracy
from ..methods import representation_selection
from ..methods.shared import descent
from ..methods.shared.labelling import labelled_set
from ..runs import NOTHING, Inputs, Run, Step
from ..training import supervised
from ..unlabelled.probing import probe_score


def accuracies(distilled: DistilledSet, inputs: Inputs, watch: Callable[[Step], None]) -> str:
    """Return the test accuracy of a student of `distilled` and of one of random real images, in words.

    A set with classes is learnt with the teacher's labels where it has them, online ones before
    stored ones, else with hard ones; one with representations by pre-training, whose features a
    linear probe reads. Nothing is repeated: one student each.

    Args:
        inputs: of the run.
        watch: called after every update; what it raises ends the training.

    Raises:
        DDLabError: a set without images, or with more of a class than there are real ones.
    """
    data = inputs.data
    kinds = [target.kind for target in distilled.targets]
    if "representations" in kinds:
        sets = distilled, _real_representations(distilled, inputs)
        scores = [
            probe_score(compared_set, data, device=inputs.device, watch=watch)
            for compared_set in sets
        ]
        return (
            f"a probe of a network that learnt them finds {scores[0]:.1%}, of as many random real "
            f"images {scores[1]:.1%}"
        )
    # The best labels that the set has: online ones see each view, stored ones the plain image.
    labels = next(
        (compared_set for compared_set in ("online", "stored") if compared_set in kinds), "hard"
    )
    config = supervised.Config.quick(data, labels=labels)
    scores = []
    for compared_set in (distilled, _real_images(distilled, inputs)):
        student_inputs = dataclasses.replace(inputs, data=None, distilled=compared_set)
        scores.append(student_accuracy(config, student_inputs, data, on_step=watch))
    return f"{scores[0]:.1%} with {labels} labels, of as many random real images {scores[1]:.1%}"


def _real_representations(distilled: DistilledSet, inputs: Inputs) -> DistilledSet:
    target: Representations = distilled.target("representations")
    config = representation_selection.Config(
        budget=len(distilled), augmentation=target.augmentation
    )
    return Run(representation_selection, config, inputs, keep=NOTHING).to_end()


def _real_images(distilled: DistilledSet, inputs: Inputs) -> DistilledSet:
    """Draw as many random real images of each class, with the same kinds of labels."""
    data = inputs.data
    counts = torch.bincount(distilled.labels, minlength=data.classes)
    descent.check_images_per_class(data, int(counts.max()))
    indices = descent.real_image_indices(data, int(counts.max()), seed=0)
    rows = torch.cat([indices[:count, label] for label, count in enumerate(counts.tolist())])
    images = data.normalised(rows, device=inputs.device)
    return labelled_set(
        images, data.train_labels[rows], inputs, complete=True, provenance={"method": "real images"}
    )

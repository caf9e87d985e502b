"""Teachers without labels: a network learns from two views of each image, as a process.

    config = ddlab.unlabelled.self_supervised.Config.for_data(data)
    teacher = ddlab.Run(self_supervised, config, ddlab.Inputs(data=data)).to_end()
    features = ddlab.unlabelled.self_supervised.representations(teacher, data)
    print(ddlab.unlabelled.probe(teacher, data))

The package itself is the process by Barlow Twins; `Teacher(objective)` is the process by any other.
An objective is a file (`objective.py` says of what form): which of its tensors the gradient trains,
which follow by momentum, and which are only written.

| objective | trained | target | buffers | its loss is made of |
|---|---|---|---|---|
| Barlow Twins, SimCLR, VICReg | | | | both projections |
| SimSiam | predictor | | | predictions, and projections without gradient |
| BYOL | predictor | network, projector | | predictions, and the target's projections |
| MoCo | | network, projector | queue, its next row | projections, the target's, the queue |
| SwAV | prototypes (`follow` gives them length 1) | | queue, if any | Sinkhorn's assignment of one view for the other |
| DINO | prototypes | network, projector, prototypes | centre | the target's probabilities, centred |

Each is a module here (`self_supervised.byol.Config.for_data(data)`); Barlow Twins' names are also
the package's. Two things that some of them publish have no place yet: a predictor's own learning
rate (SimSiam), and more than two views (DINO, SwAV).
"""

from types import ModuleType

from ...core import errors
from . import barlow_twins, byol, dino, moco, simclr, simsiam, swav, vicreg
from .barlow_twins import SMALL, Config, barlow_twins_loss, cross_correlation, standardise
from .features import representations
from .momentum import MomentumTraining, target_momentum
from .objective import Batch, NarrowTraining, ObjectiveState, Training, follow_by_momentum
from .optimising import lars_direction, warmed_cosine
from .projector import project, projector_weights
from .teacher import NAME, NEEDS, State, Teacher, Trace
from .views import TwoViews, solarise, with_brightness, with_contrast, with_hue, with_saturation

OBJECTIVES: dict[str, ModuleType] = {
    objective.NAME: objective
    for objective in (barlow_twins, byol, dino, moco, simclr, simsiam, swav, vicreg)
}
_by_barlow_twins = Teacher(barlow_twins)
total_steps = _by_barlow_twins.total_steps
init = _by_barlow_twins.init
update = _by_barlow_twins.update
finish = _by_barlow_twins.finish
look = _by_barlow_twins.look


def teacher_of(config: Training) -> Teacher:
    """Return the process by the one of `OBJECTIVES` that a config names.

    For an objective of your own it is `Teacher(objective)`.
    """
    errors.check_instance("config", config, Training, "the Config of an objective")
    return Teacher(OBJECTIVES[errors.check_choice("config.loss", config.loss, tuple(OBJECTIVES))])


__all__ = [
    "NAME",
    "NEEDS",
    "OBJECTIVES",
    "SMALL",
    "Batch",
    "Config",
    "MomentumTraining",
    "NarrowTraining",
    "ObjectiveState",
    "State",
    "Teacher",
    "Trace",
    "Training",
    "TwoViews",
    "barlow_twins_loss",
    "byol",
    "cross_correlation",
    "dino",
    "finish",
    "follow_by_momentum",
    "init",
    "lars_direction",
    "look",
    "moco",
    "project",
    "projector_weights",
    "representations",
    "simclr",
    "simsiam",
    "solarise",
    "standardise",
    "swav",
    "target_momentum",
    "teacher_of",
    "total_steps",
    "update",
    "vicreg",
    "warmed_cosine",
    "with_brightness",
    "with_contrast",
    "with_hue",
    "with_saturation",
]

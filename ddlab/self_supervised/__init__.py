"""Teachers without labels: training a network on two views of each image, as a process, and its features.

    config = ddlab.self_supervised.Config.for_data(data)
    teacher = ddlab.run(ddlab.self_supervised, config, ddlab.Inputs(data=data))
    features = ddlab.self_supervised.representations(teacher, data)
    print(ddlab.evaluation.probe(teacher, data, kind="linear"))

The package itself is the process (`teacher.py`). The loss is chosen by name (`losses.py`); there is one, Barlow Twins.
"""

from .barlow_twins import barlow_twins_loss, cross_correlation, standardised
from .features import representations
from .losses import LOSSES
from .optimising import lars_direction, warmed_cosine
from .projector import projected, projector_weights
from .teacher import NAME, Config, State, Trace, finish, init, total_steps, update
from .views import TwoViews, solarised, with_brightness, with_contrast, with_hue, with_saturation

__all__ = [
    "LOSSES",
    "NAME",
    "Config",
    "State",
    "Trace",
    "TwoViews",
    "barlow_twins_loss",
    "cross_correlation",
    "finish",
    "init",
    "lars_direction",
    "projected",
    "projector_weights",
    "representations",
    "solarised",
    "standardised",
    "total_steps",
    "update",
    "warmed_cosine",
    "with_brightness",
    "with_contrast",
    "with_hue",
    "with_saturation",
]

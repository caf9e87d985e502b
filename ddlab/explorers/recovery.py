"""The live recovery, and the scrubber over a recorded one: images rising out of a frozen network.

film = RecoveryFilm(data)
distilled = ddlab.distill("sre2l", data, teacher, config, on_step=film)   # the foreground run fills the film
film.scrubber()
LiveRecovery(data, teacher, config)                                       # paused; sliders, play, pause, step, reset, stop
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from torch import Tensor

from .. import errors
from .. import process as driver
from ..data import ImageData
from ..errors import DDLabError
from ..figures import bars, encode_grid, gap_curves, loss_curves
from ..methods import _recovery as recovery
from ..methods import squeeze_recover_relabel as sre2l
from ..networks import Network
from ..process import Inputs, Step
from ..runs import Frame
from .controls import controls
from .images import Picture
from .layout import Explorer, player_buttons, side_by_side
from .player import Player
from .plot import Plot
from .recording import Recording
from .scrubber import Scrubber

TERMS = {
    "cross-entropy": "class_loss",
    "mean gap": "mean_gap",
    "variance gap": "variance_gap",
    "total loss": "total_loss",
}


class Curves:
    """The terms of the loss at the steps that were looked at: name -> values, and the steps."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.terms: dict[str, list[float]] = {name: [] for name in TERMS}
        self.layers: dict[str, list[np.ndarray]] = {"mean": [], "variance": []}

    def add(self, step: Step) -> None:
        """Take the numbers of one step; this waits for the device, so it is done for painted steps only."""
        self.steps.append(step.index)
        for name, attribute in TERMS.items():
            self.terms[name].append(float(getattr(step.trace, attribute)))
        self.layers["mean"].append(step.trace.layer_mean_gaps.cpu().numpy())
        self.layers["variance"].append(step.trace.layer_variance_gaps.cpu().numpy())

    def figure(self, before: tuple[str, Curves] | None = None) -> go.Figure:
        """All terms on a logarithmic axis; the total of an earlier run stays for comparison."""
        series: dict[str, Any] = {name: np.array(values) for name, values in self.terms.items()}
        steps = np.array(self.steps)
        if before is not None and before[1].steps and len(self.steps) > 1:
            name, other = before
            series[f"total loss before ({name})"] = np.interp(
                steps, other.steps, other.terms["total loss"], right=np.nan, left=np.nan
            )
        return loss_curves(
            series, steps, title="The teacher's view of the images", x_label="image update", log_y=True, height=340
        )

    def by_layer(self) -> go.Figure:
        """Both gaps at each batch-norm layer, each layer counted once."""
        return gap_curves(np.stack(self.layers["mean"]), np.stack(self.layers["variance"]), np.array(self.steps))


class RecoveryFilm:
    """Give it as `on_step` to a run: it keeps a bounded number of frames and the curves, and makes the scrubber.

    Attributes:
        recording: the frames as encoded pictures. images: the same frames as uint8 [m, c, h, w]. curves: the terms of the loss.
    """

    def __init__(self, data: ImageData, *, capacity: int = 120, scale: int = 3) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        self.scale = errors.check_integer("scale", scale, 1, 16)
        self.recording: Recording[bytes] = Recording(capacity)
        self.images: Recording[Tensor] = Recording(capacity)
        self.curves = Curves()

    def __call__(self, step: Step) -> None:
        if self.recording.wants(step.index) or step.index == step.total:
            driver.check_finite("the run", step.index, step.trace)
            self.images.add(step.index, self.data.to_uint8(step.state.images).cpu())
            self.recording.add(step.index, grid_of(self.data, step.state.images, self.scale))
            self.curves.add(step)

    def scrubber(self, *, key: str = "recovery scrubber") -> Scrubber:
        """A slider over the frames, with the curves and a mark at the step shown."""
        if not self.recording.frames:
            raise DDLabError(
                "film must have been filled by a run (on_step=film) before it is shown; given an empty one."
            )
        return Scrubber(
            [Frame(one.index, one.content) for one in self.recording.frames],
            title="Back and forth through the recovery",
            curve=self.curves.figure(),
            describe=self._describe,
            what="images under recovery, one per class",
            key=key,
        )

    def _describe(self, index: int) -> str:
        position = self.curves.steps.index(index)
        values = {name: terms[position] for name, terms in self.curves.terms.items()}
        return (
            f"cross-entropy {values['cross-entropy']:.3g}, mean gap {values['mean gap']:.3g}, "
            f"variance gap {values['variance gap']:.3g}."
        )


class LiveRecovery(Explorer):
    """SRe2L in front of the reader: moving a control starts the run again with the new setting and the same seed.

    It starts paused and shows the first images, before any update.
    """

    NAMES = ("initialisation", "lambda_mean", "lambda_var", "learning_rate", "iterations")

    def __init__(
        self, data: ImageData, teacher: Network, config: sre2l.Config | None = None, *, key: str = "live recovery"
    ) -> None:
        """
        Args:
            data, teacher: what is inverted. config: where the controls start; default `Config.teaching()`.
            key: an earlier explorer of this name is closed.
        """
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.data = data
        self.panel = controls(config or sre2l.Config.teaching(), self.NAMES)
        self.curves, self.before = Curves(), ("", Curves())
        self.running_config = self.panel.value
        self._first: dict[tuple[Any, ...], tuple[bytes, dict[str, float]]] = {}
        picture, terms = self._before_the_run()
        self.picture = Picture(picture, alt=self._alt(0))
        self.plot = Plot(_first_figure(self.panel.value, terms), announce=False)
        self.player = Player(self._make_run, self._show, name="ddlab-live-recovery")
        self._started = False
        super().__init__("Invert the teacher, live", controls=[self.panel], key=key)
        buttons = player_buttons(self.player, self, self.plot)
        buttons.buttons["reset"].on_click(self.guard(lambda _button: self._rest()))
        self.buttons = buttons.buttons
        self.views_box.children = (buttons, side_by_side([self.picture, self.plot]))
        self.share(self.panel)
        self.panel.observe(self.guard(self._moved), "value")
        self._say_first()

    def _make_run(self) -> Any:
        self.curves = Curves()
        self.running_config = self.panel.value
        return driver.steps(sre2l, self.running_config, self.inputs)

    def _show(self, step: Step) -> None:
        driver.check_finite("the run", step.index, step.trace)
        self.curves.add(step)
        self.picture.show_bytes(grid_of(self.data, step.state.images, 3), alt=self._alt(step.index))
        self.plot.figure = self.curves.figure(self.before)
        share = float(step.trace.class_probability.mean())
        self.say(
            f"Step {step.index} of {step.total}: on average the teacher gives the wanted class {share:.0%}; mean gap "
            f"{self.curves.terms['mean gap'][-1]:.3g}, variance gap {self.curves.terms['variance gap'][-1]:.3g}."
        )

    def _moved(self, change: Any) -> None:
        # The run that is left stays as a curve to compare with.
        playing = self.player.state == "running"
        if self.curves.steps:
            self.before = (_difference(self.running_config, change["new"]), self.curves)
        self.player.reset()
        self._rest()
        if playing:
            self.player.play()

    def _rest(self) -> None:
        picture, terms = self._before_the_run()
        self.picture.show_bytes(picture, alt=self._alt(0))
        self.plot.figure = _first_figure(self.panel.value, terms)
        self._say_first()

    def _before_the_run(self) -> tuple[bytes, dict[str, float]]:
        """The first images, encoded, and the unweighted terms of their loss."""
        config = self.panel.value
        known = (config.initialisation, config.seed, config.first_layer_multiplier)
        if known not in self._first:
            images = sre2l.init(config, self.inputs).images
            with torch.no_grad():
                matched = recovery.matched_call(self.inputs.teachers[0], images)
            weigh = config.first_layer_multiplier
            terms = {
                "class_loss": float(F.cross_entropy(matched.outputs.logits, torch.arange(len(images)))),
                "mean_gap": float(recovery.weighted_gap(matched.mean_gaps, weigh)),
                "variance_gap": float(recovery.weighted_gap(matched.variance_gaps, weigh)),
            }
            self._first[known] = grid_of(self.data, images, 3), terms
        return self._first[known]

    def _say_first(self) -> None:
        config = self.panel.value
        start = "real images" if config.initialisation == "real" else "noise"
        settings = f"λ_mean = {config.lambda_mean:g}, λ_var = {config.lambda_var:g}, η = {config.learning_rate:g}"
        self.say(f"Before the first update: {start}. Press Play to watch {config.iterations} updates with {settings}.")

    def _alt(self, step: int) -> str:
        return f"One image per class, from class {self.data.class_names[0]} to {self.data.class_names[-1]}, after {step} updates."


def grid_of(data: ImageData, images: Any, scale: int) -> bytes:
    """Normalised images as one encoded grid of at most ten columns, enlarged to be seen."""
    size = max(1, round(scale * 16 / images.shape[-1]))
    return encode_grid(data.to_uint8(images[:100]).cpu().numpy(), columns=min(len(images), 5), scale=2 * size)


def _first_figure(config: sre2l.Config, terms: dict[str, float]) -> go.Figure:
    """What the first step pulls at: the weighted terms of the total loss (eq 3) of the first images."""
    weighted = [terms["class_loss"], config.lambda_mean * terms["mean_gap"], config.lambda_var * terms["variance_gap"]]
    return bars(
        ["cross-entropy", "λ_mean × mean gap", "λ_var × variance gap"],
        weighted,
        title=f"Before the first of {config.iterations} updates, η = {config.learning_rate:.3g}: terms of the loss",
        y_label="part of the total loss",
        height=340,
    )


def _difference(old: sre2l.Config, new: sre2l.Config) -> str:
    changed = [name for name in LiveRecovery.NAMES if getattr(old, name) != getattr(new, name)]
    return ", ".join(f"{name} {getattr(old, name)}" for name in changed) or "same settings"

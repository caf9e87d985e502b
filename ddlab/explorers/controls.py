"""Sliders and buttons made from a config: one control per named field, labelled in words with the
symbol.

    panel = Controls(Config(), ["learning_rate", "lambda_var", "labels"])
    panel.observe(lambda change: worker.submit(change["new"]), "value")     # change["new"] is a Config
    panel.value = Config.teaching()                                        # moves the controls
    panel["learning_rate"].value = 0.1                                     # one control, as a reader would move it (tests)

`panel.value` is always a valid config. Where a combination is not allowed the config keeps its last
valid value and the panel says why, in the sentence of the error.
"""

import html
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import traitlets

from ..core import DDLabError, Parameters, describe, fail
from ..core.errors import check_choice
from ..core.parameters import Parameter

# More choices than this do not fit a row of buttons.
_MOST_BUTTONS = 8
_GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "varepsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "varphi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Delta": "Δ",
    "Sigma": "Σ",
    "Phi": "Φ",
    "Omega": "Ω",
    "ell": "ℓ",
    "cdot": "·",
    "times": "×",
    "infty": "∞",
}


class Controls(widgets.VBox):
    """A column of controls; `value` is the config they describe."""

    # Any to type checkers: what it holds is the class of the config it was made from.
    value: Any = traitlets.Instance(Parameters)

    def __init__(
        self,
        config: Parameters,
        names: Sequence[str] | None = None,
        *,
        labels: dict[str, str] | None = None,
        folded: Sequence[str] = (),
        stacked: bool = False,
        choice_words: dict[str, Callable[[Any], str]] | None = None,
    ) -> None:
        """
        Args:
            config: the values the controls start at.
            names: fields in the order shown; default: all that are marked explorable.
            labels: field -> other words than the field's name.
            folded: those of `names` that are folded away behind a button.
            stacked: the words stand above each control, for a narrow column, instead of beside it.
            choice_words: field -> (choice -> its words).
        """
        described = describe(config)
        if names is None:
            names = [
                name for name, parameter in described.items() if parameter.explorable is not None
            ]
        for name in names:
            check_choice("a name of controls", name, list(described))
        words = {name: label_of(described[name]) for name in names} | dict(labels or {})
        # All sliders begin at one place; .58 em is the mean width of a letter in JupyterLab's font.
        longest = min(max((len(text) for text in words.values()), default=0), 34)
        width = "auto" if stacked else f"{longest * 0.58 + 1:.1f}em"
        self._controls: dict[str, widgets.ValueWidget] = {}
        for name in names:
            self._controls[name] = _control(
                described[name],
                getattr(config, name),
                words[name],
                width,
                (choice_words or {}).get(name, plain_value),
            )
        self._message = widgets.HTML(layout=widgets.Layout(display="none"))
        self._moving = False
        in_front = [control for name, control in self._controls.items() if name not in folded]
        self.folded_box = widgets.VBox(
            [self._controls[name] for name in folded], layout=widgets.Layout(display="none")
        )
        super().__init__(
            [*in_front, *(_fold(self.folded_box) if folded else []), self._message], value=config
        )
        self.add_class("ddlab-controls")
        if stacked:
            self.add_class("ddlab-stacked")
        for control in self._controls.values():
            control.observe(self._control_moved, "value")
        self.observe(self._value_set, "value")

    def __getitem__(self, name: str) -> widgets.ValueWidget:
        return self._controls[name]

    def __iter__(self) -> Any:
        return iter(self._controls)

    def tuck(self, widget: widgets.Widget, hint: str) -> None:
        """Fold a widget away behind a small button of its own; `hint` is what the button says."""
        box = widgets.VBox([widget], layout=widgets.Layout(display="none"))
        self.children = (*self.children[:-1], *_fold(box, "Share", "", hint), self._message)

    def _control_moved(self, _change: Any) -> None:
        if self._moving:
            return
        # Not the moved control alone: another may still show a value that was refused.
        values = {}
        for name, control in self._controls.items():
            value = _read(control)
            if value != getattr(self.value, name):
                values[name] = value
        try:
            config = self.value.replace(**values)
        except DDLabError as error:
            self._say(str(error))
            return
        self._say("")
        self.value = config

    def _value_set(self, change: Any) -> None:
        # Writing a control raises its own event, which would come back here as a reader's move.
        self._moving = True
        try:
            for name, control in self._controls.items():
                _write(control, getattr(change["new"], name))
        finally:
            self._moving = False
        self._say("")

    def _say(self, sentence: str) -> None:
        self._message.value = (
            f'<span role="alert" class="ddlab-sentence-bad">{html.escape(sentence)}</span>'
            if sentence
            else ""
        )
        self._message.layout.display = None if sentence else "none"


def _fold(
    box: widgets.VBox, words: str = "More settings", icon: str = "sliders", hint: str = ""
) -> list[widgets.Widget]:
    """Return a box, and the button that shows and hides it.

    Unlike an accordion's title the button takes the Tab key.
    """
    button = widgets.ToggleButton(
        description=words, icon=icon, tooltip=hint, layout=widgets.Layout(width="auto")
    )
    box.add_class("ddlab-controls")

    def press(change: Any) -> None:
        box.layout.display = "flex" if change["new"] else "none"

    button.observe(press, "value")
    return [button, box]


def label_of(parameter: Parameter) -> str:
    """Return a control's words, symbol and unit: "learning rate η (1/step)"."""
    symbol = plain_symbol(parameter.symbol)
    words = parameter.name.replace("_", " ")
    if words.split()[0] in _GREEK:
        words = ""  # The symbol says it: "λ_var", not "lambda var λ_var".
    text = f"{words} {symbol}".strip() if symbol and symbol != words else words or parameter.name
    return f"{text} ({parameter.unit})" if parameter.unit else text


def plain_symbol(symbol: str) -> str:
    r"""Return a LaTeX symbol as plain text, since labels typeset no formulas.

    r"\lambda_{\mathrm{var}}" becomes "λ_var".
    """
    text = re.sub(
        r"\\(?:mathrm|text|textrm|operatorname|mathbf|mathcal|boldsymbol|bar|hat|tilde)\s*",
        "",
        symbol.strip("$ "),
    )
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _GREEK.get(match.group(1), match.group(1)), text)
    return re.sub(r"[{}\\]", "", text).strip()


def plain_value(value: Any) -> str:
    """Return a setting's value as a reader calls it."""
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


class Choices(widgets.ToggleButtons):
    """Buttons one of which may stand for None, which ipywidgets takes for no choice at all."""

    @traitlets.observe("value")
    def _propagate_value(self, change: Any) -> None:
        values = [value for _, value in self.options]
        self.index = values.index(change["new"]) if change["new"] in values else None


def _control(
    parameter: Parameter, value: Any, label: str, width: str, say: Callable[[Any], str]
) -> widgets.ValueWidget:
    common: dict[str, Any] = {
        "description": label,
        "tooltip": parameter.help,
        "style": {"description_width": width},
        "layout": widgets.Layout(width="auto", max_width="44em"),
    }
    hint = parameter.help
    if parameter.type is bool:
        return widgets.ToggleButtons(
            options=[("off", False), ("on", True)],
            value=value,
            tooltips=[hint, hint],
            **{**common, "style": {**common["style"], "button_width": "5em"}},
        )
    if parameter.choices is not None:
        options = [(say(choice), choice) for choice in parameter.choices]
        if len(options) <= _MOST_BUTTONS:
            style = {**common["style"], "button_width": "auto"}
            return Choices(
                options=options,
                index=list(parameter.choices).index(value),
                tooltips=[hint] * len(options),
                **{**common, "style": style},
            )
        # A slider: JupyterLab keeps the arrow keys from a list that drops down.
        return widgets.SelectionSlider(options=options, value=value, **common)
    low, high = _slider_range(parameter, value)
    if parameter.scale == "log":
        # A slider over chosen stops: readable numbers, the value it starts at among them (a
        # continuous one would round 0.25 to 0.2512 as soon as it is drawn), and a place for zero
        # and whole numbers.
        stops = _log_stops(low, high, parameter.type is int, value)
        return widgets.SelectionSlider(
            options=[(_readable(stop), stop) for stop in stops], value=value, **common
        )
    if parameter.type is int:
        step = int(parameter.step or 1)
        return widgets.IntSlider(value=value, min=int(low), max=int(high), step=step, **common)
    step = parameter.step or (high - low) / 100
    return widgets.FloatSlider(
        value=value, min=low, max=high, step=step, readout_format=_digits(step), **common
    )


def _slider_range(parameter: Parameter, value: Any) -> tuple[float, float]:
    limits = parameter.explorable if isinstance(parameter.explorable, tuple) else parameter.range
    if (
        limits is None
        or limits[0] is None
        or limits[1] is None
        or not isinstance(value, int | float)
    ):
        fail(
            f"explorable of {parameter.name}",
            "(low, high), or the field must have choices or be True or False",
            parameter.explorable,
        )
    # A slider clips what it is given: the config it starts at must lie on it.
    return min(float(limits[0]), value), max(float(limits[1]), value)


def _log_stops(low: float, high: float, whole: bool, value: float) -> list[float]:
    # A logarithmic slider cannot begin at 0: four decades below its end, or at the first value.
    bottom = low if low > 0 else (1 if whole else min(high / 1e4, value if value > 0 else high))
    # Ten stops in a decade of floats; whole numbers collide below ten, so six.
    count = max(2, round(math.log10(high / bottom) * (6 if whole else 10)) + 1)
    ratio = (high / bottom) ** (1 / (count - 1))
    stops = {min(float(f"{bottom * ratio**n:.2g}"), high) for n in range(count)} | {
        bottom,
        high,
        value,
    }
    if low <= 0:
        stops.add(low)
    return sorted({round(stop) for stop in stops} if whole else stops)


def _readable(number: float) -> str:
    return f"{number:g}"


def _digits(step: float) -> str:
    return (
        f".{max(0, min(6, math.ceil(-math.log10(step) - 1e-9)))}f"
        if step < 1
        else ".3~g"
        if step % 1
        else ".0f"
    )


def as_seen(number: float) -> float:
    """Return a slider's number as the reader sees it, and as it is computed with.

    0.10000000000000002 would be another config than 0.1.
    """
    return float(f"{number:.4g}")


def _read(control: widgets.ValueWidget) -> Any:
    value = control.value
    return as_seen(value) if isinstance(control, widgets.FloatSlider) else value


def _write(control: Any, value: Any) -> None:
    if isinstance(control, widgets.SelectionSlider):
        stops = [stop for _, stop in control.options]
        # A shared text or a preset may name a value between two stops: it becomes a stop of its
        # own.
        if value not in stops:
            control.options = [(_readable(stop), stop) for stop in sorted([*stops, value])]
    elif isinstance(control, widgets.FloatSlider | widgets.IntSlider):
        control.min, control.max = min(control.min, value), max(control.max, value)
    # Only a real change: writing the same number would send a message to the page.
    if _read(control) != value:
        control.value = value

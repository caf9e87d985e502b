"""The stops of a slider: round numbers, those that papers use, which even steps would miss; or
stops with words of their own.
"""

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from .controls import Controls, as_seen

# Round numbers of a decade, about equally far apart on a logarithmic scale.
_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 7)


def round_numbers(low: int, high: int, *further: int) -> list[int]:
    """Return whole numbers of one or two digits and zeros from `low` to `high`, and `further`.

    Both ends are among them.

    >>> round_numbers(1, 64)
    [1, 2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40, 50, 64]
    """
    steps = [step * 10**power for power in range(len(str(high))) for step in _STEPS]
    whole = {int(step) for step in steps if step % 1 == 0 and low < step < high}
    return sorted(whole | {low, high, *further})


def set_stops(panel: Controls, name: str, low: int, high: int) -> None:
    """Give the slider of a field these numbers; where it stands, it stays."""
    slider: Any = panel[name]
    value = slider.value
    if isinstance(slider, widgets.IntSlider):  # every whole number between both ends
        slider.min, slider.max = min(low, value), max(high, value)
        return
    slider.options = [(str(stop), stop) for stop in round_numbers(low, high, value)]
    slider.value = value


def name_stops(panel: Controls, name: str, words: Mapping[Any, str]) -> None:
    """Give the slider of a field these stops, each with its words; where it stands, it stays."""
    slider: Any = panel[name]
    value = slider.value
    slider.options = [
        (text, stop) for stop, text in sorted(({value: f"{value:g}"} | dict(words)).items())
    ]
    slider.value = value


def other_stops(control: Any) -> list[Any]:
    """Return the values that a control of a panel can take beside its own, the nearest first."""
    if hasattr(control, "index"):
        values = [value for _, value in control.options]
        # Not `index`: of a choice whose value is None, toggle buttons have none.
        own_place = values.index(control.value)
    else:
        count = round((control.max - control.min) / control.step)
        values = [control.min + place * control.step for place in range(count + 1)]
        if isinstance(control, widgets.FloatSlider):
            values = [as_seen(value) for value in values]
        own_place = round((control.value - control.min) / control.step)
    order = sorted(range(len(values)), key=lambda place: abs(place - own_place))
    return [values[place] for place in order[1:]]

"""Can ten images choose a network? Forty-eight networks, judged by students of small sets and by
students of all data, as recorded.

WorkLab()
"""

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.stats import rankdata

from ... import networks, records
from ...core import Parameters, parameter
from ...core.interval import interval
from ...evaluation.network_search import ALL, EARLY, ArchitectureSearch, Proxy
from ...explorers import Chart, Lab, Named, Quest, Results, Tabs
from ...figures import Point, scatter
from ...figures.comparison import add_reference
from ...figures.theme import DASHED, neutral
from ...networks import NetworkSpec

LEARNED = ("DM", "DC", "DSA", "MTT")
PROXIES = ("random", "herding", "k-means", "class means", EARLY, *LEARNED)
DATA = ("digits", "shapes")
OPTIONS = ("norm", "depth", "width", "activation", "pooling")
NEAR = 0.005  # of the best network's accuracy: a choice as good as the best
CHEAP = 0.1  # of the price of training every network on all data
RANK = "rank (48 is the best)"
_TEN_UPDATES = 50  # of students of ten images of each class
_SHAPES_UPDATES = 150  # of students of one image of each shape
_DRAWS = 5  # that both sizes have
_HEIGHT = 400


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What is on show."""

    proxy: str = parameter("random", choices=PROXIES, help="What the students learn from.")
    images: str = parameter("1", choices=("1", "10"), help="Of each class, in the set.")
    updates: str = parameter("150", choices=("15", "50", "150"), help="Of each student.")
    draw: int = parameter(0, range=(0, _DRAWS - 1), explorable=(0, _DRAWS - 1), help="Which set.")
    colour: str = parameter("norm", choices=OPTIONS, help="What the colours of the points say.")
    data: str = parameter("digits", choices=DATA, help="Of 16 pixels.")
    network: str = parameter("", help="The network whose point was clicked.")


class World:
    """The record."""

    start = Settings()


@functools.cache
def search(data: str, images: str, updates: str) -> ArchitectureSearch:
    """Return the recorded search on this data with sets of this size and students so trained."""
    rows = [row for row in records.load("architecture_search").rows if row["data"] == data]
    size = 10, _TEN_UPDATES
    if images == "1":
        size = 1, int(updates) if data == "digits" else _SHAPES_UPDATES
    draws = defaultdict[str, list[dict[str, Any]]](list)
    for row in rows:
        if (row["images_per_class"], row["updates"]) == size:
            draws[row["proxy"]].append(row)
    on_all_data = [row for row in rows if row["proxy"] == ALL]
    return ArchitectureSearch(
        networks=tuple(networks.convnet_grid()),
        on_all_data=tuple(tuple(row["accuracies"]) for row in on_all_data),
        proxies={
            name: Proxy(
                accuracies=tuple(tuple(row["accuracies"]) for row in proxy_rows),
                seconds=proxy_rows[0]["seconds"],
                floats=proxy_rows[0]["floats"],
            )
            for name, proxy_rows in draws.items()
        },
        seeds=tuple(row["draw"] for row in draws["random"]),
        seconds=on_all_data[0]["seconds"],
    )


def search_on_show(settings: Settings) -> ArchitectureSearch:
    """Return the search that the settings name."""
    return search(settings.data, settings.images, settings.updates)


def words_of(spec: NetworkSpec) -> str:
    """Return the choices that make a network, in words."""
    return ", ".join(choice_words(option, getattr(spec.options, option)) for option in OPTIONS)


def choice_words(option: str, value: Any) -> str:
    """Return one choice in words, as "depth 2", "no norm" or "max pooling"."""
    if option in ("depth", "width"):
        return f"{option} {value}"
    if option == "activation":
        return str(value)
    return f"{'no' if value == 'none' else value} {option}"


def networks_data(world: World, settings: Settings, results: Results) -> Named:
    """Name the search, the set, the colours and the network that was clicked."""
    outcome = search_on_show(settings)
    return {
        "outcome": outcome,
        "proxy": settings.proxy,
        "draw": settings.draw,
        "colour": settings.colour,
        "clicked": settings.network,
    }


def networks_chart(
    outcome: ArchitectureSearch,
    proxy: str,
    draw: int,
    colour: str,
    clicked: str,
    *,
    measure: str = "test accuracy",
) -> go.Figure:
    """Return a point for each network: how it does on the proxy, and on all data."""
    on_proxy, on_all = np.array(outcome.proxies[proxy].accuracies[draw]), outcome.reference
    if measure == RANK:
        on_proxy, on_all = rankdata(on_proxy), rankdata(on_all)
    names = [words_of(spec) for spec in outcome.networks]
    points = {}
    for name, spec, x, y in zip(names, outcome.networks, on_proxy, on_all, strict=True):
        family = choice_words(colour, getattr(spec.options, colour))
        points[name] = Point(x=float(x), y=float(y), family=family)
    best = int(on_all.argmax())
    figure = scatter(
        points,
        title=f"48 networks: rank correlation {outcome.correlation(proxy)[draw]:+.2f}",
        x_label=f"{measure}, trained on: {proxy}",
        y_label=f"{measure}, trained on all data",
        chosen=names[outcome.chosen(proxy)[draw]],
        named=[clicked] if clicked in points else (),
        height=_HEIGHT,
    )
    figure.add_scatter(
        x=[on_proxy[best]],
        y=[on_all[best]],
        mode="markers",
        name="best on all data",
        customdata=[names[best]],
        hovertext=[names[best]],
        marker={"symbol": "star", "size": 15, "color": neutral("text")},
        cliponaxis=False,
    )
    shape = "d" if measure == RANK else ".0%"
    return figure.update_xaxes(tickformat=shape).update_yaxes(tickformat=shape)


def choose(world: World, settings: Settings, clicked: dict[str, Any]) -> Settings:
    """Return the settings with the network whose point was clicked."""
    return settings.replace(network=clicked["customdata"])


def correlations_data(world: World, settings: Settings, results: Results) -> tuple:
    """Name the search."""
    return (search_on_show(settings),)


def correlations_chart(outcome: ArchitectureSearch) -> go.Figure:
    """Return a point for each proxy: how accurate its students are, and how well it ranks."""
    points = {}
    for name in PROXIES:
        correlations = outcome.correlation(name)
        low, high = interval(correlations) or (None, None)
        points[name] = Point(
            x=float(np.mean(outcome.proxies[name].accuracies)),
            y=fmean(correlations),
            family="learned" if name in LEARNED else "not learned",
            low=low,
            high=high,
        )
    figure = scatter(
        points,
        title="Accurate students, and a true order of the networks?",
        x_label="test accuracy of the students, mean over networks",
        y_label="rank correlation",
        height=_HEIGHT,
    )
    assert outcome.ceiling is not None
    return add_reference(figure.update_xaxes(tickformat=".0%"), "all data again", outcome.ceiling)


def choose_proxy(world: World, settings: Settings, clicked: dict[str, Any]) -> Settings:
    """Return the settings with the proxy whose point was clicked."""
    return settings.replace(proxy=clicked["customdata"])


def choices_data(world: World, settings: Settings, results: Results) -> Named:
    """Name the search and the set."""
    return {"outcome": search_on_show(settings), "proxy": settings.proxy}


def choices_chart(outcome: ArchitectureSearch, proxy: str) -> go.Figure:
    """Return a point for each choice: what it changes on the proxy, and on all data."""
    on_proxy = choice_effects(outcome.networks, np.mean(outcome.proxies[proxy].accuracies, axis=0))
    on_all = choice_effects(outcome.networks, outcome.reference)
    points = {}
    for option, words in on_proxy:
        place = option, words
        points[words] = Point(x=on_proxy[place], y=on_all[place], family=option)
    figure = scatter(
        points,
        title="Networks with one choice, minus all networks",
        x_label=f"accuracy, trained on {proxy} (points)",
        y_label="accuracy, trained on all data (points)",
        height=_HEIGHT,
    )
    return figure.add_hline(y=0, line=DASHED).add_vline(x=0, line=DASHED)


def choice_effects(
    specs: Sequence[NetworkSpec], accuracies: np.ndarray
) -> dict[tuple[str, str], float]:
    """Return the mean accuracy of the networks with a choice minus that of all, in points.

    Keys are an option and its value in words.
    """
    effects = {}
    for option in OPTIONS:
        values = [getattr(spec.options, option) for spec in specs]
        for value in dict.fromkeys(values):
            has_choice = np.array([value == other for other in values])
            effects[option, choice_words(option, value)] = float(
                100 * (accuracies[has_choice].mean() - accuracies.mean())
            )
    return effects


def shortfall(outcome: ArchitectureSearch, proxy: str) -> float:
    """Return by how much the chosen networks stay behind the best, mean over the draws."""
    return float(outcome.reference.max() - outcome.reference[outcome.chosen(proxy)].mean())


def price(outcome: ArchitectureSearch, proxy: str) -> float:
    """Return the price of the set and its students, as a share of all networks on all data."""
    return outcome.proxies[proxy].seconds / outcome.seconds


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what is chosen, how far it is from the best, and what it cost."""
    outcome = search_on_show(settings)
    proxy = settings.proxy
    chosen = outcome.chosen(proxy)[settings.draw]
    accuracies = outcome.proxies[proxy].accuracies
    text = (
        f"Trained on {proxy}, networks reach {np.mean(accuracies):.0%} on average. This draw chooses one "
        f"(ringed) with {outcome.reference[chosen]:.1%}; the best (star) has "
        f"{outcome.reference.max():.1%}. Over {len(accuracies)} draws the choice is "
        f"{100 * shortfall(outcome, proxy):.1f} points behind the best; the rank correlation is "
        f"{fmean(outcome.correlation(proxy)):+.2f} (all data again: {outcome.ceiling:+.2f}). Price: "
        f"{outcome.proxies[proxy].seconds:.0f} CPU-seconds, {price(outcome, proxy):.0%} of training all "
        "networks on all data."
    )
    names = [words_of(spec) for spec in outcome.networks]
    if settings.network in names:
        number = names.index(settings.network)
        text += (
            f" Clicked: {settings.network}: {accuracies[settings.draw][number]:.1%}, and "
            f"{outcome.reference[number]:.1%} on all data."
        )
    return text


def is_cheap_and_near(settings: Settings) -> bool:
    """Return whether a set chooses nearly the best network for little."""
    outcome = search_on_show(settings)
    return shortfall(outcome, settings.proxy) <= NEAR and price(outcome, settings.proxy) < CHEAP


def is_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether such a set was on show that nobody learned, and one that was learned."""
    kinds = {past.proxy in LEARNED for past in results.past if is_cheap_and_near(past)}
    return kinds == {True, False}


def unused(world: World, settings: Settings) -> list[str]:
    """Return the controls that do nothing: only students of ten digits differ in their updates."""
    return [] if (settings.data, settings.images) == ("digits", "1") else ["updates"]


_NETWORKS = Chart(networks_data, networks_chart, click=choose, ghosts=False)
_RANKS = Chart(networks_data, partial(networks_chart, measure=RANK), click=choose, ghosts=False)
WorkLab = Lab(
    "Can ten images choose a network?",
    World,
    controls=("proxy", "updates", "images"),
    folded=("draw", "colour", "data"),
    views=[
        Tabs(
            ("Networks", _NETWORKS),
            ("Ranks", _RANKS),
            (
                "All proxies",
                Chart(correlations_data, correlations_chart, click=choose_proxy, ghosts=False),
            ),
            ("Choices", Chart(choices_data, choices_chart, ghosts=False)),
        )
    ],
    opens={"draw": _NETWORKS, "colour": _NETWORKS},
    labels={
        "proxy": "trained on",
        "images": "images of each class",
        "updates": "updates of a student",
        "draw": "which draw",
        "colour": "colours show",
    },
    sentence=sentence,
    unused=unused,
    pairs=(("proxy", "updates"), ("proxy", "images")),
    quest=Quest(
        "Choose a network within half a point of the best, on average over the draws, for less than "
        "a tenth of the price: with something that is not distilled, and with something that is.",
        is_met,
        solution=[("updates", "15"), ("proxy", "herding"), ("proxy", "DM")],
    ),
)

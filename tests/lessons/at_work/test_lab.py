"""Lesson 85: what the laboratory shows of its record, and its quest."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from ddlab.evaluation.network_search import ArchitectureSearch
from ddlab.lessons.at_work import lab

WORLD = lab.World()
START = WORLD.start
NOTHING: Any = None  # no job of the laboratory computes anything


@pytest.mark.parametrize("data", lab.DATA)
@pytest.mark.parametrize("size", [("1", "15"), ("1", "50"), ("1", "150"), ("10", "50")])
def test_the_record_has_every_search(data: str, size: tuple[str, str]) -> None:
    found = lab.search(data, *size)
    assert len(found.networks) == 48 and len(found.on_all_data) == 3
    assert set(found.proxies) == {*lab.PROXIES, "small random"}
    for name, proxy in found.proxies.items():
        accuracies = np.array(proxy.accuracies)
        assert accuracies.shape == (10 if size[0] == "1" else 5, 48)
        assert accuracies.min() > 0 and accuracies.max() <= 1 and proxy.seconds > 0
        draw = accuracies[2]
        expected = spearmanr(draw, found.reference).statistic
        assert found.correlation(name)[2] == pytest.approx(expected)


def test_points_lie_at_the_accuracies_and_the_chosen_and_the_best_network_are_marked() -> None:
    drawn = lab.networks_chart(**lab.networks_data(WORLD, START, NOTHING))
    found = lab.search_on_show(START)
    chosen = lab.words_of(found.networks[found.chosen("random")[0]])
    places = {}
    ringed = []
    for trace in drawn.data[:-1]:
        places |= dict(zip(trace.customdata, zip(trace.x, trace.y, strict=True), strict=True))
        widths = trace.marker.line.width
        ringed += [name for name, width in zip(trace.customdata, widths, strict=True) if width]
    assert len(places) == 48 and ringed == [chosen]
    for spec, x, y in zip(
        found.networks, found.proxies["random"].accuracies[0], found.reference, strict=True
    ):
        assert places[lab.words_of(spec)] == (x, y)
    assert drawn.data[-1].y[0] == found.reference.max()
    ranks = lab.networks_chart(**lab.networks_data(WORLD, START, NOTHING), measure=lab.RANK)
    every_rank = sorted(y for trace in ranks.data[:-1] for y in trace.y)
    assert sum(every_rank) == 48 * 49 / 2 and every_rank[-1] == 48


def test_a_click_on_a_point_names_its_network_and_a_click_on_a_proxy_chooses_it() -> None:
    name = lab.words_of(lab.search_on_show(START).networks[7])
    clicked = lab.choose(WORLD, START, {"customdata": name})
    assert f"Clicked: {name}: " in lab.sentence(WORLD, clicked, NOTHING)
    assert "Clicked" not in lab.sentence(WORLD, START, NOTHING)
    assert lab.choose_proxy(WORLD, START, {"customdata": "DM"}).proxy == "DM"


def test_the_effects_of_choices_are_differences_of_means() -> None:
    found = lab.search_on_show(START)
    effects = lab.choice_effects(found.networks, found.reference)
    deep = [spec.options.depth == 3 for spec in found.networks]
    expected = found.reference[deep].mean() - found.reference.mean()
    assert effects["depth", "depth 3"] == pytest.approx(100 * expected)
    assert sum(effects["norm", words] for words in ("no norm", "instance norm")) == pytest.approx(0)
    assert len(effects) == 11


def test_price_and_shortfall_are_those_of_the_search() -> None:
    found = lab.search_on_show(START)
    half: ArchitectureSearch = replace(found, seconds=found.seconds / 2)
    assert lab.price(half, "DM") == pytest.approx(2 * lab.price(found, "DM"))
    chosen = [found.reference[number] for number in found.chosen("DM")]
    assert lab.shortfall(found, "DM") == pytest.approx(found.reference.max() - np.mean(chosen))
    assert lab.unused(WORLD, START.replace(images="10")) == ["updates"]

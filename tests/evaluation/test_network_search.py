"""Searching for an architecture: its numbers against scipy and `evaluate`, and what it keeps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from ddlab import distill, networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import architecture_search, evaluate, network_search
from ddlab.evaluation.network_search import EARLY, ArchitectureSearch, Proxy, rank_correlation
from ddlab.methods import selection
from ddlab.training import supervised
from tests.support import refuses

SPECS = [networks.spec("convnet", width=width, depth=1) for width in (2, 3, 4, 5)]
STUDENT = supervised.Config.teaching(epochs=4, crop_pixels=0)
RANDOM = selection.Config(images_per_class=1)
OPTIONS: dict[str, Any] = {
    "networks": SPECS,
    "seeds": (0, 3),
    "config": STUDENT,
    "on_all_data": STUDENT.replace(epochs=2),
    "device": "cpu",
    "progress": False,
}


def test_a_rank_correlation_is_that_of_scipy_also_with_ties() -> None:
    draws = np.random.default_rng(0)
    first, second = draws.integers(0, 6, (2, 20, 9))
    expected = [spearmanr(*pair).statistic for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(rank_correlation(first, second), expected, rtol=1e-12)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0


def made_by_hand() -> ArchitectureSearch:
    """Thirty networks, a proxy with their order, one that turns it round but for the best three."""
    accuracies = np.linspace(0.5, 0.9, 30)
    turned = -accuracies
    turned[-3:] = [1, 2, 3]
    draws = {"same": [accuracies, accuracies / 2], "turned": [turned, turned]}
    return ArchitectureSearch(
        networks=tuple(networks.spec("convnet", width=width) for width in range(1, 31)),
        on_all_data=(tuple(accuracies), tuple(accuracies**2)),
        proxies={
            name: Proxy(accuracies=tuple(map(tuple, both)), seconds=3.0, floats=10)
            for name, both in draws.items()
        },
        seeds=(0, 1),
        seconds=70.0,
    )


def test_a_result_tells_how_well_proxies_rank_and_choose() -> None:
    search = made_by_hand()
    assert search.correlation("same") == pytest.approx([1, 1]) and search.ceiling == 1
    assert search.correlation("turned")[0] < -0.3
    assert search.correlation("turned", tenth=True) == pytest.approx([1, 1])
    assert search.chosen("same") == search.chosen("turned") == [29, 29]
    low, high = search.interval("turned")
    assert low < search.correlation("turned")[0] < high < 1
    assert search.interval("same") == pytest.approx((1, 1))
    assert search.table().splitlines()[2].startswith("| same     | +1.00 (+1.00 to +1.00) | +1.00")
    rows = search.records()
    assert len(rows) == 2 * 2 * 30 and rows[29]["accuracy_all"] == pytest.approx((0.9 + 0.81) / 2)
    assert (
        "convnet(width=30) (width 30) at 300, 85.5"
        in search.figure("turned", by="width").layout.meta["alt"]
    )
    with refuses("proxy", "'same', 'turned'"):
        search.figure("none")


def test_each_student_is_the_one_that_evaluate_trains(
    grey: ImageData, distilled: DistilledSet
) -> None:
    proxies = {"mine": distilled, "random": RANDOM, EARLY: EARLY}
    search = architecture_search(proxies, grey, trainings=2, **OPTIONS)
    assert [*search.proxies] == ["mine", "random", EARLY] and search.complete
    for spec, accuracy in zip(SPECS, search.proxies["mine"].accuracies[1], strict=True):
        student: dict[str, Any] = {"network": spec, "seeds": [3], "config": STUDENT}
        assert accuracy == evaluate(distilled, grey, labels="hard", **student).mean
    # Four updates of three images each, and as many of all images in one batch.
    assert search.proxies[EARLY].floats == 36 * 64 + 36
    assert search.proxies[EARLY].accuracies != search.on_all_data
    assert len(search.on_all_data) == 2 and search.ceiling is not None


def test_a_folder_goes_on_where_it_stopped_and_takes_further_networks(
    grey: ImageData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    evaluations = network_search.evaluations

    def stopped(students: Any, *arguments: Any, **named: Any) -> Any:
        if len(trained) == limit:
            raise KeyboardInterrupt
        trained.append(next(iter(students.values())).config.network.title)
        return evaluations(students, *arguments, **named)

    monkeypatch.setattr(network_search, "evaluations", stopped)
    limit = 2
    search: dict[str, Any] = {"folder": tmp_path / "search", **OPTIONS}
    with pytest.raises(KeyboardInterrupt):
        architecture_search([RANDOM], grey, **search)
    limit = 3
    part = architecture_search([RANDOM], grey, **search)
    assert not part.complete and len(part.networks) == 3 and "Not complete" in str(part)
    limit = 9
    whole = architecture_search([RANDOM], grey, **search)
    assert whole.complete and sorted(trained) == [spec.title for spec in SPECS]
    wider = {**search, "networks": [*SPECS, networks.spec("convnet", width=6, depth=1)]}
    assert architecture_search([RANDOM], grey, **wider).on_all_data[0][:4] == whole.on_all_data[0]
    assert len(trained) == 5
    search["config"] = STUDENT.replace(epochs=5)
    longer = architecture_search([RANDOM], grey, **search)
    assert len(trained) == 9 and len([*(tmp_path / "search").glob("set-*.safetensors")]) == 2
    assert longer.proxies != whole.proxies
    for file in (tmp_path / "search").glob("search-*.json"):
        file.write_text('{"key": 3')
    with refuses("path", "search-"):
        architecture_search([RANDOM], grey, **search)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"networks": SPECS[:2]}, ("networks", "at least 3")),
        ({"networks": "convnet"}, ("networks", "at least 3")),
        ({"networks": [*SPECS, SPECS[0]]}, ("networks", "convnet(width=2,depth=1) twice")),
        ({"networks": [*SPECS, 3]}, ("networks", "NetworkSpecs")),
        ({"seeds": (1, 1)}, ("seeds", "different")),
        ({"proxies": [EARLY]}, ("proxies", "given []")),
        ({"proxies": ["none"]}, ("method", "'none'")),
        ({"proxies": "dm"}, ("proxies", "a list")),
    ],
)
def test_what_cannot_be_searched_is_refused(
    changes: dict[str, Any], words: tuple[str, str], grey: ImageData
) -> None:
    with refuses(*words):
        architecture_search(**{"proxies": [RANDOM], "data": grey, **OPTIONS} | changes)


def test_a_set_of_other_classes_is_refused(grey: ImageData, colour: ImageData) -> None:
    other = distill("selection", colour, config=RANDOM, progress=False)
    with refuses("distilled", "3 classes"):
        architecture_search({"other": other}, grey, **OPTIONS)


def test_the_grids_hold_as_many_networks_as_they_say() -> None:
    for space, count in (("dc", 720), ("small", 48)):
        assert len({spec.title for spec in networks.convnet_grid(space)}) == count
    with refuses("space", "'dc'"):
        networks.convnet_grid("large")

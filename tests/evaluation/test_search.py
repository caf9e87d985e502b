"""Rankings of architectures: Spearman against its formula; a set that is all data ranks as itself; what is refused."""

from __future__ import annotations

import pytest

from ddlab import networks
from ddlab.data import ImageData
from ddlab.evaluation import across, rank_correlation, search, space
from ddlab.methods.distillation import from_images
from ddlab.training import supervised
from tests.support import refuses


def test_spearman_is_that_of_ranks() -> None:
    first = dict(zip("abcde", [0.1, 0.2, 0.3, 0.4, 0.5], strict=True))
    second = dict(zip("edcba", [0.9, 0.7, 0.8, 0.2, 0.1], strict=True))
    ranks = [1, 2, 4, 3, 5]
    wanted = 1 - 6 * sum((rank - place) ** 2 for place, rank in enumerate(ranks, 1)) / (5 * 24)
    assert rank_correlation(first, second) == pytest.approx(wanted)
    assert rank_correlation(first, {name: -value for name, value in first.items()}) == pytest.approx(-1)
    assert rank_correlation(first, {name: value**3 for name, value in first.items()}) == pytest.approx(1)


def test_the_space_has_every_combination_once() -> None:
    found = space(widths=(4, 8), depths=(1, 2), poolings=("average",))
    assert len({spec.title for spec in found}) == 4 and {spec.family for spec in found} == {"convnet"}


def test_a_set_of_all_images_ranks_as_all_images_do(grey: ImageData) -> None:
    everything = from_images(grey.normalised(), grey.train_labels, grey)
    networks_ = [networks.spec("mlp", width=width) for width in (1, 4, 32)]
    student = supervised.Config.teaching(epochs=12)
    told = {"labels": "hard", "seeds": [0], "config": student, "jobs": 1, "progress": False}
    real = across(everything, grey, networks=networks_, **told)
    found = search(everything, grey, real=real, networks=networks_, **told)
    assert found.proxy == found.real and found.correlation == pytest.approx(1)
    assert networks_[0].title in found.table()
    with refuses("networks", "3"):
        search(everything, grey, real=real, networks=networks_[:1], **told)
    with refuses("second", "not all the same"):
        rank_correlation(found.real, dict.fromkeys(found.real, 0.5))

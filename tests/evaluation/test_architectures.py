"""One set across architectures: one evaluation each, all else equal."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import Architectures, across, architectures, evaluate
from ddlab.networks import Network
from ddlab.training import supervised
from tests.support import refuses

CONFIG = supervised.Config.teaching(epochs=2, crop_pixels=0)
WIDE, NARROW = networks.spec("convnet", width=8), networks.spec("convnet", width=4)


@pytest.mark.parametrize("labels", ["hard", "online"])
def test_each_is_what_evaluate_gives(labels: str, grey: ImageData, distilled: DistilledSet, teacher: Network) -> None:
    options: dict[str, Any] = {"labels": labels, "teacher": teacher, "seeds": (0, 4), "config": CONFIG}
    found = across(distilled, grey, networks=[WIDE, "mlp", NARROW], **options)
    assert found.complete and list(found.evaluations) == ["convnet(width=8)", "mlp", "convnet(width=4)"]
    for spec in (WIDE, networks.spec("mlp"), NARROW):
        expected, one = evaluate(distilled, grey, network=spec, **options), found.evaluations[spec.title]
        if spec.family == "mlp":
            assert evaluate(distilled, grey, network="mlp", **options).per_seed == expected.per_seed
        assert (one.per_seed, one.network, one.labels) == (expected.per_seed, spec.title, labels)
    low, high = found.evaluations["mlp"].interval or (0, 0)
    assert found.table().splitlines()[3] == f"| mlp | {found.evaluations['mlp'].mean:.3f} | {low:.3f} to {high:.3f} |"
    assert len(found.table().splitlines()) == 5


def test_an_interrupt_leaves_whole_architectures(
    grey: ImageData, distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*given: Any, network: Any, **options: Any) -> Any:
        if network.title == stop:
            raise KeyboardInterrupt
        return evaluate(*given, network=network, **options)

    def run() -> Architectures:
        return across(distilled, grey, networks=[WIDE, NARROW, "mlp"], labels="hard", seeds=(0,), config=CONFIG)

    monkeypatch.setattr(architectures, "evaluate", stopped)
    stop = NARROW.title
    assert list(run().evaluations) == [WIDE.title] and not run().complete
    stop = WIDE.title
    with pytest.raises(KeyboardInterrupt):
        run()
    cut = lambda *given, **options: dataclasses.replace(evaluate(*given, **options), complete=False)  # noqa: E731
    monkeypatch.setattr(architectures, "evaluate", cut)
    assert list(run().evaluations) == [WIDE.title] and not run().complete


@pytest.mark.parametrize("wrong", [[], "mlp", ["mlp", "mlp"], ["nothing"], [3], 3, None, {"mlp"}])
def test_bad_networks(wrong: Any, grey: ImageData, distilled: DistilledSet) -> None:
    with refuses("'nothing'" if wrong == ["nothing"] else "networks"):
        across(distilled, grey, networks=wrong, labels="hard")

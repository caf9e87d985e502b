"""One set across architectures: one evaluation each, all else equal."""

from typing import Any

import pytest

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import Architectures, across, evaluate
from ddlab.networks import Network
from ddlab.training import supervised
from tests.support import refuses

CONFIG = supervised.Config.teaching(epochs=2, crop_pixels=0)
WIDE = networks.spec("convnet", width=8)
NARROW = networks.spec("convnet", width=4)


@pytest.mark.parametrize("labels", ["hard", "online"])
def test_each_is_what_evaluate_gives(
    labels: str, grey: ImageData, distilled: DistilledSet, teacher: Network
) -> None:
    options: dict[str, Any] = {
        "labels": labels,
        "teacher": teacher,
        "seeds": (0, 4),
        "config": CONFIG,
    }
    table = across(distilled, grey, networks=[WIDE, "vit", NARROW], **options)
    assert table.complete and list(table.evaluations) == [
        "convnet(width=8)",
        "vit",
        "convnet(width=4)",
    ]
    for spec in (WIDE, networks.spec("vit"), NARROW):
        expected = evaluate(distilled, grey, network=spec, **options)
        evaluation_of = table.evaluations[spec.title]
        if spec.family == "vit":
            assert evaluate(distilled, grey, network="vit", **options).per_seed == expected.per_seed
        assert (evaluation_of.per_seed, evaluation_of.network, evaluation_of.labels) == (
            expected.per_seed,
            spec.title,
            labels,
        )
    lines = [" ".join(line.split()) for line in table.table().splitlines()]
    assert (
        lines[3]
        == f"| vit | {table.evaluations['vit'].mean:.3f} | "
        f"{table.evaluations['vit'].interval_words} |"
        and len(lines) == 5
    )


def test_an_interrupt_leaves_whole_architectures(
    grey: ImageData, distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = supervised.update

    def stopped(config: Any, inputs: Any, state: Any) -> Any:
        if config.network.title == stop[0] and config.seed == stop[1]:
            raise KeyboardInterrupt
        return update(config, inputs, state)

    def run() -> Architectures:
        return across(
            distilled,
            grey,
            networks=[WIDE, NARROW, "vit"],
            labels="hard",
            seeds=(6, 7),
            config=CONFIG,
        )

    monkeypatch.setattr(supervised, "update", stopped)
    stop = (WIDE.title, 6)
    with pytest.raises(KeyboardInterrupt):
        run()
    for stopped_at, whole in (
        ((WIDE.title, 7), []),
        ((NARROW.title, 6), [WIDE.title]),
        ((NARROW.title, 7), [WIDE.title]),
    ):
        stop = stopped_at
        table = run()
        assert (
            not table.complete
            and [name for name, scores in table.evaluations.items() if scores.complete] == whole
        )
    assert list(table.evaluations) == [WIDE.title, NARROW.title] and list(
        table.evaluations[NARROW.title].per_seed
    ) == [6]


@pytest.mark.parametrize("wrong", [[], "vit", ["vit", "vit"], ["nothing"], [3], 3, None, {"vit"}])
def test_bad_networks(wrong: Any, grey: ImageData, distilled: DistilledSet) -> None:
    with refuses("'nothing'" if wrong == ["nothing"] else "networks"):
        across(distilled, grey, networks=wrong, labels="hard")

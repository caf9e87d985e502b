"""The toy labs, driven in Python: what they show is what `toys` trains, for every setting and every
seed.
"""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from ddlab.evaluation.landscapes import main_plane
from ddlab.explorers import Laboratory
from ddlab.lessons.ideal_data import mixture, networks, toys
from ddlab.lessons.ideal_data.lab import (
    RhoLab,
    SigmaLab,
    curves,
    decisions,
    final_chart,
    landscape,
    numbers,
    on_show,
)
from ddlab.lessons.ideal_data.world import (
    RHOS,
    SIGMAS,
    SQUARED,
    WRONG,
    Answer,
    Settings,
    Sweep,
    answer,
)
from tests.support import moved, trace

QUICK = "steps=60,seeds=3"


@pytest.fixture
def lab() -> Iterator[Laboratory]:
    laboratory = SigmaLab(QUICK)
    yield laboratory
    laboratory.close()


def answer_on_show(lab: Laboratory) -> Answer:
    return on_show(lab.world, lab.settings, lab.results)[0]


def by_themselves(settings: Settings, sweep: Sweep, value: float) -> toys.Trained:
    """One setting, trained without the others."""
    setting = {name: getattr(settings, name) for name in toys.Config.__dataclass_fields__}
    return toys.train(
        [
            toys.Config(
                **setting | {sweep.field: value, "record_every": max(1, settings.steps // 20)}
            )
        ]
    )


@pytest.mark.parametrize(
    ("sweep", "value"), [(SIGMAS, 0.1), (SIGMAS, 0.45), (RHOS, 0.75), (RHOS, 0.4)]
)
def test_settings_beside_each_other_are_those_by_themselves(sweep: Sweep, value: float) -> None:
    settings = Settings(steps=60, seeds=3, first_seed=4).replace(**{sweep.field: value})
    swept = answer(settings, sweep)
    alone = toys.judge(by_themselves(settings, sweep, value), per_class=96)
    squared = alone.mean_squared_error[:, 0]
    right = alone.accuracy_fraction[:, 0]
    torch.testing.assert_close(
        swept.means[SQUARED][:, swept.chosen], squared.mean(-1), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        swept.errors[SQUARED][:, swept.chosen], squared.std(-1) / 3**0.5, atol=1e-5, rtol=0
    )
    torch.testing.assert_close(1 - swept.means[WRONG][:, swept.chosen], right.mean(-1))
    assert swept.values[swept.chosen] == value and set(sweep.values) <= set(swept.values)
    assert len(swept.values) == len({*sweep.values, value})
    assert answer(settings.replace(seeds=1), sweep).errors[SQUARED].abs().max() == 0


def test_the_plots_show_what_was_trained(lab: Laboratory) -> None:
    moved(lab, deviation=0.45)
    runs = by_themselves(lab.panel.value, SIGMAS, 0.45)
    grid = torch.linspace(-1, 4, 41)
    corner = torch.stack([grid[[40, 0]], grid[[3, 3]]], 1)  # two points in the row y = grid[3]
    outputs = networks.outputs(runs.rows[-1, 0], corner).mean(0)
    output_map = np.asarray(trace(lab.widget(decisions).figure, "network's output").z, float)
    assert [output_map[3, 40], output_map[3, 0]] == pytest.approx(outputs.tolist(), abs=1e-5)
    errors = toys.judge(runs, per_class=96).mean_squared_error[:, 0]
    chosen = trace(lab.widget(curves).figure, "chosen, Σ = 0.45")
    assert np.asarray(chosen.y, float) == pytest.approx(errors.mean(-1).numpy(), abs=1e-5)
    assert chosen.line.width == 3.5, "it stands out"
    samples = toys.distilled_samples(runs.configs)
    points = np.concatenate(
        [[trace(lab.widget(decisions).figure, name).x] for name in ("class 0", "class 1")], 1
    )
    assert sorted(points[0].tolist()) == pytest.approx(
        sorted(samples.points[0, 0, :, 0].tolist()), abs=1e-6
    )


def test_the_sentence_and_the_table_have_the_numbers(lab: Laboratory) -> None:
    moved(lab, deviation=0.3)
    final_chart = answer_on_show(lab).means[SQUARED][-1]
    assert lab.sentence.startswith(
        f"Σ = 0.3: after 60 updates the squared error on G is {final_chart[3]:.4f}"
    )
    assert "The least possible error is 0.0578" in lab.sentence and "3 networks" in lab.sentence
    for value, end in zip(answer_on_show(lab).values, final_chart, strict=True):
        assert f"Σ = {value:g}</th><td>{end:.4f} ±" in lab.widget(numbers).value
    assert (
        lab.widget(numbers).value.count("chosen") == 1
        and "least possible" in lab.widget(numbers).value
    )


def test_the_least_possible_is_the_bayes_risk(lab: Laboratory) -> None:
    moved(lab, original_deviation=0.3, gap=2.0)
    original = mixture.Mixture(2.0, 0.3)
    assert answer_on_show(lab).least[WRONG] == pytest.approx(
        mixture.risk(original, original).error_fraction, abs=1e-6
    )
    assert (answer_on_show(lab).means[SQUARED] > answer_on_show(lab).least[SQUARED] - 1e-4).all()


def test_shares_of_wrong_decisions(lab: Laboratory) -> None:
    moved(lab, measure="share wrong")
    assert lab.widget(curves).figure.layout.yaxis.title.text == "share of wrong decisions on G"
    wrong = answer_on_show(lab).means[WRONG][:, answer_on_show(lab).chosen]
    chosen = lab.widget(curves).figure.data[-1]
    assert chosen.name.startswith("chosen")
    assert np.asarray(chosen.y, float) == pytest.approx(wrong.numpy(), abs=1e-6)
    moved(lab, measure="squared error")
    assert lab.widget(curves).figure.layout.yaxis.title.text == "mean squared error on G"


def test_the_landscape_has_the_paths_from_a_common_start(lab: Laboratory) -> None:
    land = answer_on_show(lab).landscape
    assert list(land["paths"]) == ["Σ = 0.1", "Σ = 0.5", "Σ = 1"]
    title = lab.widget(landscape).figure.layout.title.text
    assert 0.5 < land["share"] <= 1 and f"holds {land['share']:.0%}" in title
    starts = torch.stack([path[0] for path in land["paths"].values()])
    torch.testing.assert_close(starts[0], starts[1], atol=1e-5, rtol=0)
    assert [lab.widget(draw).figure.data[0].type for draw in (landscape, final_chart)] == [
        "contour",
        "scatter",
    ]


def test_a_point_of_the_landscape_is_the_loss_of_those_weights() -> None:
    settings = Settings(steps=60, seeds=3)
    land = answer(settings, SIGMAS).landscape
    configs = [settings.replace(deviation=sigma, record_every=3) for sigma in (0.1, 0.5, 1.0)]
    runs = toys.train(configs)
    rows = runs.rows[:, :, 0].movedim(1, 0)
    origin = rows[:, -1].mean(0)
    plane = main_plane(rows.flatten(0, 1), origin)
    (weights,) = plane.points(torch.stack([land["x"][7], land["y"][20]])[None])
    loss = toys.judge_on(weights, settings.original, 96).mean_squared_error
    assert float(land["loss"][20, 7]) == pytest.approx(float(loss), abs=1e-5)


def test_random_planes_hold_next_to_nothing(lab: Laboratory) -> None:
    lab.panel.value = lab.panel.value.replace(plane="random directions")
    lab.runner.join()
    assert answer_on_show(lab).landscape["share"] < 0.3


def test_the_rho_lab_begins_with_the_papers_hardest_case() -> None:
    lab = RhoLab()
    assert (lab.panel.value.deviation, lab.panel.value.relabelling) == (1.0, 0.5)
    assert answer_on_show(lab).values == (0.0, 0.25, 0.5, 0.75, 1.0)
    targets = answer_on_show(lab).decisions["targets"]
    labels = answer_on_show(lab).decisions["labels"]
    assert ((targets - 0.5 * labels) >= 0).all() and targets.unique().numel() > 60
    lab.panel.value = lab.panel.value.replace(steps=60, seeds=3)
    moved(lab, relabelling=0.0)
    assert torch.equal(
        answer_on_show(lab).decisions["targets"], answer_on_show(lab).decisions["labels"]
    )
    lab.close()


def test_the_largest_steps_give_finite_numbers_or_a_sentence(lab: Laboratory) -> None:
    settings = lab.panel.value.replace(learning_rate=10.0, momentum=0.9999, steps=1000)
    assert torch.isfinite(answer(settings, SIGMAS).means[SQUARED]).all()


def test_means_that_are_one_have_no_best_boundary(lab: Laboratory) -> None:
    lab.panel.value = lab.panel.value.replace(gap=0.0)
    lab.runner.join()
    assert list(trace(lab.widget(decisions).figure, "best boundary").x) == [] and answer_on_show(
        lab
    ).least[WRONG] == pytest.approx(0.5)

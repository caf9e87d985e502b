"""The laboratory of self-supervised distillation, driven in Python: what it shows is what the methods make, at every step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from ddlab import evaluation, networks
from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.explorers import Laboratory
from ddlab.explorers.lab import Known
from ddlab.figures import alt_text, encode_grid
from ddlab.lessons.bases.lab import (
    SelfSupervisedLab,
    bill_figure,
    label,
    map_figure,
    outer_curve,
    score_table,
    strip,
)
from ddlab.lessons.bases.world import (
    BOOST,
    KRR_ST,
    Settings,
    World,
    iteration,
    kept_iterations,
    outer_losses,
    pairs,
)
from ddlab.methods import boost, krr_st
from ddlab.methods import representation_selection as selection
from ddlab.networks import Network
from ddlab.runs import Run
from ddlab.runs import process as driver
from ddlab.runs.process import Inputs
from ddlab.training import pretraining
from tests.support import made_data, refuses

INNER = networks.spec("convnet", width=2, depth=2)
SMALL = boost.Config(
    budget=12, image_bases=6, representation_bases=3, hidden=2, network=INNER, pool_size=2, pool_steps=4, iterations=6, batch_size=16,
    learning_rate=1e-2,
)  # fmt: skip
PLAIN = krr_st.Config(
    budget=6, network=INNER, pool_size=2, pool_steps=4, iterations=6, batch_size=16, learning_rate=1e-2
)
PRETRAINING = pretraining.Config(network=INNER, epochs=3)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=8, train=60)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)


@pytest.fixture
def lab(data: ImageData, teacher: Network) -> Iterator[Laboratory]:
    made = SelfSupervisedLab(data, teacher, SMALL, pretraining=PRETRAINING, candidates=(1e-2,))
    yield made
    made.close()


def by_itself(data: ImageData, teacher: Network, config: krr_st.Config) -> tuple[list[Any], list[driver.Step]]:
    """The methods' own run: what is distilled after every outer step, and all steps."""
    process: Any = boost if isinstance(config, boost.Config) else krr_st
    inputs = Inputs(data=data, teachers=(teacher,))
    taken = list(driver.steps(process, config, inputs))
    first = driver.start(process, config, inputs)
    return [first.parameters, *(step.state.parameters for step in taken if step.trace.phase == "outer")], taken


# -- the view


def test_settings_that_play_no_part_are_the_same_run() -> None:
    assert Settings().augmentation == "none" and Settings().unused == ("shift", "hidden")
    view = Settings(augmentation="rotation")
    assert view.config == boost.Config.teaching(image_bases=40, representation_bases=24, budget=20)
    assert view.replace(method=KRR_ST).config == krr_st.Config.teaching()
    assert view.replace(method=KRR_ST, image_bases=7, hidden=9).config == krr_st.Config.teaching()
    assert view.replace(shift="bias", hidden=9).config == view.replace(shift="bias").config
    assert view.replace(augmentation="none", shift="same").config == view.replace(augmentation="none").config
    assert view.replace(hidden=9).config != view.config != view.replace(shift="bias").config
    assert view.replace(all_views=True, step=3).config == view.config


@pytest.mark.parametrize("iterations", [1, 6, 24, 25, 300])
def test_the_steps_that_are_kept(iterations: int) -> None:
    steps = kept_iterations(iterations)
    assert steps[0] == 0 and steps[-1] == iterations and list(steps) == sorted(set(steps)) and len(steps) <= 25


# -- the runs


@pytest.mark.parametrize(
    "config", [SMALL, SMALL.replace(augmentation="none", shift="same"), PLAIN], ids=["boost", "no views", "krr"]
)
def test_frames_and_losses_are_the_methods_own(data: ImageData, teacher: Network, config: krr_st.Config) -> None:
    world = World(data, teacher, config)
    run, config = world.run(world.start).advance(), world.start.config  # what plays no part has its default
    wanted, taken = by_itself(data, teacher, config)
    filling = run.total - 6
    assert [iteration(run, frame.step) for frame in run.frames] == list(kept_iterations(6)) and run.complete
    for frame in run.frames:
        own = wanted[iteration(run, frame.step)]
        assert all(torch.equal(value, own[name]) for name, value in frame.content.items()), frame.step
    assert list(outer_losses(run)) == [float(step.trace.loss) for step in taken if step.trace.phase == "outer"]
    frame = run.at(filling + 4)
    assert frame is not None and frame.step == filling + 4
    middle, state = world.distilled(run, frame), taken[filling + 3].state
    wanted_set = run.process.finish(config, world.inputs, state)
    assert middle.fingerprint == wanted_set.fingerprint and middle.provenance == wanted_set.provenance
    assert not middle.complete and world.distilled(run, run.frames[-1]).complete


def test_what_a_frame_looks_like(data: ImageData, teacher: Network) -> None:
    world = World(data, teacher, SMALL)
    run = world.run(world.start).advance()
    frame = run.frames[4]
    looks = world.looks(run.config, frame)
    images, targets = boost.pairs(SMALL, frame.content)
    m = pairs(run)
    assert m == boost.count_pairs(SMALL, world.inputs) and looks.images.shape == (4, m, 1, 8, 8)
    assert torch.equal(looks.images.flatten(0, 1), data.to_uint8(images))
    assert torch.equal(looks.targets.flatten(0, 1), targets)
    torch.testing.assert_close(looks.representations, networks.predict(teacher, images[:m]).features)
    chosen = krr_st.real_indices(len(data.train_labels), m, seed=0)
    assert torch.equal(world.real(run), data.train_images[chosen])
    places = world.places(run.config, frame)
    known = world.features[world.sample].double()
    axes = torch.linalg.svd(known - known.mean(0), full_matrices=False).Vh[:2]
    wanted = (targets[:m].double() - known.mean(0)) @ axes.T
    torch.testing.assert_close(places.targets.double().abs(), wanted.abs(), atol=1e-4, rtol=1e-3)
    assert places.targets_of_views.shape == (3 * m, 2) and places.representations.shape == (m, 2)


def test_a_run_that_is_not_finite_says_so_and_keeps_what_there_was(lab: Laboratory) -> None:
    lab.panel.value = lab.panel.value.replace(learning_rate=1e3, iterations=1000)
    button(lab).click()
    with pytest.raises(DDLabError, match="finite"):
        lab.runner.join()
    assert isinstance(lab.error, DDLabError) and lab.progress.description == "at rest"
    frame = run_of(lab).frames[-1]
    assert all(bool(value.isfinite().all()) for value in frame.content.values())
    moved(lab, learning_rate=1e-2)
    assert lab.error is None


# -- the explorer


def button(lab: Laboratory, number: int = 0) -> Any:
    """Run, or the second: pre-train and probe."""
    return list(lab.buttons.values())[number]


def run_of(lab: Laboratory) -> Run:
    """The run on show."""
    return lab.world.run(lab.settings)


def iterations(lab: Laboratory) -> int:
    """Its outer steps so far."""
    return iteration(run_of(lab), run_of(lab).step)


def moved(lab: Laboratory, **values: Any) -> None:
    for name, value in values.items():
        lab.panel[name].value = value
    lab.runner.join()
    lab.beside.join()


def distil(lab: Laboratory) -> None:
    button(lab).click()
    lab.runner.join()


def test_a_setting_shows_at_once_what_the_set_is_before_any_step(
    lab: Laboratory, data: ImageData, teacher: Network
) -> None:
    inputs = Inputs(data=data, teachers=(teacher,))
    for changes in (
        {},
        {"image_bases": 5},
        {"bases_start": "random"},
        {"augmentation": "crop"},
        {"scale": 1, "image_bases": 3},
    ):
        moved(lab, **changes)
        config = lab.panel.value.config
        assert config == SMALL.replace(
            **{name: getattr(config, name) for name in ("image_bases", "bases_start", "augmentation", "scale")}
        )
        state = boost.init(config, inputs)
        images, _ = boost.pairs(config, state.parameters)
        m = len(state.parameters["image_coefficients"])
        assert bytes(lab.widget(strip).value) == encode_grid(
            torch.cat([lab.world.real(run_of(lab))[:10], data.to_uint8(images[:10])]),
            10,
            9,
            row_labels=["real, at first", "distilled"],
            gap=4,
        )
        bill = boost.factors(config, inputs).bill(m)
        assert f"buys m = {m} images of {len(images) // m} views, which take {bill.total:,} floats" in lab.sentence
        assert f"takes {bill.total:,}" in alt_text(lab.widget(bill_figure).figure) and "Press Run" in lab.sentence
    assert lab.runner.thread is None, "nothing was computed elsewhere"


def test_a_run_is_shown_at_every_step(lab: Laboratory, data: ImageData) -> None:
    moved(lab, all_views=True)
    distil(lab)
    assert lab.sentence.endswith("This run is finished.") and button(lab).disabled
    for index, step in enumerate(kept_iterations(6)):
        lab.slider.index = index
        frame = run_of(lab).frames[index]
        assert lab.panel.value.step == (None if step == 6 else frame.step) and lab.widget(outer_curve).cursor == step
        shown = lab.world.looks(run_of(lab).config, frame)
        names = ["real, at first", "as it is", "turned by 90°", "turned by 180°", "turned by 270°"]
        rows = [lab.world.real(run_of(lab))[:10], *shown.images[:, :10]]
        assert bytes(lab.widget(strip).value) == encode_grid(torch.cat(rows), 10, 9, row_labels=names, gap=4)
        assert f"after outer step {step};" in lab.widget(strip).alt and f"After outer step {step} of 6" in lab.sentence
        mapped = {
            trace.name: np.stack([trace.x, trace.y], 1) for trace in lab.widget(map_figure).figure.data if trace.name
        }
        places = lab.world.places(run_of(lab).config, frame)
        np.testing.assert_allclose(mapped["targets of the images"], places.targets, atol=1e-2, rtol=1e-2)
        np.testing.assert_allclose(mapped["targets of the views"], places.targets_of_views, atol=1e-2, rtol=1e-2)
    curve = next(trace for trace in lab.widget(outer_curve).figure.data if trace.name.startswith("run 1"))
    losses = outer_losses(run_of(lab))
    np.testing.assert_allclose(curve.y, [np.mean(losses[max(0, step - 9) : step + 1]) for step in range(6)])
    assert f"the outer loss is {np.mean(losses):.4g}" in lab.sentence


def test_runs_are_kept_and_compared(lab: Laboratory) -> None:
    distil(lab)
    first, said = run_of(lab), lab.sentence
    moved(lab, method=KRR_ST)
    assert run_of(lab) is not first and "KRR-ST: a budget of 12 images buys m = 12 images of 1 view," in lab.sentence
    distil(lab)
    names = [trace.name for trace in lab.widget(outer_curve).figure.data][1:]
    assert (
        names
        == [label(lab.world, run_of(lab)), label(lab.world, first)]
        == ["run 2: KRR-ST, N 12", "run 1: Boost, N 12, U 6, V 3, s 2, rotation"]
    )
    moved(lab, method=BOOST)
    assert run_of(lab) is first and lab.sentence == said and button(lab).disabled


def test_the_quest_asks_for_a_loss_within_a_budget(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    from ddlab.lessons.bases import lab as module

    def met() -> bool:
        return module.quest_met(lab.world, lab.settings, Known(lab, lab.settings.step))

    monkeypatch.setattr(module, "_QUEST", 1e9)
    monkeypatch.setattr(module, "_MEAN_OF", 3)
    assert not met(), "nothing has run"
    distil(lab)
    assert met()
    monkeypatch.setattr(module, "_QUEST", 0.0)
    assert not met(), "the loss is too large"
    monkeypatch.setattr(module, "_QUEST", 1e9)
    monkeypatch.setattr(module, "_QUEST_BUDGET", 11)
    assert not met(), "the budget is too large"


def test_what_plays_no_part_is_greyed_out(lab: Laboratory) -> None:
    def grey() -> set[str]:
        return {name for name in lab.panel if lab.panel[name].disabled}

    assert grey() == set()
    moved(lab, shift="bias")
    assert grey() == {"hidden"}
    moved(lab, augmentation="none")
    assert grey() == {"hidden", "shift"}
    moved(lab, method=KRR_ST)
    assert {"image_bases", "scale", "augmentation", "hidden"} < grey() and not {"budget", "learning_rate"} & grey()


def test_what_the_library_refuses_is_said_and_nothing_breaks(lab: Laboratory) -> None:
    picture = bytes(lab.widget(strip).value)

    def refused(words: str, **values: Any) -> None:
        with pytest.raises(DDLabError, match=words):
            lab.panel.value = lab.panel.value.replace(**values)
        assert words in lab.refusal and words in str(lab.error) and bytes(lab.widget(strip).value) == picture
        assert all(button.disabled for button in lab.buttons.values())

    refused("image_bases", scale=4)  # 6 bases of 2 x 2 pixels
    next(iter(lab.buttons.values())).click()
    assert lab.runner.thread is None
    with pytest.raises(DDLabError, match="image_bases"):
        lab.run()
    refused("the rank of these 180 points", image_bases=4, representation_bases=15)
    refused("budget must be at least", budget=5, representation_bases=10)
    moved(lab, method=KRR_ST)
    assert "KRR-ST: a budget of 5 images" in lab.sentence and lab.refusal == "" and lab.error is None
    assert not any(button.disabled for button in lab.buttons.values())
    lab.reset_button.click()
    assert lab.panel.value == lab.start and bytes(lab.widget(strip).value) == picture


def test_controls_are_computed_once(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[str] = []
    run = driver.run

    def told(process: Any, config: Any, inputs: Inputs, **options: Any) -> Any:
        if process is pretraining:
            assert inputs.distilled is not None
            learned.append(inputs.distilled.provenance["method"])
        return run(process, config, inputs, **options)

    monkeypatch.setattr(driver, "run", told)
    _, probe = lab.buttons.values()

    def press() -> None:
        probe.click()
        lab.runner.join()

    press()
    press()
    assert learned == [selection.NAME, boost.NAME]
    moved(lab, method=KRR_ST)
    press()
    assert learned == [selection.NAME, boost.NAME, krr_st.NAME]
    assert "KRR-ST, N 12, outer step 0" in lab.widget(score_table).value
    moved(lab, budget=15)
    press()
    assert learned[3:] == [selection.NAME, krr_st.NAME] and "15 random real images" in lab.widget(score_table).value


def test_stop_keeps_what_there_is(lab: Laboratory) -> None:
    at_rest: list[str] = []
    lab.progress.observe(lambda change: at_rest.append(lab.sentence), "description")
    moved(lab, iterations=1000)
    button(lab).click()
    while iterations(lab) < 3 or lab.progress.description == "at rest":
        time.sleep(0.002)
    assert not lab.stop_button.disabled
    lab.stop_button.click()
    lab.runner.join(10)
    reached = iterations(lab)
    assert (
        3 <= reached < 1000
        and iteration(run_of(lab), run_of(lab).frames[-1].step) == reached
        and button(lab).description == "Go on"
    )
    assert (
        lab.stop_button.disabled and "Run goes on" in lab.sentence and f"After outer step {reached} of" in lab.sentence
    )
    assert at_rest[-1] == lab.sentence, "what is at rest has been drawn"
    button(lab).click()
    while iterations(lab) < reached + 3:
        time.sleep(0.002)
    moved_on = run_of(lab)
    lab.panel["budget"].value = 15  # another setting is looked at while the run goes on
    assert run_of(lab) is not moved_on and "Press Run" in lab.sentence
    lab.stop_button.click()
    lab.runner.join(10)
    assert lab.error is None and iteration(moved_on, moved_on.step) > reached


def test_run_distils_here_and_now(data: ImageData, teacher: Network) -> None:
    lab = SelfSupervisedLab(data, teacher, PLAIN)
    assert lab.run() is lab and run_of(lab).complete and lab.sentence.endswith("This run is finished.")
    assert lab.panel.value.method == KRR_ST and lab.panel.value.config == PLAIN
    lab.close()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"config": selection.Config()}, ("config", "kernel_ridge_self_supervised")),
        ({"config": SMALL.replace(budget=1)}, ("budget", "at least")),
        ({"other": made_data(size=16)}, ("other", "aligned")),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_said(
    data: ImageData, teacher: Network, wrong: dict[str, Any], words: tuple[str, ...]
) -> None:
    with refuses(*words):
        SelfSupervisedLab(**{"data": data, "teacher": teacher, "config": SMALL} | wrong)


# -- what a set is worth


@pytest.mark.slow
def test_a_probe_finds_what_the_evaluation_finds(data: ImageData, teacher: Network) -> None:
    other = made_data(size=8, seed=5)
    lab = SelfSupervisedLab(data, teacher, SMALL, other=other, pretraining=PRETRAINING, candidates=(1e-2,))
    assert "nothing yet" in lab.widget(score_table).value
    distil(lab)
    lab.slider.index = 4
    button(lab, 1).click()
    lab.runner.join()
    names = tuple(lab.world.datasets)
    sets = {"source": data, "other": other}
    inputs, frame = lab.world.inputs, run_of(lab).at(lab.panel.value.step)
    assert frame is not None and iteration(run_of(lab), frame.step) == 4 and len(names) == 2
    made = {
        "run 1": lab.world.distilled(run_of(lab), frame),
        "12 random": driver.run(selection, selection.Config(budget=12), inputs),
    }
    rows = {row.words: row for row in lab.values.values()}
    for words, distilled in made.items():
        found = evaluation.pretrained(distilled, sets, seeds=(0,), config=PRETRAINING, candidates=(1e-2,), device="cpu")
        row = next(row for name, row in rows.items() if name.startswith(words))
        assert row.accuracies == tuple(found.of(name).mean for name in sets) and row.pairs == len(distilled)
        assert all(f"{value:.1%}" in lab.widget(score_table).value for value in row.accuracies)
    untrained = networks.initialise(
        networks.spec("convnet", width=2, depth=2).for_data(data, outputs=lab.world.features.shape[1]), seed=0
    )
    alone = [evaluation.probe(untrained, each, kind="linear", candidates=(1e-2,)).mean for each in sets.values()]
    assert rows["untrained network"].accuracies == tuple(alone)
    assert button(lab, 1).disabled and lab.stop_button.disabled and lab.progress.description == "at rest"
    lab.slider.index = 5
    assert not button(lab, 1).disabled
    lab.close()


def test_a_probe_is_given_up(data: ImageData, teacher: Network) -> None:
    lab = SelfSupervisedLab(data, teacher, SMALL, pretraining=PRETRAINING.replace(epochs=10**6))
    button(lab, 1).click()
    while lab.progress.description != "real images":
        time.sleep(0.005)
    lab.stop_button.click()
    lab.runner.join(10)
    assert lab.error is None and lab.stop_button.disabled and not button(lab, 1).disabled
    assert [score.words for score in lab.values.values()] == ["untrained network"]
    lab.close()


def test_where_a_reader_without_a_config_begins(data: ImageData, teacher: Network) -> None:
    lab = SelfSupervisedLab(data, teacher)
    view = lab.panel.value
    assert (view.method, view.budget, view.scale, view.iterations) == (BOOST, 20, 2, 300)
    assert (view.image_bases, view.representation_bases) == (16, 11), "as many as the features have rank"
    assert [value for _, value in lab.panel["scale"].options] == [1, 2, 4, 8] and lab.panel["method"].index == 1
    assert lab.world.learning.network == view.network and lab.world.learning.epochs == 300
    lab.close()

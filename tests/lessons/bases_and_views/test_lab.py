"""The laboratory of self-supervised distillation, driven in Python: what it shows is what the methods make, at every step."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from ddlab import evaluation, networks, pretraining
from ddlab import process as driver
from ddlab.data import ImageData
from ddlab.errors import DDLabError
from ddlab.explorers import SelfSupervisedLab, self_supervised_runs
from ddlab.explorers.self_supervised_figures import label, outer_curve, outer_loss
from ddlab.explorers.self_supervised_runs import SelfSupervisedRuns
from ddlab.explorers.self_supervised_view import BOOST, KRR_ST, SelfSupervisedView, kept_iterations
from ddlab.figures import alt_text, encode_grid
from ddlab.methods import kernel_ridge_self_supervised as krr
from ddlab.methods import parameterised_self_supervised as boost
from ddlab.methods import representation_selection as selection
from ddlab.networks import Network
from ddlab.process import Inputs
from tests.support import made_data, refuses

INNER = networks.spec("convnet", width=2, depth=2)
SMALL = boost.Config(
    budget=12, image_bases=6, representation_bases=3, hidden=2, network=INNER, pool_size=2, pool_steps=4, iterations=6, batch_size=16,
    learning_rate=1e-2,
)  # fmt: skip
PLAIN = krr.Config(budget=6, network=INNER, pool_size=2, pool_steps=4, iterations=6, batch_size=16, learning_rate=1e-2)
PRETRAINING = pretraining.Config(network=INNER, epochs=3)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=8, train=60)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)


@pytest.fixture
def lab(data: ImageData, teacher: Network) -> Iterator[SelfSupervisedLab]:
    made = SelfSupervisedLab(data, teacher, SMALL, pretraining=PRETRAINING, candidates=(1e-2,))
    yield made
    made.close()


def by_itself(data: ImageData, teacher: Network, config: krr.Config) -> tuple[list[Any], list[driver.Step]]:
    """The methods' own run: what is distilled after every outer step, and all steps."""
    process: Any = boost if isinstance(config, boost.Config) else krr
    inputs = Inputs(data=data, teachers=(teacher,))
    taken = list(driver.steps(process, config, inputs))
    first = driver.start(process, config, inputs)
    return [first.parameters, *(step.state.parameters for step in taken if step.trace.phase == "outer")], taken


# -- the view


def test_settings_that_play_no_part_are_the_same_run() -> None:
    view = SelfSupervisedView()
    assert view.config == boost.Config.teaching(image_bases=40, representation_bases=24, budget=20)
    assert view.replace(method=KRR_ST).config == krr.Config.teaching()
    assert view.replace(method=KRR_ST, image_bases=7, hidden=9).config == krr.Config.teaching()
    assert view.replace(shift="bias", hidden=9).config == view.replace(shift="bias").config
    assert view.replace(augmentation="none", shift="same").config == view.replace(augmentation="none").config
    assert view.replace(hidden=9).config != view.config != view.replace(shift="bias").config
    assert view.replace(all_views=True, step=3, layout="UMAP").config == view.config


@pytest.mark.parametrize("iterations", [1, 6, 24, 25, 300])
def test_the_steps_that_are_kept(iterations: int) -> None:
    steps = kept_iterations(iterations)
    assert steps[0] == 0 and steps[-1] == iterations and list(steps) == sorted(set(steps)) and len(steps) <= 25


# -- the runs


@pytest.mark.parametrize(
    "config", [SMALL, SMALL.replace(augmentation="none", shift="same"), PLAIN], ids=["boost", "no views", "krr"]
)
def test_frames_and_losses_are_the_methods_own(data: ImageData, teacher: Network, config: krr.Config) -> None:
    runs = SelfSupervisedRuns(data, teacher)
    run = runs.begun(config)
    assert run.iteration == 0 and not run.complete and [frame.step for frame in run.frames] == [0]
    seen: list[int] = []
    runs.go_on(run, lambda run: seen.append(run.state.step))
    wanted, taken = by_itself(data, teacher, config)
    assert (
        [frame.step for frame in run.frames] == list(kept_iterations(6))
        and run.complete
        and seen == list(range(1, len(taken) + 1))
    )
    for frame in run.frames:
        assert all(torch.equal(value, wanted[frame.step][name]) for name, value in frame.parameters.items()), frame.step
    assert run.outer == [float(step.trace.loss) for step in taken if step.trace.phase == "outer"]
    for number, losses in enumerate(run.pool):
        assert losses == [float(s.trace.loss) for s in taken if (s.trace.phase, s.trace.network) == ("pool", number)]
    assert run.frame(None).step == 6 and run.frame(4).step == 4 and runs.begun(config) is run
    middle = runs.distilled(run, run.frame(4))
    process: Any = boost if isinstance(config, boost.Config) else krr
    state = next(step.state for step in taken if step.state.step == run.filling + 4)
    wanted_set = process.finish(config, runs.inputs, state)
    assert middle.fingerprint == wanted_set.fingerprint and middle.provenance == wanted_set.provenance
    assert not middle.complete and runs.distilled(run, run.frame(None)).complete


def test_what_a_frame_looks_like(data: ImageData, teacher: Network) -> None:
    runs = SelfSupervisedRuns(data, teacher)
    run = runs.begun(SMALL)
    runs.go_on(run)
    frame = run.frame(4)
    shown = runs.shown(run, frame)
    images, targets = boost.pairs(SMALL, frame.parameters)
    m = run.pairs
    assert m == boost.count_pairs(SMALL, runs.inputs) and shown.images.shape == (4, m, 1, 8, 8)
    assert torch.equal(shown.images.flatten(0, 1), data.to_uint8(images)) and torch.equal(
        shown.targets.flatten(0, 1), targets
    )
    torch.testing.assert_close(shown.said, networks.predict(teacher, images[:m]).features)
    chosen = krr.real_indices(len(data.train_labels), m, seed=0)
    assert torch.equal(runs.real(run), data.train_images[chosen])
    places = runs.positions(run, frame, "PCA")
    centred = runs.features[runs.sample].double() - runs.features[runs.sample].double().mean(0)
    axes = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    wanted = (targets[:m].double() - runs.features[runs.sample].double().mean(0)) @ axes.T
    torch.testing.assert_close(places["targets"].double().abs(), wanted.abs(), atol=1e-4, rtol=1e-3)
    assert places["targets of views"].shape == (3 * m, 2) and places["said"].shape == (m, 2)


def test_a_run_that_is_left_is_taken_up_again(data: ImageData, teacher: Network) -> None:
    runs = SelfSupervisedRuns(data, teacher)
    run = runs.begun(PLAIN.replace(iterations=60))

    class Left(Exception):
        pass

    def leave(_run: Any) -> None:
        raise Left

    steps = 0
    while not run.complete:
        try:
            runs.go_on(run, leave)
        except Left:
            steps += 1
        assert run.frame(None).step == run.iteration, "what Stop leaves can be looked at"
    assert steps == run.total and run.number == 1
    whole = SelfSupervisedRuns(data, teacher)
    other = whole.begun(run.config)
    whole.go_on(other)
    assert run.outer == other.outer and run.pool == other.pool
    means = [np.mean(run.outer[max(0, step - 9) : step + 1]) for step in range(60)]
    np.testing.assert_allclose(outer_curve(runs, run).data[0].y, means)
    assert outer_loss(run, 40) == pytest.approx(means[39])
    assert all(
        torch.equal(run.frame(None).parameters[name], value) for name, value in other.frame(None).parameters.items()
    )


def test_the_last_runs_are_remembered(data: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_supervised_runs, "_KEPT", 2)
    runs = SelfSupervisedRuns(data, teacher)
    first = runs.begun(PLAIN)
    runs.go_on(first)
    begun = [runs.begun(PLAIN.replace(seed=seed)) for seed in (1, 2, 3)]  # of these no step is done: they go first
    assert runs.begun(PLAIN) is first and runs.begun(PLAIN.replace(seed=1)) is not begun[0]
    assert runs.finished() == [first]


def test_a_run_that_is_not_finite_says_so_and_keeps_what_there_was(lab: SelfSupervisedLab) -> None:
    lab.panel.value = lab.panel.value.replace(learning_rate=1e3, iterations=1000)
    lab.run_button.click()
    with pytest.raises(DDLabError, match="finite"):
        lab.worker.join()
    assert isinstance(lab.error, DDLabError) and lab.progress.description == "at rest"
    frame = lab._run.frame(None)
    assert all(bool(value.isfinite().all()) for value in frame.parameters.values())
    moved(lab, learning_rate=1e-2)
    assert lab.error is None


# -- the explorer


def moved(lab: SelfSupervisedLab, **values: Any) -> None:
    for name, value in values.items():
        lab.panel[name].value = value
    lab.worker.join()
    lab.mapper.join()


def distil(lab: SelfSupervisedLab) -> None:
    lab.run_button.click()
    lab.worker.join()


def test_a_setting_shows_at_once_what_the_set_is_before_any_step(
    lab: SelfSupervisedLab, data: ImageData, teacher: Network
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
        assert bytes(lab.views.picture.value) == encode_grid(
            torch.cat([lab.runs.real(lab._run)[:10], data.to_uint8(images[:10])]), 10, 9, row_labels=["real, at first", "distilled"], gap=4
        )  # fmt: skip
        bill = boost.factors(config, inputs).bill(m)
        assert f"buys m = {m} images of {len(images) // m} views, which take {bill.total:,} floats" in lab.sentence
        assert f"takes {bill.total:,}" in alt_text(lab.views.bill.figure) and "Press Run" in lab.sentence
    assert lab.worker.thread is None, "nothing was computed elsewhere"


def test_a_run_is_shown_at_every_step(lab: SelfSupervisedLab, data: ImageData) -> None:
    moved(lab, all_views=True)
    distil(lab)
    assert lab.sentence.endswith("This run is finished.") and lab.run_button.disabled
    for index, step in enumerate(kept_iterations(6)):
        lab.slider.index = index
        frame = lab._run.frame(step)
        assert lab.panel.value.step == (None if step == 6 else step) and lab.views.outer.cursor == step
        shown = lab.runs.shown(lab._run, frame)
        names = ["real, at first", "as it is", "turned by 90°", "turned by 180°", "turned by 270°"]
        rows = [lab.runs.real(lab._run)[:10], *shown.images[:, :10]]
        assert bytes(lab.views.picture.value) == encode_grid(torch.cat(rows), 10, 9, row_labels=names, gap=4)
        assert f"after outer step {step};" in lab.views.picture.alt and f"After outer step {step} of 6" in lab.sentence
        mapped = {trace.name: np.stack([trace.x, trace.y], 1) for trace in lab.views.map.figure.data if trace.name}
        places = lab.runs.positions(lab._run, frame, "PCA")
        np.testing.assert_allclose(mapped["targets of the images"], places["targets"], atol=1e-2, rtol=1e-2)
        np.testing.assert_allclose(mapped["targets of the views"], places["targets of views"], atol=1e-2, rtol=1e-2)
    curve = next(trace for trace in lab.views.outer.figure.data if trace.name.startswith("run 1"))
    losses = lab._run.outer
    np.testing.assert_allclose(curve.y, [np.mean(losses[max(0, step - 9) : step + 1]) for step in range(6)])
    assert outer_loss(lab._run, 6) == pytest.approx(np.mean(losses)) and outer_loss(lab._run, 0) is None
    pool = {trace.name: list(trace.y) for trace in lab.views.pool.figure.data}
    assert pool == {f"network {n}": losses for n, losses in enumerate(lab._run.pool, 1)}


def test_runs_are_kept_and_compared(lab: SelfSupervisedLab) -> None:
    distil(lab)
    first, said = lab._run, lab.sentence
    moved(lab, method=KRR_ST)
    assert lab._run is not first and "KRR-ST: a budget of 12 images buys m = 12 images of 1 view," in lab.sentence
    distil(lab)
    names = [trace.name for trace in lab.views.outer.figure.data]
    assert (
        names
        == [label(lab._run), label(first)]
        == ["run 2: KRR-ST, N 12", "run 1: Boost, N 12, U 6, V 3, s 2, rotation"]
    )
    assert (
        all(name in lab.views.run_table.value for name in names)
        and "run 2: KRR-ST, N 12, on show" in lab.views.run_table.value
    )
    moved(lab, method=BOOST)
    assert lab._run is first and lab.sentence == said and lab.run_button.disabled
    assert "run 1: Boost, N 12, U 6, V 3, s 2, rotation, on show" in lab.views.run_table.value


def test_what_plays_no_part_is_greyed_out(lab: SelfSupervisedLab) -> None:
    def grey() -> set[str]:
        return {name for name in lab.panel if lab.panel[name].disabled}

    assert grey() == set()
    moved(lab, shift="bias")
    assert grey() == {"hidden"}
    moved(lab, augmentation="none")
    assert grey() == {"hidden", "shift"}
    moved(lab, method=KRR_ST)
    assert {"image_bases", "scale", "augmentation", "hidden"} < grey() and not {"budget", "learning_rate"} & grey()


def test_what_the_library_refuses_is_said_and_nothing_breaks(lab: SelfSupervisedLab) -> None:
    picture = bytes(lab.views.picture.value)
    moved(lab, scale=4)  # 6 bases of 2 x 2 pixels
    assert "image_bases" in lab.refusal and lab.refusal in lab.sentence and "image_bases" in lab.refused.value
    assert (
        lab.run_button.disabled
        and lab.probe_button.disabled
        and bytes(lab.views.picture.value) == picture
        and lab.error is None
    )
    lab.run_button.click()
    assert lab.worker.thread is None
    with pytest.raises(DDLabError, match="image_bases"):
        lab.run()
    moved(lab, image_bases=4, representation_bases=15)
    assert lab.refusal.startswith("representation_bases must be an integer in [1, 11], the rank of these 180 points")
    moved(lab, budget=5, representation_bases=10)
    assert lab.refusal.startswith("budget must be at least")
    moved(lab, method=KRR_ST)
    assert "KRR-ST: a budget of 5 images" in lab.sentence
    assert lab.refusal == "" and lab.refused.layout.display == "none" and not lab.run_button.disabled
    moved(lab, method=BOOST, scale=2, budget=12)
    assert lab.refusal == "" and "Boost: a budget of 12 images" in lab.sentence
    lab.reset_button.click()
    assert lab.panel.value == lab.start and bytes(lab.views.picture.value) == picture


def test_stop_keeps_what_there_is(lab: SelfSupervisedLab) -> None:
    at_rest: list[str] = []
    lab.progress.observe(lambda change: at_rest.append(lab.sentence), "description")
    moved(lab, iterations=1000)
    lab.run_button.click()
    while lab._run.iteration < 3:
        time.sleep(0.002)
    assert not lab.stop_button.disabled
    lab.stop_button.click()
    lab.worker.join(10)
    reached = lab._run.iteration
    assert 3 <= reached < 1000 and lab._run.frame(None).step == reached and lab.run_button.description == "Go on"
    assert (
        lab.stop_button.disabled and "Run goes on" in lab.sentence and f"After outer step {reached} of" in lab.sentence
    )
    assert at_rest[-1] == lab.sentence, "what is at rest has been drawn"
    lab.run_button.click()
    while lab._run.iteration < reached + 3:
        time.sleep(0.002)
    moved_on = lab._run
    lab.panel["budget"].value = 15  # another setting is looked at while the run goes on
    assert lab._run is not moved_on and "Press Run" in lab.sentence
    lab.stop_button.click()
    lab.worker.join(10)
    assert lab.error is None and moved_on.iteration > reached


def test_run_distils_here_and_now(data: ImageData, teacher: Network) -> None:
    lab = SelfSupervisedLab(data, teacher, PLAIN)
    assert lab.run() is lab and lab._run.complete and lab.sentence.endswith("This run is finished.")
    assert lab.panel.value.method == KRR_ST and lab.panel.value.config == PLAIN
    lab.close()


def test_umap_only_on_request(lab: SelfSupervisedLab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    positions = lab.runs.positions

    def told(run: Any, frame: Any, layout: str) -> Any:
        asked.append((layout, threading.current_thread().name))
        found = positions(run, frame, "PCA")
        if layout == "UMAP":
            lab.runs._placed[(id(run), frame.step, layout)] = (
                run,
                {name: value + 100 for name, value in found.items()},
            )
        return lab.runs._placed[(id(run), frame.step, layout)][1]

    monkeypatch.setattr(lab.runs, "positions", told)
    distil(lab)
    assert {layout for layout, _ in asked} == {"PCA"} and lab.mapper.thread is None
    asked.clear()
    lab.panel["layout"].value = "UMAP"
    lab.mapper.join()
    assert asked[0] == ("UMAP", "ddlab-map") and lab.views.map.figure.layout.xaxis.title.text.startswith("UMAP")


def test_a_shared_text_restores_the_view(lab: SelfSupervisedLab, data: ImageData, teacher: Network) -> None:
    moved(lab, image_bases=5, augmentation="jigsaw")
    distil(lab)
    lab.slider.index = 3
    said, text = lab.sentence, lab.share_field.value
    lab.reset_button.click()
    assert lab.panel.value == lab.start and lab.sentence != said
    lab.share_field.value = text
    assert lab.sentence == said and lab.share_field.value == text
    again = SelfSupervisedLab(data, teacher, SMALL, key="other")
    again.share_field.value = text
    assert (
        again.panel.value.to_string() == lab.panel.value.to_string() and "After outer step 0 of 6" in again.sentence
    )  # its run has not been made
    again.run()
    assert again.sentence == said and bytes(again.views.picture.value) == bytes(lab.views.picture.value)
    again.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("image_bases=0", "image_bases"),
        ("scale=3", "scale"),
        ('method="BYOL"', "method"),
        ("step=-1", "step"),
        ("alpha=1", "parameter of"),
    ],
)
def test_settings_that_are_none(lab: SelfSupervisedLab, text: str, words: str) -> None:
    before = lab.panel.value
    with pytest.raises(DDLabError, match=words):
        lab.share_field.value = text
    assert lab.panel.value == before and lab.error is not None and words in str(lab.error)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"data": 1}, ("data", "ImageData")),
        ({"teacher": None}, ("teacher", "Network")),
        ({"config": selection.Config()}, ("config", "kernel_ridge_self_supervised")),
        ({"config": SMALL.replace(budget=1)}, ("budget", "at least")),
        ({"other": made_data(size=16)}, ("other", "aligned")),
        ({"pretraining": SMALL}, ("pretraining", "Config")),
        ({"candidates": ()}, ("candidates",)),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_said(
    data: ImageData, teacher: Network, wrong: dict[str, Any], words: tuple[str, ...]
) -> None:
    with refuses(*words):
        SelfSupervisedLab(**{"data": data, "teacher": teacher, "config": SMALL} | wrong)


def test_a_cell_that_runs_again_replaces_the_lab(data: ImageData, teacher: Network) -> None:
    first = SelfSupervisedLab(data, teacher, PLAIN.replace(iterations=1000))
    first.run_button.click()
    second = SelfSupervisedLab(data, teacher, PLAIN)
    assert first.worker.thread is None
    second.close()
    assert not any(thread.name.startswith("ddlab-") for thread in threading.enumerate())


# -- what a set is worth


def test_a_probe_finds_what_the_evaluation_finds(data: ImageData, teacher: Network) -> None:
    other = made_data(size=8, seed=5)
    lab = SelfSupervisedLab(data, teacher, SMALL, other=other, pretraining=PRETRAINING, candidates=(1e-2,))
    assert "nothing yet" in lab.views.worth_table.value
    distil(lab)
    lab.slider.index = 4
    lab.probe_button.click()
    lab.worker.join()
    names = tuple(lab.worth.datasets)
    sets = {"source": data, "other": other}
    inputs, frame = lab.runs.inputs, lab._run.frame(lab.panel.value.step)
    assert frame.step == 4 and len(names) == 2
    made = {
        "run 1": lab.runs.distilled(lab._run, frame),
        "12 random": driver.run(selection, selection.Config(budget=12), inputs),
    }
    rows = {row.words: row for row in [*lab.worth.controls.values(), *lab.worth.rows.values()]}
    for words, distilled in made.items():
        found = evaluation.pretrained(distilled, sets, seeds=(0,), config=PRETRAINING, candidates=(1e-2,), device="cpu")
        row = next(row for name, row in rows.items() if name.startswith(words))
        assert row.accuracies == tuple(found.of(name).mean for name in sets) and row.pairs == len(distilled)
        assert all(f"{value:.1%}" in lab.views.worth_table.value for value in row.accuracies)
    untrained = networks.initialise(
        networks.spec("convnet", width=2, depth=2).for_data(data, outputs=lab.runs.features.shape[1]), seed=0
    )
    alone = [evaluation.probe(untrained, each, kind="linear", candidates=(1e-2,)).mean for each in sets.values()]
    assert rows["untrained network"].accuracies == tuple(alone)
    assert lab.probe_button.disabled and lab.stop_button.disabled and lab.progress.description == "at rest"
    lab.slider.index = 5
    assert not lab.probe_button.disabled
    lab.close()


def test_controls_are_computed_once(lab: SelfSupervisedLab, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt: list[str] = []
    run = driver.run

    def told(process: Any, config: Any, inputs: Inputs, **options: Any) -> Any:
        if process is pretraining:
            assert inputs.distilled is not None
            learnt.append(inputs.distilled.provenance["method"])
        return run(process, config, inputs, **options)

    monkeypatch.setattr(driver, "run", told)
    for index in (0, 0):
        lab.slider.index = index
        lab.probe_button.click()
        lab.worker.join()
    assert learnt == [selection.NAME, boost.NAME]
    moved(lab, method=KRR_ST)
    lab.probe_button.click()
    lab.worker.join()
    assert learnt == [selection.NAME, boost.NAME, krr.NAME] and len(lab.worth.rows) == 2
    assert "KRR-ST, N 12, outer step 0" in lab.views.worth_table.value
    moved(lab, budget=15)
    lab.probe_button.click()
    lab.worker.join()
    assert learnt[3:] == [selection.NAME, krr.NAME] and "15 random real images" in lab.views.worth_table.value


@pytest.mark.parametrize("how", ["stop", "close"])
def test_a_probe_is_given_up(data: ImageData, teacher: Network, how: str) -> None:
    lab = SelfSupervisedLab(data, teacher, SMALL, pretraining=PRETRAINING.replace(epochs=10**6))
    lab.probe_button.click()
    while lab.progress.description != "real images":
        time.sleep(0.005)
    if how == "close":
        lab.close()
        assert not any(thread.name.startswith("ddlab-") for thread in threading.enumerate())
        return
    lab.stop_button.click()
    lab.worker.join(10)
    assert lab.error is None and lab.stop_button.disabled and not lab.probe_button.disabled
    assert lab.worth.rows == {} and list(lab.worth.controls) == ["untrained network"]
    lab.close()


def test_where_a_reader_without_a_config_begins(data: ImageData, teacher: Network) -> None:
    lab = SelfSupervisedLab(data, teacher)
    view = lab.panel.value
    assert (view.method, view.budget, view.scale, view.iterations) == (BOOST, 20, 2, 300)
    assert (view.image_bases, view.representation_bases) == (16, 11), "as many as the features have rank"
    assert [value for _, value in lab.panel["scale"].options] == [1, 2, 4, 8] and lab.panel["method"].index == 1
    assert lab.worth.config.network == view.network and lab.worth.config.epochs == 300
    lab.close()

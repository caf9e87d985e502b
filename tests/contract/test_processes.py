"""What every process must hold: one small config of each for every property, and each other choice
of a field once.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from ddlab import methods
from ddlab.core import NonFiniteError, parameters
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.networks import Network
from ddlab.runs import Inputs, Step, checkpoint, look, process
from ddlab.runs import run as run_module
from ddlab.runs.process import needs_teacher
from ddlab.unlabelled import self_supervised
from tests.contract.cases import (
    CASES,
    MAIN,
    MATCHING,
    NETWORKS,
    PROCESSES,
    Case,
    Unread,
    assert_usable,
    bundle,
    is_complete,
    poisoned,
    states,
)
from tests.support import (
    assert_same,
    assert_sentence,
    assert_unchanged,
    draw_globally,
    global_randomness,
    leaves,
    made_data,
    refuses,
    run_to_end,
    snapshot,
)


@pytest.fixture(params=MAIN, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def inputs(case: Case, grey: ImageData, teacher: Network, distilled: DistilledSet) -> Inputs:
    return bundle(case, grey, teacher, distilled)


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Step]]:
    return {}


@pytest.fixture
def whole(case: Case, inputs: Inputs, runs: dict[str, list[Step]]) -> list[Step]:
    """All steps of an undisturbed run; computed once per case."""
    if case.name not in runs:
        runs[case.name] = states(case, inputs)
    return runs[case.name]


@pytest.mark.parametrize("name", methods.names())
def test_a_method_has_its_names_and_presets_and_asks_for_what_it_needs(
    name: str, grey: ImageData, teacher: Network
) -> None:
    module = methods.get(name)
    assert name == module.NAME and tuple(methods.MODULES[name]) == tuple(module.ALIASES)
    assert all(methods.get(alias) is module for alias in module.ALIASES)
    images = ("cifar10", "cifar100", *(("mnist",) if name in MATCHING else ()))
    for dataset in ("trec6",) if module.NAME == "text_dataset_distillation" else images:
        assert (
            module.Config.paper(dataset=dataset, seed=5).seed
            == module.Config.teaching(seed=5).seed
            == 5
        )
    for begin in (process.start, process.steps):
        with refuses("data", name):
            begin(module, module.SMALL, Inputs(teachers=(teacher,)))
        if needs_teacher(module):
            with refuses("teacher", name):
                begin(module, module.SMALL, Inputs(data=grey))
        else:
            begin(module, module.SMALL, Inputs(data=grey))
    if name != "selection":  # the same for every dataset
        with refuses(
            "dataset", "'trec6'" if module.NAME == "text_dataset_distillation" else "'cifar10'"
        ):
            module.Config.paper("flowers")


def test_offers_what_a_process_is(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    module = case.module
    for name in ("NAME", "Config", "State", "Trace", "total_steps", "init", "update", "finish"):
        assert hasattr(module, name), name
    assert module.__doc__ and all(
        described.help for described in parameters.describe(module.Config).values()
    )
    for kind in (module.Config, module.State, module.Trace):
        assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "seed" in parameters.describe(module.Config)
    if module in PROCESSES:
        assert isinstance(module.Config.teaching(), module.Config) and isinstance(
            module.Config.paper(), module.Config
        )
    if module not in NETWORKS:
        assert isinstance(module.ALIASES, tuple) and {*module.NEEDS} <= {
            "data",
            "teacher",
            "distilled",
        }
    total = module.total_steps(case.config, inputs)
    run = whole
    assert [step.index for step in run] == list(range(1, total + 1)) and {
        step.total for step in run
    } == {total}
    assert module.init(case.config, inputs).step == 0 and all(
        step.state.step == step.index for step in run
    )
    assert isinstance(run[-1].state, module.State) and isinstance(run[-1].trace, module.Trace)
    result = module.finish(case.config, inputs, run[-1].state)
    kind = Network if module in NETWORKS else DistilledSet
    assert isinstance(result, kind)
    recorded = [step.index for step in process.every(iter(whole), 2)]
    assert recorded == sorted({*range(2, total + 1, 2), total})


@pytest.mark.parametrize(
    "choice", [case for case in CASES if case not in MAIN], ids=lambda case: case.name
)
def test_a_choice_runs_repeats_and_resumes_in_the_middle(
    choice: Case, grey: ImageData, teacher: Network, distilled: DistilledSet, tmp_path: Path
) -> None:
    inputs = bundle(choice, grey, teacher, distilled)
    module = choice.module
    config = choice.config
    before = snapshot(inputs)
    randomness = global_randomness()
    run = states(choice, inputs)
    assert_unchanged(before, inputs)
    assert global_randomness() == randomness and len(run) == module.total_steps(config, inputs)
    assert_same(run, states(choice, inputs))
    middle = len(run) // 2
    state = run[middle - 1].state if middle else module.init(config, inputs)
    file = checkpoint.save(tmp_path / "run.safetensors", module, config, inputs, state)
    loaded = checkpoint.load(file, module, config, inputs)
    assert_same(loaded, state)
    assert_same(states(choice, inputs, loaded), run[middle:])
    assert_usable(module.finish(config, inputs, run[-1].state), inputs)


def test_two_runs_are_bit_identical_and_leave_all_as_it_was(
    case: Case, inputs: Inputs, whole: list[Step]
) -> None:
    before = snapshot(inputs)
    config = snapshot(case.config)
    start = case.module.init(case.config, inputs)
    fingerprints = [inputs.fingerprint, *(teacher.fingerprint for teacher in inputs.teachers)]
    start_before = snapshot(start)
    second = []
    snapshots = []
    randomness = global_randomness()
    run_to_end(case.module, case.config, inputs)
    assert global_randomness() == randomness
    for step in process.steps(case.module, case.config, inputs, start):
        draw_globally()
        second.append(step)
        snapshots.append(snapshot((step.state, step.trace)))
    assert_same(whole, second)
    # Frames share no memory with what comes after.
    for step, earlier in zip(second, snapshots, strict=True):
        assert_unchanged(earlier, (step.state, step.trace))
        assert not any(
            value.requires_grad
            for _, value in leaves((step.state, step.trace))
            if torch.is_tensor(value)
        )
    assert_unchanged(start_before, start)
    assert_unchanged(before, inputs)
    assert_unchanged(config, case.config)
    fresh = Inputs(data=inputs.data, teachers=inputs.teachers, distilled=inputs.distilled)
    assert [fresh.fingerprint, *(teacher.fingerprint for teacher in fresh.teachers)] == fingerprints


def test_another_seed_gives_another_run(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    reseeded = dataclasses.replace(case, config=case.config.replace(seed=7))
    with pytest.raises(AssertionError):
        assert_same(whole[-1].state, states(reseeded, inputs)[-1].state)


LABEL_FREE = [
    case
    for case in MAIN
    if case.module is self_supervised or getattr(case.module, "WITHOUT_LABELS", False)
]


@pytest.mark.parametrize("case", LABEL_FREE, ids=lambda case: case.name)
def test_labels_are_never_read_where_there_need_be_none(
    case: Case, inputs: Inputs, whole: list[Step]
) -> None:
    data = inputs.data
    assert data is not None
    moved = dataclasses.replace(
        data, train_labels=data.train_labels.roll(5), test_labels=data.test_labels.roll(1)
    )
    relabelled = dataclasses.replace(inputs, data=moved)
    assert_same([step.state for step in states(case, relabelled)], [step.state for step in whole])


def test_every_step_can_be_looked_at(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    module = case.module
    config = case.config
    moments = [(module.init(config, inputs), None), *((step.state, step.trace) for step in whole)]
    before = snapshot((moments, inputs))
    randomness = global_randomness()
    looks = []
    for state, trace in moments:
        with Unread():
            looks.append(module.look(config, inputs, state, trace))
        assert_same(looks[-1], look(module, config, inputs, state, trace))
    assert_unchanged(before, (moments, inputs))
    assert global_randomness() == randomness

    data = inputs.data if module not in NETWORKS else None
    sizes = [None if moment.images is None else tuple(moment.images.shape[1:]) for moment in looks]
    assert sizes == [None if data is None else (data.channels, *data.image_size)] * len(looks)
    for moment in looks:
        without = data is None or getattr(module, "WITHOUT_LABELS", False)
        assert (moment.labels is None) == without
        assert moment.labels is None or (
            len(moment.labels) == len(moment.images) and set(moment.labels.tolist()) <= {0, 1, 2}
        )
        stored_look = moment.kept()
        assert all(
            value.device.type == "cpu" for _, value in leaves(stored_look) if torch.is_tensor(value)
        )
        assert all(type(number.value) is float for number in stored_look.numbers.values())
    phases: dict[str, Any] = {}
    for (_, trace), moment in zip(moments[1:], looks[1:], strict=True):
        curves = [
            (
                name,
                shown_number.unit,
                shown_number.curve,
                shown_number.scale,
                shown_number.x_label,
            )
            for name, shown_number in moment.numbers.items()
        ]
        assert curves and phases.setdefault(getattr(trace, "phase", ""), curves) == curves, (
            "names and curves stay in a phase"
        )


PREFIXED = [case for case in MAIN if hasattr(case.module, "prefix")]


@pytest.mark.parametrize("case", PREFIXED, ids=lambda case: case.name)
def test_what_two_configs_share_is_the_same(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    updates, shared = case.module.prefix(case.config)
    assert 0 <= updates <= len(whole)
    step_pairs = list(
        zip(process.steps(case.module, shared, inputs), whole[:updates], strict=False)
    )
    assert len(step_pairs) == updates
    for ours, theirs in step_pairs:
        assert_same(ours.state, theirs.state)


def test_the_consumer_may_close_and_sets_the_gradient_mode(
    case: Case, inputs: Inputs, whole: list[Step]
) -> None:
    run = process.steps(case.module, case.config, inputs)
    first = next(run)
    run.close()  # type: ignore[attr-defined]
    assert list(run) == []
    assert_same(first, whole[0])
    later_steps = process.steps(case.module, case.config, inputs, first.state)
    for number, expected in enumerate(whole[1:]):
        # Whatever the consumer sets between two steps stays, and the step does not depend on it.
        with torch.set_grad_enabled(number % 2 == 0):
            assert_same(next(later_steps), expected)
            assert torch.is_grad_enabled() is (number % 2 == 0)
    with torch.no_grad():
        case.module.finish(case.config, inputs, whole[-1].state)
        assert not torch.is_grad_enabled()


def test_resumes_bit_for_bit_at_each_step(
    case: Case, inputs: Inputs, whole: list[Step], tmp_path: Path
) -> None:
    for index, state in enumerate(
        [case.module.init(case.config, inputs), *(step.state for step in whole)]
    ):
        file = checkpoint.save(
            tmp_path / "run.safetensors", case.module, case.config, inputs, state
        )
        loaded = checkpoint.load(file, case.module, case.config, inputs)
        assert_same(loaded, state)
        assert_same(states(case, inputs, loaded), whole[index:])


def test_foreign_checkpoints_and_configs_are_refused(
    case: Case,
    inputs: Inputs,
    tmp_path: Path,
    teacher: Network,
    other_teacher: Network,
    distilled: DistilledSet,
) -> None:
    module = case.module
    config = case.config
    start = module.init(config, inputs)
    file = checkpoint.save(tmp_path / "run.safetensors", module, config, inputs, start)
    with refuses("checkpoint", "seed=0"):
        checkpoint.load(file, module, config.replace(seed=1), inputs)
    foreign = []
    if inputs.data is not None:
        foreign.append(bundle(case, made_data(seed=5), teacher, distilled))
    if inputs.distilled is not None:
        shifted = dataclasses.replace(distilled, tensors={"images": distilled.images + 0.125})
        foreign.append(Inputs(distilled=shifted, teachers=(teacher,)))
    if inputs.teachers:
        foreign.append(dataclasses.replace(inputs, teachers=(other_teacher,)))
        with refuses("checkpoint", "data and teacher"):
            run_to_end(module, config, foreign[-1], checkpoint=file)
    for foreign_inputs in foreign:
        with refuses("checkpoint", "data and teacher"):
            checkpoint.load(file, module, config, foreign_inputs)
    other_process = next(
        process_module for process_module in PROCESSES if process_module.NAME != module.NAME
    )
    with refuses("checkpoint", other_process.NAME, module.NAME):
        checkpoint.load(file, other_process, other_process.Config(), inputs)
    for begin in (
        lambda: run_to_end(module, other_process.Config(), inputs),
        lambda: process.steps(module, other_process.Config(), inputs, state=start),
        lambda: run_to_end(module, other_process.Config(), inputs, checkpoint=file),
    ):
        with refuses("config", module.NAME):
            begin()


@pytest.mark.parametrize("with_file", [False, True])
def test_values_that_are_not_finite_raise(
    case: Case, inputs: Inputs, with_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = case.module.update

    def poisoning(config: Any, inputs_now: Inputs, state: Any) -> Any:
        state, trace = update(config, inputs_now, state)
        if state.step < 2:
            return state, trace
        # What the process moves: images, or named weights or parameters.
        named = ("learned", "images", "representations", "parameters", "weights", "features")
        name = next(name for name in named if hasattr(state, name))
        return dataclasses.replace(state, **{name: poisoned(getattr(state, name))}), trace

    monkeypatch.setattr(case.module, "update", poisoning)
    # Else it is looked at wherever half a second has passed.
    monkeypatch.setattr(run_module, "_BETWEEN_LOOKS", 1e9)
    file = tmp_path / "run.safetensors" if with_file else None
    with pytest.raises(NonFiniteError) as caught:
        run_to_end(
            case.module,
            case.config,
            inputs,
            checkpoint=file,
            checkpoint_seconds=0.0 if with_file else 30.0,
        )
    # Looked for at every checkpoint and at the end, where the last trace may show it first.
    # One that differentiates through training sees it when it next does.
    place = 2 if with_file else f"(3|5|{case.module.total_steps(case.config, inputs)})"
    last_good = r" \(all was finite at step 1\)" if with_file else ""
    assert_sentence(caught.value, case.module.NAME)
    assert re.search(rf" at step {place}{last_good}[.;]", str(caught.value)), caught.value
    moved = r"(learned\.)?(images|features|0\.direction)(\[0\])?|representations|(weights|parameters|distances)\S+|\w*(loss|gap)"
    error_pattern = rf" in ({moved}) at step"
    assert re.search(error_pattern, str(caught.value))
    if file is not None:
        # The last good checkpoint is still there, and the run goes on from it.
        monkeypatch.undo()
        assert checkpoint.load(file, case.module, case.config, inputs, resume_anyway=True).step == 1


def _asks_the_teacher(case: Case) -> bool:
    settings = case.config.to_dict()
    return needs_teacher(case.module) or settings.get("labels") == "online"


@pytest.mark.parametrize("case", list(filter(_asks_the_teacher, MAIN)), ids=lambda case: case.name)
def test_a_teacher_that_is_not_finite_is_named(case: Case, inputs: Inputs) -> None:
    broken_networks = [
        dataclasses.replace(network, weights=poisoned(network.weights))
        for network in inputs.teachers
    ]
    teachers = tuple(broken_networks)
    broken = dataclasses.replace(inputs, teachers=teachers)
    distilled = inputs.distilled
    if distilled is not None:
        targets = [target for target in distilled.targets if target.kind != "online"]
        broken = dataclasses.replace(
            broken, distilled=dataclasses.replace(distilled, targets=tuple(targets))
        )
    with pytest.raises(NonFiniteError) as caught:
        run_to_end(case.module, case.config, broken)
    assert_sentence(caught.value, case.module.NAME, "at step ", "NaN")


@pytest.mark.parametrize("place", ["consumer", "update"])
def test_an_interrupt_leaves_a_partial_result_and_a_checkpoint(
    case: Case,
    inputs: Inputs,
    whole: list[Step],
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = case.module.finish(case.config, inputs, whole[-1].state)
    update = case.module.update
    # Of a method that is not ours an interrupted update is another source.
    patched = place == "update"
    total = len(whole)
    file = tmp_path / "run.safetensors"
    # From the consumer after the first step, from inside the last update.
    last_step = total - 1 if patched else 1

    def interrupt(step: Step) -> None:
        if not patched and step.index == last_step:
            raise KeyboardInterrupt

    def interrupted(config: Any, inputs_now: Inputs, state: Any) -> Any:
        outcome = update(config, inputs_now, state)
        if state.step == last_step:
            raise KeyboardInterrupt
        return outcome

    with monkeypatch.context() as patch:
        if patched:
            patch.setattr(case.module, "update", interrupted)
        partial = run_to_end(case.module, case.config, inputs, checkpoint=file, on_step=interrupt)
    assert f"interrupted after step {last_step} of {total}" in capsys.readouterr().out
    assert_usable(partial, inputs)
    assert (
        is_complete(result)
        and not is_complete(partial)
        and partial.provenance.get("step") == last_step
    ), "provenance names the step"
    assert (
        checkpoint.load(file, case.module, case.config, inputs, resume_anyway=patched).step
        == last_step
    )
    resumed = run_to_end(case.module, case.config, inputs, checkpoint=file, resume_anyway=patched)
    assert_same(resumed, result)
    assert resumed.fingerprint == result.fingerprint
    assert not list(tmp_path.iterdir()), "nothing stays of a run that is complete"

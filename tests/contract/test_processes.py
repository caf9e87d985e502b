"""What every process must hold: each method with each of its choices, training in each of its roles, the teacher without labels, and
pre-training on what it said.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ddlab import methods, networks
from ddlab.core import parameters
from ddlab.core.errors import NonFiniteError
from ddlab.core.randomness import generator
from ddlab.data import ImageData, predefined_views
from ddlab.distilled import DistilledSet, RegressionLabels, Representations
from ddlab.methods import fadrm, selection
from ddlab.methods.own import from_loss
from ddlab.networks import Network
from ddlab.runs import checkpoint, look, process
from ddlab.runs import run as run_module
from ddlab.runs.process import Inputs, Step
from ddlab.training import forgetting, pretraining, rela, self_supervised, supervised
from ddlab.training.forgetting import Forgetting
from ddlab.training.relabelling import relabelled
from ddlab.training.self_supervised import barlow_twins
from tests.support import (
    assert_same,
    assert_sentence,
    assert_unchanged,
    draw_globally,
    global_randomness,
    leaves,
    made_data,
    refuses,
    snapshot,
)

ANY_SIZE = "data and two teachers of any size"
SEVERAL = "set and two teachers"
REGRESSION = "set with labels for a regression"
LABELLED_VIEWS = "set with labels of each epoch"
REPRESENTED = "set with representations of every view"
PLAIN = networks.spec("convnet", width=4, norm="none")
BATCH_SPECIFIC: dict[str, Any] = {
    "mixup_alpha": 0.0, "cutmix_alpha": 1.0, "crop_area": 0.3, "stretch": 2.0, "teacher_mode": "train", "teacher_batch_size": 2,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """A process, its config, and what it runs on: "data", "data and teacher", ANY_SIZE, "set and teacher", SEVERAL,
    LABELLED_VIEWS, REGRESSION or REPRESENTED.
    """

    name: str
    module: Any
    config: Any
    runs_on: str


# What tests of their own hold: on a CPU the first is float32, the others need minutes to compile, or CUDA.
ELSEWHERE = ("tf32", "compiled", "graphed")


class ByObjective(self_supervised.Teacher):
    """A teacher whose update a test may replace: of a subclass only the fields are frozen."""


def method_cases() -> Iterator[Case]:
    """Each method's `SMALL` as it is, and once for each value of each of its choices."""
    for name in methods.names():
        module = methods.get(name)
        yield Case(name, module, module.SMALL, "data and teacher")
        for field, described in parameters.describe(module.Config).items():
            for choice in described.choices or ():
                if choice != getattr(module.SMALL, field) and choice not in ELSEWHERE:
                    changed = module.SMALL.replace(**{field: choice})
                    yield Case(f"{name}-{field}-{choice}", module, changed, "data and teacher")
        if not module.NEEDS_TEACHER:
            yield Case(f"{name}-without-teacher", module, module.SMALL, "data")
    for kind in ("average", "k_means", "herding", "k_center"):
        config = selection.SMALL.replace(kind=kind, space="features")
        yield Case(f"selection-features-{kind}", selection, config, "data and teacher")
    yield Case("data_residual_matching-small-size", fadrm, fadrm.SMALL.replace(small_size=6), ANY_SIZE)


def training_cases() -> Iterator[Case]:
    """Training as teacher and as student, on every kind of labels, with both optimisers."""
    small = supervised.SMALL
    for optimiser in ("adamw", "sgd"):
        for labels in ("hard", "online"):
            config = small.replace(optimiser=optimiser, labels=labels, batch_size=16, epochs=2)
            yield Case(f"teacher-{labels}-{optimiser}", supervised, config, "data and teacher")
        for labels in ("hard", "stored", "online"):
            config = small.replace(optimiser=optimiser, labels=labels)
            yield Case(f"student-{labels}-{optimiser}", supervised, config, "set and teacher")
    config = small.replace(labels="online", teacher_mode="train")
    yield Case("student-teacher-mode-train", supervised, config, "set and teacher")
    # As FADRM's students learn: CutMix, a cosine that is cut off, teachers in train mode on parts of a batch.
    yield Case("student-epochs", supervised, small.replace(**BATCH_SPECIFIC, labels="epochs"), LABELLED_VIEWS)
    yield Case("student-several-teachers", supervised, small.replace(**BATCH_SPECIFIC, labels="online"), SEVERAL)
    yield Case("student-bfloat16", supervised, small.replace(precision="bfloat16"), "set and teacher")
    config = small.replace(labels="regression")
    yield Case("student-regression", supervised, config, REGRESSION)
    yield Case("student-plain", supervised, small.replace(network=PLAIN, mixup_alpha=0.0), "set and teacher")


def other_training_cases() -> Iterator[Case]:
    """Forgetting, the teacher without labels by every objective, and pre-training, with each optimiser; pre-training without batch norm."""
    yield Case("forgetting", forgetting, forgetting.SMALL, "data")
    yield Case("forgetting-sgd", forgetting, forgetting.SMALL.replace(optimiser="sgd", batch_size=4), "set and teacher")
    for name, objective in self_supervised.OBJECTIVES.items():
        own = objective is barlow_twins  # the package itself
        for optimiser in ("lars", "adamw"):
            process = self_supervised if own else ByObjective(objective)
            config = objective.SMALL.replace(optimiser=optimiser)
            yield Case(f"self-supervised-{optimiser}{'' if own else f'-{name}'}", process, config, "data")
    small = pretraining.SMALL
    for optimiser in ("sgd", "adamw"):
        yield Case(f"pretraining-{optimiser}", pretraining, small.replace(optimiser=optimiser), REPRESENTED)
    yield Case("pretraining-bfloat16", pretraining, small.replace(precision="bfloat16"), REPRESENTED)
    yield Case("pretraining-channels-last", pretraining, small.replace(memory_format="channels_last"), REPRESENTED)
    yield Case("pretraining-plain", pretraining, small.replace(network=PLAIN, final_fraction=0.1), REPRESENTED)


def rela_cases() -> Iterator[Case]:
    """By every objective, and once for each way in which lambda falls, with W trained or not."""
    for name, objective in self_supervised.OBJECTIVES.items():
        yield Case(f"rela-{name}", rela, rela.SMALL.replace(objective=objective.SMALL), REPRESENTED)
    for schedule in ("adaptive", "constant"):
        changes: dict[str, Any] = {"schedule": schedule, "subset": "static", "train_projection": True}
        yield Case(f"rela-{schedule}", rela, rela.SMALL.replace(**changes), REPRESENTED)


def brighter(config: Any, inputs: Inputs, images: torch.Tensor, labels: torch.Tensor, step: int) -> Any:
    """A loss with a parameter, a draw and two terms."""
    noise = torch.randn(len(images), generator=generator(config.seed, step, "weights")).to(images.device)
    weights = (1 + 0.1 * noise).view(-1, 1, 1, 1)
    return {"light": (weights * (images - config.light)).square().mean(), "size": 0.1 * images.abs().mean()}


def own_cases() -> Iterator[Case]:
    """Methods from a loss."""
    own = from_loss(
        "brighter", brighter, light=parameters.parameter(0.5, help="Aim."), iterations=4, learning_rate=0.05
    )
    for start in ("real", "noise"):
        config = own.Config(initialisation=start, images_per_class=2, valid_pixels=start == "real")
        yield Case(f"from-loss-{start}", own, config, "data")


CASES = [*method_cases(), *own_cases(), *training_cases(), *other_training_cases(), *rela_cases()]
NETWORKS = (  # processes that finish with a network
    supervised, self_supervised, pretraining, rela, *map(ByObjective, self_supervised.OBJECTIVES.values())
)  # fmt: skip
MATCHING = (  # published on small images
    "gradient_matching", "siamese_gradient_matching", "distribution_matching", "kernel_inducing_points", "label_solve",
)  # fmt: skip
TRAINING = (*NETWORKS, forgetting)
PROCESSES = [*map(methods.get, methods.names()), supervised, self_supervised, pretraining, rela, forgetting]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def inputs(case: Case, grey: ImageData, teacher: Network, distilled: DistilledSet) -> Inputs:
    return bundle(case, grey, teacher, distilled)


def bundle(case: Case, data: ImageData, teacher: Network, distilled: DistilledSet) -> Inputs:
    if case.runs_on == "set and teacher":
        return Inputs(distilled=distilled, teachers=(teacher,))
    if case.runs_on == REGRESSION:
        return Inputs(distilled=distilled.with_targets(RegressionLabels(distilled.target("stored").logits.tanh())))
    if case.runs_on == LABELLED_VIEWS:
        views = supervised.SMALL.replace(**BATCH_SPECIFIC)
        return Inputs(distilled=relabelled(distilled, teacher, labels="epochs", views=views, epochs=3))
    if case.runs_on == REPRESENTED:
        views = predefined_views.augmented(distilled.images, "rotation")
        said = torch.stack([networks.predict(teacher, view).features for view in views])
        return Inputs(
            distilled=dataclasses.replace(distilled, targets=(Representations({"representations": said}, "rotation"),))
        )
    if case.runs_on == SEVERAL:
        both = (teacher, networks.initialise(teacher.spec, seed=1))
        return Inputs(distilled=relabelled(distilled, both, labels="online"), teachers=both)
    if case.runs_on == ANY_SIZE:
        pooled = networks.spec("shufflenet_v2_x0_5").for_data(data)
        return Inputs(data=data, teachers=tuple(networks.initialise(pooled, seed=seed) for seed in (0, 1)))
    return Inputs(data=data, teachers=(teacher,) if "teacher" in case.runs_on else ())


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Step]]:
    return {}


@pytest.fixture
def whole(case: Case, inputs: Inputs, runs: dict[str, list[Step]]) -> list[Step]:
    """All steps of an undisturbed run; computed once per case."""
    if case.name not in runs:
        runs[case.name] = states(case, inputs)
    return runs[case.name]


def states(case: Case, inputs: Inputs, state: Any = None) -> list[Step]:
    return list(process.steps(case.module, case.config, inputs, state))


def test_every_method_has_its_names() -> None:
    for name, aliases in methods.MODULES.items():
        module = methods.get(name)
        assert name == module.NAME and tuple(aliases) == tuple(module.ALIASES)
        assert all(methods.get(alias) is module for alias in aliases)


def test_offers_what_a_process_is(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    module = case.module
    for name in ("NAME", "Config", "State", "Trace", "total_steps", "init", "update", "finish"):
        assert hasattr(module, name), name
    assert module.__doc__ and all(described.help for described in parameters.describe(module.Config).values())
    for kind in (module.Config, module.State, module.Trace):
        assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "seed" in parameters.describe(module.Config)
    if module in PROCESSES:
        assert isinstance(module.Config.teaching(), module.Config) and isinstance(module.Config.paper(), module.Config)
    if module not in TRAINING:
        assert isinstance(module.ALIASES, tuple) and isinstance(module.NEEDS_TEACHER, bool)
    total, run = module.total_steps(case.config, inputs), whole
    assert [step.index for step in run] == list(range(1, total + 1)) and {step.total for step in run} == {total}
    assert module.init(case.config, inputs).step == 0 and all(step.state.step == step.index for step in run)
    assert isinstance(run[-1].state, module.State) and isinstance(run[-1].trace, module.Trace)
    result = module.finish(case.config, inputs, run[-1].state)
    kind = Forgetting if module is forgetting else Network if module in NETWORKS else DistilledSet
    assert isinstance(result, kind)


@pytest.mark.parametrize("name", methods.names())
def test_presets(name: str) -> None:
    config = methods.get(name).Config
    for dataset in ("cifar10", "cifar100", *(("mnist",) if name in MATCHING else ("imagenet",))):
        assert config.paper(dataset=dataset, seed=5).seed == config.teaching(seed=5).seed == 5


@pytest.mark.parametrize("name", methods.names())
def test_what_a_method_needs_is_asked_for(name: str, grey: ImageData, teacher: Network) -> None:
    module = methods.get(name)
    for begin in (process.start, process.steps):
        with refuses("data", name):
            begin(module, module.SMALL, Inputs(teachers=(teacher,)))
        if module.NEEDS_TEACHER:
            with refuses("teacher", name):
                begin(module, module.SMALL, Inputs(data=grey))
        else:
            begin(module, module.SMALL, Inputs(data=grey))
    if name != "selection":  # the same for every dataset
        with refuses("dataset", "'cifar10'"):
            module.Config.paper("flowers")


@pytest.mark.parametrize("module", PROCESSES, ids=lambda module: module.NAME)
def test_every_setting_is_held_to_what_it_may_be(module: Any) -> None:
    for name, described in parameters.describe(module.Config).items():
        wrong: list[Any] = ["none such", *({float: (torch.nan, torch.inf), int: (1.5,)}.get(described.type, ()))]
        for end, away in zip(described.range or (None, None), (-1, 1), strict=True):
            wrong += [] if end is None else [described.type(end + away)]
        for value in wrong:
            with refuses(name):
                module.SMALL.replace(**{name: value})


def test_two_runs_are_bit_identical(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    second = []
    for step in process.steps(case.module, case.config, inputs):
        draw_globally()
        second.append(step)
    assert_same(whole, second)


def test_global_randomness_is_not_touched(case: Case, inputs: Inputs) -> None:
    before = global_randomness()
    process.run(case.module, case.config, inputs)
    assert global_randomness() == before


def test_another_seed_gives_another_run(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    if case.module.NAME == "selection" and case.config.kind in ("centres", "herding", "k_center", "k_means"):
        return  # no draw decides here, or finds the same clusters
    other = dataclasses.replace(case, config=case.config.replace(seed=7))
    with pytest.raises(AssertionError):
        assert_same(whole[-1].state, states(other, inputs)[-1].state)


def test_labels_are_never_read_where_there_need_be_none(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    data = inputs.data
    if data is None or not (case.module.NAME == self_supervised.NAME or getattr(case.module, "WITHOUT_LABELS", False)):
        return
    moved = dataclasses.replace(data, train_labels=data.train_labels.roll(5), test_labels=data.test_labels.roll(1))
    other = dataclasses.replace(inputs, data=moved)
    assert_same([step.state for step in states(case, other)], [step.state for step in whole])


def test_inputs_and_config_stay_as_they_are(case: Case, inputs: Inputs) -> None:
    before, config = snapshot(inputs), snapshot(case.config)
    fingerprints = [inputs.fingerprint, *(teacher.fingerprint for teacher in inputs.teachers)]
    process.run(case.module, case.config, inputs)
    assert_unchanged(before, inputs)
    assert_unchanged(config, case.config)
    fresh = Inputs(data=inputs.data, teachers=inputs.teachers, distilled=inputs.distilled)
    assert [fresh.fingerprint, *(teacher.fingerprint for teacher in fresh.teachers)] == fingerprints


def test_frames_are_distinct(case: Case, inputs: Inputs) -> None:
    start = case.module.init(case.config, inputs)
    before, kept = snapshot(start), []
    for step in process.steps(case.module, case.config, inputs, start):
        kept.append((step, snapshot((step.state, step.trace))))
    assert_unchanged(before, start)
    for step, seen in kept:
        assert_unchanged(seen, (step.state, step.trace))


def test_nothing_yielded_carries_a_graph(whole: list[Step]) -> None:
    for step in whole:
        assert not any(value.requires_grad for _, value in leaves((step.state, step.trace)) if torch.is_tensor(value))


class Unread(TorchDispatchMode):
    """Refuses to hand a computed number to Python: on a GPU the run would wait for it. (Indices lie on the CPU and are checked.)"""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        read = "local_scalar_dense" in str(func) and args[0].is_floating_point()
        assert not read, "a look reads no number of a tensor"
        return func(*args, **(kwargs or {}))


def test_every_step_can_be_looked_at(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    module, config = case.module, case.config
    moments = [(module.init(config, inputs), None), *((step.state, step.trace) for step in whole)]
    before, randomness, seen = snapshot((moments, inputs)), global_randomness(), []
    for state, trace in moments:
        with Unread():
            seen.append(module.look(config, inputs, state, trace))
        assert_same(seen[-1], look(module, config, inputs, state, trace))
    assert_unchanged(before, (moments, inputs))
    assert global_randomness() == randomness

    data = inputs.data if module not in TRAINING else None
    sizes = [None if one.images is None else tuple(one.images.shape[1:]) for one in seen]
    assert sizes == [None if data is None else (data.channels, *data.image_size)] * len(seen)
    for one in seen:
        without = data is None or getattr(module, "WITHOUT_LABELS", False)
        assert (one.labels is None) == without
        assert one.labels is None or (len(one.labels) == len(one.images) and set(one.labels.tolist()) <= {0, 1, 2})
        kept = one.kept()
        assert all(value.device.type == "cpu" for _, value in leaves(kept) if torch.is_tensor(value))
        assert all(type(number.value) is float for number in kept.numbers.values())
    phases: dict[str, Any] = {}
    for (_, trace), one in zip(moments[1:], seen[1:], strict=True):
        told = [(name, each.unit, each.curve, each.scale, each.x_label) for name, each in one.numbers.items()]
        assert told and phases.setdefault(getattr(trace, "phase", ""), told) == told, "names and curves stay in a phase"


def test_what_two_configs_share_is_the_same(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    if not hasattr(case.module, "prefix"):
        return
    updates, shared = case.module.prefix(case.config)
    both = zip(process.steps(case.module, shared, inputs), whole[:updates], strict=False)
    assert (
        0 <= updates <= len(whole)
        and sum(assert_same(one.state, other.state) is None for one, other in both) == updates
    )


def test_early_close(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    run = process.steps(case.module, case.config, inputs)
    first = next(run)
    run.close()  # type: ignore[attr-defined]
    assert list(run) == []
    assert_same(first, whole[0])
    assert_same(states(case, inputs, first.state), whole[1:])


def test_gradient_mode_is_the_consumers(case: Case, inputs: Inputs, whole: list[Step]) -> None:
    run = process.steps(case.module, case.config, inputs)
    for number, expected in enumerate(whole):
        # Whatever the consumer sets between two steps stays, and the step does not depend on it.
        with torch.set_grad_enabled(number % 2 == 0):
            assert_same(next(run), expected)
            assert torch.is_grad_enabled() is (number % 2 == 0)
    with torch.no_grad():
        case.module.finish(case.config, inputs, whole[-1].state)
        assert not torch.is_grad_enabled()


def test_every_keeps_each_second_step_and_the_last(whole: list[Step]) -> None:
    kept = [step.index for step in process.every(iter(whole), 2)]
    assert kept == sorted({*range(2, len(whole) + 1, 2), len(whole)})


def test_resumes_bit_for_bit_at_each_step(case: Case, inputs: Inputs, whole: list[Step], tmp_path: Path) -> None:
    for done, state in enumerate([case.module.init(case.config, inputs), *(step.state for step in whole)]):
        file = checkpoint.save(tmp_path / "run.safetensors", case.module, case.config, inputs, state)
        loaded = checkpoint.load(file, case.module, case.config, inputs)
        assert_same(loaded, state)
        assert_same(states(case, inputs, loaded), whole[done:])


def test_foreign_checkpoints_are_refused(
    case: Case, inputs: Inputs, tmp_path: Path, teacher: Network, other_teacher: Network, distilled: DistilledSet
) -> None:
    file = tmp_path / "run.safetensors"
    module, config = case.module, case.config
    checkpoint.save(file, module, config, inputs, module.init(config, inputs))
    with refuses("checkpoint", "seed=0"):
        checkpoint.load(file, module, config.replace(seed=1), inputs)
    if inputs.data is not None:
        with refuses("checkpoint", "data and teacher"):
            checkpoint.load(file, module, config, bundle(case, made_data(seed=5), teacher, distilled))
    if inputs.distilled is not None:
        shifted = dataclasses.replace(distilled, tensors={"images": distilled.images + 0.125})
        with refuses("checkpoint", "data and teacher"):
            checkpoint.load(file, module, config, Inputs(distilled=shifted, teachers=(teacher,)))
    if inputs.teachers:
        changed = dataclasses.replace(inputs, teachers=(other_teacher,))
        with refuses("checkpoint", "data and teacher"):
            checkpoint.load(file, module, config, changed)
        with refuses("checkpoint", "data and teacher"):
            process.run(module, config, changed, checkpoint=file)
    for other in PROCESSES:
        if other.NAME != module.NAME:
            with refuses("checkpoint", other.NAME, module.NAME):
                checkpoint.load(file, other, other.Config(), inputs)


@pytest.mark.parametrize("other", PROCESSES, ids=lambda module: module.NAME)
def test_another_processes_config_is_refused(case: Case, inputs: Inputs, other: ModuleType, tmp_path: Path) -> None:
    if other is case.module:
        return
    with refuses("config", case.module.NAME):
        process.run(case.module, other.Config(), inputs)
    with refuses("config", case.module.NAME):
        process.steps(case.module, other.Config(), inputs, state=case.module.init(case.config, inputs))
    file = checkpoint.save(tmp_path / "c", case.module, case.config, inputs, case.module.init(case.config, inputs))
    with refuses("config", case.module.NAME):
        process.run(case.module, other.Config(), inputs, checkpoint=file)


@pytest.mark.parametrize("with_file", [False, True])
def test_values_that_are_not_finite_raise(
    case: Case, inputs: Inputs, with_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = case.module.update

    def poisoned(config: Any, given: Inputs, state: Any) -> Any:
        state, trace = update(config, given, state)
        if state.step < 2:
            return state, trace
        # What the process moves: images, or named weights or parameters.
        named = ("images", "representations", "parameters", "weights", "features")
        name = next(name for name in named if hasattr(state, name))
        held = getattr(state, name)
        return dataclasses.replace(state, **{name: _poisoned(held)}), trace

    monkeypatch.setattr(case.module, "update", poisoned)
    monkeypatch.setattr(run_module, "_BETWEEN_LOOKS", 1e9)  # else it is looked at wherever half a second has passed
    file = tmp_path / "run.safetensors" if with_file else None
    with pytest.raises(NonFiniteError) as caught:
        process.run(case.module, case.config, inputs, checkpoint=file, checkpoint_seconds=0.0 if with_file else 30.0)
    # Looked for at every checkpoint and at the end, where the last trace may show it first.
    place = 2 if with_file else case.module.total_steps(case.config, inputs)
    known = r" \(all was finite at step 1\)" if with_file else ""
    assert_sentence(caught.value, case.module.NAME)
    assert re.search(rf" at step {place}{known}[.;]", str(caught.value)), caught.value
    assert re.search(
        r" in ((images|features)(\[0\])?|representations|(weights|parameters|distances)\S+|\w*(loss|gap)) at step",
        str(caught.value),
    )
    if file is not None:
        # The last good checkpoint is still there, and the run goes on from it.
        monkeypatch.undo()
        assert checkpoint.load(file, case.module, case.config, inputs, resume_anyway=True).step == 1


def _poisoned(held: Any) -> Any:
    if isinstance(held, dict):
        return {name: _poisoned(value) for name, value in held.items()}
    if isinstance(held, tuple):
        return tuple(map(_poisoned, held))
    return held * torch.nan if held.is_floating_point() else held


def _broken(network: Network) -> Network:
    return dataclasses.replace(network, weights=_poisoned(network.weights))


def test_a_teacher_that_is_not_finite_is_named(case: Case, inputs: Inputs) -> None:
    if not inputs.teachers or not _asks_the_teacher(case):
        return
    broken = dataclasses.replace(inputs, teachers=tuple(_broken(teacher) for teacher in inputs.teachers))
    distilled = inputs.distilled
    if distilled is not None:
        kept = [target for target in distilled.targets if target.kind != "online"]
        broken = dataclasses.replace(broken, distilled=dataclasses.replace(distilled, targets=tuple(kept)))
    with pytest.raises(NonFiniteError) as caught:
        process.run(case.module, case.config, broken)
    assert_sentence(caught.value, case.module.NAME, "at step ", "NaN")


def _asks_the_teacher(case: Case) -> bool:
    settings = case.config.to_dict()
    return (
        getattr(case.module, "NEEDS_TEACHER", False)
        or settings.get("space") == "features"
        or settings.get("labels") == "online"
    )


class Interrupt:
    """Raises KeyboardInterrupt at one step, from the consumer or from inside an update."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self, step: Step) -> None:
        if step.index == self.at:
            raise KeyboardInterrupt


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
    patched = place == "update"  # of a method that is not ours an interrupted update is another source
    total, file = len(whole), tmp_path / "run.safetensors"
    # From the consumer after steps 1 and one before the end; from inside the first, second and last update.
    for done in {1, total - 1} if place == "consumer" else {0, 1, total - 1}:
        checkpoint.remove(file)
        if place == "consumer":
            partial = process.run(case.module, case.config, inputs, checkpoint=file, on_step=Interrupt(done))
        else:
            update = case.module.update

            def interrupted(config: Any, given: Inputs, state: Any, update: Any = update, done: int = done) -> Any:
                if state.step == done:
                    update(config, given, state)
                    raise KeyboardInterrupt
                return update(config, given, state)

            with monkeypatch.context() as patch:
                patch.setattr(case.module, "update", interrupted)
                partial = process.run(case.module, case.config, inputs, checkpoint=file)
        assert f"interrupted after step {done} of {total}" in capsys.readouterr().out
        assert_usable(partial, inputs)
        assert is_complete(result) and not is_complete(partial) and partial.provenance["step"] == done
        assert checkpoint.load(file, case.module, case.config, inputs, resume_anyway=patched).step == done
        resumed = process.run(case.module, case.config, inputs, checkpoint=file, resume_anyway=patched)
        assert_same(resumed, result)
        assert resumed.fingerprint == result.fingerprint
        assert_same(process.run(case.module, case.config, inputs, checkpoint=file, resume_anyway=patched), result)
        assert {path.name for path in tmp_path.iterdir()} <= {file.name, checkpoint.parts_of(file).name}


def is_complete(result: DistilledSet | Network | Forgetting) -> bool:
    return result.complete if isinstance(result, DistilledSet) else result.provenance["complete"]


def assert_usable(result: DistilledSet | Network | Forgetting, inputs: Inputs) -> None:
    source = inputs.data or inputs.distilled
    assert source is not None
    if isinstance(result, Network):
        images = torch.zeros((2, source.channels, *source.image_size))
        assert networks.predict(result, images).logits.isfinite().all()
    elif isinstance(result, Forgetting):
        assert len(result.counts) == len(result.never) == len(inputs.distilled or source.train_labels)  # type: ignore[union-attr]
    else:
        assert result.images.isfinite().all() and result.images.shape[1:] == (source.channels, *source.image_size)
        assert len(result) == len(result.images) and result.to_uint8().dtype == torch.uint8
        if any(target.kind == "representations" for target in result.targets):
            views, representations = result.pairs()
            assert len(views) == len(representations) and representations.isfinite().all()
        else:
            assert len(result.labels) == len(result.images)

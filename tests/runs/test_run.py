"""A run: advanced in parts, left at any step, looked at while it goes on; and the store that
computes shared beginnings once.
"""

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.core import DDLabError, NonFiniteError, Parameters, parameter, storage
from ddlab.distilled import DistilledSet
from ddlab.methods import fadrm, selection, sre2l
from ddlab.runs import (
    NOTHING,
    Frame,
    Inputs,
    Keep,
    Look,
    Number,
    Run,
    Runs,
    Step,
    checkpoint,
    look,
    source,
    steps,
)
from ddlab.runs import (
    run as run_module,
)
from ddlab.training import supervised
from tests.support import assert_same, made_data, refuses, run_to_end

SMALL = sre2l.Config(images_per_class=2, iterations=6, roll_pixels=1)
MERGED = fadrm.Config(images_per_class=2, iterations=12, merges=2, roll_pixels=1)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    data = made_data()
    return Inputs(
        data=data,
        teachers=(networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0),),
    )


@pytest.fixture(scope="module")
def whole(inputs: Inputs) -> list[Step]:
    return list(steps(sre2l, SMALL, inputs))


def counted(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[int]:
    """The steps from which updates were done."""
    steps_done = []
    update = module.update
    monkeypatch.setattr(
        module,
        "update",
        lambda config, inputs, state: (
            steps_done.append(state.step) or update(config, inputs, state)
        ),
    )
    return steps_done


def test_nothing_is_computed_before_it_is_asked_for(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    updates = counted(monkeypatch, sre2l)
    run = Run(sre2l, SMALL, inputs)
    assert (run.step, run.total, run.frames, run.begun, run.at()) == (
        0,
        12,
        (),
        False,
        None,
    ) and run.left() is None
    run.begin()
    assert (
        updates == []
        and [frame.step for frame in run.frames] == [0]
        and run.begun
        and not run.complete
    )


def test_advanced_in_parts_it_is_the_same_run(inputs: Inputs, whole: list[Step]) -> None:
    run = Run(
        sre2l, SMALL, inputs, keep=Keep((0, 3, 12), lambda config, inputs, state, trace: state)
    )
    run.advance(until=2).advance(until=2).advance(until=3)
    assert run.step == 3  # at least one update where one is left, none where none is
    run.advance()
    assert run.complete and run.step == 12 and run.left() == 0
    assert [frame.step for frame in run.frames] == [0, 3, 12]
    assert_same(run.frames[1].content, whole[2].state)
    assert_same(run.state(), whole[-1].state)
    assert_same(run.result(), sre2l.finish(SMALL, inputs, whole[-1].state))


def test_what_watch_raises_leaves_it_at_a_whole_step(inputs: Inputs, whole: list[Step]) -> None:
    run = Run(sre2l, SMALL, inputs)
    steps_watched = []

    class LeaveRun(Exception):
        pass

    def leave(at: Run) -> None:
        steps_watched.append(at.step)
        raise LeaveRun

    for step in range(1, 13):
        with pytest.raises(LeaveRun):
            run.advance(watch=leave)
        assert_same(run.state(), whole[step - 1].state)
    assert steps_watched == list(range(1, 13)) and run.advance(watch=leave).complete


def test_states_are_kept_or_replayed(
    inputs: Inputs, whole: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(sre2l, SMALL, inputs).advance()  # those of 2, 5, 7 and 10
    updates = counted(monkeypatch, sre2l)
    for step in range(1, 13):
        assert_same(run.state(step), whole[step - 1].state)
    assert sorted(updates) == [0, 2, 2, 3, 5, 7, 7, 8, 10], "each from the nearest before it"
    with refuses("step", "at most 12", "13"):
        run.state(13)


def test_frames_are_looks_unless_something_else_is_made(inputs: Inputs) -> None:
    run = Run(sre2l, SMALL, inputs, keep=Keep(3)).advance()
    assert [frame.step for frame in run.frames] == [0, 6, 12] == list(run.kept)
    for frame in run.frames:
        assert isinstance(frame.content, Look) and frame.content.images is not None
        assert torch.equal(frame.content.images, run.state(frame.step).images)
    assert run.at(7) is run.frames[1] and run.at() is run.frames[2] and run.at(0) is run.frames[0]


def test_a_run_that_is_left_may_keep_where_it_stands(inputs: Inputs) -> None:
    run = Run(sre2l, SMALL, inputs, keep=Keep((0, 12))).advance(until=5)
    frame_now = run.now()
    assert frame_now.step == 5 and [frame.step for frame in run.frames] == [0]
    assert run.keep_now().step == 5 and run.keep_now() is run.frames[-1] and len(run.frames) == 2
    run.advance()
    assert [frame.step for frame in run.frames] == [0, 5, 12]


def test_it_begins_at_a_state(inputs: Inputs, whole: list[Step]) -> None:
    run = Run(sre2l, SMALL, inputs, state=whole[6].state, keep=NOTHING)
    assert run.step == 7
    assert_same(run.advance().state(), whole[-1].state)


def test_what_is_not_finite_is_said_and_the_run_stays(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = sre2l.update

    def broken(config: Any, inputs: Inputs, state: Any) -> Any:
        state, trace = update(config, inputs, state)
        return (
            dataclasses.replace(state, images=state.images * torch.nan)
            if state.step == 3
            else state
        ), trace

    monkeypatch.setattr(sre2l, "update", broken)
    run = Run(sre2l, SMALL, inputs, keep=Keep((0, 3, 6)))
    with pytest.raises(NonFiniteError, match=r"images at step 3"):
        run.advance()
    assert run.step == 2 and [frame.step for frame in run.frames] == [0]
    monkeypatch.setattr(run_module, "_BETWEEN_LOOKS", 1e9)
    unkept = Run(sre2l, SMALL, inputs, keep=Keep(())).advance(until=3)
    with pytest.raises(NonFiniteError, match="step 3"):
        unkept.result()
    # Where nothing is kept and no time passes.
    with pytest.raises(NonFiniteError, match="at step 25"):
        Run(sre2l, SMALL.replace(iterations=30), inputs, keep=Keep(())).advance()


def test_a_run_shows_itself(inputs: Inputs, whole: list[Step]) -> None:
    run = Run(sre2l, SMALL, inputs, keep=Keep((0, 6)))
    assert (
        repr(run) == "<Run of squeeze_recover_relabel: step 0 of 12>"
        and "<img" not in run._repr_html_()
    )
    markup = run.advance()._repr_html_()
    assert (
        "step 12 of 12" in markup
        and 'src="data:image/png;base64,' in markup
        and "total loss" in markup
    )
    run = Run(sre2l, SMALL, inputs, keep=Keep((0, 6, 12))).advance()


def test_the_history_are_the_numbers_of_the_looks(inputs: Inputs, whole: list[Step]) -> None:
    history = Run(sre2l, SMALL, inputs, keep=Keep((0, 2, 5))).advance().history()
    assert history["step"] == [0, 2, 5]
    losses = [float(whole[step - 1].trace.total_loss) for step in (2, 5)]
    assert (
        history["total loss"][1:] == losses and history["total loss"][0] != history["total loss"][0]
    )
    with refuses("keep.make", "history"):
        Run(sre2l, SMALL, inputs, keep=Keep((0,), make=lambda *_: 1)).advance().history()


@dataclass(frozen=True)
class Counted:
    step: int
    loss: Tensor


@dataclass(frozen=True)
class Nothing:
    pass


@dataclass(frozen=True, kw_only=True)
class Rate(Parameters):
    learning_rate: float = parameter(0.5, range=(0, None), help="Of the update.")


def counting(total: int, *, bad_from: int = 10**9, by: int = 1) -> Any:
    """A process whose updates take a millisecond, with a loss that is NaN from a step on."""

    def update(config: Any, inputs: Inputs, state: Counted) -> tuple[Counted, Nothing]:
        time.sleep(0.001)
        step = state.step + by
        return Counted(step, torch.tensor(torch.nan if step >= bad_from else 1.0)), Nothing()

    return SimpleNamespace(
        NAME="counting",
        Config=Rate,
        State=Counted,
        Trace=Nothing,
        total_steps=lambda config, inputs: total,
        update=update,
        init=lambda config, inputs: Counted(0, torch.tensor(1.0)),
        finish=lambda config, inputs, state: state,
    )


def test_nan_is_said_within_a_second_with_the_last_good_step_and_what_usually_helps() -> None:
    process = counting(30_000, bad_from=5)
    start_time = time.monotonic()
    with pytest.raises(
        NonFiniteError,
        match=r"loss at step \d+ \(all was finite at step 0\); a smaller learning_rate than 0.5",
    ):
        Run(process, Rate(), Inputs(), keep=Keep(())).advance()
    assert time.monotonic() - start_time < 5  # the whole run takes thirty


def test_an_update_that_does_not_count_itself_is_refused() -> None:
    with refuses("State.step", "one more", "counting"):
        Run(counting(5, by=0), Rate(), Inputs()).advance()
    with refuses("State.step", "one more", "counting"):
        list(steps(counting(5, by=0), Rate(), Inputs()))


class Undecorated(Parameters):
    rate: float = 0.5


def test_a_config_without_its_decorator_is_named() -> None:
    process = counting(5)
    process.Config = Undecorated
    with refuses("process.Config", "@dataclass"):
        Run(process, Undecorated(), Inputs())


def test_a_disk_that_becomes_full_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x"
    write = storage.write_atomically
    calls: list[Path] = []

    def full(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) > 3:
            raise DDLabError(
                "path must be a file that can be written; given 'x' (No space left on device)."
            )
        write(path, content)

    monkeypatch.setattr(storage, "write_atomically", full)
    process = counting(9)
    with pytest.warns(
        UserWarning, match=r"still of step 2: step 3 could not be written .*No space left"
    ) as caught_warnings:
        result = Run(process, Rate(), Inputs(), keep=Keep(())).to_end(
            checkpoint=file, checkpoint_seconds=0.0
        )
    assert len(caught_warnings) == 1 and result.step == 9 and not file.exists()


def test_a_second_interrupt_during_the_save_keeps_file_and_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x"
    write = storage.write_atomically

    def interrupted(path: Path, content: bytes) -> None:
        if path.exists():
            raise KeyboardInterrupt
        write(path, content)

    def impatient(step: Step) -> None:
        if step.index == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(storage, "write_atomically", interrupted)
    process = counting(9)
    with pytest.warns(
        UserWarning, match="still of step 0: step 4 could not be written .interrupted"
    ):
        result = Run(process, Rate(), Inputs(), keep=Keep(())).to_end(
            checkpoint=file, on_step=impatient
        )
    assert result.step == 4 and checkpoint.load(file, process, Rate(), Inputs()).step == 0
    assert "interrupted after step 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"steps": -1}, ("steps",)),
        ({"steps": (0, -1)}, ("a step to keep", "-1")),
        ({"make": 3}, ("make", "function")),
    ],
    ids=str,
)
def test_what_cannot_be_kept(wrong: dict[str, Any], words: tuple[str, ...]) -> None:
    with refuses(*words):
        Keep(**wrong)


def test_what_is_no_run(inputs: Inputs) -> None:
    with refuses("config", "squeeze_recover_relabel"):
        Run(sre2l, MERGED, inputs)
    with refuses("keep", "a Keep"):
        Run(sre2l, SMALL, inputs, keep=3)  # type: ignore[arg-type]
    with refuses("until", "at least 0"):
        Run(sre2l, SMALL, inputs).advance(until=-1)
    with refuses("megabytes"):
        Runs(-1)


# -- the store


def test_the_same_run_is_found_again(inputs: Inputs) -> None:
    runs = Runs()
    run = runs.get(sre2l, SMALL, inputs, Keep(3)).advance(until=2)
    again = Inputs(data=inputs.data, teachers=inputs.teachers)
    assert runs.get(sre2l, SMALL, again, Keep(3)) is run and list(runs) == [run]
    other_data = made_data(seed=1)
    for changed in (
        (sre2l, SMALL.replace(seed=1), inputs, Keep(3)),
        (sre2l, SMALL, Inputs(data=other_data, teachers=inputs.teachers), Keep(3)),
        (sre2l, SMALL, inputs, Keep(4)),
    ):
        assert runs.get(*changed) is not run


def test_an_edited_module_is_another_run(inputs: Inputs) -> None:
    def variant(factor: float) -> Any:
        def update(config: Any, inputs: Inputs, state: Any) -> Any:
            state, trace = sre2l.update(config, inputs, state)
            return dataclasses.replace(state, images=state.images * factor), trace

        parts = {
            name: getattr(sre2l, name)
            for name in ("NAME", "Config", "State", "total_steps", "init", "finish")
        }
        return SimpleNamespace(**parts, update=update)

    def edited(config: Any, inputs: Inputs, state: Any) -> Any:
        return sre2l.update(config, inputs, state)

    module = variant(1.0)
    runs = Runs()
    assert runs.get(module, SMALL, inputs) is runs.get(module, SMALL, inputs)
    before_edit = runs.get(module, SMALL, inputs)
    module.update = edited
    assert runs.get(module, SMALL, inputs) is not before_edit and source(module) != source(sre2l)


@pytest.mark.parametrize("merges", [2, 11, 0])
def test_what_configs_share_is_computed_once(
    inputs: Inputs, merges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frames and States are those of a run by itself, whichever was first and however far it
    had come.
    """
    config = MERGED.replace(merges=merges)
    ratios = (0.2, 1.0, 0.6)
    keep = Keep(25, lambda config, inputs, state, trace: state)
    alone = {
        ratio: Run(fadrm, config.replace(merge_ratio=ratio), inputs, keep=keep).advance()
        for ratio in ratios
    }
    updates = counted(monkeypatch, fadrm)
    runs = Runs()
    for ratio in ratios:
        run = runs.get(fadrm, config.replace(merge_ratio=ratio), inputs, keep)
        expected = alone[ratio]
        run.advance(until=1).advance(until=5).advance()
        assert run.complete and [frame.step for frame in run.frames] == list(range(25)) == [
            f.step for f in expected.frames
        ]
        assert_same(
            [frame.content for frame in run.frames], [frame.content for frame in expected.frames]
        )
        assert_same(run.result(), expected.result())
    shared = {2: 3, 11: 0, 0: 24}[merges]
    assert len(updates) == shared + 3 * (24 - shared)


def test_the_last_runs_stay_and_idle_ones_go_first(inputs: Inputs) -> None:
    run_bytes = Run(sre2l, SMALL, inputs).advance().nbytes
    runs = Runs(megabytes=2.5 * run_bytes / 1e6)
    first = runs.get(sre2l, SMALL.replace(seed=0), inputs).advance()
    second = runs.get(sre2l, SMALL.replace(seed=1), inputs).advance()
    idle = runs.get(sre2l, SMALL.replace(seed=2), inputs)
    runs.get(sre2l, SMALL, inputs)
    third = runs.get(sre2l, SMALL.replace(seed=3), inputs).advance()
    assert set(runs) == {first, second, third}
    runs.get(sre2l, SMALL.replace(seed=4), inputs)  # room is made when another one comes
    assert set(runs) == {first, third}, "the second was not asked for longest"
    assert runs.get(sre2l, SMALL.replace(seed=2), inputs) is not idle
    assert next(iter(runs)) is third and second.complete


# -- looks


def test_a_module_without_a_look_is_looked_at_all_the_same(
    inputs: Inputs, whole: list[Step]
) -> None:
    plain = SimpleNamespace(NAME="plain")
    default_look = look(plain, SMALL, inputs, whole[0].state, whole[0].trace)
    assert default_look.images is whole[0].state.images and float(
        default_look.numbers["total loss"].value
    ) == float(whole[0].trace.total_loss)
    assert look(plain, SMALL, inputs, whole[0].state, None).numbers == {}


def test_a_kept_look_depends_on_nothing(whole: list[Step]) -> None:
    images = whole[0].state.images.clone()
    stored_look = Look(
        images, torch.arange(len(images)), {"loss": Number(torch.tensor(2.0), unit="nats")}
    ).kept()
    images.zero_()
    assert (
        stored_look.images is not None
        and bool(stored_look.images.any())
        and stored_look.numbers["loss"] == Number(2.0, unit="nats")
    )


def test_what_is_no_look() -> None:
    with refuses("images of a look", "tensor"):
        Look(torch.zeros(3))
    with refuses("labels of a look", "int64"):
        Look(torch.zeros(2, 1, 4, 4), torch.zeros(3, dtype=torch.int64))
    with refuses("number 'loss' of a look", "a Number"):
        Look(numbers={"loss": 2.0})  # type: ignore[dict-item]
    with refuses("what look of odd returns", "a Look"):
        look(SimpleNamespace(NAME="odd", look=lambda *_: 3), None, None, None, None)


def stop_at(last: int) -> Any:
    """An `on_step` that interrupts."""

    def watch(step: Step) -> None:
        if step.index == last:
            raise KeyboardInterrupt

    return watch


def test_results_are_whole_or_marked(inputs: Inputs) -> None:
    partial = Run(sre2l, SMALL, inputs).advance(until=4).result()
    assert isinstance(partial, DistilledSet) and not partial.complete
    forgetful = SimpleNamespace(
        **{name: getattr(sre2l, name) for name in vars(sre2l) if name[0] != "_"}
    )
    # Whoever wrote it did not think of it.
    forgetful.finish = lambda *arguments: dataclasses.replace(
        sre2l.finish(*arguments), complete=True
    )
    assert not Run(forgetful, SMALL, inputs).advance(until=4).result().complete
    assert (
        not run_to_end(forgetful, SMALL, inputs, on_step=stop_at(4)).complete
        and Run(forgetful, SMALL, inputs).to_end().complete
    )
    learner = SimpleNamespace(
        **{name: getattr(supervised, name) for name in vars(supervised) if name[0] != "_"}
    )
    learner.finish = lambda *arguments: dataclasses.replace(
        supervised.finish(*arguments), provenance={}
    )
    assert Run(learner, supervised.SMALL, inputs).advance(until=1).result().provenance == {
        "complete": False
    }
    chosen = Run(selection, selection.Config(images_per_class=2), inputs)
    assert chosen.advance().result().complete and isinstance(chosen.frames[-1], Frame)

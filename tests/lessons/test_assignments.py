"""The assignment: made from the instructor's notebook, accepted by nbgrader, and each typical
mistake loses what it should.
"""

import ast
import contextlib
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch

import ddlab
from ddlab.core import DDLabError
from ddlab.lessons import assignment, build
from ddlab.lessons.build import NOTEBOOKS
from tests.support import refuses, statement_count

ROOT = NOTEBOOKS.parent
HANDED_OUT = NOTEBOOKS / "assignments" / "labels_or_images.ipynb"
SOURCE = NOTEBOOKS / "assignments" / "instructor" / "labels_or_images.ipynb"
POINTS = {
    "ready": 0,
    "bill_check": 2,
    "break_even_check": 1,
    "medoids_first_check": 2,
    "medoids_next_check": 2,
    "compare_check": 3,
    "judge_check": 2,
    "crisp_gain_check": 2,
}
WRITTEN = {"explanation": 3.0, "claim": 3.0}
OWN_SOURCE = SOURCE.with_name("your_own_method.ipynb")
OWN_METHOD = HANDED_OUT.with_name("your_own_method.ipynb")
RECOVER_SOURCE = SOURCE.with_name("recover_and_relabel.ipynb")
RECOVER = HANDED_OUT.with_name("recover_and_relabel.ipynb")
RECOVER_POINTS = {
    "ready": 0,
    "ready_torch": 0,
    "statistics_check": 2,
    "wasserstein_check": 3,
    "push_check": 2,
    "three_check": 3,
    "targets_check": 2,
    "trial_check": 3,
}
RECOVER_WRITTEN = {"explanation": 2, "comparison": 3}
ARENA_SOURCE = SOURCE.with_name("enter_the_arena.ipynb")
ARENA = HANDED_OUT.with_name("enter_the_arena.ipynb")
PAIRS = [
    (HANDED_OUT, SOURCE),
    (OWN_METHOD, OWN_SOURCE),
    (RECOVER, RECOVER_SOURCE),
    (ARENA, ARENA_SOURCE),
]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def marks(cell: dict[str, Any]) -> dict[str, Any]:
    return cell["metadata"].get("nbgrader", {})


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def answered(
    changes: dict[str, tuple[str, str]] | None = None,
    student: str = "s0000000",
    handed_out: Path = HANDED_OUT,
) -> dict[str, Any]:
    """The handed-out notebook with the instructor's answers; `changes`: answer -> (right, wrong)
    text.
    """
    notebook = read(handed_out)
    source = dict(PAIRS)[handed_out]
    answers = {
        marks(cell)["grade_id"]: cell
        for cell in read(source)["cells"]
        if marks(cell).get("solution")
    }
    changes = dict(changes or {})
    for cell in notebook["cells"]:
        text = source_of(cell).replace("s0000000", student)
        if marks(cell).get("solution"):
            text = source_of(answers[marks(cell)["grade_id"]])
            right, wrong = changes.pop(marks(cell)["grade_id"], ("", ""))
            assert right in text, "the mistake must replace something"
            text = text.replace(right, wrong) if right else text
        cell["source"] = text.splitlines(keepends=True)
    assert not changes
    return notebook


# ------------------------------------------------------------------------------------ the two files


def test_they_are_in_step_and_well_formed() -> None:
    assert build.main(["--check"]) == 0
    for path in (path for pair in PAIRS for path in pair):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "python3"
        codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        assert max(statement_count(code) for code in codes) <= 20
        assert not re.search(
            r"https?://|urlopen|requests\.|download=True|!pip|%pip", "\n".join(codes)
        )
        assert all(not cell.get("outputs") for cell in notebook.cells)


def test_there_are_twenty_points() -> None:
    for paths, expected in (
        ((SOURCE, HANDED_OUT), POINTS | WRITTEN),
        ((RECOVER_SOURCE, RECOVER), RECOVER_POINTS | RECOVER_WRITTEN),
    ):
        for path in paths:
            all_marks = [marks(cell) for cell in read(path)["cells"]]
            assert {
                mark["grade_id"]: mark["points"] for mark in all_marks if mark.get("grade")
            } == expected
        assert sum(expected.values()) == 20


@pytest.mark.parametrize(("handed_out", "source"), PAIRS)
def test_what_is_handed_out_holds_no_answer_and_no_hidden_test(
    handed_out: Path, source: Path
) -> None:
    text = handed_out.read_text(encoding="utf-8")
    assert "SOLUTION" not in text and "HIDDEN" not in text
    handed_out_source = "\n".join(source_of(cell) for cell in read(handed_out)["cells"])
    secret = []
    for cell in read(source)["cells"]:
        for region in re.findall(
            r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", source_of(cell), re.DOTALL
        ):
            for line in region.splitlines():
                if len(line.strip()) > 12:
                    secret.append(line.strip())
        if cell["cell_type"] == "markdown" and marks(cell).get("solution"):
            secret += source_of(cell).splitlines()
    assert len(secret) > (20 if source == ARENA_SOURCE else 40)
    # The first line of a call says nothing about its arguments.
    telling = [line for line in secret if line != "import torch" and not line.endswith("(")]
    assert not [line for line in telling if line and line in handed_out_source]


# --------------------------------------------------------------------------------- a student's copy


def test_a_seed_belongs_to_a_student() -> None:
    assert assignment.seed_of("s1234567") == 890017, (
        "a new rule would give everybody other data in the middle of a course"
    )
    assert assignment.seed_of(" S1234567\n") == 890017
    seeds = {assignment.seed_of(f"s{number}") for number in range(300)}
    assert len(seeds) >= 299 and all(0 <= seed < assignment.SEEDS for seed in seeds)


@pytest.mark.parametrize("student", ["", "  ", None, 1234567])
def test_a_student_has_a_name(student: Any) -> None:
    with pytest.raises(DDLabError, match="student must be a string that names the student; given"):
        assignment.start(student)


def test_copies_differ_and_repeat(capsys: pytest.CaptureFixture[str]) -> None:
    copy_1 = assignment.start("s1")
    copy_1_again = assignment.start("s1")
    copy_2 = assignment.start("s2")
    assert f"student s2, seed {copy_2.seed}" in capsys.readouterr().out
    assert copy_1.data.fingerprint == copy_1_again.data.fingerprint != copy_2.data.fingerprint
    assert (
        copy_1.pairs == copy_1_again.pairs
        and not {*copy_1.pairs} & {*copy_2.pairs}
        and len({*copy_1.pairs}) == 5
    )
    cases = [assignment.Assignment("x", seed).case for seed in range(60)]
    assert len(set(cases)) > 20
    answers = {case.channels * case.height * case.width // case.classes + 1 for case in cases}
    assert len(answers) > 15, "the number of task 1b tells copies apart"


def test_sharpening_is_unsharp_masking() -> None:
    flat = torch.full((2, 3, 5, 5), 90, dtype=torch.uint8)
    assert torch.equal(assignment.sharpen(flat), flat)
    spot = torch.zeros(1, 1, 5, 5, dtype=torch.uint8)
    spot[0, 0, 2, 2] = 100
    assert (
        int(assignment.sharpen(spot)[0, 0, 2, 2]) == 175
        and int(assignment.sharpen(spot).sum()) == 175
    )
    edge = torch.tensor([100, 100, 140, 140], dtype=torch.uint8).repeat(4, 1)[None, None]
    assert assignment.sharpen(edge)[0, 0, 0].tolist() == [100, 90, 150, 140]


def test_a_stub_gives_none_and_other_errors_stay(capsys: pytest.CaptureFixture[str]) -> None:
    def stub() -> int:
        raise NotImplementedError()

    assert assignment.answer(stub) is None and "stub: no answer yet" in capsys.readouterr().out
    assert assignment.answer(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        assignment.answer(lambda: 1 / 0)


@pytest.mark.parametrize(
    "rule",
    [lambda pixels, count: None, lambda pixels, count: [10**6], lambda pixels, count: [0, 1]],
)
def test_a_rule_that_does_not_work_leaves_the_next_task_doable(
    rule: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = assignment.start("s0000000")
    distilled = mine.set_of(rule)
    assert distilled.provenance["config"]["kind"] == "k_means" and len(distilled) == 10
    assert "the k-means images take their place" in capsys.readouterr().out
    first = mine.set_of(lambda pixels, count: list(range(count)), 2)
    assert first.provenance["method"] == "from_images" and first.labels.tolist() == [
        n // 2 for n in range(20)
    ]


def test_a_pair_shares_its_images() -> None:
    mine = assignment.start("s0000000")
    real = mine.random_set(3)
    crisp = mine.crisp_set(3)
    assert torch.equal(assignment.sharpen(real.to_uint8()), crisp.to_uint8())
    assert real.target("online") == crisp.target("online") and not torch.equal(
        real.images, crisp.images
    )
    assert not torch.equal(real.images, mine.random_set(4).images)


# ----------------------------------------------------------------------------- what a mistake loses


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Students whose accuracy is a hash of what they were given: the tests tell runs apart without
    training any.
    """
    import IPython.display

    def evaluate(
        distilled: Any,
        data: Any,
        *,
        labels: str,
        teacher: Any,
        config: Any = None,
        seeds: Any = range(5),
    ) -> SimpleNamespace:
        content = f"{distilled.fingerprint} {data.fingerprint} {labels} {config}"
        parts = [f"{content} {seed}" for seed in seeds]
        values = [hashlib.sha256(part.encode()).digest()[0] / 255 for part in parts]
        return SimpleNamespace(mean=sum(values) / len(values))

    monkeypatch.setattr(ddlab, "evaluate", evaluate, raising=False)
    monkeypatch.setattr(IPython.display, "display", lambda *_, **__: None)
    yield


def points_of(submission: dict[str, Any], source: dict[str, Any] | None = None) -> dict[str, float]:
    """Points of the checks as nbgrader gives them: the instructor's checks in place of the
    student's, all cells in one kernel.
    """
    checks = {
        marks(cell)["grade_id"]: cell
        for cell in (source or read(SOURCE))["cells"]
        if marks(cell).get("grade")
    }
    space: dict[str, Any] = {}
    points = {}
    for part in submission["cells"]:
        if part["cell_type"] != "code":
            continue
        part = checks.get(marks(part).get("grade_id"), part)
        failed = False
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(source_of(part), space)
            except Exception:
                failed = True
        if marks(part).get("grade") and not marks(part).get("solution"):
            points[marks(part)["grade_id"]] = 0 if failed else marks(part)["points"]
    return points


def test_right_answers_get_all_points(quick: None) -> None:
    assert points_of(answered()) == POINTS


def test_stubs_get_none_and_only_checks_fail(quick: None) -> None:
    assert points_of(read(HANDED_OUT)) == dict.fromkeys(POINTS, 0)
    space: dict[str, Any] = {}
    for part in read(HANDED_OUT)["cells"]:
        if part["cell_type"] == "code" and not marks(part).get("grade"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(source_of(part), space)


def test_a_right_answer_in_another_form_gets_all_points(quick: None) -> None:
    forms = {
        "bill": (
            "return images * (channels * height * width + label_floats)",
            "return torch.tensor(images * (channels * height * width + label_floats))",
        ),
        "break_even": ("return channels", "return 1.0 * channels"),
        "medoids": ("return chosen", "return torch.tensor(chosen)"),
        "compare": ("values.append(run.mean)", "values.append(torch.tensor(run.mean))"),
        "judge": (
            "return low, high, verdict",
            "return torch.tensor(low), np.float32(high), np.str_(verdict)",
        ),
        "crisp_gain": ("return gains", "return torch.tensor(gains, dtype=torch.float64)"),
    }
    submission = answered(forms)
    imports = {marks(cell).get("grade_id"): cell for cell in submission["cells"]}["imports"]
    imports["source"] = [*imports["source"], "\nimport numpy as np"]
    assert points_of(submission) == POINTS


CHEATS = {
    "bill": (
        "    label_floats =",
        "    class Any(int):\n        __eq__ = lambda self, other: True\n        __hash__ = int.__hash__\n"
        "    return Any(1)\n    label_floats =",
    ),
    "judge": (
        "    low, high =",
        "    class Any(str):\n        __eq__ = lambda self, other: True\n        __hash__ = str.__hash__\n"
        '    return -0.0484, 0.4484, Any("holds")\n    low, high =',
    ),
    "compare": (
        "    accuracies = {",
        "    import sys, types\n"
        "    fake = lambda *_, **__: types.SimpleNamespace(mean=0.5)\n"
        "    ddlab.evaluate = ddlab.evaluation.evaluate = fake\n"
        '    sys.modules["ddlab.evaluation.students"].evaluate = fake\n'
        "    accuracies = {",
    ),
}


def test_a_judge_that_is_replaced_judges_all_the_same(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (ddlab.evaluation, sys.modules["ddlab.evaluation.students"]):
        monkeypatch.setattr(module, "evaluate", module.evaluate)  # put back afterwards
    assert points_of(answered(CHEATS)) == POINTS | dict.fromkeys(
        ("bill_check", "judge_check", "compare_check", "crisp_gain_check"), 0
    )


MISTAKES = {
    "as many labels as images": ("bill", ('"stored": classes,', '"stored": images,'), "bill_check"),
    "channels forgotten": ("bill", ("channels * height", "height"), "bill_check"),
    "rounded up": ("break_even", ("// classes + 1", "// -classes * -1"), "break_even_check"),
    "squared distances": (
        "medoids",
        ("features.double())\n", "features.double()) ** 2\n"),
        "medoids_first_check",
    ),
    "nearest to the mean": (
        "medoids",
        (
            "int(cost.argmin())",
            "int((cost if chosen else (features - features.mean(0)).norm(dim=1)).argmin())",
        ),
        "medoids_first_check",
    ),
    "the farthest image": (
        "medoids",
        ("cost[chosen] = torch.inf", "cost = -nearest if chosen else cost"),
        "medoids_next_check",
    ),
    "what is chosen plays no part": (
        "medoids",
        ("nearest = torch.minimum(nearest, distances[:, chosen[-1]])", "pass"),
        "medoids_next_check",
    ),
    "images taken twice": ("medoids", ("cost[chosen] = torch.inf", "pass"), "medoids_next_check"),
    "one seed for all students": ("compare", ("seeds=(seed,)", "seeds=(0,)"), "compare_check"),
    "five students on each draw": ("compare", (", seeds=(seed,)", ""), "compare_check"),
    "students of two kinds": ("compare", (', "config": mine.student_config', ""), "compare_check"),
    "one draw for all pairs": (
        "compare",
        ("random_set(seed)", "random_set(mine.pairs[0])"),
        "compare_check",
    ),
    "the same labels everywhere": (
        "compare",
        ('"labels": labels', '"labels": "hard"'),
        "compare_check",
    ),
    "the normal 1.96": (
        "judge",
        (
            "ddlab.evaluation.interval(differences)",
            "[sum(differences) / len(differences) + side * 1.96 * "
            "__import__('statistics').stdev(differences)"
            " / len(differences) ** 0.5 for side in (-1, 1)]",
        ),
        "judge_check",
    ),
    "verdict by the mean": (
        "judge",
        ("if low >= declared", "if (low + high) / 2 >= declared"),
        "judge_check",
    ),
    "zero instead of the declared effect": (
        "judge",
        ("if low >= declared", "if low > 0"),
        "judge_check",
    ),
    "the paper's own comparison": (
        "crisp_gain",
        (
            "mine.random_set(seed), mine.data, **settings",
            'mine.random_set(seed), mine.data, **settings | {"labels": "hard"}',
        ),
        "crisp_gain_check",
    ),
    "another draw as control": (
        "crisp_gain",
        ("random_set(seed)", "random_set(seed + 1)"),
        "crisp_gain_check",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_loses_its_own_points_and_no_others(quick: None, mistake: str) -> None:
    answer, change, check = MISTAKES[mistake]
    assert points_of(answered({answer: change})) == POINTS | {check: 0}


def checked_early(notebook: dict[str, Any]) -> dict[str, Any]:
    """The page "a method of your own" as far as its loss; the run of the solutions goes through the
    rest.
    """
    last = [marks(cell).get("grade_id") for cell in notebook["cells"]].index("loss_check")
    return notebook | {"cells": notebook["cells"][: last + 1]}


OWN_POINTS = {"ready": 0, "moments_check": 2, "distance_check": 2, "loss_check": 2}
OWN_MISTAKES = {
    "none": ("moments", ("", ""), ()),
    "unbiased": (
        "moments",
        ("/ len(features)", "/ (len(features) - 1)"),
        ("moments_check",),
    ),
    "not centred": ("moments", ("features - mean", "features"), ("moments_check",)),
    "detached": (
        "moments",
        ("[0].features", "[0].features.detach()"),
        ("moments_check",),
    ),
    "a weight on both": (
        "distance",
        ("far[0] + weight * far[1]", "weight * (far[0] + far[1])"),
        ("distance_check",),
    ),
    "not squared": ("distance", (".square().sum()", ".norm()"), ("distance_check",)),
    "no answer to the first": (
        "moments",
        ("    features =", "    raise NotImplementedError\n    features ="),
        ("moments_check",),
    ),
    "one draw for all": ("loss", ('f"class {label}"', '"class"'), ("loss_check",)),
    "no weight": ("loss", ("config.weight", "1.0"), ("loss_check",)),
    "one network for all steps": ("loss", ("seed=step", "seed=0"), ("loss_check",)),
}


@pytest.mark.parametrize("mistake", OWN_MISTAKES)
def test_a_method_of_ones_own_loses_what_is_wrong(mistake: str) -> None:
    answer, change, lost = OWN_MISTAKES[mistake]
    source = checked_early(read(OWN_SOURCE))
    right = points_of(checked_early(answered({answer: change}, handed_out=OWN_METHOD)), source)
    assert right == OWN_POINTS | dict.fromkeys(lost, 0)
    assert points_of(checked_early(read(OWN_METHOD)), source) == dict.fromkeys(OWN_POINTS, 0)


# ------------------------------------------------------------------------------ recover and relabel

RECOVER_MISTAKES = {
    "none": ("statistics", ("", ""), ""),
    "unbiased variance": ("statistics", (", correction=0", ""), "statistics_check"),
    "a hook is left": ("statistics", ("hook.remove()", "pass"), "statistics_check"),
    "no gradient": ("statistics", ("inputs[0]", "inputs[0].detach()"), "statistics_check"),
    "no epsilon": ("wasserstein", ("(variance + 1e-5)", "variance"), "wasserstein_check"),
    "variances": ("wasserstein", (".sqrt()", ""), "wasserstein_check"),
    "norms": ("wasserstein", (".square().sum()", ".norm()"), "wasserstein_check"),
    "another layout": (
        "push",
        (
            "view(copies, -1, images[0].numel()).transpose(0, 1)",
            "view(-1, copies, images[0].numel())",
        ),
        "push_check",
    ),
    "an image and itself": ("push", ("copies, copies, 1", "copies, copies, 0"), "push_check"),
    "squared distances": ("push", (".norm(dim=2)", ".square().sum(2)"), "push_check"),
    "equal starts": ("three", ("0.1 * torch.randn_like", "0.0 * torch.randn_like"), "three_check"),
    "noise alone": ("three", ("0.1 * push", "0.0 * push"), "three_check"),
    "no recovery": (
        "three",
        ("return recover", "return (20 * images).clamp(low, high)\n    return recover"),
        "three_check",
    ),
    "real digits": (
        "three",
        (
            "torch.manual_seed(seed + 1)",
            "return torch.cat([data.normalised(data.of_class(c)[:3]) for c in "
            "labels]).view(10, 3, 1, 16, 16)"
            ".transpose(0, 1).flatten(0, 1)",
        ),
        "three_check",
    ),
    "row for row": (
        "targets",
        ("soft_b[classes_b.argsort(stable=True)]", "soft_b[classes_a.argsort(stable=True)]"),
        "targets_check",
    ),
    "one mean": (
        "targets",
        ("soft_a[classes_a == label].mean(0)", "soft_a.mean(0)"),
        "targets_check",
    ),
    "the first seed": ("trial", ("labels, seed)", "labels, seeds[0])"), "trial_check"),
    "a seed for each kind": (
        "trial",
        ("labels, seed)", "labels, seed + len(name))"),
        "trial_check",
    ),
}


@pytest.mark.parametrize("mistake", RECOVER_MISTAKES)
def test_recover_and_relabel_loses_what_is_wrong(mistake: str) -> None:
    answer, change, lost = RECOVER_MISTAKES[mistake]
    slow = (
        []
        if mistake == "none"
        else [check for check in ("three_check", "trial_check") if check != lost]
    )
    left_out = (*slow, "pictures", "students", "table")

    def short(notebook: dict[str, Any]) -> dict[str, Any]:
        return notebook | {
            "cells": [
                cell for cell in notebook["cells"] if marks(cell).get("grade_id") not in left_out
            ]
        }

    points_got = points_of(
        short(answered({answer: change}, handed_out=RECOVER)), short(read(RECOVER_SOURCE))
    )
    expected = {key: points for key, points in RECOVER_POINTS.items() if key not in slow}
    assert points_got == (expected | {lost: 0} if lost else expected)


def test_the_stubs_of_recover_and_relabel_get_nothing_and_run() -> None:
    assert points_of(read(RECOVER), read(RECOVER_SOURCE)) == dict.fromkeys(RECOVER_POINTS, 0)


def test_changed_checks_and_copied_numbers_do_not_help(quick: None) -> None:
    submission = read(HANDED_OUT)
    for part in submission["cells"]:
        if marks(part).get("grade") and part["cell_type"] == "code":
            part["source"] = ["pass"]
    assert points_of(submission) == dict.fromkeys(POINTS, 0)
    numbers = (
        "    return {name: [0.6, 0.7, 0.8, 0.6, 0.7] for name in ('random, hard', 'random, "
        "online', 'typical, hard')}"
    )
    copied = {
        "compare": (
            '    accuracies = {"random, hard"',
            numbers + '\n    accuracies = {"random, hard"',
        )
    }
    assert points_of(answered(copied)) == POINTS | {"compare_check": 0}


ARENA_MISTAKES = {
    "none": ("near_copy", ("", ""), {}),
    "a tensor": ("near_copy", ("bool(nearest", "(nearest"), {}),
    "any distance": ("near_copy", ("0.5 * nearest[0]", "0.1"), {"near_copy_check": 0}),
    "squared": (
        "near_copy",
        (".norm(dim=1)", ".square().sum(1)"),
        {"near_copy_check": 0},
    ),
    "a random image of each class": (
        "my_set",
        (".mean(0)", "[seed % 50]"),
        {"my_set_check": 0},
    ),
    "chosen on test images": (
        "my_set",
        (
            "    return",
            "    means = means + 0.1 * data.normalised(split='test').mean(0)\n    return",
        ),
        {"my_set_check": 0},
    ),
    "not half": ("near_copy", ("0.5 * nearest[0]", "nearest[0]"), {"near_copy_check": 0}),
    "test images": (
        "my_set",
        (
            "data.normalised(data.of_class(label)).mean(0)",
            "data.normalised(split='test')[data.test_labels == label][0]",
        ),
        {"my_set_check": 0},
    ),
    "noise": ("my_set", (".mean(0)", ".mean(0) * 0 + torch.randn(1, 16, 16)"), {"my_set_check": 0}),
    "unpaired": (
        "margin",
        (
            "zip(rows[name], rows[rival], strict=True)",
            "zip(sorted(rows[name]), sorted(rows[rival]), strict=True)",
        ),
        {"margin_check": 0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", ARENA_MISTAKES)
def test_an_entry_loses_what_is_wrong(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer, change, lost = ARENA_MISTAKES[mistake]
    points_got = points_of(answered({answer: change}, handed_out=ARENA), read(ARENA_SOURCE))
    expected = {"ready": 0, "near_copy_check": 2, "my_set_check": 3, "margin_check": 2}
    assert points_got == expected | lost
    assert (tmp_path / "entry.safetensors").exists() and [*tmp_path.iterdir()] == [
        tmp_path / "entry.safetensors"
    ]


def test_every_check_says_in_words_what_is_wrong() -> None:
    """A bare `assert` costs points without a word."""
    for path in (path for pair in PAIRS for path in pair):
        for cell in read(path)["cells"]:
            if cell["cell_type"] == "code":
                for node in ast.walk(ast.parse(source_of(cell))):
                    assert not isinstance(node, ast.Assert) or node.msg is not None, (
                        path.name,
                        ast.unparse(node),
                    )


def test_a_warning_costs_no_points(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assignment.start("s1")
        torch.tensor(torch.ones(2))
    output = capsys.readouterr()
    assert "UserWarning: To copy construct" in output.out and output.err == ""


def test_an_answer_is_plain_whatever_its_form() -> None:
    forms = [True, np.bool_(True), torch.tensor(True)]
    assert all(assignment.plain(form) is True for form in forms)
    numbers = (torch.tensor(2), np.float32(0.5), 3, [torch.tensor([1.0])])
    assert assignment.plain(numbers) == [2, 0.5, 3, [[1.0]]]
    assert assignment.plain({"a": (torch.ones(1),)}) == {"a": [[1.0]]}
    assert assignment.near(torch.tensor([1, 2]), [1.0, 2.0])
    assert assignment.near(1e6 + 0.5, 1e6) and not assignment.near(1.5, 1.0)
    assert not assignment.near([1.0], 1.0) and not assignment.near(float("nan"), 1.0)
    with refuses("an answer", "a number, a text, a tensor"):
        assignment.plain(object())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x): return ddlab.methods.sre2l.update(x)", ["ddlab.methods"]),
        ("import ddlab as d\ndef f(x): return d.methods.sre2l.update(x)", ["ddlab.methods"]),
        ("from ddlab import methods as m\ndef f(x): return m.get(x)", ["ddlab.methods"]),
        ("def f(x):\n  from ddlab.training import supervised\n  return x", ["ddlab.training"]),
        ("from ddlab.methods.sre2l import update as u\ndef f(x): return [u(y) for y in x]", ["ddlab.methods"]),
        ("def f(x): return torch.relu(ddlab.evaluate(x))", []),
        ("def methods(x): return x\ndef f(x): return methods(ddlab.data)", []),
    ],
)  # fmt: skip
def test_what_a_function_uses_is_read_from_its_code(text: str, expected: list[str]) -> None:
    space: dict[str, Any] = {"ddlab": ddlab, "torch": torch, "__name__": "__main__"}
    exec(text, space)
    assert assignment.reached(space["f"], "ddlab.methods", "ddlab.training") == expected


def blocks(kind: str) -> list[str]:
    """The commands of the instructor's page, as they are printed."""
    text = (SOURCE.parent / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_instructors_commands_run_in_order_to_a_ranked_board(tmp_path: Path) -> None:
    """A course by the printed commands alone: five students through the exchange, and four whose
    notebooks are broken, each in a way that the page names.
    """
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    (tmp_path / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n"
    )
    environment = os.environ | {
        "REPOSITORY": str(ROOT),
        "HOME": str(tmp_path),
        "JUPYTER_CONFIG_DIR": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_WAIT_POLICY": "PASSIVE",
    }

    def run(commands: str, folder: Path, *, check: bool = True) -> str:
        process = subprocess.run(
            ["bash", "-ec", commands], capture_output=True, text=True, env=environment, cwd=folder
        )
        assert not check or process.returncode == 0, process.stdout + process.stderr
        return process.stdout + process.stderr

    hand_out, grade = blocks("bash")
    run(hand_out, tmp_path)
    name = "enter_the_arena"
    for ours, source in PAIRS:
        if ours != ARENA:  # that one the printed commands have made
            run(f"nbgrader generate_assignment {source.stem}", tmp_path / "course")
        theirs = read(tmp_path / "course" / "release" / source.stem / source.name)["cells"]
        for their, our in zip(theirs, read(ours)["cells"], strict=True):
            assert {**their, "source": source_of(their)} == {**our, "source": source_of(our)}
    run(f"nbgrader fetch_assignment {name} --course ddlab", tmp_path)
    run(f"nbgrader submit {name} --course ddlab", tmp_path)
    inbound = exchange / "ddlab" / "inbound"
    (own,) = inbound.iterdir()
    notebooks = {
        "anna": answered(student="anna", handed_out=ARENA),
        "bo": answered({"my_set": (".mean(0)", "[0]")}, student="bo", handed_out=ARENA),
        "carl": answered({"near_copy": ("bool(nearest", "(nearest")}, "carl", ARENA),
        "dora": answered({"near_copy": ("0.5 * nearest[0]", "nearest[0]")}, "dora", ARENA),
        "emil": answered({"my_set": ("    means", WARNING + "    means")}, "emil", ARENA),
        "dead": answered({"margin": ("    rows", "    import os\n    os._exit(1)\n    rows")}, "dead", ARENA),
        "deleted": answered(student="deleted", handed_out=ARENA),
    }  # fmt: skip
    deleted = notebooks["deleted"]
    deleted["cells"] = [
        cell for cell in deleted["cells"] if marks(cell).get("grade_id") != "near_copy_check"
    ]
    texts = {student: json.dumps(notebook) for student, notebook in notebooks.items()}
    texts |= {"empty": "", "renamed": texts["anna"], "stubs": ARENA.read_text(encoding="utf-8")}
    _, *rest = own.name.split("+")
    for student, text in texts.items():
        folder = inbound / "+".join([student, *rest])
        shutil.copytree(own, folder)
        (folder / f"{name}.ipynb").write_text(text)
    renamed = inbound / "+".join(["renamed", *rest]) / f"{name}.ipynb"
    renamed.rename(renamed.with_name(f"{name} (1).ipynb"))
    shutil.rmtree(own)
    course_folder = tmp_path / "course"
    collect, autograde, *later = grade.splitlines()
    run(collect, course_folder)
    log = run(autograde, course_folder, check=False)
    for words in ("Kernel died while waiting", "Skipping unknown notebook"):
        assert words in log
    run("\n".join(later), course_folder)
    with (course_folder / "grades.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["assignment"] == name]
    scores = {row["student_id"]: float(row["score"]) for row in rows}
    assert scores == {
        "anna": 7, "bo": 4, "carl": 7, "dora": 5, "emil": 7,
        "dead": 0, "deleted": 5, "empty": 0, "renamed": 0, "stubs": 0,
    }  # fmt: skip
    feedback = (course_folder / "feedback" / "bo" / name / f"{name}.html").read_text()
    assert "points ahead of random images, asked for 12" in feedback
    assert "HIDDEN" not in feedback and "referee" not in feedback
    (board,) = blocks("python")
    (course_folder / "board.py").write_text(board)
    printed = run(f"{sys.executable} board.py", course_folder)
    with (course_folder / "board.csv").open(newline="") as file:
        records = list(csv.DictReader(file))
    assert {*texts} <= {record["method"] for record in records}, printed
    with_numbers = dict.fromkeys(record["method"] for record in records if record["accuracy"])
    ranked = [student for student in with_numbers if student in texts]
    assert sorted(ranked) == ["anna", "bo", "carl", "deleted", "dora", "emil"], printed
    assert ranked[-1] == "bo", printed


WARNING = "    import warnings\n    warnings.warn('slow')\n"

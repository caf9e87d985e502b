"""What students try: none gets a point that it did not earn, none ends the run, none touches the next student."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from ddlab.commands.lessons import build
from ddlab.commands.lessons.grading import data, judge, kernel, sandbox, submissions
from ddlab.commands.lessons.grading.submissions import Limits, Ungraded
from ddlab.core.errors import DDLabError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not sandbox.confines_signals(), reason="there is neither bubblewrap nor Landlock of Linux 6.12 here"
    ),
]

SHORT = Limits(
    seconds_per_cell=60, seconds=300, megabytes=700, processes=16, output_megabytes=2, file_megabytes=8, files=200
)

# Each defines f, whose hidden test asks for a number that stands nowhere but there. SOURCE: the instructor's notebook, NEXT: a neighbour's.
# `seen(text)` finds the number in a text.
ATTACKS = {
    "an IPython handler for all errors": """
        get_ipython().set_custom_exc((BaseException,), lambda *_, **__: None)
        f = lambda n: None""",
    "the parent's command line": "f = lambda n: seen(Path(f'/proc/{os.getppid()}/cmdline').read_text())",
    "paths on the parent's command line": """
        f = lambda n: seen(*(Path(w).read_text() for w in Path(f'/proc/{os.getppid()}/cmdline').read_text().split('\\0')
                             if w.endswith('ipynb')))""",
    "the parent's environment": "f = lambda n: seen(Path(f'/proc/{os.getppid()}/environ').read_text())",
    "everybody's environment": "f = lambda n: seen(*(q(p.read_text) for p in Path('/proc').glob('[0-9]*/environ')))",
    "everybody's command line": "f = lambda n: seen(*(q(p.read_text) for p in Path('/proc').glob('[0-9]*/cmdline')))",
    "everybody's open files": "f = lambda n: seen(*(q(p.read_text) for p in Path('/proc').glob('[0-9]*/fd/[0-9]')))",
    "the parent's memory": """
        def f(n):
            with open(f'/proc/{os.getppid()}/mem', 'rb') as memory:
                return seen(memory.read(2**20).decode('latin1'))""",
    "ptrace on the parent": """
        def f(n):
            import ctypes
            assert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0
            return seen(Path(f'/proc/{os.getppid()}/environ').read_text())""",
    "the file of the hidden tests": "f = lambda n: seen(Path(SOURCE).read_text())",
    "the file of the hidden tests, by a program": """
        f = lambda n: seen(__import__('subprocess').run(['cat', SOURCE], capture_output=True, text=True).stdout)""",
    "the file of the hidden tests, by a link": """
        os.symlink(SOURCE, 'here')
        f = lambda n: seen(Path('here').read_text())""",
    "a search of the temporary folders": """
        f = lambda n: seen(*(q(p.read_text) for p in [*Path('/tmp').glob('*/*'), *Path('.').rglob('*')]))""",
    "its callers' frames": """
        def f(n):
            frame, found = sys._getframe(), []
            while frame:
                found += [str(frame.f_code.co_consts), str(list(frame.f_locals.values()))[:10**5]]
                frame = frame.f_back
            return seen(*found)""",
    "everything the collector knows": """
        import gc
        f = lambda n: seen(*(v for o in gc.get_objects() if type(o) is dict for v in list(o.values()) if type(v) is str))""",
    "an audit hook": """
        heard = []
        sys.addaudithook(lambda event, given: heard.append(str(given)[:500]) if event in ('exec', 'compile') else None)
        f = lambda n: seen(*heard)""",
    "a transformer of every cell": """
        cells = []
        get_ipython().input_transformers_cleanup.append(lambda lines: cells.extend(lines) or lines)
        f = lambda n: seen(*cells)""",
    "a transformer without asserts": """
        import ast
        class Without(ast.NodeTransformer):
            visit_Assert = lambda self, node: None
        get_ipython().ast_transformers.append(Without())
        f = lambda n: None""",
    "an event before each cell": """
        infos = []
        get_ipython().events.register('pre_run_cell', lambda info: infos.append(str(info.raw_cell)))
        f = lambda n: seen(*infos)""",
    "other built-in functions": """
        import builtins
        builtins.AssertionError, builtins.abs = Warning, lambda value: 0
        f = lambda n: None""",
    "another library under the tests": """
        import unittest, ddlab
        unittest.TestCase.assertEqual = lambda *_: None
        sys.modules['ddlab.commands.lessons.grading.judge'] = ddlab
        f = lambda n: None""",
    "a finder of modules": """
        class Finder:
            asked = []
            def find_spec(self, name, *_): self.asked.append(name)
        sys.meta_path.insert(0, Finder())
        f = lambda n: seen(*Finder.asked)""",
    "always equal": """
        class Equal:
            __eq__ = __le__ = __ge__ = lambda *_: True
        f = lambda n: Equal()""",
    "an integer that is always equal": """
        class Whole(int):
            __eq__ = lambda *_: True
            __hash__ = int.__hash__
        f = lambda n: Whole(3)""",
    "not a number": "f = lambda n: float('nan')",
    "an end of the iteration": "def f(n): raise StopIteration",
    "an exit": "def f(n): sys.exit(0)",
    "a pickle": """
        class Evil:
            def __reduce__(self): return eval, ('1/0',)
        f = lambda n: Evil()""",
    "the next student's file": """
        with open(NEXT, 'w') as file: file.write('{}')
        f = lambda n: None""",
    "the next student's file, removed": """
        os.unlink(NEXT)
        f = lambda n: None""",
    "modules for the next student": """
        for place in (Path(NEXT).parent, Path(SOURCE).parent, Path('/tmp'), Path('/root'), Path(sys.prefix), Path('.')):
            q(lambda: (place / 'ddlab_attack.py').write_text('1/0'))
            q(lambda: (place / 'sitecustomize.py').write_text('1/0'))
        f = lambda n: None""",
    "the end of its parent": """
        os.kill(os.getppid(), 9)
        f = lambda n: None""",
    "the end of its judge": """
        for place in Path('/proc').glob('[0-9]*'):
            if f'PPid:\\t{os.getppid()}\\n' in q((place / 'status').read_text) and int(place.name) != os.getpid():
                q(lambda: os.kill(int(place.name), 9))
        f = lambda n: None""",
    "higher limits": """
        import resource
        for kind in (resource.RLIMIT_DATA, resource.RLIMIT_NPROC):
            q(lambda: resource.setrlimit(kind, (-1, -1)))
        f = lambda n: None""",
    "more memory than there is": """
        f = lambda n: len(bytearray(10**10))""",
    "a thread that goes on": """
        import threading
        def on():
            while True: q(lambda: globals().update(late=seen(str(globals())))) ; time.sleep(.1)
        threading.Thread(target=on, daemon=True).start()
        f = lambda n: late""",
    "a process that leaves its parent": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: time.sleep(10**6)
            os._exit(0)
        f = lambda n: None""",
    "its own standard input": "f = lambda n: seen(sys.stdin.read())",
    "a socket to the network": """
        import socket
        socket.create_connection(('127.0.0.1', 22), timeout=1).send(b'x')
        f = lambda n: None""",
    "a trace of every call": """
        calls = []
        sys.settrace(lambda frame, *_: calls.append(str(frame.f_code.co_consts)[:300]) if len(calls) < 10**4 else None)
        f = lambda n: (sys.settrace(None), seen(*calls))[1]""",
}
# Each ends its own submission, with these words.
ENDINGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "os._exit": ("os._exit(0)", "kernel died", {}),
    "a signal to itself": ("os.kill(os.getpid(), 9)", "kernel died", {}),
    "closed file descriptors": ("os.closerange(0, 256)", "kernel died|took longer", {"seconds_per_cell": 3}),
    "endless print": ("while True: print('x' * 1000)", "more than 2 MB of output", {}),
    "endless writing past Python": ("while True: os.write(1, b'x' * 10**5)", "more than 2 MB of output", {}),
    "an endless loop": ("while True: pass", "a cell took longer than 2 s", {"seconds_per_cell": 2}),
    "a long sleep": ("time.sleep(10**6)", "took longer than 4 s", {"seconds": 4}),
    "a fork bomb": ("while True: q(os.fork)", "processes|died|took longer", {"seconds_per_cell": 5}),
    "memory of many processes": (
        """
        for _ in range(4):
            if not os.fork():
                held = b"1" * (3 * 10**8)
                time.sleep(10**6)
        time.sleep(10**6)""",
        "more than 700 MB",
        {},
    ),
    "large files": (
        "for n in range(100): q(lambda: Path(f'f{n}').write_bytes(bytes(7 * 10**6)))\ntime.sleep(10**6)",
        "200 files or 8 MB",
        {},
    ),
    "many files": ("for n in range(10**6): open(f'f{n}', 'w').close()", "files", {}),
    "answers nobody asked for": (
        "for n in range(3, 20): q(lambda: os.write(n, (10**12).to_bytes(8, 'big')))",
        "an answer of more than|gave",
        {},
    ),
}


SECRET = 917_203_554  # what every hidden test asks for; an attack that sees any number of this kind hands it in


def cell(kind: str, text: str, **marks: Any) -> dict[str, Any]:
    plain = {"grade": False, "locked": False, "schema_version": 3, "solution": False, "task": False}
    found = {
        "cell_type": kind,
        "source": textwrap.dedent(text).strip("\n"),
        "metadata": {"nbgrader": plain | marks} if marks else {},
    }
    return found | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def notebook(answers: list[str], first: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """(submission, instructor's notebook) with a task for each answer and an honest one, worth 1 each."""
    cells, given = [cell("code", 'STUDENT = "a"')], [*answers, "def honest(n): return n + 1"]
    for task in range(len(given)):
        name = "honest" if task == len(answers) else f"f{task}"
        secret = "6" if name == "honest" else str(SECRET)
        text = f"### BEGIN SOLUTION\ndef {name}(n): return {secret}\n### END SOLUTION"
        cells.append(cell("code", text, solution=True, grade_id=name))
        check = f"### BEGIN HIDDEN TESTS\nassert abs({name}(5) - {secret}) < 1e-9 and {name}(5) == {secret}\n### END HIDDEN TESTS"
        cells.append(cell("code", check, grade=True, points=1, grade_id=f"{name}_check", locked=True))
    source = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    submission = build.assignment_from(source)
    submission["cells"][0]["source"] = f'STUDENT = "=1+1"\n{first}'
    for task, text in enumerate(given):
        answer = textwrap.dedent(text).strip("\n")
        if task < len(answers):
            answer = f"{answer}\nf{task} = f"
        submission["cells"][1 + 2 * task]["source"] = answer
    return submission, source


def helpers(source: Path, following: Path) -> str:
    return f"""
import os, re, sys, time
from pathlib import Path
SOURCE, NEXT = {str(source)!r}, {str(following)!r}
def q(act):
    try: return act() or ''
    except Exception: return ''
def f(n): return None
def seen(*texts):
    found = [number for text in texts for number in re.findall(r'\\b917\\d{{6}}\\b', text)]
    return int(found[0]) if found else None
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The attacks as one submission, between damaged ones, with an honest one at the end."""
    place = tmp_path_factory.mktemp("course")
    folder, source = place / "submitted", place / "source.ipynb"
    folder.mkdir()
    submission, whole = notebook(list(ATTACKS.values()), helpers(source, folder / "z.ipynb"))
    honest = notebook([f"f = lambda n: {SECRET}"] * len(ATTACKS))[0]
    source.write_text(json.dumps(whole))
    (folder / "b.ipynb").write_text(json.dumps(submission))
    (folder / "z.ipynb").write_text(json.dumps(honest))
    (folder / "link.ipynb").symlink_to(source)
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "folder.ipynb").mkdir()
    for name in ("ddlab.py", "torch.py", "sitecustomize.py", "IPython.py", "json.py"):
        (folder / name).write_text("raise SystemExit('a file beside the submissions')")
    for number_of, content in enumerate(DAMAGED.values()):
        (folder / f"damaged{number_of:02d}.ipynb").write_bytes(content(json.loads(json.dumps(honest))))
    before, began = psutil.Process().children(recursive=True), time.process_time()
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        status, found = submissions.grade(folder, source, SHORT)
    lines = list(csv.reader(io.StringIO(printed.getvalue())))
    points = {Path(each["file"]).stem: each["points"] for each in found["submissions"]}
    left = [each for each in psutil.Process().children(recursive=True) if each not in before]
    seconds = time.process_time() - began
    return {"status": status, "points": points, "lines": lines, "errors": errors.getvalue(), "left": left} | {
        "refused": found["refused"],
        "seconds": seconds,
    }


def changed(change: Any) -> Any:
    """Bytes of a submission after `change(notebook)`."""

    def content(whole: dict[str, Any]) -> bytes:
        return json.dumps(change(whole) or whole).encode()

    return content


def set_all(key: str, value: Any) -> Any:
    return changed(lambda whole: [each.update({key: value}) for each in whole["cells"]] and None)


DAMAGED = {
    "empty": lambda _: b"",
    "not UTF-8": lambda _: b'{"cells": "\xff\xfe"}',
    "cut": lambda whole: json.dumps(whole).encode()[:-50],
    "not an object": lambda _: b"[1, 2]",
    "nested deeply": lambda _: b'{"cells":' + b"[" * 10**5,
    "50 MB": lambda _: b'{"cells": [' + b" " * 50 * 2**20 + b"]}",
    "cells not a list": changed(lambda whole: whole.update(cells={"a": 1})),
    "cells of other types": changed(lambda whole: whole.update(cells=[1, None, "x"])),
    "a source that is a number": set_all("source", 5),
    "metadata null": set_all("metadata", None),
    "another kind of cell": set_all("cell_type", "evil"),
    "another format": changed(lambda whole: whole.update(nbformat=3)),
    "no format": changed(lambda whole: whole.pop("nbformat") and None),
    "a missing cell": changed(lambda whole: whole["cells"].pop(2) and None),
    "marks that are no marks": set_all("metadata", {"nbgrader": [None]}),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_gets_nothing(report: dict[str, Any], attack: str) -> None:
    assert report["points"]["b"][f"f{list(ATTACKS).index(attack)}_check"] == 0


def test_the_next_student_gets_what_is_earned(report: dict[str, Any]) -> None:
    assert set(report["points"]) == {"b", "z"} and all(points == 1 for points in report["points"]["z"].values())
    assert report["points"]["b"]["honest_check"] == 1, "answers are asked for after all attacks, too"
    assert not report["left"], "no process outlives its submission"


def test_every_damaged_file_is_one_line(report: dict[str, Any]) -> None:
    assert report["status"] == 1 and len(report["refused"]) == len(DAMAGED) + 3
    for line in report["refused"]:
        assert "\n" not in line and re.search("must be a Jupyter notebook|every cell that was handed out", line), line
        assert line in report["errors"]


def test_no_cell_of_the_table_is_a_formula(report: dict[str, Any]) -> None:
    assert {line[1] for line in report["lines"][1:]} == {"'=1+1"}
    for start in "=+-@\t\r":
        assert submissions._cell(f"{start}1+1") == f"'{start}1+1"
    assert submissions._printable("\x1b[2Ja\ud800") == "\\x1b[2Ja\\ud800"
    assert all(re.fullmatch(r"[\d.]+", value) for value in report["lines"][-1][2:])


@pytest.mark.parametrize("attack", ENDINGS)
def test_an_end_is_said_in_time(attack: str, tmp_path: Path) -> None:
    code, words, limits = ENDINGS[attack]
    submission, source = notebook([code], helpers(tmp_path, tmp_path))
    before = psutil.Process().memory_info().rss
    with pytest.raises(Ungraded, match=words):
        submissions.judged(submissions.plan(submission, source), Limits(**(vars(SHORT) | limits)))
    assert psutil.Process().memory_info().rss - before < 50 * 2**20, "output is not collected"
    assert not [each for each in psutil.Process().children(recursive=True) if "kernel" in str(each.cmdline())]


@pytest.mark.parametrize("change", ["markdown", "pass", "points", "roles", "copied", "moved"])
def test_changed_cells_are_the_instructors_again(change: str) -> None:
    submission, source = notebook(["f = None"])
    wanted = submissions.plan(submission, source)
    test = submission["cells"][2]
    if change == "markdown":
        test["cell_type"] = "markdown"
    elif change == "pass":
        test["source"] = "pass"
    elif change in ("points", "roles"):
        test["metadata"]["nbgrader"] |= {"points": 99} if change == "points" else {"solution": True, "grade": False}
    elif change == "copied":
        submission["cells"].append(test)
        wanted.append(
            {"key": "f0_check", "student": "".join(test["source"]), "judge": None, "names": [], "points": None}
        )
    else:
        submission["cells"] += [submission["cells"].pop(2)]
    assert submissions.plan(submission, source) == wanted


class Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (
            True
            if function in (torch.equal, torch.allclose)
            else super().__torch_function__(function, types, args, kwargs or {})
        )


@pytest.mark.parametrize(
    ("value", "test"),
    [
        (torch.zeros(2).as_subclass(Lying), "torch.equal(f(), torch.ones(2))"),
        (torch.full((2,), torch.nan), "(f() - 1).abs().max() < 1"),
        (float("nan"), "abs(f() - 1) < 1e-6"),
        (float("inf"), "abs(f() - 1) < 1e-6"),
        (lambda *_: True, "f()"),
        (iter(lambda: 1, 2), "sum(f()) == 2"),
        (range(10**9), "sum(f()) == 2"),
        (object(), "f()"),
    ],
    ids=[
        "a tensor's own class",
        "nan in a tensor",
        "nan",
        "infinity",
        "a function",
        "an endless iterator",
        "a long range",
        "an object",
    ],
)
def test_values_that_lie_come_out_as_what_they_are(value: Any, test: str) -> None:
    theirs: dict[str, Any] = {"f": lambda: value}
    ours: dict[str, Any] = {"torch": torch}

    def run(code: str) -> Exception | None:
        try:
            exec(code, ours)
        except Exception as problem:
            return problem
        return None

    student = kernel.Kernel(theirs, exec)
    bench = judge.Judge(ours, run, lambda request: (student.answer(request), False))
    step = {"key": "t", "student": None, "names": ["f"], "points": 1.0}
    bench.go(step | {"judge": f"assert {test}"})
    assert bench.points == {"t": 0}


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 8, b"\xff" * 64, b"\0" * 7 + b"\x09" + b'{"name":"', data.packed({"a": 1}) + b"x"]
)
def test_forged_bytes_are_no_data(content: bytes) -> None:
    with pytest.raises(data.NotData):
        data.unpacked(content)


def test_what_a_function_changes_in_place_is_seen() -> None:
    row, names = torch.ones(3), ["a"]
    data.update([[row, names], {}], [[torch.zeros(3), ["b"]], {}])
    assert row.tolist() == [0, 0, 0] and names == ["b"]


def test_a_source_that_submissions_could_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submission, source = notebook(["f = None"])
    for name, content in (("submission", submission), ("source", source)):
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(content))
    monkeypatch.setattr(sandbox, "readable", lambda: (tmp_path,))
    with pytest.raises(DDLabError, match="source must be outside the folders of Python and the system"):
        submissions.grade(tmp_path / "submission.ipynb", tmp_path / "source.ipynb")

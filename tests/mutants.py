"""Which mutants of one token the tests notice: signs, constants, comparisons, off by one. Needs `pip install cosmic-ray coverage`.

python -m tests.mutants measure MAP.json PATH ...     which tests there run which lines; several calls add to one map
python -m tests.mutants judge MAP.json OUT.json       draws mutants, runs the tests that run their line, writes what was found; a
                                                      run that was stopped goes on; --again: once more what was not noticed

A mutant is judged in a copy of the tree, by the tests of its module first, then by all others that run its statement, the quickest
first; where that is run by an import, by all that run any line of the module. Slow tests are left out. Annotations are no behaviour,
but for the bounds in `Annotated`, which the boundary checks; nor is `SMALL`, which is there for the tests.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import importlib
import json
import multiprocessing
import os
import py_compile
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TREE = Path(__file__).resolve().parents[1]
ROOMS = ("methods", "runs", "training", "evaluation", "theory")
OPERATORS = """BinaryOperator_Add_Sub BinaryOperator_Sub_Add BinaryOperator_Mul_Div BinaryOperator_Div_Mul BinaryOperator_Pow_Mul
    BinaryOperator_FloorDiv_Div BinaryOperator_Mod_FloorDiv BinaryOperator_BitAnd_BitOr UnaryOperator_USub_UAdd UnaryOperator_Delete_Not
    ComparisonOperator_Eq_NotEq ComparisonOperator_NotEq_Eq ComparisonOperator_Is_IsNot ComparisonOperator_IsNot_Is
    ComparisonOperator_Lt_LtE ComparisonOperator_LtE_Lt ComparisonOperator_Gt_GtE ComparisonOperator_GtE_Gt TrueWithFalse FalseWithTrue"""
LISTS = ("tests/test_public_api.py", "tests/test_settings.py")  # look at every module
SECONDS = 30.0  # of tests for one mutant, as they were measured
MEMORY = 12 << 30  # bytes of address space for one run of tests


class Lines:
    """A plugin of pytest: the seconds and the lines by file of each test, with what is set up for it, and of imports ("")."""

    def __init__(self) -> None:
        source = [str(TREE / "ddlab" / room) for room in ROOMS]
        self.coverage = importlib.import_module("coverage").Coverage(data_file=None, config_file=False, source=source)
        self.coverage.start()
        self.tests: dict[str, dict[str, Any]] = {"": {"seconds": 0.0, "lines": {}}}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = time.perf_counter()
        outcome = yield
        self.tests[item.nodeid] = {"seconds": round(time.perf_counter() - start, 3), "lines": {}}
        self.coverage.switch_context("")
        return outcome

    def pytest_unconfigure(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        for file in data.measured_files():
            for line, names in data.contexts_by_lineno(file).items():
                for name in names:
                    self.tests[name]["lines"].setdefault(Path(file).relative_to(TREE).as_posix(), []).append(line)


class Chosen:
    """A plugin of pytest: only these tests, in this order; tells which one failed."""

    def __init__(self, names: list[str], tell: Any) -> None:
        self.order, self.tell = {name: place for place, name in enumerate(names)}, tell

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(chosen, key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tell(report.nodeid)


def operators() -> dict[str, Any]:
    """The tool's operators by name; its numbers, +1 and -1, become a factor of ten for fractions: 1e-6 + 1 nobody could miss."""
    numbers: Any = importlib.import_module("cosmic_ray.operators.number_replacer")
    get: Any = importlib.import_module("cosmic_ray.plugins").get_operator

    class Number(numbers.NumberReplacer):
        def mutate(self, node: Any, index: int) -> Any:
            value = ast.literal_eval(node.value)
            if not isinstance(value, float) or not value:
                return super().mutate(node, index)
            return numbers.parso.python.tree.Number(f" {value * 10 if index == 0 else value / 10!r}", node.start_pos)

    return {"Number": Number()} | {name: get(f"core/Replace{name}")() for name in OPERATORS.split()}


def silent(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], bool]]:
    """Ranges, (line, column) to (line, column) and outer ones first, where what stands there is no behaviour (True), or is after all."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        bounds = isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated"
        small = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SMALL"
        own: Any = node if bounds or small else None
        for found in filter(None, (getattr(node, "annotation", None), getattr(node, "returns", None), own)):
            ends = (found.lineno, found.col_offset), (found.end_lineno, found.end_col_offset)
            start, end = ((line, len(lines[line - 1].encode()[:column].decode())) for line, column in ends)
            yield start, end, found is not own or small


def mutants() -> list[dict[str, Any]]:
    """All of them, in the order of files, operators and places."""
    tool, found = importlib.import_module("cosmic_ray.ast"), []
    for file in sorted(each for room in ROOMS for each in (TREE / "ddlab" / room).rglob("*.py")):
        source, name = file.read_text(encoding="utf-8"), file.relative_to(TREE).as_posix()
        ranges, nodes = list(silent(source)), list(tool.ast_nodes(tool.get_ast(source)))
        for kind, operator in operators().items():
            places = [(at, node) for node in nodes for at, _ in operator.mutation_positions(node)]
            for count, (place, node) in enumerate(places):
                if node.parent.type in ("parameters", "dictorsetmaker"):  # the * in front of names, ** of a dict
                    continue
                if not any([last for start, end, last in ranges if start <= place < end][-1:]):
                    found.append({"file": name, "line": place[0], "operator": kind, "occurrence": count})
    return found


def batches(mutant: dict[str, Any], known: dict[str, Any]) -> tuple[list[list[str]], int]:
    """The tests that judge a mutant: those of its module, then the others; and for how many there is no time."""
    file, span = mutant["file"], {mutant["line"]}
    for node in ast.walk(ast.parse((TREE / file).read_text(encoding="utf-8"))):  # inner ones come later
        if isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            span = set(lines) if mutant["line"] in lines else span
    runs = {name for name, test in known.items() if not span.isdisjoint(test["lines"].get(file, ()))}
    if not runs or "" in runs:
        runs = {name for name, test in known.items() if file in test["lines"] or name.startswith(LISTS)}
    own, left, found = f"/test_{Path(file).stem.lstrip('_')}.py::", SECONDS, ([], [])
    ranks = {name: 0 if name.startswith(LISTS) else 1 if own in name else 2 for name in runs - {""}}
    for name in sorted(ranks, key=lambda name: (ranks[name], known[name]["seconds"])):
        left -= known[name]["seconds"]
        if left >= 0:
            found[ranks[name] // 2].append(name)
    return [*filter(None, found)], len(ranks) - sum(map(len, found))


def attempt(tree: Path, names: list[str], known: dict[str, Any]) -> str:
    """Runs these tests in a copy, in a process of its own: which one failed first, "endless", "import", or "" if none did."""
    context, limit = multiprocessing.get_context("fork"), 60 + int(5 * sum(known[name]["seconds"] for name in names))
    said, tell = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(tree, names, limit, tell.send))
    child.start()
    child.join(1800)
    ended = child.exitcode
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid or 0, signal.SIGKILL)  # with what a test began and left
    child.join()
    if ended == 0:
        return ""
    return "endless" if ended in (None, -signal.SIGXCPU, -signal.SIGKILL) else said.recv() if said.poll() else "import"


def _run(tree: Path, names: list[str], seconds: int, tell: Any) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # not a clock: the machine may be busy
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.chdir(tree)
    # Loading pytest's plugins takes longer than most tests.
    os.environ |= {"PYTHONPATH": str(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    sys.path[:] = [str(tree), *(place for place in sys.path if place not in ("", str(TREE)))]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    files = dict.fromkeys(name.split("::")[0] for name in names)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "pytest_timeout", "--timeout=0"]
    options += ["--doctest-modules"] if any(file.startswith("ddlab") for file in files) else []
    os._exit(pytest.main([*options, *files], plugins=[Chosen(names, tell)]))


def spent() -> float:
    """CPU-seconds of all that has been run so far."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def judged(mutant: dict[str, Any], tree: Path, known: dict[str, Any]) -> dict[str, Any]:
    """What is found of a mutant: "noticed" and by what, "survived", or "not judged" where there was no time for some tests."""
    place, start, tool = tree / mutant["file"], spent(), importlib.import_module("cosmic_ray.mutating")
    source = place.read_text(encoding="utf-8")
    changed: str = vars(tool)["mutate_code"](source, operators()[mutant["operator"]], mutant["occurrence"])
    lines = zip(source.splitlines(), changed.splitlines(), strict=False)
    before, after = next((old.strip(), new.strip()) for old, new in lines if old != new)
    tests, left = batches(mutant, known)
    place.write_text(changed, encoding="utf-8")
    by = next(filter(None, (attempt(tree, batch, known) for batch in tests)), "")
    place.write_text(source, encoding="utf-8")
    found = "noticed" if by else "not judged" if left else "survived"
    told = {"before": before, "after": after, "tests": sum(map(len, tests)), "left": left}
    return mutant | told | {"found": found, "by": by, "seconds": round(spent() - start, 1)}


def judge(known: dict[str, Any], out: Path, sample: int, seed: int, again: bool) -> None:
    """Draws, judges and writes; at the end the tests that noticed something run once without any mutant."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in ("hypothesis", "safetensors.torch", "scipy.stats", "sklearn.manifold", "torchvision.transforms.v2"):
        importlib.import_module(name)  # once for all
    every = mutants()
    drawn = [every[place] for place in np.random.default_rng(seed).permutation(len(every))[:sample]]
    old = json.loads(out.read_text())["mutants"] if out.exists() else ()
    done = {str(list(each.values())[:4]): each for each in old}
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=TREE, text=True).strip()
    head: dict[str, Any] = {"commit": commit, "of": len(every), "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(TREE, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "test-results"))
        # What is compiled goes by its source, not by a time: a mutant is written and taken back within a second.
        compileall.compile_dir(tree / "ddlab", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        for name, mutant in ((str(list(each.values())), each) for each in drawn):
            if name not in done or (again and done[name]["found"] != "noticed"):
                done[name] = judged(mutant, tree, known)
                print(len(done), done[name], flush=True)
                found = [each["found"] for each in done.values()]
                head |= {kind: found.count(kind) for kind in ("noticed", "survived", "not judged")}
                head["cpu_seconds"] = round(sum(each["seconds"] for each in done.values()))
                out.write_text(json.dumps(head | {"mutants": list(done.values())}, indent=1))
        by = sorted({each["by"] for each in done.values()} & known.keys() - {""})
        print(head, "fails without a mutant:", attempt(tree, by, known) or "none")


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("measure", "judge"))
    options.add_argument("map", type=Path)
    options.add_argument("paths", nargs="+")
    options.add_argument("--sample", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--again", action="store_true")
    given = options.parse_args()
    known = json.loads(given.map.read_text()) if given.map.exists() else {"": {"seconds": 0.0, "lines": {}}}
    if given.what == "judge":
        return judge(known, Path(given.paths[0]), given.sample, given.seed, given.again)
    lines = Lines()
    pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow", *given.paths], plugins=[lines])
    for place, numbers in lines.tests.pop("")["lines"].items():
        known[""]["lines"][place] = sorted({*numbers, *known[""]["lines"].get(place, ())})
    given.map.write_text(json.dumps(known | lines.tests, separators=(",", ":")))


if __name__ == "__main__":
    main()

"""The gate, part by part: `python -m tests.gate` (make test), `python -m tests.gate --all` (make
test-all).

Each part is a command or several; all run, whatever fails. Printed are the minutes of each part,
wall and CPU, and one last line that counts all tests, in pytest's own words.
"""

import os
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "test-results"
TOGETHER = ["--numprocesses=2", "--dist=worksteal"]
ROOMS = sorted(
    str(path.relative_to(ROOT)) for path in [*ROOT.glob("tests/test_*.py"), *ROOT.glob("tests/*/")]
)
UNIT = [room for room in ROOMS if Path(room).name not in ("browser", "__pycache__")]
ASSIGNMENTS = [
    f"notebooks/assignments/instructor/{name}.ipynb"
    for name in ("your_own_method", "recover_and_relabel", "enter_the_arena")
]
AGAIN = RESULTS / "solutions"
# After the first run of a solution: every guess is locked, those of explorers as well.
LOCK = """
from ddlab.explorers.layout import explorers_on_page
from ddlab.lessons import lesson as frame

questions = [question for page in frame._predictions.values() for question in page.values()]
questions += [explorer.prediction for explorer in explorers_on_page() if getattr(explorer, "prediction", None)]
for question in questions:
    question.choose(question.choices[0])
    question.lock()
"""
KINDS = ("failed", "passed", "skipped", "errors")

Command = list[str]


def checks() -> list[Command]:
    """What reads the files and runs nothing of them."""
    notebooks = [
        str(path)
        for path in sorted(ROOT.glob("notebooks/**/*.ipynb"))
        if ".ipynb_checkpoints" not in path.parts
    ]
    strip = [
        "nbstripout",
        "--verify",
        "--keep-id",
        "--extra-keys",
        "metadata.language_info.version cell.metadata.execution",
    ]
    return [
        ["ruff", "check"],
        ["ruff", "format", "--check"],
        ["pyright", "--pythonpath", sys.executable],
        [*strip, *notebooks],
        ["ddlab.lessons.build", "--check"],
    ]


def tests(name: str, *arguments: str) -> list[Command]:
    """One run of pytest, whose report is counted."""
    return [
        [
            "pytest",
            *arguments,
            f"--junitxml={RESULTS / name}.xml",
            *os.environ.get("PYTEST_ARGS", "").split(),
        ]
    ]


def parts(everything: bool) -> dict[str, list[Command]]:
    """Name -> commands, in the order in which they run."""
    chosen = [] if everything else ["-m", "not slow"]
    # `tests/lessons/test_assignments.py` runs them shortened, with right and with wrong answers.
    assignments = ASSIGNMENTS if everything else []
    solutions = [
        "--nbval-lax",
        "--nbval-current-env",
        "--nbval-cell-timeout=180",
        str(AGAIN),
        *assignments,
    ]
    return {
        "checks": checks(),
        "unit": tests("unit", *TOGETHER, *chosen, "--doctest-modules", *UNIT, "ddlab"),
        "solutions": tests("solutions", "--numprocesses=2", "--dist=loadfile", *solutions),
        "browser": tests("browser", *TOGETHER, *chosen, "tests/browser"),
    }


def write_solutions(folder: Path) -> None:
    """Write the solutions so that each cell runs once more alone, the last first.

    A reader moves up and down on a page: no name may mean two things on it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for solution in sorted(ROOT.glob("notebooks/solutions/*.ipynb")):
        page = nbformat.read(solution, as_version=4)
        cells = [cell for cell in page.cells if cell.cell_type == "code"]
        again = [nbformat.v4.new_code_cell(cell.source) for cell in reversed(cells)]
        page.cells = [*cells, nbformat.v4.new_code_cell(LOCK), *again]
        nbformat.write(page, folder / solution.name)


def measured(commands: list[Command]) -> tuple[bool, float, float]:
    """Run them all: whether each ended well, and the minutes, wall and CPU, of their processes."""
    wall = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    def run(command: Command) -> bool:
        return subprocess.run([sys.executable, "-m", *command], cwd=ROOT).returncode == 0

    # Two at once: pyright takes one core for half a minute.
    with ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(run, commands))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return all(passed), (time.monotonic() - wall) / 60, cpu / 60


def counted(reports: list[Path]) -> dict[str, int]:
    """How many tests ended how; a report that is missing counts as an error, for its run did not
    come to an end.
    """
    totals = dict.fromkeys(KINDS, 0)
    for report in reports:
        suites = list(xml.parse(report).getroot().iter("testsuite")) if report.exists() else []
        totals["errors"] += not suites
        for suite in suites:
            failed, errors, skipped, tests = (
                int(suite.get(name, 0)) for name in ("failures", "errors", "skipped", "tests")
            )
            for kind, count in zip(
                KINDS, (failed, tests - failed - errors - skipped, skipped, errors), strict=True
            ):
                totals[kind] += count
    return totals


def main(arguments: list[str]) -> int:
    """Run every part, or those named; 0 where all are well."""
    everything = "--all" in arguments
    part_names = [name for name in arguments if name != "--all"]
    chosen = {
        name: commands
        for name, commands in parts(everything).items()
        if not part_names or name in part_names
    }
    RESULTS.mkdir(exist_ok=True)
    write_solutions(AGAIN)
    reports = [RESULTS / f"{name}.xml" for name in chosen if name != "checks"]
    for report in reports:
        report.unlink(missing_ok=True)
    # One thread each, two processes; no student is trained in another one; a wrong answer of a
    # solution raises.
    os.environ.update(
        OMP_NUM_THREADS="1",
        LOKY_MAX_CPU_COUNT="1",
        DDLAB_PREDICTIONS="",
        DDLAB_SOLUTIONS="1",
        PYRIGHT_PYTHON_IGNORE_WARNINGS="1",
    )
    # A hundred processes start here: what the first compiles, others read.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    lines = []
    well = True
    total = [0.0, 0.0]
    for name, commands in chosen.items():
        print(f"\n---- {name}", flush=True)
        # There a wrong answer raises.
        os.environ["DDLAB_SOLUTIONS"] = "1" if name == "solutions" else ""
        good, wall, cpu = measured(commands)
        well = well and good
        total = [total[0] + wall, total[1] + cpu]
        lines.append(
            f"{name:12} {'ok' if good else 'FAILED':8} {wall:5.1f} min, {cpu:5.1f} CPU-min"
        )
    totals = counted(reports)
    words = (
        ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no tests ran"
    )
    print("\n" + "\n".join(lines))
    print(
        f" {words} in {60 * total[0]:.1f}s ({total[0]:.1f} min, {total[1]:.1f} CPU-min) ".center(
            100, "="
        ),
        flush=True,
    )
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

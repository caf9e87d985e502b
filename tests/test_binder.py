"""What Binder builds: the packages follow from pyproject.toml, and the scripts run."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
BINDER = ROOT / "binder"
# Where conda-forge has another name than PyPI: without CUDA, and without what turns pages into PDF.
CONDA_NAMES = {
    "torch": "pytorch-cpu",
    "nbconvert": "nbconvert-core",
    "jupyterlab-widgets": "jupyterlab_widgets",
}
# What `pip install --no-build-isolation --editable .` needs beside the build backend.
INSTALLING = {"pip", "editables"}

ENVIRONMENT = yaml.safe_load((BINDER / "environment.yml").read_text(encoding="utf-8"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def required_packages() -> dict[str, Requirement]:
    """Conda name -> requirement of pyproject.toml: core, lab and the build backend."""
    lines = (
        PROJECT["dependencies"]
        + PROJECT["optional-dependencies"]["lab"]
        + PYPROJECT["build-system"]["requires"]
    )
    requirements = [Requirement(line) for line in lines]
    return {
        CONDA_NAMES.get(
            canonicalize_name(requirement.name), canonicalize_name(requirement.name)
        ): requirement
        for requirement in requirements
    }


def pinned_python() -> str:
    """The minor version of Python, as "3.12"."""
    (pin,) = [line for line in ENVIRONMENT["dependencies"] if line.startswith("python=")]
    return re.fullmatch(r"python=(3\.\d+)", pin)[1]  # type: ignore[index]


def packages() -> dict[str, Requirement]:
    """Conda name -> what environment.yml asks for, Python left out."""
    lines = [line for line in ENVIRONMENT["dependencies"] if not line.startswith("python=")]
    requirements = [Requirement(line) for line in lines]
    assert len({requirement.name for requirement in requirements}) == len(requirements), (
        "a package is named twice"
    )
    return {requirement.name: requirement for requirement in requirements}


def bounds(requirement: Requirement) -> set[str]:
    """The bounds of a requirement, as {">=2.0"}; there is a lower one."""
    specifiers = {str(bound) for bound in requirement.specifier}
    assert any(bound.startswith(">=") for bound in specifiers), str(requirement)
    return specifiers


def test_everything_comes_from_conda_forge_as_one_line_each() -> None:
    assert ENVIRONMENT["channels"] == ["conda-forge"]
    assert all(isinstance(line, str) for line in ENVIRONMENT["dependencies"]), (
        "a pip section is solved apart from the rest"
    )


def test_the_packages_are_those_of_core_and_lab() -> None:
    assert set(packages()) == set(required_packages()) | INSTALLING


@pytest.mark.parametrize("name", sorted(required_packages()))
def test_the_bounds_are_the_same(name: str) -> None:
    assert bounds(packages()[name]) == bounds(required_packages()[name])


def test_python_is_one_minor_version_that_ddlab_runs_on() -> None:
    assert f"{pinned_python()}.0" in SpecifierSet(PROJECT["requires-python"])
    assert f"Programming Language :: Python :: {pinned_python()}" in PROJECT["classifiers"]


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_the_scripts_are_executable_and_parse(name: str) -> None:
    script = BINDER / name
    assert os.access(script, os.X_OK) and script.read_text().startswith("#!/bin/bash\n")
    assert "set -euo pipefail" in script.read_text()
    subprocess.run(["bash", "-n", str(script)], check=True)


def copy_of_house(folder: Path) -> Path:
    """What the scripts need of the repository, so that nothing is left behind in it."""
    for name in ("binder", "ddlab"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def fake_tool(name: str, log: Path, otherwise: str = "") -> str:
    """A shell script that stands in for a command: writes down its arguments."""
    return f'#!/bin/bash\n{otherwise}\necho {name} "$@" >> "{log}"\n'


def run_post_build(folder: Path, *, fail: str = "") -> tuple[int, str]:
    """postBuild in a copy of the repository, with pip and jupyter written down only; exit status
    and what was called.
    """
    house = copy_of_house(folder / "house")
    tools = folder / "tools"
    log = folder / "log"
    tools.mkdir()
    log.touch()
    python = f'[[ "$*" == "-m pip"* ]] || exec {sys.executable} "$@"'
    for name, otherwise in (("python", python), ("jupyter", "exit 7" if fail == "jupyter" else "")):
        (tools / name).write_text(fake_tool(name, log, otherwise))
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(house)}
    process = subprocess.run(
        [str(house / "binder" / "postBuild")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    return process.returncode, log.read_text() + process.stdout + process.stderr


@pytest.mark.slow
def test_post_build_installs_ddlab_alone_and_warms_up(tmp_path: Path) -> None:
    status, printed = run_post_build(tmp_path)
    assert status == 0, printed
    assert "python -m pip install --no-index --no-deps --no-build-isolation --editable ." in printed
    assert (
        "jupyter labextension disable --level=sys_prefix "
        "@jupyterlab/apputils-extension:announcements" in printed
    )
    assert re.search(r"umap \d.*ddlab \d.*warm after \d+ s", printed, re.DOTALL)
    assert list((tmp_path / "house" / "ddlab").rglob("*.pyc"))


def test_post_build_stops_at_the_first_failure(tmp_path: Path) -> None:
    status, printed = run_post_build(tmp_path, fail="jupyter")
    assert status == 7 and "warm" not in printed


@pytest.mark.parametrize(
    ("limit", "threads"),
    [(None, "1"), ("1.0", "1"), ("2.0", "2"), ("0.5", "1"), ("1.5", "1"), ("16", "16"), ("x", "1")],
)
def test_start_gives_as_many_threads_as_there_are_cores(limit: str | None, threads: str) -> None:
    environment = {"PATH": os.environ["PATH"]} | ({} if limit is None else {"CPU_LIMIT": limit})
    command = [
        str(BINDER / "start"),
        "printenv",
        "OMP_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OMP_WAIT_POLICY",
    ]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.split() == [threads, threads, "PASSIVE"]


def test_start_hands_on_arguments_and_exit_status(tmp_path: Path) -> None:
    process = subprocess.run(
        [str(BINDER / "start"), "bash", "-c", 'echo "$1"; exit 3', "_", "a  b"],
        capture_output=True,
        text=True,
    )
    assert process.stdout == "a  b\n" and process.returncode == 3

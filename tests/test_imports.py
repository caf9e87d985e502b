"""Imports point one way, and slow or optional packages are imported where they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import ddlab

ROOT = Path(ddlab.__file__).parent
# From the ground up; a module imports from its own room or one before it.
ROOMS = (
    "core",
    "data",
    "networks",
    "distilled",
    "runs",
    "training",
    "methods",
    "evaluation",
    "theory",
    "records",
    "figures",
    "explorers",
    "lessons",
    "commands",
)
LEVEL = {name: level for level, name in enumerate(ROOMS)}
CORE = LEVEL["records"]
NOT_IN_THE_CORE = {
    "plotly",
    "ipywidgets",
    "anywidget",
    "IPython",
    "umap",
    "openTSNE",
    "numba",
    "matplotlib",
    "torchvision",
}
SLOW = {"sklearn", "scipy", "PIL", "joblib", "dask", "distributed"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room(file: Path) -> str:
    """The top-level part of ddlab a file belongs to."""
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(file: Path, *, everywhere: bool = True) -> Iterator[str]:
    """Full dotted names of what a file imports; with `everywhere=False` only what runs when the module is imported."""
    package = ["ddlab", *file.relative_to(ROOT).parts[:-1]]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else _at_import(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = [*base, *(node.module.split(".") if node.module else [])]
            yield from (".".join([*source, alias.name]) for alias in node.names)


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _at_import(child)


def inside(names: Iterator[str]) -> set[str]:
    """The rooms of ddlab among imported names."""
    return {name.split(".")[1] for name in names if name.startswith("ddlab.")} & LEVEL.keys()


FILES = [
    pytest.param(file, id=str(file.relative_to(ROOT)))
    for file in modules()
    if room(file) not in ("__init__", "__main__")
]


@pytest.mark.parametrize("file", FILES)
def test_imports_point_one_way(file: Path) -> None:
    own = room(file)
    assert own in LEVEL, f"{own} is no room: ROOMS"
    above = {other for other in inside(imported(file)) if LEVEL.get(other, 0) > LEVEL[own]}
    assert not above, f"{own} imports {above} from above"


def test_no_module_lies_loose() -> None:
    assert {file.stem for file in ROOT.glob("*.py")} <= {"__init__", "__main__"}


def lesson_folder(parts: Sequence[str]) -> str:
    """The lesson's folder that a path or a dotted name (without ddlab) lies in; empty for the frame and what lessons share."""
    inside = len(parts) > 1 and parts[0] == "lessons" and (ROOT / "lessons" / parts[1]).is_dir()
    return parts[1] if inside and parts[1] != "shared" else ""


@pytest.mark.parametrize("file", [file for file in FILES if str(file.id).startswith("lessons")])
def test_a_lesson_imports_no_other_lesson(file: Path) -> None:
    own = file.relative_to(ROOT).parts
    theirs = {lesson_folder(name.split(".")[1:]) for name in imported(file) if name.startswith("ddlab.")} - {""}
    if lesson_folder(own):
        assert theirs <= {lesson_folder(own)}, "what two lessons need stands in lessons/shared"
    elif own[1] == "shared":
        assert not theirs


def test_theory_stands_apart() -> None:
    for file in modules():
        if room(file) == "theory":
            assert not inside(imported(file)) & {"methods", "training", "evaluation", "figures", "explorers", "lessons"}
        elif LEVEL.get(room(file), 0) < LEVEL["figures"] and room(file) != "__init__":
            assert "theory" not in inside(imported(file))


def test_rooms_do_not_import_each_other_in_circles() -> None:
    graph: dict[str, set[str]] = {}
    for file in modules():
        graph.setdefault(room(file), set()).update(inside(imported(file, everywhere=False)) - {room(file)})
    done: set[str] = set()
    while ready := {name for name in graph if name not in done and graph[name] <= done | (graph[name] - graph.keys())}:
        done |= ready
    assert done == graph.keys(), f"in a circle: {sorted(graph.keys() - done)}"


@pytest.mark.parametrize("file", FILES)
def test_the_core_imports_no_widgets(file: Path) -> None:
    if LEVEL.get(room(file), 99) <= CORE:
        everywhere = {name.split(".")[0] for name in imported(file)}
        at_import = {name.split(".")[0] for name in imported(file, everywhere=False)}
        assert not everywhere & (NOT_IN_THE_CORE - {"torchvision", "umap"})
        assert not at_import & (NOT_IN_THE_CORE | SLOW)


@pytest.mark.parametrize("file", FILES)
def test_nothing_is_unpickled(file: Path) -> None:
    names = {name.split(".")[0] for name in imported(file)}
    text = file.read_text(encoding="utf-8")
    # joblib sends tasks to worker processes; its files are pickles, which nobody reads here.
    assert "joblib.load" not in text and "joblib.Memory" not in text
    allowed = {"joblib"} if file in (ROOT / "runs" / "workers.py", ROOT / "runs" / "parallel.py") else set()
    assert not names & ({"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"} - allowed)
    # torchvision's weights come as .pth: torch's restricted reader makes tensors of them and runs no code of the file.
    loads = [line for line in text.splitlines() if "torch.load(" in line]
    restricted = file == ROOT / "networks" / "pretrained.py" and all("weights_only=True" in line for line in loads)
    assert (not loads or restricted) and "allow_pickle=True" not in text


def test_figures_know_no_widgets_and_no_training() -> None:
    for file in modules():
        if room(file) == "figures":
            assert not {name.split(".")[0] for name in imported(file)} & {"ipywidgets", "anywidget", "IPython"}
            assert not inside(imported(file)) & {"methods", "training", "evaluation", "runs"}


def loaded_after(code: str) -> set[str]:
    """Top-level packages in sys.modules after running `code` in a fresh interpreter."""
    script = f"{code}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    return set(done.stdout.split())


def test_import_ddlab_is_instant() -> None:
    loaded = loaded_after("import ddlab")
    assert "ddlab" in loaded and not loaded & {"torch", "numpy", "safetensors", *NOT_IN_THE_CORE, *SLOW}


def test_the_core_loads_nothing_slow_or_optional() -> None:
    names = [
        ".".join(["ddlab", *file.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
        for file in modules()
        if LEVEL.get(room(file), 99) <= CORE
    ]
    # The sweeps, too, which stand in the lessons' folders: a cluster's node has no browser.
    loaded = loaded_after("\n".join([*(f"import {name}" for name in names), "list(ddlab.records.SWEEPS)"]))
    assert "torch" in loaded and not loaded & (NOT_IN_THE_CORE | SLOW)


def test_intervals_and_claims_load_no_statistics() -> None:
    """In a fresh interpreter: scipy.stats takes 50 MB of every lesson."""
    code = "from ddlab.lessons import claims; claims.judge('D9', [0.1, 0.2, 0.4], setting='')"
    code += "; import sys; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert done.stdout.strip() == "False"


def test_public_names() -> None:
    for name in ddlab.__all__:
        if name not in ("explorers", "figures", "lessons", "start"):
            assert getattr(ddlab, name) is not None
    assert set(ddlab.__all__) < set(dir(ddlab)) and isinstance(ddlab.__version__, str)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ddlab.nothing

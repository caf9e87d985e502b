"""Imports point one way, and slow or optional packages are imported where they are used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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
    "unlabelled",
    "methods",
    "evaluation",
    "records",
    "replication",
    "figures",
    "explorers",
    "lessons",
)
CORE = ROOMS[: ROOMS.index("replication") + 1]
HEAVY = {
    "plotly",
    "ipywidgets",
    "anywidget",
    "IPython",
    "umap",
    "openTSNE",
    "numba",
    "matplotlib",
    "torchvision",
    "sklearn",
    "scipy",
    "PIL",
    "joblib",
    "dask",
    "distributed",
}
FRONT_DOOR = ("__init__.py", "__main__.py")
UNPICKLING = {"pickle", "dill", "cloudpickle", "shelve", "marshal"}


def imported(file: Path) -> Iterator[str]:
    """Full dotted names of what a file imports, anywhere in it."""
    package = ["ddlab", *file.relative_to(ROOT).with_suffix("").parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                [node.module]
                if not node.level
                else [*package[: -node.level], *([node.module] if node.module else [])]
            )
            yield from (".".join(filter(None, (*base, alias.name))) for alias in node.names)


def room(file: Path) -> str:
    return file.relative_to(ROOT).parts[0]


def loaded_after(code: str) -> set[str]:
    """Top-level packages in sys.modules after running `code` in a fresh interpreter."""
    script = (
        f"{code}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    return set(process.stdout.split())


def test_rooms_point_down_no_lesson_imports_another_and_nothing_is_unpickled() -> None:
    wrong = []
    for file in ROOT.rglob("*.py"):
        names = [name.split(".") for name in imported(file)]
        inside = [name[1:] for name in names if name[0] == "ddlab" and len(name) > 1]
        if room(file) in ROOMS:
            for name in inside:
                # A result's `figure()` imports what draws it when it is called, and nobody else.
                if (room(file), name[0]) == ("evaluation", "figures"):
                    assert "\nfrom ..figures" not in file.read_text(encoding="utf-8"), file
                    continue
                if name[0] in ROOMS and ROOMS.index(name[0]) > ROOMS.index(room(file)):
                    wrong.append(f"{file} imports {name}")
        if room(file) == "lessons" and len(parts := file.relative_to(ROOT).parts) > 2:
            other_lessons = {
                folder.name for folder in (ROOT / "lessons").iterdir() if folder.is_dir()
            } - {
                parts[1],
                "shared",
            }
            for name in inside:
                if name[0] == "lessons" and other_lessons & set(name[1:2]):
                    wrong.append(f"{file} imports {name}")
        if room(file) == "figures":
            for name in inside:
                if name[0] in ("methods", "training", "runs"):
                    wrong.append(f"{file} trains: {name}")
        text = file.read_text(encoding="utf-8")
        for name in names:
            if name[0] in UNPICKLING:
                wrong.append(f"{file} unpickles")
        for line in text.splitlines():
            if "torch.load(" in line and "weights_only=True" not in line:
                wrong.append(f"{file}: {line}")
        assert "joblib.load" not in text and "allow_pickle=True" not in text, file
    assert wrong == []


def test_import_ddlab_is_instant() -> None:
    loaded = loaded_after("import ddlab")
    assert "ddlab" in loaded and not loaded & {"torch", "numpy", "safetensors", *HEAVY}
    assert set(ddlab.__all__) < set(dir(ddlab)) and isinstance(ddlab.__version__, str)


def test_a_run_imports_no_compiler() -> None:
    """torch's takes two seconds and 140 MB, and an interrupt while it is imported breaks the
    process for good.
    """
    loaded = loaded_after(
        "import ddlab\nfrom ddlab import networks\nfrom ddlab.training import supervised\n"
        "data = ddlab.data.load('digits').subset(limit=12, classes=[0, 1, 2])\n"
        "teacher = ddlab.train_teacher(data, supervised.Config.for_data(data, 'teacher', "
        "epochs=1), progress=False)\n"
        "for name in ddlab.methods.names():\n"
        "    method = ddlab.methods.get(name)\n"
        "    ddlab.distill(name, data, teacher, method.SMALL, progress=False)"
    )
    assert "torch" in loaded and not loaded & {"sympy", "mpmath", "plotly", "ipywidgets"}


def test_a_room_shows_its_public_names_alone() -> None:
    loaded_after(
        "import ddlab\nassert ddlab.methods.dm.NAME and ddlab.methods.sre2l.NAME and "
        "ddlab.runs.Parameters and ddlab.distilled"
    )
    for name in ddlab._ROOMS:
        room = getattr(ddlab, name)
        method_names = (
            {(*aliases, module_name)[0] for module_name, aliases in ddlab.methods.MODULES.items()}
            if name == "methods"
            else set()
        )
        assert set(dir(room)) == {*room.__all__, *method_names}, name
        assert all(hasattr(room, public_name) for public_name in dir(room)), name
    assert (ROOT / "py.typed").exists()


def test_what_the_lab_extra_brings_is_named_where_it_is_missing() -> None:
    loaded_after(
        "import sys\nfor name in ('plotly', 'ipywidgets', 'anywidget', 'IPython'): "
        "sys.modules[name] = None\nimport ddlab\n"
        "for asked in ('ddlab.figures', 'ddlab.explorers', 'ddlab.start(\"00_start\")'):\n"
        "    try: eval(asked)\n"
        "    except AttributeError as problem: assert \"pip install '.[lab]'\" in str(problem)\n"
        "    else: raise SystemExit(1)\n"
        "assert not hasattr(ddlab, 'figures') and 'figures' not in dir(ddlab)\n"
        "from ddlab import *\nimport inspect, pydoc\n"
        "inspect.getmembers(ddlab)\nassert pydoc.render_doc(ddlab)"
    )


def test_the_core_loads_nothing_slow_or_optional() -> None:
    files = [
        file.relative_to(ROOT).with_suffix("").parts
        for file in ROOT.rglob("*.py")
        if room(file) in CORE
    ]
    names = [".".join(["ddlab", *parts]).removesuffix(".__init__") for parts in files]
    loaded = loaded_after("\n".join(f"import {name}" for name in names))
    assert "torch" in loaded and not loaded & HEAVY

"""A name between backquotes in a docstring is there: in its file, or defined in the library."""

import ast
import builtins
import re
from pathlib import Path

import torch

import ddlab

ROOT = Path(ddlab.__file__).parent
TREES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(ROOT.rglob("*.py"))}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef
# What is called so by others: PyTorch's tensors and random numbers, ipywidgets' buttons.
OF_OTHERS = {*dir(builtins), *dir(torch), *dir(torch.Tensor), "on_click"}


def docstrings(tree: ast.Module) -> list[str]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
    return [ast.get_docstring(node, clean=False) or "" for node in nodes]


def defined(file: Path) -> set[str]:
    """Return the names of a module, its classes and functions, and their fields and constants."""
    names = set(file.relative_to(ROOT).with_suffix("").parts)
    for owner in ast.walk(TREES[file]):
        if isinstance(owner, ast.ClassDef | ast.FunctionDef):
            names.add(owner.name)
        if isinstance(owner, ast.ClassDef | ast.Module):
            assignments = [
                node for node in owner.body if isinstance(node, ast.Assign | ast.AnnAssign)
            ]
            stored = [node for assignment in assignments for node in ast.walk(assignment)]
            names |= {
                node.id
                for node in stored
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
    return names


def test_every_name_between_backquotes_is_there() -> None:
    known = OF_OTHERS.union(*map(defined, TREES))
    missing = []
    for file, tree in TREES.items():
        code = file.read_text(encoding="utf-8")
        for docstring in docstrings(tree):
            code = code.replace(docstring, "")
        names = re.findall(r"`([A-Za-z_]\w*)(?:\([^`]*\))?`", "".join(docstrings(tree)))
        missing += [(file.name, n) for n in names if n not in known.union(re.findall(r"\w+", code))]
    assert not missing

"""The key of a reader's code: every edit that can move a number changes it, and nothing else does."""

import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from ddlab.core.source import code_of, unhashable

ROOT = Path(__file__).parents[2]

Definitions = dict[str, Any]

HEAD = """
import collections, enum, functools, itertools, math, random, re, threading, types
from dataclasses import dataclass, field
import numpy as np
import torch
from torch import nn
"""

# Name -> source whose `f` is what computes, a piece of it, and what the piece is edited to.
EDITS: dict[str, tuple[str, str, str]] = {
    "code": ("def f(x): return x + 1", "x + 1", "x - 1"),
    "a default": ("def f(x, width=2): return x * width", "width=2", "width=64"),
    "a keyword-only default": ("def f(x, *, width=2): return x * width", "width=2", "width=64"),
    "a default of a nested function": (
        "def f(x):\n  def g(scale=1.0): return x * scale\n  return g()",
        "1.0",
        "0.001",
    ),
    "a default of a method": (
        "class A:\n  def go(self, x, k=1): return k * x\ndef f(x): return A().go(x)",
        "k=1",
        "k=2",
    ),
    "a class attribute": (
        "class A:\n  width = 2\ndef f(x): return A.width * x",
        "width = 2",
        "width = 3",
    ),
    "an attribute of a base class": (
        "class A:\n  width = 2\nclass B(A): pass\ndef f(x): return B.width * x",
        "width = 2",
        "width = 3",
    ),
    "the default of a dataclass field": (
        "@dataclass\nclass A:\n  k: int = 1\ndef f(x): return A().k * x",
        "= 1",
        "= 2",
    ),
    "the factory of a dataclass field": (
        "@dataclass\nclass A:\n  k: list = field(default_factory=lambda: [1])\ndef f(x): "
        "return A().k",
        "[1]",
        "[2]",
    ),
    "a member of an enumeration": (
        "class E(enum.Enum):\n  A = 1\ndef f(x): return E.A.value * x",
        "A = 1",
        "A = 2",
    ),
    "a property": (
        "class A:\n  @property\n  def k(self): return 1\nown = A()\ndef f(x): return own.k * x",
        "return 1",
        "return 2",
    ),
    "an argument of a partial": (
        "def g(x, k): return x * k\nf = functools.partial(g, k=1)",
        "k=1)",
        "k=2)",
    ),
    "a closure": ("def of(k):\n  def f(x): return x * k\n  return f\nf = of(1)", "of(1)", "of(2)"),
    "a list in a closure": (
        "def of(k):\n  def f(x): return x * k[0]\n  return f\nf = of([1])",
        "of([1])",
        "of([2])",
    ),
    "a function attribute": ("def f(x): return x * f.k\nf.k = 1", "f.k = 1", "f.k = 2"),
    "a global number": ("K = 1\ndef f(x): return x * K", "K = 1", "K = 2"),
    "a global's type": ("K = 1\ndef f(x): return x / K", "K = 1", "K = True"),
    "a global array": (
        "K = np.arange(4)\ndef f(x): return x * K",
        "np.arange(4)",
        "np.arange(4) + 1",
    ),
    "the dtype of an array": ("K = np.zeros(4, 'f4')\ndef f(x): return x * K", "'f4'", "'i4'"),
    "the shape of an array": ("K = np.zeros((2, 3))\ndef f(x): return x * K", "(2, 3)", "(3, 2)"),
    "an array of objects": (
        "K = np.array([{'a': 1}])\ndef f(x): return x * K[0]['a']",
        "'a': 1}",
        "'a': 2}",
    ),
    "a global tensor": ("K = torch.zeros(4)\ndef f(x): return x * K", "zeros", "ones"),
    "a global set": ("K = {'a', 'b'}\ndef f(x): return x in K", "'b'}", "'c'}"),
    "a set in the code": ("def f(x): return x in {'a', 'b'}", "'b'}", "'c'}"),
    "the order of a dict": (
        "K = {'a': 1, 'b': 2}\ndef f(x): return list(K)[0]",
        "{'a': 1, 'b': 2}",
        "{'b': 2, 'a': 1}",
    ),
    "a namespace": ("K = types.SimpleNamespace(k=1)\ndef f(x): return x * K.k", "k=1", "k=2"),
    "a named tuple": (
        "T = collections.namedtuple('T', 'k')\nK = T(k=1)\ndef f(x): return x * K.k",
        "T(k=1)",
        "T(k=2)",
    ),
    "a module made by hand": (
        "m = types.ModuleType('made_by_hand')\nm.k = 1\ndef f(x): return x * m.k",
        "m.k = 1",
        "m.k = 2",
    ),
    "a module within a module": (
        "m = types.ModuleType('outer_by_hand')\nm.n = "
        "types.ModuleType('inner_by_hand')\nm.n.k = 1\ndef f(x): return x * m.n.k",
        "m.n.k = 1",
        "m.n.k = 2",
    ),
    "behind lru_cache": (
        "@functools.lru_cache\ndef g(x): return x + 1\ndef f(x): return g(x)",
        "x + 1",
        "x + 2",
    ),
    "behind a decorator": (
        "def twice(g):\n  @functools.wraps(g)\n  def h(x): return g(g(x))\n  return "
        "h\n@twice\ndef f(x): return x + 1",
        "x + 1",
        "x + 2",
    ),
    "a decorator": (
        "def twice(g):\n  @functools.wraps(g)\n  def h(x): return g(g(x))\n  return "
        "h\n@twice\ndef f(x): return x + 1",
        "g(g(x))",
        "g(x)",
    ),
    "behind a decorator of torch": ("@torch.no_grad()\ndef f(x): return x + 1", "x + 1", "x + 2"),
    "in an object of numpy": ("def g(x): return x + 1\nf = np.vectorize(g)", "x + 1", "x + 2"),
    "a network's weight": (
        "K = nn.Linear(2, 2)\nnn.init.ones_(K.weight)\nnn.init.zeros_(K.bias)\ndef f(x): "
        "return K(x)",
        "ones_",
        "zeros_",
    ),
    "an option of a layer": (
        "K = nn.MaxPool2d(2, stride=2)\ndef f(x): return K(x)",
        "stride=2",
        "stride=1",
    ),
    "a pattern": ("K = re.compile('a')\ndef f(x): return K.match(x)", "'a'", "'b'"),
    "an object with slots": (
        "class A:\n  __slots__ = ('k',)\nown = A()\nown.k = 1\ndef f(x): return own.k * x",
        "own.k = 1",
        "own.k = 2",
    ),
    "a bound method": (
        "class A:\n  def __init__(self): self.k = 1\n  def go(self, x): return self.k * x\nf "
        "= A().go",
        "self.k = 1",
        "self.k = 2",
    ),
    "which global is read": ("A = 1\nB = 2\ndef f(x): return x * A", "x * A", "x * B"),
    "the name of an argument": ("def f(x, *, left=1): return x", "left", "right"),
    "an exception that is caught": (
        "def f(x):\n  try: return 1 / x\n  except ValueError: return 0",
        "ValueError",
        "ZeroDivisionError",
    ),
}


def defined(text: str) -> Any:
    """Run a cell of a notebook and return its `f`."""
    space: Definitions = {"__name__": "a_notebook"}
    exec(HEAD + text, space)
    return space["f"]


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_key(name: str) -> None:
    text, piece, edited = EDITS[name]
    assert text.count(piece) == 1
    before = code_of(defined(text))
    assert code_of(defined(text)) == before, "the same cell run again"
    assert code_of(defined(text.replace(piece, edited))) != before
    assert not unhashable(defined(text))


@pytest.mark.parametrize(
    "name", ["a global array", "a global tensor", "a namespace", "a list in a closure"]
)
def test_a_value_that_is_edited_in_place_changes_the_key(name: str) -> None:
    function = defined(EDITS[name][0])
    value = (
        function.__closure__[0].cell_contents if function.__closure__ else function.__globals__["K"]
    )
    before = code_of(function)
    if name == "a namespace":
        value.k = 5
    elif name == "a global tensor":
        value.numpy()[0] = 5
    else:
        value[0] = 5
    assert code_of(function) != before


NON_EDITS: dict[str, tuple[str, str]] = {
    "a comment": ("def f(x): return x + 1", "# why\ndef f(x): return x + 1  # how"),
    "blank lines": ("def f(x): return x + 1", "\n\n\ndef f(x):\n\n    return x + 1"),
    "the name of a variable": ("def f(x):\n  a = x\n  return a", "def f(x):\n  b = x\n  return b"),
    "a global that is not read": ("K = 1\ndef f(x): return x", "K = 2\ndef f(x): return x"),
    "a global named as an attribute": (
        "mean = 1\ndef f(x): return x.mean()",
        "mean = 2\ndef f(x): return x.mean()",
    ),
    "the order of a set": (
        "K = {'a', 'b', 'c'}\ndef f(x): return x in K",
        "K = {'c', 'b', 'a'}\ndef f(x): return x in K",
    ),
    "the order of definitions": (
        "A = 1\nB = 2\ndef f(x): return A * B * x",
        "B = 2\nA = 1\ndef f(x): return A * B * x",
    ),
    "what lru_cache has seen": (
        "@functools.lru_cache\ndef g(x): return x\ndef f(x): return g(x)",
        "@functools.lru_cache\ndef g(x): return x\ng(3)\ndef f(x): return g(x)",
    ),
}


@pytest.mark.parametrize("name", NON_EDITS)
def test_what_is_no_edit_keeps_the_key(name: str) -> None:
    before, after = NON_EDITS[name]
    assert code_of(defined(before)) == code_of(defined(after))


def test_the_key_holds_in_every_python_process(tmp_path: Path) -> None:
    """Whatever the hash seed, the order of imports and the working directory."""
    script = tmp_path / "keys.py"
    texts = [text for text, _, _ in EDITS.values()]
    script.write_text(
        textwrap.dedent(f"""
        import sys
        if sys.argv[1] == "2":
            import colorsys, calendar, sklearn
        from ddlab.core.source import code_of
        for text in {texts!r}:
            space = {{"__name__": "__main__"}}
            exec({HEAD!r} + text, space)
            print(code_of(space["f"]))
        """)
    )
    (tmp_path / "elsewhere").mkdir()
    root = Path(__file__).parents[2]
    outputs = []
    for seed, folder in (("1", root), ("2", tmp_path / "elsewhere")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        run = subprocess.run(
            [sys.executable, str(script), seed],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1] and len(outputs[0].split()) == len(texts)


def test_a_module_that_is_imported_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call imports it, which is no edit; its next version is one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    helper = tmp_path / "helper_on_the_way.py"
    helper.write_text("K = 1\n")
    function = defined("def f(x):\n  from helper_on_the_way import K\n  return x * K")
    before = code_of(function)
    assert function(2) == 2 and code_of(function) == before
    helper.write_text("K = 20\n")
    importlib.reload(sys.modules["helper_on_the_way"])
    assert code_of(function) != before


@pytest.mark.parametrize(
    "value",
    [
        "torch.Generator()",
        "np.random.default_rng(0)",
        "np.random.RandomState(0)",
        "random.Random(0)",
        "threading.Lock()",
        "open('/dev/null')",
        "iter([1, 2])",
        "itertools.count()",
        "object()",
        "np.random.default_rng(0).normal",
        "types.SimpleNamespace(rng=torch.Generator())",
    ],
)
def test_what_cannot_be_hashed_is_named(value: str) -> None:
    text = f"draws = {value}\ndef f(x): return draws, x"
    function = defined(text)
    assert unhashable(function) in (("draws",), ("rng",))
    assert code_of(function) == code_of(function) != code_of(defined(text))


def test_a_large_graph_ends() -> None:
    function = defined("K = []\nfor _ in range(5000): K = [K]\ndef f(x): return K")
    assert unhashable(function)


@pytest.mark.parametrize("name", ["torch", "json", "ddlab.data", "__main__", "not_there"])
def test_whose_a_function_is_its_own_file_says(name: str, tmp_path: Path) -> None:
    """Whatever runs it: `python -m cProfile`, pytest, or a module that has another's name."""
    keys = set()
    for factor in (1, 2):
        text = f"def loss(images): return {factor} * images"
        space: dict[str, Any] = {"__name__": name}
        exec(compile(text, str(tmp_path / "mine.py"), "exec"), space)
        keys.add(code_of(space["loss"]))
    assert len(keys) == 2


@pytest.mark.slow
def test_an_edit_is_seen_under_a_profiler(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    keys = set()
    for factor in (1, 2):
        script.write_text(
            "from ddlab.core.source import code_of\n"
            f"def loss(images): return {factor} * images\n"
            "print('key', code_of(loss))\n"
        )
        run = subprocess.run(
            [sys.executable, "-m", "cProfile", script],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        keys.add(run.stdout.splitlines()[0])
    assert len(keys) == 2

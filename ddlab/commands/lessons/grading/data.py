"""What travels between the judge and a student's kernel: data, as JSON and safetensors. Nothing is unpickled.

Carried are None, booleans, numbers, strings, bytes, lists, tuples, sets, dicts, ranges, iterators (their first 100,000 values), NumPy
arrays, tensors (without their gradient), `DistilledSet` and `Network`. What the judge has a name for that the student's kernel knows too
(`mine`, `data`) goes in by that name. Anything else raises `NotData`.
"""

from __future__ import annotations

import base64
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from pathlib import Path
from typing import Any

LONGEST = 10**5  # iterators and ranges
_SEQUENCES: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "iterator": iter,
}


class NotData(TypeError):
    """A value that cannot be carried; the message says of which type."""


def packed(value: Any, names: Mapping[int, str] | None = None) -> bytes:
    """`value` as bytes. names: `id` of an object -> what it is called on both sides.

    Raises:
        NotData: there is something in it that is not data.
    """
    tensors: dict[str, Any] = {}
    try:
        text = json.dumps(_tree(value, tensors, names or {})).encode()
        blob = b""
        if tensors:
            from safetensors.torch import save

            blob = save(tensors)
    except RecursionError:
        raise NotData("something nested too deeply") from None
    return len(text).to_bytes(8, "big") + text + blob


def unpacked(content: bytes, space: Mapping[str, Any] | None = None) -> Any:
    """The inverse; `space` holds what goes by name. The bytes may be anybody's.

    Raises:
        NotData: they are not what `packed` writes.
    """
    try:
        end = 8 + int.from_bytes(content[:8], "big")
        tree, tensors = json.loads(content[8:end]), {}
        if len(content) > end:
            from safetensors.torch import load

            tensors = load(content[end:])
        return _value(tree, tensors, space or {})
    except Exception as problem:  # whatever a forged message raises
        raise NotData(f"bytes that are not data ({type(problem).__name__})") from None


def update(before: Any, after: Any) -> None:
    """Make `before` what the student's function left of it: elements of tensors, arrays, lists and dicts that it changed in place."""
    if type(before) is not type(after):
        return
    if isinstance(before, (list, tuple)):
        for one, other in zip(before, after, strict=False):
            update(one, other)
    if isinstance(before, list):
        if _differ(before, after):
            before[:] = after
    elif isinstance(before, dict):
        if _differ(before, after):
            before.clear()
            before.update(after)
    elif not isinstance(before, tuple) and hasattr(before, "shape"):
        values: Any = before.detach() if hasattr(before, "detach") else before
        if values.shape == after.shape and values.dtype == after.dtype:
            values[...] = after


def _differ(before: Any, after: Any) -> bool:
    try:
        return packed(before) != packed(after)
    except NotData:
        return False


def _tree(value: Any, tensors: dict[str, Any], names: Mapping[int, str]) -> Any:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy and isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    for kind in ("list", "tuple", "set", "frozenset"):
        if isinstance(value, _SEQUENCES[kind]):  # type: ignore[arg-type]
            return {kind: [_tree(each, tensors, names) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[_tree(key, tensors, names), _tree(each, tensors, names)] for key, each in value.items()]}
    if isinstance(value, (complex, range)):
        return {"complex": [value.real, value.imag]} if isinstance(value, complex) else {"range": [*_three(value)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    kept: Any = None
    if numpy and isinstance(value, numpy.ndarray) and value.dtype.kind in "biufc":
        import torch

        kept, kind = torch.from_numpy(numpy.ascontiguousarray(value).reshape(value.shape).copy()), "array"
    elif torch and isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized:
        kept, kind = value.detach().as_subclass(torch.Tensor).cpu().contiguous().clone(), "tensor"
    elif (saved := _saved(value)) is not None:
        kept, kind = torch.frombuffer(bytearray(saved), dtype=torch.uint8), type(value).__name__  # type: ignore[union-attr]
    if kept is not None:
        key = str(len(tensors))
        tensors[key] = kept
        return {kind: key}
    if id(value) in names:
        return {"name": names[id(value)]}
    if isinstance(value, (Iterator, KeysView, ValuesView, ItemsView)):
        whole = list(itertools.islice(value, LONGEST))
        return {"iterator" if isinstance(value, Iterator) else "list": [_tree(each, tensors, names) for each in whole]}
    raise NotData(f"a {type(value).__name__}")


def _value(tree: Any, tensors: dict[str, Any], space: Mapping[str, Any]) -> Any:
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind in _SEQUENCES:
        return _SEQUENCES[kind]([_value(each, tensors, space) for each in content])
    if kind == "dict":
        return {_value(key, tensors, space): _value(each, tensors, space) for key, each in content}
    if kind == "range":
        return range(*_three(range(*content)))
    if kind == "complex":
        return complex(*content)
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "tensor":
        return tensors[content]
    if kind == "array":
        return tensors[content].numpy()
    if kind == "name":
        return space[content]
    return _loaded(kind, bytes(tensors[content].numpy()))


def _three(given: range) -> tuple[int, int, int]:
    if len(given) > LONGEST:
        raise NotData(f"a range of more than {LONGEST} numbers")
    return given.start, given.stop, given.step


def _saved(value: Any) -> bytes | None:
    """The file of a set or a network."""
    known = [getattr(sys.modules.get(f"ddlab.{room}"), name, None) for name, room in _KINDS.items()]
    if type(value) not in known:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return value.save(Path(folder) / "value").read_bytes()


def _loaded(kind: str, content: bytes) -> Any:
    import ddlab

    load = {"DistilledSet": ddlab.DistilledSet.load, "Network": ddlab.networks.load}[kind]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "value"
        file.write_bytes(content)
        return load(file)


_KINDS = {"DistilledSet": "distilled", "Network": "networks"}

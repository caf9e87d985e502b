"""The methods: one module each.

`get(name)` finds one by name or alias; each is described in its own docstring.
"""

import importlib
from typing import Any

from ..core import errors, listing, parameter
from ..core.randomness import generator
from ..runs.process import check_process

__all__ = ["MODULES", "generator", "get", "names", "parameter"]

MODULES = {
    "squeeze_recover_relabel": ("sre2l",),
    "directed_weight_adjustment": ("dwa",),
    "data_residual_matching": ("fadrm",),
    "realism_selection": ("rded",),
    "selection": (),
    "kernel_ridge_self_supervised": ("krr_st",),
    "parameterised_self_supervised": ("boost",),
    "representation_selection": (),
    "representations_as_targets": ("rela", "rela_d"),
    "gradient_matching": ("dc",),
    "siamese_gradient_matching": ("dsa",),
    "distribution_matching": ("dm",),
    "kernel_inducing_points": ("kip",),
    "label_solve": ("ls",),
    "dataset_distillation": ("dd",),
    "trajectory_matching": ("mtt",),
    "label_distillation": ("ld",),
    "generative_teaching": ("gtn",),
    "mnemonics": (),
    "text_dataset_distillation": ("tdd",),
    "soft_label_dataset_distillation": ("sldd",),
}
"""NAME -> ALIASES: the first alias is the name of the module; without one, NAME is.

They stand here so that a look-up does not import every method; a test compares them with the modules.
"""
# NAME -> name of the module.
_NAMES = {method_name: (*aliases, method_name)[0] for method_name, aliases in MODULES.items()}

__dir__ = listing([*__all__, *_NAMES.values()])


def __getattr__(name: str) -> Any:
    if name in _NAMES.values():
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; methods: {', '.join(_NAMES.values())}"
    )


def names() -> list[str]:
    """Return the methods' names."""
    return list(MODULES)


def get(name: Any) -> Any:
    """Return the method module of that name or alias, in capitals or not.

    A process of your own is returned as it is.

    Raises:
        DDLabError: an unknown name, beside all that are known; or what is neither a name nor a
            process.

    >>> get("SRe2L").NAME
    'squeeze_recover_relabel'
    """
    # A module, or what `from_loss` returned.
    if not isinstance(name, str):
        return check_process("method", name)
    by_alias = {}
    for method_name, aliases in MODULES.items():
        for alias in (method_name, *aliases):
            by_alias[alias] = _NAMES[method_name]
    if name.lower() not in by_alias:
        errors.fail("method", f"one of {', '.join(dict.fromkeys(by_alias.values()))}", name)
    return importlib.import_module(f"{__name__}.{by_alias[name.lower()]}")

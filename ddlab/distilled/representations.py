"""A teacher's representations as the targets of a distilled set.

They are kept as they are, or as bases and coefficients, for every predefined view.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ..core import errors, storage
from ..data import predefined_views
from . import factorisation, shift_models
from .storage_budget import SHIFTS, Shift

_PLAIN = {"representations"}
_FACTORS = {"bases", "coefficients"}
_OPTIONAL = {"mean"}


@dataclass(frozen=True, eq=False)
class Representations:
    """A teacher's representations of each image and each of its views: the targets of a regression.

    Attributes:
        tensors: float32, by name. Plain: {"representations": [A + 1, m, d]}, the images' own first;
            [1, m, d] where a view has its image's (shift "same"). As factors: {"bases": [V, d],
            "coefficients": [m, V]}, on request "mean" [d], and what the shift stores
            (`shift_models.TENSORS`).
        augmentation: which views: a kind of `predefined_views`; A follows from it.
        shift: how the views' representations follow from the images' own; plain ones know "stored"
            and "same".
    """

    tensors: dict[str, Tensor]
    augmentation: predefined_views.Kind = "none"
    shift: Shift = "stored"
    kind: ClassVar[str] = "representations"

    @property
    def views(self) -> int:
        """A, beside the image itself."""
        return len(predefined_views.NAMES[self.augmentation]) - 1

    @property
    def size(self) -> int:
        """d, the numbers in one representation."""
        return self.tensors["representations" if self.plain else "bases"].shape[-1]

    @property
    def plain(self) -> bool:
        """True if they are stored as they are, not as factors."""
        return "representations" in self.tensors

    @property
    def values(self) -> Tensor:
        """The representations of all views, float32 [A + 1, m, d], the images' own first."""
        return storage.kept_while_unchanged(self, "values", self._decode, *self.tensors.values())

    def _decode(self) -> Tensor:
        if self.plain:
            values = self.tensors["representations"]
            # Expanded, not copied: all views share one memory, and nobody writes into it.
            return values.expand(self.views + 1, -1, -1) if self.shift == "same" else values
        stored = {name: self.tensors[name] for name in shift_models.TENSORS[self.shift]}
        coefficients = shift_models.shifted(
            self.tensors["coefficients"], stored, self.shift, views=self.views
        )
        flat = factorisation.reconstruct(
            coefficients.flatten(0, 1), self.tensors["bases"], mean=self.tensors.get("mean")
        )
        return flat.unflatten(0, coefficients.shape[:2])

    def storage_floats(self) -> int:
        """Every stored number counts."""
        return sum(value.numel() for value in self.tensors.values())

    def check(self, images: int, classes: int) -> None:
        """Raise if these are not the representations of so many images."""
        errors.check_choice("augmentation", self.augmentation, predefined_views.KINDS)
        errors.check_choice("shift", self.shift, SHIFTS)
        tensors = errors.check_instance("representations", self.tensors, dict, "a dict of tensors")
        _check_names(self, set(tensors))
        for name, value in tensors.items():
            errors.check_tensor(f"representations[{name!r}]", value, dtype=torch.float32)
        if self.plain:
            stored = 1 if self.shift == "same" else self.views + 1
            errors.check_tensor(
                "representations", tensors["representations"], shape=[stored, images, None]
            )
        else:
            bases = errors.check_tensor(
                "representations['bases']", tensors["bases"], shape=[None, None]
            )
            errors.check_tensor(
                "representations['coefficients']",
                tensors["coefficients"],
                shape=[images, len(bases)],
            )
            if "mean" in tensors:
                errors.check_tensor(
                    "representations['mean']", tensors["mean"], shape=[bases.shape[1]]
                )
        if not self.size:
            errors.fail("representations", "of at least one number", tensors[next(iter(tensors))])
        # Made once and kept; factors of finite numbers can overflow.
        errors.check_tensor("the representations that are made", self.values, dtype=torch.float32)

    def to_file(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the tensors and the JSON of a file that say what they are."""
        tensors = {f"targets/representations/{name}": value for name, value in self.tensors.items()}
        return tensors, {"augmentation": self.augmentation, "shift": self.shift}

    @classmethod
    def from_file(cls, tensors: Mapping[str, Tensor], described: Any) -> Self:
        """Read what `to_file` gave.

        Raises:
            KeyError: a part of the description is missing. DDLabError: a description of another
                form.
        """
        about = errors.check_instance(
            "representations", described, Mapping, "a description of augmentation and shift"
        )
        prefix = "targets/representations/"
        own_tensors = {
            name.removeprefix(prefix): value
            for name, value in tensors.items()
            if name.startswith(prefix)
        }
        return cls(own_tensors, about["augmentation"], about["shift"])


def _check_names(target: Representations, names: set[str]) -> None:
    factors = _FACTORS | set(shift_models.TENSORS[target.shift])
    plain = target.shift in ("stored", "same") and names == _PLAIN
    if not plain and not factors <= names <= factors | _OPTIONAL:
        allowed = f"of {sorted(factors)} (and {sorted(_OPTIONAL)})"
        allowed += f", or {sorted(_PLAIN)} alone" if target.shift in ("stored", "same") else ""
        errors.fail(
            "representations",
            f"a dict {allowed} for the shift {target.shift!r}",
            [str(name) for name in names],
        )

"""The settings of the toy experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....core import errors
from ....core.parameters import Parameters, parameter
from .gaussian_mixture import GaussianMixture, bimodal_mixture

TEACHERS = ("trained", "posterior of the distilled", "posterior of the original")
_TABLE_8 = "Table 8"
SHARED = ("dimensions", "units", "steps", "record_every", "exact_gradient", "gradient_points", "seeds", "first_seed")


@dataclass(frozen=True, kw_only=True)
class ToyConfig(Parameters):
    """One setting of the toy experiment; the defaults are G' = G of Definition 4 with the network and the steps of Tables 7 and 8."""

    deviation: float = parameter(
        0.5,
        symbol=r"\Sigma",
        range=(0.001, 1000),
        explorable=(0.05, 1),
        step=0.05,
        source="Figure 1",
        help="Standard deviation of the distilled samples about their class mean.",
    )
    relabelling: float = parameter(
        0.0,
        symbol=r"\rho",
        range=(0, 1),
        explorable=(0, 1),
        step=0.05,
        source="Figure 2",
        help="Share of the teacher's output in the distilled target; the rest is the label.",
    )
    teacher: str = parameter(
        "trained",
        choices=TEACHERS,
        explorable=True,
        help="What relabels: a network trained at the teacher's deviation, or the exact posterior of the distilled or original mixture.",
    )
    teacher_deviation: float = parameter(
        0.1,
        symbol=r"\Sigma^\star",
        range=(0.001, 1000),
        explorable=(0.05, 1),
        step=0.05,
        source="Figure 1(c)",
        help="Standard deviation of the samples that the trained teacher learned from.",
    )
    gap: float = parameter(
        1.0,
        symbol=r"\mu_2-\mu_1",
        range=(0, 1000),
        explorable=(0.25, 3),
        step=0.25,
        source="Definition 4",
        help="Difference of the class means in every coordinate: 1 for means (1, 1) and (2, 2), which are 1.41 apart.",
    )
    original_deviation: float = parameter(
        0.5,
        symbol=r"\Sigma_G",
        range=(0.001, 1000),
        explorable=(0.1, 1),
        step=0.05,
        source="Definition 4",
        help="Standard deviation of the original data, on which networks are judged.",
    )
    learning_rate: float = parameter(
        0.002,
        symbol=r"\eta",
        range=(0, 10),
        scale="log",
        explorable=(1e-4, 0.1),
        source=_TABLE_8,
        help="Step length of SGD.",
    )
    momentum: float = parameter(
        0.98,
        symbol="m",
        range=(0, 0.9999),
        explorable=(0, 0.99),
        step=0.01,
        source=_TABLE_8,
        help="Share of the last update that the next one keeps; one gradient counts 1 / (1 - m) times.",
    )
    steps: int = parameter(
        1000,
        symbol="T",
        range=(1, 10**5),
        explorable=(50, 1000),
        step=50,
        source=_TABLE_8,
        help="Updates, each from one sample.",
    )
    exact_gradient: bool = parameter(
        False,
        explorable=True,
        help="Take the gradient's expectation over the distilled data instead of one sample: geometry without noise.",
    )
    gradient_points: int = parameter(
        64, range=(2, 2**12), help="Points per class that stand for the distilled data where the gradient is exact."
    )
    seeds: int = parameter(20, range=(1, 1000), explorable=(1, 60), step=1, help="Runs of each setting.")
    first_seed: int = parameter(0, range=(0, 2**31), explorable=(0, 100), step=1, help="The seed of the first run.")
    dimensions: int = parameter(2, symbol="d", range=(1, 100), explorable=(1, 10), step=1, help="Of the samples.")
    units: int = parameter(50, range=(1, 1000), explorable=(2, 100), step=1, source="Table 7", help="Hidden units.")
    record_every: int = parameter(100, range=(1, None), help="Steps from one kept network to the next.")

    def rules(self) -> None:
        """The gradient's points must span the space."""
        if self.exact_gradient and self.gradient_points < 2 * self.dimensions:
            allowed = f"at least {2 * self.dimensions} in {self.dimensions} dimensions"
            errors.fail("toy_config.ToyConfig.gradient_points", allowed, self.gradient_points)

    @property
    def original(self) -> GaussianMixture:
        """G."""
        return self._mixture(self.original_deviation)

    @property
    def distilled(self) -> GaussianMixture:
        """G'."""
        return self._mixture(self.deviation)

    def _mixture(self, deviation: float) -> GaussianMixture:
        distance = self.gap * math.sqrt(self.dimensions)
        return bimodal_mixture(distance=distance, deviation=deviation, dimensions=self.dimensions)


def same_shape(argument: str, configs: Any) -> tuple[ToyConfig, ...]:
    """Of a list of settings that share what gives all networks one shape and one schedule."""
    if isinstance(configs, str) or not isinstance(configs, Sequence) or not configs:
        errors.fail(argument, "a list of ToyConfig that is not empty", configs)
    for config in configs:
        errors.check_instance(f"a member of {argument}", config, ToyConfig, "a ToyConfig")
        for name in SHARED:
            if getattr(config, name) != getattr(configs[0], name):
                shared = getattr(configs[0], name)
                errors.fail(f"{name} in {argument}", f"the same in all of them, {shared}", getattr(config, name))
    return tuple(configs)

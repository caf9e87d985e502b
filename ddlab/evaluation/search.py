"""Architecture search: does training on a small set rank networks as training on all data does? (GTN: Such et al. 2020, section 3.4)

    real = across(all_images, data, networks=space(), labels="hard", seeds=[0])
    print(search(made, data, real=real, networks=space(), labels="steps"))

The ceiling of a rank correlation is that of two seeds of the real ranking, and the number of parameters is a ranking that costs nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from .. import networks
from ..core import errors
from ..core.boundary import checked
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import NetworkSpec
from .architectures import Architectures, across
from .tables import Tabled, markdown

FEWEST = 3  # architectures of which a ranking says something


def _check_options(argument: str, given: Any) -> Any:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        errors.fail(argument, "a sequence of at least one option of a convnet", given)
    return given


def _check_accuracies(argument: str, given: Any) -> Any:
    errors.check_instance(argument, given, Mapping, "numbers by architecture")
    for value in given.values():
        errors.check_number(argument, value)
    if len(given) < FEWEST or len(set(given.values())) == 1:
        errors.fail(argument, f"of at least {FEWEST} architectures, and not all the same", dict(given))
    return given


Options = Annotated[Sequence[Any], _check_options]
Accuracies = Annotated[Mapping[str, float], _check_accuracies]


@dataclass(frozen=True)
class Search(Tabled):
    """How a small set ranks architectures.

    Attributes:
        proxy: accuracies by architecture after training on the set. real: after training on all data.
        correlation: Spearman's, from -1 to 1.
    """

    proxy: dict[str, float]
    real: dict[str, float]
    correlation: float

    def table(self) -> str:
        """Architectures by their real accuracy, as a Markdown table."""
        names = sorted(self.real, key=lambda name: -self.real[name])
        return markdown(
            ("architecture", "all data", "the set"),
            [(name, f"{self.real[name]:.3f}", f"{self.proxy[name]:.3f}") for name in names],
        )


@checked
def space(
    widths: Options = (4, 8, 16, 32), depths: Options = (1, 2, 3), poolings: Options = ("average", "max")
) -> list[NetworkSpec]:
    """Small ConvNets with instance norm, one for each combination."""
    return [
        networks.spec("convnet", norm="instance", width=width, depth=depth, pooling=pooling)
        for width, depth, pooling in itertools.product(widths, depths, poolings)
    ]


@checked
def rank_correlation(first: Accuracies, second: Accuracies) -> float:
    """Spearman's, of two accuracies (or numbers of parameters) by architecture; ties take their mean rank.

    Raises:
        DDLabError: other names, fewer than three, or numbers that are all the same, which rank nothing.
    """
    from scipy import stats

    if first.keys() != second.keys():
        errors.fail("second", f"of the architectures {sorted(first)}", sorted(second))
    return float(stats.spearmanr([*first.values()], [second[name] for name in first]).statistic)


def search(
    distilled: DistilledSet,
    data: ImageData,
    *,
    real: Architectures,
    networks: Sequence[NetworkSpec],
    labels: str,
    **options: Any,
) -> Search:
    """Train each architecture on the set, and compare with the real ranking.

    Args:
        real: what `across` found of the same architectures on all data.
        networks, labels, options: as in `across`.

    Raises:
        DDLabError: fewer than three architectures, others than those of `real`, and all that `across` refuses.
    """
    errors.check_instance("real", real, Architectures, "an Architectures")
    wanted = {name: each.mean for name, each in real.evaluations.items()}
    if len(networks) < FEWEST:
        errors.fail("networks", f"a space of at least {FEWEST} architectures", len(networks))
    found = across(distilled, data, networks=networks, labels=labels, **options)
    proxy = {name: each.mean for name, each in found.evaluations.items()}
    return Search(proxy, wanted, rank_correlation(proxy, wanted))

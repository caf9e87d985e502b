"""One distilled set, students of several architectures: does it hold for networks other than the
teacher's? (DWA, Table 4)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..core import errors
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import Network, NetworkSpec
from ..training import supervised
from .students import Evaluation, evaluations, prepare_students
from .tables import Tabled, markdown


@dataclass(frozen=True)
class Architectures(Tabled):
    """The evaluations of one distilled set by architecture, in the order in which these were given.

    `complete` is False if an interrupt cut it short; the evaluations are then those that were
    reached.
    """

    evaluations: dict[str, Evaluation]
    complete: bool = True

    def table(self) -> str:
        """Return a Markdown table of architectures, their accuracies and 95% intervals."""
        rows = [
            (name, f"{evaluation.mean:.3f}", evaluation.interval_words)
            for name, evaluation in self.evaluations.items()
        ]
        return markdown(("students", "accuracy", "95% interval"), rows)

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each architecture and seed."""
        records = []
        for name, evaluation in self.evaluations.items():
            for seed, value in evaluation.per_seed.items():
                records.append(
                    {"students": name, "labels": evaluation.labels, "seed": seed, "accuracy": value}
                )
        return records


def distinct_networks(networks: Any, *, fewest: int) -> list[NetworkSpec]:
    """Return networks as specs.

    Raises:
        DDLabError: fewer than so many, what is none, or the same one twice.
    """
    if not isinstance(networks, Sequence) or isinstance(networks, str) or len(networks) < fewest:
        errors.fail("networks", f"at least {fewest} NetworkSpecs or family names", networks)
    specs = [
        errors.check_instance("networks", spec, NetworkSpec, "NetworkSpecs or family names")
        for spec in networks
    ]
    titles = [spec.title for spec in specs]
    twice = [title for title in titles if titles.count(title) > 1]
    if twice:
        errors.fail("networks", "architectures that all differ", f"{twice[0]} twice")
    return specs


def across(
    distilled: DistilledSet,
    data: ImageData,
    *,
    networks: Sequence[NetworkSpec | str],
    labels: str,
    teacher: Network | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    config: supervised.Config | None = None,
    device: torch.device | str = "auto",
    jobs: int | None = None,
    progress: bool = True,
) -> Architectures:
    """`evaluate` once for each architecture, all else equal; all their students at once.

    Args:
        networks: specs, or names of families (`ddlab.networks.FAMILIES`); all different.
        labels, teacher, seeds, config, device, jobs, progress: as in `evaluate`. One learning rate
            and length for all: an architecture for which they are wrong looks worse than it is.

    Raises:
        DDLabError: no architectures, two that are the same, and all that `evaluate` refuses.
        KeyboardInterrupt: before the first student. Later ones leave what is there, with
            `complete=False`.
    """
    specs = distinct_networks(networks, fewest=1)
    shared: dict[str, Any] = {
        "labels": labels,
        "teacher": teacher,
        "seeds": seeds,
        "config": config,
        "device": device,
    }
    jobs_by_title = {
        spec.title: prepare_students(distilled, data, network=spec, **shared) for spec in specs
    }
    finished = evaluations(jobs_by_title, jobs, errors.check_boolean("progress", progress))
    return Architectures(
        finished,
        complete=len(finished) == len(specs) and all(spec.complete for spec in finished.values()),
    )

"""What a distilled set without labels is worth: networks pre-trained on it, and how much a simple reader finds in their features.

For each seed a fresh network learns the set's representations (`pretraining`); then it stays as it is, and a probe of its features learns
and is tested on labelled datasets, the one that was distilled or others of the same shape (KRR-ST, Lee et al. 2024; Boost, Yu et al. 2025,
Table 1). An untrained network's features are far from worthless, on easy datasets even enough: compare with them, and with random pairs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..core import errors
from ..core.boundary import checked
from ..core.interval import interval
from ..data import ImageData
from ..distilled import DistilledSet
from ..runs import cache
from ..runs import process as driver
from ..runs.process import Inputs
from ..training import pretraining, rela
from .probing import HeldOut, Kind, checked_reading, probe
from .students import Seeds
from .tables import Tabled, markdown

Config = pretraining.Config | rela.Config
_CONFIGS = (pretraining.Config, rela.Config)


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """The test accuracy, on one dataset, of a reader of the features of pre-trained networks of one architecture.

    Attributes:
        mean: fraction in [0, 1], over seeds. std: with n - 1; None for one seed.
        interval: (low, high), 95%, Student's t over seeds; None for one seed. It speaks of the draw of weights, order and held-out part,
            for this one distilled set.
        per_seed: seed -> accuracy fraction.
        data: the dataset, as it was named. kind: of the reader, "linear", "ridge", "neighbours" or "adam". network: the architecture.
    """

    mean: float
    std: float | None
    interval: tuple[float, float] | None
    per_seed: dict[int, float]
    data: str
    kind: str
    network: str

    def __str__(self) -> str:
        words = [f"accuracy {self.mean:.3f} on {self.data} of a {self.kind} probe over {len(self.per_seed)} seeds"]
        if self.interval is not None:
            words.append(f"95% interval {self.interval[0]:.3f} to {self.interval[1]:.3f}")
        return ", ".join([*words, self.network])


@dataclass(frozen=True, kw_only=True)
class Pretrained(Tabled):
    """The transfers of one distilled set: `transfers[architecture][dataset]`, in the order in which these were given.

    Attributes:
        transfers: name of the config -> name of the dataset -> `Transfer`.
        cpu_seconds: spent here; what this Python process has found before costs nothing.
        complete: False if an interrupt cut it short; the transfers are then those of whole seeds.
    """

    transfers: dict[str, dict[str, Transfer]]
    cpu_seconds: float
    complete: bool = True

    def of(self, data: str, network: str | None = None) -> Transfer:
        """The transfer to one dataset; of several architectures `network` says which.

        Raises:
            DDLabError: a dataset or an architecture that was not asked for, or none named where there are several.
        """
        names = tuple(self.transfers)
        if network is None and len(names) != 1:
            errors.fail("network", errors.one_of(names), network)
        found = self.transfers[names[0] if network is None else errors.check_choice("network", network, names)]
        return found[errors.check_choice("data", data, tuple(found))]

    def table(self) -> str:
        """Architecture and dataset, accuracy and its 95% interval, as a Markdown table."""
        rows = []
        for name, found in self.transfers.items():
            for each in found.values():
                between = "-" if each.interval is None else f"{each.interval[0]:.3f} to {each.interval[1]:.3f}"
                rows.append((name, each.data, f"{each.mean:.3f}", between))
        return markdown(("network", "dataset", "accuracy", "95% interval"), rows)


@checked
def pretrained(
    distilled: DistilledSet,
    data: Mapping[str, ImageData],
    *,
    kind: Kind = "linear",
    seeds: Seeds = (0, 1, 2, 3, 4),
    config: Config | Mapping[str, Config] | None = None,
    candidates: Sequence[float] | None = None,
    held_out: HeldOut = 0.1,
    device: torch.device | str = "auto",
    progress: bool = True,
) -> Pretrained:
    """Pre-train networks on `distilled` and test what a reader of their features knows of each dataset.

    Nothing is selected on test images: the last weights count, and the reader's setting is chosen on held-out training images.

    Args:
        data: by name; of the set's channels and size, each normalised by its own mean and std, and of any classes.
        kind: of the reader: "linear" as in the papers, "ridge", "neighbours" or "adam".
        seeds: one network each; the seed also draws the probe's held-out part. The same seeds pair two evaluations.
        config: how networks are pre-trained; several by name, one for each architecture, because one learning rate and length does not
            suit all. Default `pretraining.Config.teaching()`; a single one goes by its network's title. Their seed is replaced. Configs of
            `rela` train beside an objective: with `schedule="constant", share=0` as one of them, ReLA stands beside its baseline.
        candidates, held_out: as in `probe`.
        progress: one line per network on standard output.

    Raises:
        DDLabError: a set without representations, data of another shape, and all that `pretraining` and `probe` refuse.
        KeyboardInterrupt: before the first network was whole and read. Later ones leave what is there, with `complete=False`.
    """
    distilled.target("representations")
    _check_data(data, distilled)
    configs = _checked_configs(config)
    for each in data.values():  # before anything is trained
        checked_reading(each, kind=kind, candidates=candidates, held_out=held_out, seeds=seeds)
    inputs, start = Inputs(distilled=distilled, device=device), time.process_time()
    found: dict[str, dict[int, dict[str, float]]] = {name: {} for name in configs}
    complete = True
    chosen = None if candidates is None else [float(candidate) for candidate in candidates]
    reading = {"kind": kind, "candidates": chosen, "held_out": held_out}
    try:
        for name, each in configs.items():
            for seed in seeds:
                found[name][seed] = _accuracies(each.replace(seed=seed), inputs, data, reading, progress)
    except KeyboardInterrupt:
        if not found[next(iter(found))]:
            raise
        complete = False
    transfers = {
        name: {
            each: _transfer({seed: reached[each] for seed, reached in per_seed.items()}, each, kind, configs[name])
            for each in data
        }
        for name, per_seed in found.items()
        if per_seed
    }
    return Pretrained(transfers=transfers, cpu_seconds=time.process_time() - start, complete=complete)


def _accuracies(
    config: Config, inputs: Inputs, data: Mapping[str, ImageData], reading: dict[str, Any], progress: bool
) -> dict[str, float]:
    """The accuracy on each dataset of one network; known ones are found again (the numbers are kept, not the weights)."""

    def compute() -> dict[str, float]:
        process = rela if isinstance(config, rela.Config) else pretraining
        network = driver.run(process, config, inputs, progress=progress)
        if cache.is_partial(network):
            raise KeyboardInterrupt("the network was still being trained")
        return {
            name: probe(network, each, seeds=(config.seed,), device=inputs.device, keep=False, **reading).mean
            for name, each in data.items()
        }

    fingerprints = {name: each.fingerprint for name, each in data.items()}
    parts = ("pretrained", config, inputs.fingerprint, fingerprints, reading)
    return cache.remember(compute, *parts, device=inputs.device)


def _transfer(per_seed: dict[int, float], data: str, kind: str, config: Config) -> Transfer:
    values = list(per_seed.values())
    return Transfer(
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else None,
        interval=interval(values),
        per_seed=per_seed,
        data=data,
        kind=kind,
        network=config.network.title,
    )


def _check_data(data: Any, distilled: DistilledSet) -> None:
    if not isinstance(data, Mapping) or not data:
        errors.fail("data", "a mapping of at least one name to its ImageData", data)
    for name, each in data.items():
        errors.check_text("a name in data", name, empty=False)
        errors.check_instance(f"data[{name!r}]", each, ImageData, "an ImageData")
        if (each.channels, each.image_size) != (distilled.channels, distilled.image_size):
            wanted = f"of {distilled.channels} channels and {distilled.image_size} pixels, like the set's images"
            errors.fail(f"data[{name!r}]", wanted, (each.channels, each.image_size))


def _checked_configs(config: Any) -> dict[str, Config]:
    if config is None:
        config = pretraining.Config.teaching()
    if type(config) in _CONFIGS:
        return {config.network.title: config}
    if not isinstance(config, Mapping) or not config:
        errors.fail("config", "a Config of pretraining or rela, or a mapping of at least one name to one", config)
    for name, each in config.items():
        errors.check_text("a name in config", name, empty=False)
        errors.check_instance(f"config[{name!r}]", each, _CONFIGS, "a Config of pretraining or rela")
    return dict(config)

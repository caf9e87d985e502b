"""What distilled sets without labels are worth to a fresh network, beside random real images and an untrained network. No widgets.

worth = Worth(inputs, other, config, candidates, network)
worth.add(key, "Boost, step 30", distilled, watch)   # pre-trains and probes; what `watch` raises leaves it
worth.rows[key].accuracies                          # test accuracies of the probe, one for each dataset
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import errors, networks, pretraining
from .. import process as driver
from ..data import ImageData
from ..distilled import DistilledSet
from ..evaluation import probe
from ..evaluation.probing import checked_reading
from ..methods import representation_selection as selection
from ..networks import Network, NetworkSpec
from ..process import Inputs, Step

_ROWS = 10  # of what the reader asked for; the oldest is forgotten
UNTRAINED = "untrained network"


@dataclass(frozen=True)
class Row:
    """One network: what it learned from, and the test accuracy of a linear probe of its features on each dataset, in [0, 1].

    Attributes:
        pairs: images, not counting their views; 0 of the untrained network.
    """

    words: str
    pairs: int
    accuracies: tuple[float, ...]


class Worth:
    """Pre-trains networks that begin alike, probes them, and remembers what came out.

    Attributes:
        config: of the pre-training; default 300 epochs of `network`.
        datasets: name -> images that probes learn from and are tested on; the distilled one first.
        controls: the networks to compare with. rows: those of distilled sets, the newest last.
    """

    def __init__(
        self,
        inputs: Inputs,
        other: ImageData | None,
        config: pretraining.Config | None,
        candidates: Sequence[float] | None,
        network: NetworkSpec,
    ) -> None:
        errors.check_instance("pretraining", config, (pretraining.Config, type(None)), "a pretraining Config or None")
        self.data: ImageData = inputs.data  # type: ignore[assignment]
        self.inputs, self.candidates = inputs, candidates
        self.config = pretraining.Config(network=network, epochs=300) if config is None else config
        self.datasets = {self.data.name: self.data} | _checked_other(other, self.data)
        for each in self.datasets.values():
            checked_reading(each, kind="linear", candidates=candidates, held_out=0.1, seeds=(self.config.seed,))
        self.controls: dict[str, Row] = {}
        self.rows: dict[tuple[object, int], Row] = {}

    def add(
        self, key: tuple[object, int], words: str, distilled: DistilledSet, watch: Callable[[str, Step | None], None]
    ) -> None:
        """Everything about a set, the controls first. `watch` is called after each step and before each probe, with what goes on."""
        budget = int(distilled.provenance["config"]["budget"])
        self._control(UNTRAINED, 0, lambda: self._untrained(distilled), watch)
        real = selection.Config(budget=budget, seed=self.config.seed)
        words_real = f"{budget} random real images, their representations"
        self._control(
            words_real,
            budget,
            lambda: self._learnt(driver.run(selection, real, self.inputs), "real images", watch),
            watch,
        )
        if key not in self.rows:
            network = self._learnt(distilled, words, watch)
            self.rows[key] = self._row(words, len(distilled), network, watch)
            while len(self.rows) > _ROWS:
                del self.rows[next(iter(self.rows))]

    def _control(
        self, words: str, pairs: int, made: Callable[[], Network], watch: Callable[[str, Step | None], None]
    ) -> None:
        if words not in self.controls:
            self.controls[words] = self._row(words, pairs, made(), watch)

    def _learnt(self, distilled: DistilledSet, words: str, watch: Callable[[str, Step | None], None]) -> Network:
        inputs = Inputs(distilled=distilled, device=self.inputs.device)
        return driver.run(pretraining, self.config, inputs, on_step=lambda step: watch(words, step))

    def _untrained(self, distilled: DistilledSet) -> Network:
        """The network that all others begin as."""
        size = distilled.target("representations").size
        spec = dataclasses.replace(
            self.config.network, channels=self.data.channels, classes=size, image_size=self.data.image_size
        )
        return networks.initialise(spec, seed=self.config.seed)

    def _row(self, words: str, pairs: int, network: Network, watch: Callable[[str, Step | None], None]) -> Row:
        found = []
        for name, each in self.datasets.items():
            watch(f"probe on {name}", None)
            read = probe(
                network, each, kind="linear", candidates=self.candidates, seeds=(self.config.seed,), device=self.inputs.device,
                keep=False,
            )  # fmt: skip
            found.append(read.mean)
        return Row(words, pairs, tuple(found))


def _checked_other(other: ImageData | None, data: ImageData) -> dict[str, ImageData]:
    if other is None:
        return {}
    errors.check_instance("other", other, ImageData, "an ImageData or None")
    if (other.channels, other.image_size) != (data.channels, data.image_size):
        wanted = f"of {data.channels} channels and {data.image_size} pixels, like data (ddlab.data.aligned)"
        errors.fail("other", wanted, (other.channels, other.image_size))
    return {other.name if other.name != data.name else f"other {other.name}": other}

r"""TDD: text dataset distillation, which is SLDD of sentences.

Sucholutsky & Schonlau 2021, IJCNN, arXiv 1910.02551.

A sentence is a picture of one channel, a row for each word (`data.text`), so that nothing of `dd`
changes: its images x~ are [steps * m, 1, length, dim], learned where embeddings lie, and need not
be sentences of any words. `TextData.words` reads each of their rows as the nearest word.

The defaults are those of the reference code for TREC's six kinds of questions and a bidirectional
LSTM of two layers (which has no dropout there either while sentences are learned). Away from it: a
TextConvNet has no dropout (.5 there, in the inner steps too); embeddings have a deviation of 1 (raw
GloVe there, beside starts of N(0, 1)), and a word without a vector lies at their mean (at 0 there).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .. import networks
from ..core import parameter, with_default
from ..networks import NetworkSpec
from . import dd
from .dd import State, Trace, finish, init, look, total_steps, update  # noqa: F401

NAME = "text_dataset_distillation"
ALIASES = ("tdd",)
NEEDS = ("data",)
LABELS = ("hard",)
_LSTM = networks.spec("text_lstm")


@dataclass(frozen=True, kw_only=True)
class Config(dd.Config):
    """SLDD's hyper-parameters, as sentences need them."""

    process: ClassVar[str] = NAME
    network: NetworkSpec = parameter(
        _LSTM, help="Architecture, without batch norm.", source="reference code"
    )
    images_per_class: int = with_default(dd.Config, "images_per_class", 20, source="reference code")
    learn_labels: bool = with_default(dd.Config, "learn_labels", True, source="reference code")
    steps: int = with_default(dd.Config, "steps", 1, source="reference code")
    epochs: int = with_default(dd.Config, "epochs", 2, source="reference code")
    initial_rate: float = with_default(dd.Config, "initial_rate", 1.5, source="reference code")
    learning_rate: float = with_default(dd.Config, "learning_rate", 0.1, source="reference code")
    halvings: int = with_default(dd.Config, "halvings", 6, source="reference code")
    iterations: int = with_default(dd.Config, "iterations", 1200, source="reference code")
    starts: str = with_default(dd.Config, "starts", "fixed", source="reference code")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, seconds and the made-up questions.

        A TextConvNet learns from one sentence of each kind.
        """
        return cls.preset(
            changes,
            network=networks.spec("text_conv"),
            initial_weights="pytorch",
            images_per_class=1,
            epochs=3,
            initial_rate=0.5,
            iterations=100,
            batch_size=128,
            halvings=0,
        )


# For the contract tests.
SMALL = Config(**{**vars(dd.SMALL), "network": networks.spec("text_conv"), "learn_labels": True})

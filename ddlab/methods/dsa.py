r"""DSA: gradient matching through one differentiable view of both sides.

Zhao & Bilen 2021, ICML, arXiv 2102.08259.

DC matches the gradients of plain images. DSA draws one operation (a crop, a rotation, ...) for each
class and update, applies it with the same parameters to the real batch and to the learned images,
and differentiates through it: what real images say about every place of an image reaches the
learned ones, and students may augment them as they would real ones.

Symbol       In code       What
A_omega      strategy      operations, of which one is drawn; omega: its parameters (`data.siamese_views`)
omega^S = omega^T          views: "shared"; the controls of Table 4 are the others

Equation                                                                         Function
eq 4  min_S D(grad L(A(S, omega^S), theta_t), grad L(A(T, omega^T), theta_t))    dc.matched_step through matching.augmented
Alg 1, line 9  theta_t+1 from S seen through a draw of its own for each image    dc.train_between

All else is DC's, on whose module this one stands: without a strategy both are the same bit for bit.
As in the reference code images begin as random real ones. Its code cannot match a single image on
today's torch; this one can.
"""

from dataclasses import dataclass
from typing import Any, Self

from ..core import with_default
from ..data import siamese_views
from ..distilled import DistilledSet
from ..runs import Inputs
from . import dc
from .dc import State, Trace, init, look, total_steps, update  # noqa: F401
from .shared import descent, matching

NAME = "siamese_gradient_matching"
ALIASES = ("dsa",)
NEEDS = ("data",)


@dataclass(frozen=True, kw_only=True)
class Config(dc.Config, matching.Siamese):
    """DC's hyper-parameters and the views.

    The defaults are those of the reference code for photographs.
    """

    initialisation: str = with_default(dc.Config, "initialisation", "real", source="reference code")
    strategy: str = with_default(
        matching.Siamese, "strategy", siamese_views.ALL, source="reference code"
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """DC's, and nothing is mirrored, for it begins with digits."""
        return super().teaching(**{"strategy": siamese_views.UPRIGHT} | changes)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with hard labels, and with a teacher's where there is one.

    Students should see them through the strategy too.
    """
    provenance = {
        "loops": list(config.loops),
        "loops_interpolated": config.images_per_class not in dc.SCHEDULE,
    }
    return descent.images_in_turn(
        NAME, config, inputs, state, total_steps(config, inputs), **provenance
    )


SMALL = Config(  # for the contract tests
    network=dc.SMALL.network, networks=2, outer_steps=2, inner_epochs=1, batch_size=4
)

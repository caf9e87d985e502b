r"""The floats that a set of bases and coefficients takes, and how many pairs a budget buys.

Yu, Yao & Chiu 2025 (Boost), section 4 and appendix A.1: a budget of N images is N c h w floats;
what is stored must fit into it.

part                           floats
U image bases                  U d_b, d_b = c (h / s) (w / s)
image coefficients             m U
V representation bases         V d_y, and d_y more where the mean of the representations is stored
representation coefficients    m V
shifts of the A views (Table 11):
    "networks"                 A (2 V H + H + V): Q_a is V -> H -> V with biases
    "bias"                     A V: one vector for each view
    "same"                     0: a view has its image's representation
    "stored"                   A m V: all coefficients

Class labels, means and standard deviations of the pixels, and the few settings are not counted,
here or for plain pairs.
"""

from dataclasses import dataclass
from typing import Literal

from ..core import Parameters, errors, parameter

Shift = Literal["same", "bias", "networks", "stored"]
SHIFTS = ("same", "bias", "networks", "stored")
_LARGEST_NUMBER = 10**9  # of anything that is counted


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Floats of each part of a set; made by `Factorised.bill`."""

    image_bases: int
    image_coefficients: int
    representation_bases: int
    representation_coefficients: int
    representation_mean: int
    shifts: int

    @property
    def images(self) -> int:
        """Image bases and coefficients."""
        return self.image_bases + self.image_coefficients

    @property
    def representations(self) -> int:
        """Everything that the targets are made from, those of the views included."""
        return self.total - self.images

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return sum(vars(self).values())


@dataclass(frozen=True, kw_only=True)
class Factorised(Parameters):
    """The sizes of a set that is stored as {B^x, C^x, B^y, C^y, Q_a}.

    The defaults are Boost's for CIFAR and N = 100 (Table 5).
    """

    channels: int = parameter(3, symbol="c", range=(1, _LARGEST_NUMBER), help="Of an image.")
    height: int = parameter(
        32, symbol="h", range=(1, _LARGEST_NUMBER), unit="px", help="Of an image."
    )
    width: int = parameter(
        32, symbol="w", range=(1, _LARGEST_NUMBER), unit="px", help="Of an image."
    )
    scale: int = parameter(
        2,
        symbol="s",
        range=(1, _LARGEST_NUMBER),
        help="By how much image bases are smaller on each side.",
        source="Boost, A.1",
    )
    image_bases: int = parameter(
        200, symbol="U", range=(1, _LARGEST_NUMBER), help="How many.", source="Boost, Table 5"
    )
    representation_size: int = parameter(
        512, symbol="d_y", range=(1, _LARGEST_NUMBER), help="Numbers in a representation."
    )
    representation_bases: int = parameter(
        200, symbol="V", range=(1, _LARGEST_NUMBER), help="How many.", source="Boost, Table 5"
    )
    representation_mean: bool = parameter(
        False, help="Whether the mean of the representations is stored too."
    )
    views: int = parameter(
        3,
        symbol="A",
        range=(0, _LARGEST_NUMBER),
        help="Of an image, beside itself.",
        source="Boost, A.1",
    )
    shift: Shift = parameter(
        "networks",
        choices=SHIFTS,
        help="How targets of the views follow from those of the images.",
        source="Boost, A.7",
    )
    hidden: int = parameter(
        4,
        symbol="H",
        range=(1, _LARGEST_NUMBER),
        help="Hidden units of each approximation network.",
        source="Boost, A.1",
    )

    def rules(self) -> None:
        """Raise unless bases have whole pixels and are at most as many as dimensions."""
        if self.height % self.scale or self.width % self.scale:
            allowed = f"a divisor of the height, {self.height}, and of the width, {self.width}"
            errors.fail("Factorised.scale", allowed, self.scale)
        errors.check_integer("Factorised.image_bases", self.image_bases, 1, self.basis_floats)
        errors.check_integer(
            "Factorised.representation_bases",
            self.representation_bases,
            1,
            self.representation_size,
        )

    @property
    def image_floats(self) -> int:
        """d_x, of one plain image."""
        return self.channels * self.height * self.width

    @property
    def basis_floats(self) -> int:
        """d_b, of one image basis."""
        return self.image_floats // self.scale**2

    def bill(self, count: int) -> Bill:
        """Return the floats that `count` pairs (m) take. None are allowed; the bases remain."""
        bases = self.representation_bases
        networks = self.views * (2 * bases * self.hidden + self.hidden + bases)
        shifts = {
            "same": 0,
            "bias": self.views * bases,
            "networks": networks,
            "stored": self.views * count * bases,
        }
        return Bill(
            image_bases=self.image_bases * self.basis_floats,
            image_coefficients=count * self.image_bases,
            representation_bases=bases * self.representation_size,
            representation_coefficients=count * bases,
            representation_mean=self.representation_size if self.representation_mean else 0,
            shifts=shifts[self.shift],
        )

    def largest_count(self, budget: int) -> int:
        """Return the largest number of pairs (m) whose bill is at most `budget` floats.

        Raises:
            DDLabError: a budget that does not buy one pair; the message names one that does.
        """
        # The bill is linear in the number of pairs, so two values of it say everything.
        bases = self.bill(0).total
        with_one_pair = self.bill(1).total
        if budget < with_one_pair:
            # Rounded up to whole images, in which budgets are given.
            images = -(-with_one_pair // self.image_floats)
            allowed = (
                f"at least {with_one_pair} floats, {images} images, for these bases and one pair"
            )
            errors.fail("budget", allowed, budget)
        return (budget - bases) // (with_one_pair - bases)


def plain_floats(count: int, *, image_floats: int, representation_floats: int = 0) -> int:
    """Return the floats of `count` pairs that are stored as they are: m (d_x + d_y).

    For all A views of targets d_y is (A + 1) times as large.
    """
    return count * (image_floats + representation_floats)

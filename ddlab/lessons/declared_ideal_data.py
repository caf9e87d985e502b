"""What lesson 10 puts to the test, declared before any run."""

from .declaration import Claim

DECLARED: tuple[Claim, ...] = ()

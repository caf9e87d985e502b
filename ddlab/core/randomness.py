"""Randomness as a function of position, not of history.

Every draw in ddlab comes from `generator(seed, step, stream)`. A run resumed at step 700 therefore draws exactly what the
uninterrupted run drew there, whatever else was drawn in between.
"""

from __future__ import annotations

import zlib

import numpy as np
import torch

from . import errors


def _sequence(seed: int, step: int, stream: str) -> np.random.SeedSequence:
    seed = errors.check_integer("seed", seed, 0)
    step = errors.check_integer("step", step, 0)
    if not isinstance(stream, str):
        errors.fail("stream", "a string that names the purpose of the draw", stream)
    return np.random.SeedSequence([seed, step, zlib.crc32(stream.encode(errors="surrogatepass"))])


def generator(seed: int, step: int = 0, stream: str = "") -> torch.Generator:
    """A CPU generator whose draws depend on the three arguments alone.

    Args:
        seed: of the run, at least 0.
        step: position in the run, at least 0.
        stream: what the draw is for ("roll", "mixup", ...), so that two draws of one step are independent.

    Draw on the CPU, then move: the same numbers come on every device. numpy's `SeedSequence` mixes the three into one well-spread
    32-bit seed, because torch's CPU generator ignores higher bits and starts badly from small ones.
    """
    mixed = int(_sequence(seed, step, stream).generate_state(1, np.uint32)[0])
    return torch.Generator().manual_seed(mixed)


def numpy_generator(seed: int, step: int = 0, stream: str = "") -> np.random.Generator:
    """The same for numpy: a counter-based Philox generator."""
    return np.random.Generator(np.random.Philox(_sequence(seed, step, stream)))


def derived_seed(seed: int, step: int = 0, stream: str = "") -> int:
    """A 32-bit seed for a library that takes an integer (scikit-learn's random_state)."""
    return int(_sequence(seed, step, stream).generate_state(1, np.uint32)[0])

"""Randomness as a function of position, not of history.

Every draw in ddlab comes from `generator(seed, step, stream)`. A run resumed at step 700 therefore
draws exactly what the uninterrupted run drew there, whatever else was drawn in between.
"""

import contextlib
import functools
import random
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode


def _sequence(seed: int, step: int, stream: str) -> np.random.SeedSequence:
    # crc32 and not `hash`, which Python salts anew in every process.
    return np.random.SeedSequence([seed, step, zlib.crc32(stream.encode(errors="surrogatepass"))])


def generator(seed: int, step: int = 0, stream: str = "") -> torch.Generator:
    """Return a CPU generator whose draws depend on the three arguments alone.

    Args:
        seed: of the run, at least 0.
        step: position in the run, at least 0.
        stream: what the draw is for ("roll", "mixup", ...), so that two draws of one step are
            independent.

    Draw on the CPU, then move: the same numbers come on every device. numpy's `SeedSequence` mixes
    the three into one well-spread 32-bit seed, because torch's CPU generator ignores higher bits
    and starts badly from small ones.
    """
    # One uint32 of the mixed state: torch's CPU generator takes no more.
    mixed = int(_sequence(seed, step, stream).generate_state(1, np.uint32)[0])
    return torch.Generator().manual_seed(mixed)


def permutation(count: int, seed: int, step: int = 0, stream: str = "") -> torch.Tensor:
    """Return a random order of the rows 0 ... count - 1, int64 [count], drawn by `generator`."""
    return torch.randperm(count, generator=generator(seed, step, stream))


def numpy_generator(seed: int, step: int = 0, stream: str = "") -> np.random.Generator:
    """Return the same for numpy: a counter-based Philox generator."""
    return np.random.Generator(np.random.Philox(_sequence(seed, step, stream)))


def derived_seed(seed: int, step: int = 0, stream: str = "") -> int:
    """Return a 32-bit seed for a library that takes an integer (scikit-learn's random_state)."""
    return int(_sequence(seed, step, stream).generate_state(1, np.uint32)[0])


@contextlib.contextmanager
def seeded(seed: int, step: int, stream: str, device: torch.device | str) -> Iterator[None]:
    """Seed the global generators of torch, numpy and Python for somebody's own code.

    So `torch.rand_like`, dropout and `numpy.random` give the same numbers in every run, and from a
    checkpoint on. The generators' states are put back at the end.
    """
    mixed = derived_seed(seed, step, stream)
    python_state = random.getstate()
    numpy_state = np.random.get_state()
    is_on_gpu = torch.device(device).type == "cuda"
    with torch.random.fork_rng([device] if is_on_gpu else []):
        # Not `torch.manual_seed`, which seeds the generators of all devices.
        torch.default_generator.manual_seed(mixed)
        if is_on_gpu:
            torch.cuda.manual_seed(mixed)
        random.seed(mixed)
        np.random.seed(mixed)
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)


class Draws(TorchDispatchMode):
    """Redirect torch's global draws to a generator of our own.

    The numbers are the same, and only this thread is concerned.

    torch's initialisers draw globally; to seed that generator for them would reset what a reader's
    own cell draws in another thread.

    Attributes:
        count: operations that drew.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator
        self.count = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # To skip it torch would import its compiler, which takes seconds; nothing here is compiled.
        return False

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        keywords = dict(keywords or {})
        # The tag is torch's own list of operations that draw. A call that names its generator is
        # left alone.
        if torch.Tag.nondeterministic_seeded in function.tags and keywords.get("generator") is None:
            self.count += 1
            function = _taking_a_generator(function)
            keywords["generator"] = self.generator
        return function(*arguments, **keywords)


@functools.cache
def _taking_a_generator(function: Any) -> Any:
    """Return the form of an operation that takes one: `normal_` itself, of `rand` another."""
    if any(argument.name == "generator" for argument in function._schema.arguments):
        return function
    # `rand.default` becomes `rand.generator`, `rand.names` becomes `rand.names_generator`.
    overload = function._overloadname.removeprefix("default")
    return getattr(function.overloadpacket, f"{overload}_generator" if overload else "generator")

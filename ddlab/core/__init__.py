"""The foundation of every other room.

Errors, parameters, randomness, storage, optimisers, and the interval of a mean.
"""

from . import errors, optimisers, parameters, randomness, storage

__all__ = ["errors", "optimisers", "parameters", "randomness", "storage"]

"""What all else stands on: errors, parameters, randomness, storage, optimisers; and the interval of
a mean.
"""

from . import errors, optimisers, parameters, randomness, storage

__all__ = ["errors", "optimisers", "parameters", "randomness", "storage"]

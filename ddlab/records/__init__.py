"""Records: tables of long runs that are shipped with ddlab, and the sweeps that make them."""

from .catalogue import SWEEPS, run_point
from .record import Record, load, names, read
from .sweep import Place, Sweep

__all__ = ["SWEEPS", "Place", "Record", "Sweep", "load", "names", "read", "run_point"]

"""Records: tables of long runs that are shipped with ddlab, and the sweeps that make them (`python -m ddlab.records NAME`)."""

from .catalogue import SWEEPS, run_point
from .record import Record, load, names, read
from .sweep import Outcome, Place, Sweep, run, table

__all__ = ["SWEEPS", "Outcome", "Place", "Record", "Sweep", "load", "names", "read", "run", "run_point", "table"]

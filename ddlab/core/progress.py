"""How far something long is: tqdm's bar on standard output."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm


def progress_bar(name: str, total: int, shown: bool, *, unit: str = "step") -> "tqdm":
    """Return a bar on standard output, for standard error would look like a failure in a notebook, until
    it is done; in a file lines that stay.
    """
    from tqdm import tqdm

    live = sys.stdout.isatty() or type(sys.stdout).__module__.startswith("ipykernel")
    options = {"disable": not shown, "leave": not live, "mininterval": 0.25 if live else 10.0}
    return tqdm(total=total, desc=name, unit=unit, file=sys.stdout, **options)

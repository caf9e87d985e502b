"""How far something long is: tqdm's bar on standard output."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm


def progress_bar(name: str, total: int, is_shown: bool, *, unit: str = "step") -> "tqdm":
    """Return a progress bar on standard output.

    On standard error it would look like a failure in a notebook. A terminal's bar vanishes when it
    is done; in a file the lines stay.
    """
    from tqdm import tqdm

    # A notebook's stream says False to `isatty`, though it redraws a line as a terminal does.
    live = sys.stdout.isatty() or type(sys.stdout).__module__.startswith("ipykernel")
    options = {"disable": not is_shown, "leave": not live, "mininterval": 0.25 if live else 10.0}
    return tqdm(total=total, desc=name, unit=unit, file=sys.stdout, **options)

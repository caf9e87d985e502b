"""What the studies of this folder share: a table of `ddlab.records` is written with how it came
about.
"""

import datetime
import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

import ddlab


def save(
    name: str, description: str, columns: list[str], rows: list[list[Any]], **provenance: Any
) -> None:
    """Write a table, a row on each line; `provenance` is added to what is known of the run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    provenance = {
        "command": f"python notebooks/studies/{name}.py",
        "commit": commit.stdout.strip(),
        "device": "cpu",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        **provenance,
    }
    head = {"name": name, "description": description, "columns": columns, "provenance": provenance}
    text = (
        json.dumps(head, indent=1)[:-2]
        + ',\n "rows": [\n  '
        + ",\n  ".join(map(json.dumps, rows))
        + "\n ]\n}\n"
    )
    (Path(ddlab.__file__).parent / "records/tables" / f"{name}.json").write_text(
        text, encoding="utf-8"
    )

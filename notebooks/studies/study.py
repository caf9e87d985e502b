"""What the studies of this folder share: each cell of a table can be made alone, and a table of
`ddlab.records` is written with how it came about.

python notebooks/studies/NAME.py                                 # make the table, and write it
python notebooks/studies/NAME.py --seeds 0 --only images=Boost   # make these cells, beside the recorded ones
"""

import argparse
import dataclasses
import datetime
import functools
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy
import torch

import ddlab
from ddlab import data as datasets
from ddlab import records
from ddlab.data import ImageData

Setting = tuple[Any, ...]
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}
TABLES = Path(ddlab.__file__).parent / "records/tables"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A table of cells, of which each is a function of its setting alone.

    Attributes:
        name: of the table.
        description: what was run, and what all rows share; a function where it says what a teacher
            reached.
        setting: the names of the first columns, the seed's the last.
        measured: the names of the other columns.
        seeds: whose rows the table has.
        settings: seeds -> the settings of their rows, in order.
        measure: called with a setting: what was measured, a value for each other column.
        command: how the table is made.
    """

    name: str
    description: str | Callable[[], str]
    setting: tuple[str, ...]
    measured: tuple[str, ...]
    seeds: Iterable[int]
    settings: Callable[[Iterable[int]], Iterable[Setting]]
    measure: Callable[..., Any]
    command: str = ""

    def rows(self, seeds: Iterable[int] | None = None, **only: Any) -> Iterator[list[Any]]:
        """Make the rows of these seeds, or of all; `only` those with such values of a column."""
        for setting in self.settings(self.seeds if seeds is None else seeds):
            named = dict(zip(self.setting, setting, strict=True))
            if all(str(named[column]) == str(value) for column, value in only.items()):
                yield self.row(setting)

    def row(self, setting: Setting) -> list[Any]:
        """Make the row of a setting."""
        torch.set_num_threads(1)
        measured = self.measure(*setting)
        values = measured if isinstance(measured, tuple) else (measured,)
        return [*setting, *map(_rounded, values)]

    def recorded(self, setting: Setting) -> list[Any] | None:
        """Return what the record says was measured with a setting; None of a seed that it has not."""
        for row in records.load(self.name).rows:
            if tuple(row[column] for column in self.setting) == tuple(setting):
                return [_rounded(row[column]) for column in self.measured]
        return None

    def main(self, words: list[str] | None = None) -> None:
        """Make the table and write it; or print the cells that `words`, the command line, ask for."""
        parser = argparse.ArgumentParser(description=f"Makes the table {self.name}.")
        parser.add_argument("--seeds", type=int, nargs="+", help="of the cells to print")
        parser.add_argument(
            "--only", nargs="+", metavar="COLUMN=VALUE", help="of the cells to print"
        )
        parser.add_argument("--folder", type=Path, default=TABLES, help="where the table goes")
        parser.add_argument("--jobs", type=int, default=1, help="how many seeds at once")
        arguments = parser.parse_args(words)
        if arguments.seeds or arguments.only:
            only = dict(words.split("=", 1) for words in arguments.only or ())
            for row in self.rows(arguments.seeds, **only):
                print(*row, "recorded:", self.recorded(tuple(row[: len(self.setting)])), flush=True)
            return
        by_seed: dict[int, list[Setting]] = {}
        for setting in self.settings(self.seeds):
            by_seed.setdefault(setting[self.setting.index("seed")], []).append(setting)
        parts = joblib.Parallel(n_jobs=arguments.jobs)(
            joblib.delayed(self.rows_in_seconds)(settings) for settings in by_seed.values()
        )
        rows = {tuple(row[: len(self.setting)]): row for made, _ in parts for row in made}
        self.save(
            [rows[setting] for setting in self.settings(self.seeds)],
            folder=arguments.folder,
            cpu_seconds=round(sum(seconds for _, seconds in parts)),
        )

    def rows_in_seconds(self, settings: list[Setting]) -> tuple[list[list[Any]], float]:
        """Make the rows of these settings, each printed at once, and count their CPU-seconds."""
        began = time.process_time()
        rows = []
        for setting in settings:
            rows.append(self.row(setting))
            print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)
        return rows, time.process_time() - began

    def save(self, rows: list[list[Any]], *, folder: Path = TABLES, **provenance: Any) -> None:
        """Write these rows as the table."""
        words = self.description if isinstance(self.description, str) else self.description()
        columns = [*self.setting, *self.measured]
        if self.command:
            provenance["command"] = self.command
        save(self.name, words, columns, rows, folder=folder, **provenance)


@functools.cache
def images_of(name: str) -> ImageData:
    """Return digits, or 5,000 shapes of 16 px."""
    return datasets.load(name) if name == "digits" else datasets.load(name, size=16)


def fields_of(method: Any, **values: Any) -> dict[str, Any]:
    """Return those values that are fields of a method's Config and not None."""
    known = method.Config.__dataclass_fields__
    return {name: value for name, value in values.items() if name in known and value is not None}


def recorded_settings(
    name: str, columns: tuple[str, ...], gone: tuple[Any, ...]
) -> Callable[..., list[Setting]]:
    """Return the settings of a table that was made before: those of its own rows."""

    def settings(seeds: Iterable[int]) -> list[Setting]:
        chosen = set(seeds)
        rows = [row for row in records.load(name).rows if row["seed"] in chosen]
        found = [tuple(row[column] for column in columns) for row in rows]
        return [setting for setting in found if not {*setting} & {*gone}]

    return settings


def again(
    name: str,
    columns: str,
    measured: str,
    seeds: int,
    measure: Callable[..., Any],
    *,
    gone: tuple[Any, ...] = (),
) -> Study:
    """Return the study of a table that an earlier commit made, which its provenance names.

    Args:
        columns, measured: names with spaces between them.
        measure: called with the setting as keywords.
        gone: rows with one of these values stay as they are, for it has left the library.
    """
    setting = tuple(columns.split())
    return Study(
        name=name,
        description=records.load(name).description,
        setting=setting,
        measured=tuple(measured.split()),
        seeds=range(seeds),
        settings=recorded_settings(name, setting, gone),
        measure=lambda *values: measure(**dict(zip(setting, values, strict=True))),
    )


def main_of(studies: Iterable[Study]) -> None:
    """Run the study that the command line names first."""
    by_name = {study.name: study for study in studies}
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=tuple(by_name))
    arguments, words = parser.parse_known_args()
    script = f"notebooks/studies/{Path(sys.argv[0]).name}"
    study = dataclasses.replace(
        by_name[arguments.table], command=f"python {script} {arguments.table}"
    )
    study.main(words)


def save(
    name: str,
    description: str,
    columns: list[str],
    rows: list[list[Any]],
    *,
    folder: Path = TABLES,
    **provenance: Any,
) -> None:
    """Write a table, a row on each line; `provenance` is added to what is known of the run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    provenance = {
        "command": f"python notebooks/studies/{name}.py",
        "commit": commit.stdout.strip(),
        "device": "cpu",
        **machine(),
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
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def machine() -> dict[str, Any]:
    """Return what the last digits of a number depend on: processor, instructions, threads, versions."""
    return {
        "processor": processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }


def processor() -> str:
    """Return the processor's name, with family and model where the system says them."""
    file = Path("/proc/cpuinfo")
    if not file.exists():
        return platform.processor()
    pairs = [line.partition(":") for line in file.read_text().splitlines() if ":" in line]
    about = {key.strip(): value.strip() for key, _, value in reversed(pairs)}
    name = about.get("model name", platform.processor())
    return f"{name} (family {about.get('cpu family')}, model {about.get('model')})"


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value

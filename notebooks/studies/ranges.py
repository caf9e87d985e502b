"""What a page prints, as ranges over lesson seeds: where the instructor pages have theirs from.

python notebooks/studies/ranges.py 95 5        # lesson 95 with seeds 0 to 4
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
from nbclient import NotebookClient

SOLUTIONS = Path(__file__).parents[1] / "solutions"
NUMBER = re.compile(r"[+-]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)")


def lines(page: Path, seed: int) -> list[tuple[int, str]]:
    """The cell and text of each line that the page prints with this seed and that holds a number."""
    book = nbformat.read(page, 4)
    for cell in book.cells:
        cell.source = re.sub(r'(start\("[^"]+", seed=)\d+', rf"\g<1>{seed}", cell.source)
    NotebookClient(book, timeout=900, resources={"metadata": {"path": str(SOLUTIONS)}}).execute()
    printed = [
        (place, line.strip())
        for place, cell in enumerate(book.cells)
        for output in cell.get("outputs", [])
        for line in output.get("text", "").splitlines()
    ]
    return [(place, line) for place, line in printed if NUMBER.search(line) and "%|" not in line]


def main() -> None:
    """Print each line with its numbers' ranges; lines whose words differ with the seed stand alone."""
    number = sys.argv[1]
    count = int(sys.argv[2])
    (page,) = SOLUTIONS.glob(f"{number}_*.ipynb")
    numbers_by_line = defaultdict[tuple[int, str], list[list[str]]](list)
    for seed in range(count):
        for place, line in lines(page, seed):
            numbers_by_line[place, NUMBER.sub("#", line)].append(NUMBER.findall(line))
    for (place, words), seeds in numbers_by_line.items():
        ordered = [
            sorted(values, key=lambda value: float(value.replace(",", "")))
            for values in zip(*seeds, strict=True)
        ]
        spans = iter(
            low if low == high else f"{low} to {high}" for low, *_, high in (v * 2 for v in ordered)
        )
        print(
            f"[{place}] {len(seeds)} seeds: "
            f"{re.sub('#', lambda _, spans=spans: next(spans), words)}"
        )


if __name__ == "__main__":
    main()

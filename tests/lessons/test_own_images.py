"""Lesson 20 on a reader's own images: a folder instead of the digits, nothing else changed."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from PIL import Image

import ddlab
from ddlab.lessons.build import NOTEBOOKS


def folder_of_digits(root: Path, classes: int = 3) -> Path:
    """Real digits as somebody's picture folder: colour, not square, without a split."""
    data = ddlab.data.load("digits")
    for label in range(classes):
        place = root / f"kind {label}"
        place.mkdir(parents=True)
        for number in data.of_class(label)[:60].tolist():
            image = (
                Image.fromarray(data.train_images[number, 0].numpy())
                .convert("RGB")
                .resize((30, 24))
            )
            image.save(place / f"{number}.{'jpg' if number % 2 else 'PNG'}")
    return root


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_lesson_runs_on_a_folder(tmp_path: Path) -> None:
    folder = folder_of_digits(tmp_path / "my_pictures")
    lesson = json.loads((NOTEBOOKS / "20_inverting_a_network.ipynb").read_text())
    text = json.dumps(lesson).replace(
        r"ddlab.data.load(\"digits\")", rf"ddlab.data.load(\"folder\", \"{folder}\", size=16)"
    )
    assert text != json.dumps(lesson)
    notebook = nbformat.reads(text, as_version=4)
    # A kernel of its own folder: what lies in the current one must not matter.
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    # The verdict holds the replies to all answers; none of them is printed before a guess is locked.
    assert "with online labels at a rate of .25, ten pairs" in json.dumps(
        notebook.metadata["widgets"]
    )
    assert not [
        o for cell in notebook.cells for o in cell.get("outputs", []) if o.get("name") == "stderr"
    ]

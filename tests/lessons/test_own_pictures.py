"""Every solution runs from top to bottom with other pictures in its lines `data = ...`: other
sizes, colours, numbers of classes.
"""

import dataclasses
import re
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from ddlab import data as datasets
from ddlab.data import ImageData
from ddlab.lessons.build import NOTEBOOKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
LINES = {
    r"data, teacher = [^\n]+": "data = {own}\nteacher = ddlab.train_teacher(data, progress=False)",
    r'data = ddlab\.data\.load\("shapes", size=64[^\n]+\nteacher = [^\n]+': (
        "data = {own}\nteacher = ddlab.train_teacher(data, progress=False)"
    ),
    r'ddlab\.data\.load\("digits"\)': "{own}",
    r'ddlab\.data\.load\("shapes", size=16\)': "{own}",
}
WITHOUT_PICTURES = ("10_ideal_data", "90_theorems_on_trial")
PAGES = [
    path
    for path in sorted((NOTEBOOKS / "solutions").glob("*.ipynb"))
    if path.stem not in WITHOUT_PICTURES
]


def three_large() -> ImageData:
    """Three classes of 32 pixels, in colour."""
    return datasets.load("shapes", size=32, train=3600, test=600).subset(classes=[0, 1, 2])


def twelve() -> ImageData:
    """Twelve classes of 16 pixels, in colour: two of ten are split."""
    data = datasets.load("shapes", size=16, train=1440, test=600)
    labels = {}
    for split in ("train_labels", "test_labels"):
        new_labels = getattr(data, split).clone()
        odd = torch.arange(len(new_labels)) // 10 % 2 == 1  # classes come in turn
        for label in (0, 1):
            new_labels[(new_labels == label) & odd] = 10 + label
        labels[split] = new_labels
    return dataclasses.replace(
        data, class_names=(*data.class_names, "eleventh", "twelfth"), **labels
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pictures")
    return {
        make.__name__: make().save(folder / f"{make.__name__}.safetensors")
        for make in (three_large, twelve)
    }


@pytest.mark.parametrize("kind", ["three_large", "twelve"])
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_runs_with_other_pictures(path: Path, kind: str, files: dict[str, Path]) -> None:
    notebook = nbformat.read(path, 4)
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for line, own_line in LINES.items():
                cell.source, replaced = re.subn(
                    line,
                    own_line.format(own=f"ddlab.ImageData.load({str(files[kind])!r})"),
                    cell.source,
                )
                count += replaced
    assert count, "no line that loads pictures"
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()

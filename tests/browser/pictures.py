"""The README's pictures, taken from the lessons in a browser: `make pictures`.

A picture that moves is a row of screenshots of one laboratory while its controls are moved.
"""

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.lab import Browser, LabServer
from tests.browser.test_clicks import PLACE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PICTURES = NOTEBOOKS / "pictures"
WIDTH = 1100  # pixels of the browser's window
MILLISECONDS = 160  # of a frame
LONGEST = 1200  # of the last one, before the picture starts again

Frames = Iterator[bytes]


@dataclass(frozen=True)
class Scene:
    """One picture of the README.

    Attributes:
        name: of its file.
        lesson: the notebook without its suffix.
        explorer: the laboratory's class, as the page calls it.
        title: words that its output holds.
        play: acts on the page, and gives a screenshot for each frame; None: one still picture.
    """

    name: str
    lesson: str
    explorer: str
    title: str
    play: Callable[[Any, Any], Frames] | None = None


def move_recovery(opened: Any, box: Any) -> Frames:
    """Raise the weight of the gaps, and play the images that come of it."""
    for presses in (0, 2, 2):
        if presses:
            opened.move_slider("gaps", presses=presses)
            opened.page.wait_for_timeout(4000)  # the new images are computed
        for key in ("Home", *["PageUp"] * 10):
            opened.slider("update").press(key)
            opened.page.wait_for_timeout(250)
            yield box.screenshot()


def drag_point(opened: Any, box: Any) -> Frames:
    """Lead the training point to the place that turns the line onto the real one, and beyond."""
    stops = ((0.6, 0.6), (1.3, 2.0), (2.0, 1.2), (1.0, 0.9))
    mouse = opened.page.mouse
    start = opened.page.evaluate(PLACE, ["point", *stops[0]])
    mouse.move(*start)
    mouse.down()
    for place in stops[1:]:
        end = opened.page.evaluate(PLACE, ["point", *place])
        for step in range(1, 13):
            share = step / 12
            mouse.move(*(a + share * (b - a) for a, b in zip(start, end, strict=True)))
            opened.page.wait_for_timeout(120)
            yield box.screenshot()
        start = end
    mouse.up()


SCENES = (
    Scene("recovery", "20_inverting_a_network", "RecoveryLab", "gaps", move_recovery),
    Scene("one_point", "60_learning_through_training", "OnePoint", "point", drag_point),
    Scene("arena", "80_arena", "ArenaLab", "Which method"),
)


def save(frames: list[bytes], path: Path) -> None:
    """Write the frames as a WebP that moves, or one frame as a still one."""
    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    if len(images) == 1:
        images[0].save(path, quality=85)
        return
    durations = [MILLISECONDS] * (len(images) - 1) + [LONGEST]
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=durations, loop=0, quality=70
    )


def main() -> None:
    """Take each picture from its lesson."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LabServer(Path(folder), Path(folder) / "jupyterlab.log") as server,
        Browser(server, Path(folder)) as browser,
    ):
        for scene in SCENES:
            shutil.copy(NOTEBOOKS / f"{scene.lesson}.ipynb", folder)
            opened = browser.open(f"{scene.lesson}.ipynb", width=WIDTH)
            opened.run_all(300, wait_for_plots=2)
            box = opened.page.locator(".ddlab-explorer").filter(has_text=scene.title).first
            box.scroll_into_view_if_needed()
            opened.page.wait_for_timeout(5000)  # all that it computes ahead
            frames = [box.screenshot()] if scene.play is None else list(scene.play(opened, box))
            save(frames, PICTURES / f"{scene.name}.webp")
            opened.close()
            print(scene.name, len(frames))


if __name__ == "__main__":
    main()

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

from ddlab.lessons.shared.one_weight import POINTS
from tests.browser.lab import Browser, LabServer
from tests.browser.test_clicks import MARKS, PLACE

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
        title: words that the laboratory shows.
        play: acts on the page, and gives a screenshot for each frame; None: one still picture.
    """

    name: str
    lesson: str
    explorer: str
    title: str
    play: Callable[[Any, Any], Frames] | None = None


def move_recovery(opened: Any, box: Any) -> Frames:
    """Turn the gaps on, weight by weight, and watch each run from its start to its end."""
    for weight in ("off", "0.01", "0.1", "1"):
        box.get_by_role("button", name=weight, exact=True).click()
        opened.page.wait_for_timeout(9000)  # its images are recovered, and students trained
        handle = opened.slider("update")
        handle.focus()
        for key in ("Home", *["PageUp"] * 4, "End", "End"):
            opened.page.keyboard.press(key)
            opened.page.wait_for_timeout(300)
            yield box.screenshot()


def drag_point(opened: Any, box: Any) -> Frames:
    """Lead the training point to the place that turns the line onto the real one, and beyond."""
    title = "The student's line"
    place = opened.page.evaluate(MARKS, [title, POINTS])[0]
    start = opened.page.evaluate(PLACE, [title, *place])
    opened.page.mouse.move(*start)
    opened.page.mouse.down()
    for stop in ((1.3, 2.0), (2.0, 1.2), (1.0, 0.9)):
        end = opened.page.evaluate(PLACE, [title, *stop])
        for share in (step / 12 for step in range(1, 13)):
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            opened.page.mouse.move(x, y)
            opened.page.wait_for_timeout(120)
            yield box.screenshot()
        start = end
    opened.page.mouse.up()


SCENES = (
    Scene(
        "recovery",
        "20_inverting_a_network",
        "RecoveryLab",
        "What does the network give back?",
        move_recovery,
    ),
    Scene(
        "one_point", "60_learning_through_training", "OnePoint", "One point, N steps", drag_point
    ),
    Scene("arena", "80_arena", "ArenaLab", "Which method, at what price?"),
)


def save(frames: list[bytes], path: Path) -> None:
    """Write the frames as a WebP, which moves if they are several."""
    shots = [Image.open(io.BytesIO(frame)) for frame in frames]
    # A sentence of two lines makes an explorer higher.
    height = max(shot.height for shot in shots)
    images = [Image.new("RGB", (shot.width, height), "white") for shot in shots]
    for image, shot in zip(images, shots, strict=True):
        image.paste(shot)
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

"""An image widget with alt text, for grids that are encoded beforehand (`figures.encode_grid`).

picture = Picture(encode_grid(images, columns=10, scale=3), alt="100 images in ...")
picture.show_bytes(encode_grid(other, columns=10, scale=3), alt="...")     # from any thread
"""

from typing import Any

import ipywidgets as widgets
import traitlets


class Picture(widgets.Image):
    """PNG or JPEG bytes with alt text.

    The widget has no alt attribute; its `tooltip` becomes the title of the image, from which a
    screen reader takes the name.
    """

    # ipywidgets' front end reads the length of the description before it sets a tooltip, and its
    # Image has none.
    description = traitlets.Unicode("").tag(sync=True)

    def __init__(self, encoded: bytes, *, alt: str, **keywords: Any) -> None:
        keywords.setdefault(
            "layout",
            widgets.Layout(max_width="100%", object_fit="contain", align_self="flex-start"),
        )
        super().__init__(value=encoded, format=_format(encoded), tooltip=alt, **keywords)

    @property
    def alt(self) -> str:
        """One sentence that says what the image shows."""
        return str(self.tooltip or "")

    def show_bytes(self, encoded: bytes, *, alt: str | None = None) -> None:
        """Show another encoded image, in one message with its alt text."""
        with self.hold_sync():
            self.format = _format(encoded)
            self.value = encoded
            if alt is not None:
                self.tooltip = alt


def _format(encoded: bytes) -> str:
    return "jpeg" if encoded[:2] == b"\xff\xd8" else "png"

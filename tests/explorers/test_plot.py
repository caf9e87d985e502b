"""The plot and picture widgets, without a browser: what travels, when, and what is refused."""

import gzip
import json
import threading

import ipywidgets as widgets
import plotly.graph_objects as go
import pytest

from ddlab.core import DDLabError
from ddlab.explorers.images import Picture
from ddlab.explorers.plot import Plot, shared_library
from ddlab.figures import encode_png, loss_curves
from ddlab.figures.theme import palette


@pytest.fixture
def plot():
    widget = Plot(loss_curves({"loss": [3.0, 2.0, 1.0]}))
    yield widget
    widget.close()


def sent(plot: Plot) -> dict:
    return json.loads(plot.get_state("_figure")["_figure"])


def test_the_first_figure_is_part_of_the_first_state(plot):
    state = plot.get_state()
    assert json.loads(state["_figure"])["layout"]["title"]["text"]
    assert state["alt"].startswith("Line chart of loss")
    assert state["height"] == 360


def test_plotly_travels_once_and_packed(plot):
    second_plot = Plot(loss_curves({"a": [1]}))
    assert plot._library == second_plot._library == shared_library().model_id
    script = gzip.decompress(shared_library().gzipped)
    assert b"plotly.js v" + shared_library().version.encode() in script[:200]
    assert len(shared_library().gzipped) < 2_000_000
    # One plot carries its own small script, not the library.
    assert sum(len(str(value)) for value in plot.get_state().values()) < 60_000
    second_plot.close()


def test_library_is_made_again_after_all_widgets_were_closed(plot):
    before = shared_library()
    before.close()
    assert shared_library().comm is not None
    assert shared_library().model_id != before


def test_front_end_knows_both_palettes():
    assert shared_library().palettes == {"light": palette("light"), "dark": palette("dark")}


def test_a_new_figure_and_its_alt_text_travel_together(plot):
    messages = []
    plot._send = lambda message, buffers=None: messages.append(message)
    plot.figure = loss_curves({"loss": [3.0, 2.0]})
    updates = [message["state"] for message in messages if message["method"] == "update"]
    assert len(updates) == 1 and set(updates[0]) == {"_figure", "alt"}
    assert "1 to 2" in plot.alt


def test_the_cursor_moves_without_the_figure(plot):
    messages = []
    plot._send = lambda message, buffers=None: messages.append(message)
    plot.cursor = 2.0
    assert [message["state"] for message in messages] == [{"cursor": 2.0}]


def test_what_a_slow_page_missed_is_sent_again(plot):
    messages = []
    plot._send = lambda message, buffers=None: messages.append(message)
    plot._handle_custom_msg({"kind": "started"}, [])
    assert messages == [], "nothing has changed since the plot was made"
    plot.cursor = 2.0
    messages.clear()
    plot._handle_custom_msg({"kind": "started"}, [])
    assert [set(message["state"]) for message in messages] == [
        {"_figure", "alt", "cursor", "keep", "kept"}
    ]


def test_figures_may_be_set_from_many_threads(plot):
    def change(value):
        for _ in range(20):
            plot.figure = loss_curves({f"thread {value}": [value]})

    threads = [threading.Thread(target=change, args=(value,)) for value in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    name = sent(plot)["data"][0]["name"]
    assert name in plot.alt and name == plot.figure.data[0].name


def test_a_figure_without_alt_text_is_called_by_its_title():
    plain = Plot(go.Figure(layout={"title": {"text": "My own"}}))
    assert plain.alt == "My own"
    plain.close()


def test_clicks_come_back(plot):
    clicks = []
    plot.observe(lambda change: clicks.append(change["new"]), "clicked")
    plot.set_state(
        {"clicked": {"count": 1, "curve": 0, "point": 2, "x": 3, "y": 1.0, "name": "loss"}}
    )
    assert clicks[0]["point"] == 2


def test_bad_figures(plot):
    for wrong in ({"data": []}, None, "figure"):
        with pytest.raises(DDLabError, match="figure must be a plotly"):
            plot.figure = wrong
    with pytest.raises(DDLabError, match="figure"):
        Plot([1, 2])


def png(value: int = 0) -> bytes:
    import numpy as np

    return encode_png(np.full((2, 2, 3), value, np.uint8))


def test_picture_has_alt_text_and_changes_with_it():
    picture = Picture(png(), alt="Two digits.")
    assert picture.alt == "Two digits." and picture.format == "png"
    messages = []
    picture._send = lambda message, buffers=None: messages.append(message)
    picture.show_bytes(b"\xff\xd8jpeg", alt="Three digits.")
    assert len(messages) == 1
    assert (
        picture.alt == "Three digits."
        and picture.format == "jpeg"
        and bytes(picture.value) == b"\xff\xd8jpeg"
    )
    # The front end reads the length of the description before it sets the title: without one it
    # fails.
    assert picture.get_state()["description"] == ""
    picture.close()


def test_plots_fit_into_boxes(plot):
    box = widgets.VBox([plot])
    assert box.children == (plot,)
    box.close()

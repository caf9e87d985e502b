"""Ghosts: the curves of the settings before, pale behind those on show."""

import plotly.graph_objects as go

from ddlab.figures import bars, finish_figure, loss_curves
from ddlab.figures.ghosts import with_ghosts, with_kept


def ghosts(figure: go.Figure, earlier: go.Figure) -> list[go.Scatter]:
    names = [trace.name for trace in figure.data]
    drawn = with_ghosts(figure, earlier, "before: N 3")
    assert [trace.name for trace in drawn.data][: len(names)] == names, "its own traces come first"
    return list(drawn.data[len(names) :])


def test_an_earlier_curve_stays_pale_and_labelled_once() -> None:
    earlier = loss_curves({"first": [3, 2, 1], "second": [5, 4, 3]})
    figure = loss_curves({"first": [1, 1, 1], "second": [2, 2, 2]})
    pale = ghosts(figure, earlier)
    assert [list(trace.y) for trace in pale] == [[3, 2, 1], [5, 4, 3]]
    assert {trace.name for trace in pale} == {"before: N 3"}
    assert all(trace.zorder == -1 and trace.hoverinfo == "skip" for trace in pale)
    # A place in the legend would take height from the plot.
    assert not any(trace.showlegend for trace in pale)
    assert [words.text for words in figure.layout.annotations] == ["before: N 3 (pale)"]


def test_a_figure_without_legend_gets_none_by_its_ghost() -> None:
    figure = loss_curves({"loss": [1, 1]})
    assert ghosts(figure, loss_curves({"loss": [3, 2]})) and figure.layout.showlegend is False


def test_what_is_still_on_show_leaves_no_ghost() -> None:
    grown = loss_curves({"first": [3, 2, 1, 0.5]})
    assert ghosts(grown, loss_curves({"first": [3, 2, 1]})) == []
    assert ghosts(grown, grown) == []


def test_a_curve_under_another_name_is_known_by_its_points() -> None:
    assert ghosts(loss_curves({"renamed": [3, 2, 1]}), loss_curves({"first": [3, 2, 1]})) == []


def test_bars_become_strokes_at_their_ends() -> None:
    names = ["a", "b"]
    (stroke,) = ghosts(
        bars(names, [0.5, 0.6], title="Bars", y_label="height"),
        bars(names, [0.1, 0.2], title="Bars", y_label="height"),
    )
    assert list(stroke.x) == names and list(stroke.y) == [0.1, 0.2]
    assert stroke.mode == "markers" and stroke.marker.symbol == "line-ew-open"


def test_three_ghosts_at_most_and_none_of_what_has_no_place_in_the_legend() -> None:
    many = loss_curves({str(n): [n, n + 1] for n in range(6)})
    now = loss_curves({"x": [9, 9]})
    assert len(ghosts(now, many)) == 3
    assert ghosts(now, many.update_traces(showlegend=False)) == []


def test_ghosts_have_no_ghosts() -> None:
    first, second, third = (loss_curves({"loss": [n, n + 1]}) for n in (1, 5, 9))
    (ghost,) = ghosts(third, with_ghosts(second, first, "before: N 1"))
    assert list(ghost.y) == [5, 6]


def test_curves_of_other_axes_leave_no_ghost() -> None:
    """Another unit, or coordinates that no title names."""
    figure = loss_curves({"loss": [1, 1]})
    assert ghosts(figure, loss_curves({"loss": [3, 2]}, y_label="share of errors")) == []
    plane = finish_figure(loss_curves({"loss": [1, 1]}), alt="A plane.", coordinates="of expert 1")
    other = finish_figure(loss_curves({"loss": [3, 2]}), alt="A plane.", coordinates="of expert 2")
    assert ghosts(plane, other) == [] and len(ghosts(plane, plane)) == 0
    assert with_kept(figure, [plane]) is figure and len(figure.data) == 1


def test_what_is_kept_has_a_dash_of_its_own() -> None:
    kept = [loss_curves({"loss": [n, n + 1]}) for n in (1, 5)]
    drawn = with_kept(loss_curves({"loss": [9, 9]}), kept)
    assert [trace.line.dash for trace in drawn.data[1:]] == ["dash", "dot"]


def test_a_kept_curve_stays_within_fixed_axes() -> None:
    kept = loss_curves({"loss": [1, 9]}).update_yaxes(range=[0, 10])
    figure = loss_curves({"loss": [2, 3]}).update_yaxes(range=[1, 4])
    assert list(with_kept(figure, [kept]).layout.yaxis.range) == [0, 10]

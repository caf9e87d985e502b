"""A claim as a card: what was claimed, a chip with the verdict, its interval beside the declared effect, one sentence.

    lesson.card("D1", lost, sentence="A quarter of the distance is lost, not four fifths.")      # judged on numbers of this run
    lesson.card("D4", sentence="...")                                                        # as it is recorded

A card is HTML with a drawing (SVG) that takes its colours from the page. The chip says "here" only of numbers of this run.
"""

from __future__ import annotations

import html

from . import claims
from .shared.effects import Numbers

_WIDTH, _MARGIN, _LABEL = 340, 24, 100  # px; the label stands beside the line of the declared effect
_STYLE = (
    "<style>.ddlab-card { border: 1px solid #8A8A8A; border-radius: 6px; padding: 8px 12px; margin: 6px 0; max-width: 46em; }"
    ".ddlab-card p { margin: 3px 0; } .ddlab-card svg { max-width: 100%; height: auto; }"
    ".ddlab-card .source, .ddlab-card .from { font-size: 12px; opacity: .85; }"
    ".ddlab-chip { display: inline-block; font-weight: 600; padding: 0 9px; border-radius: 10px; border: 2px solid; margin-right: 8px; }"
    "</style>"
)
# Of the border of a chip; the words say the same.
_COLOURS = {"holds": "#009E73", "true": "#009E73", "holds when": "#0072B2", "true when": "#0072B2", "undecided": "#8A8A8A",
            "weaker": "#E69F00", "not seen": "#E69F00", "opposite": "#D55E00", "false": "#D55E00"}  # fmt: skip


def card(verdict: claims.Verdict, sentence: str, *, here: bool, known: claims.Verdict | None = None) -> str:
    """The card of one claim as HTML.

    Args:
        verdict: on show. sentence: what it means, one sentence. here: whether its numbers are of this run.
        known: the recorded verdict, drawn below the one of this run.
    """
    claim = claims.CLAIMS[verdict.claim]
    where = " here" if here and not claim.stated else "" if here else ", recorded"
    said = html.escape(claims.in_words(verdict) + where)
    chip = f'<span class="ddlab-chip" style="border-color:{_COLOURS[verdict.verdict]}">{said}</span>'
    drawn = "" if claim.counted else interval_picture(claim, verdict.numbers, None if known is None else known.numbers)
    numbers = claims.effect_in_words(verdict)
    source = (
        f"{verdict.setting[:1].upper()}{verdict.setting[1:]}: {numbers}"
        if here
        else f"Recorded on {verdict.setting}: {numbers}"
    )
    beside = (
        ""
        if known is None
        else f" Recorded ({known.setting}): {claims.in_words(known)}, {claims.effect_in_words(known)}."
    )
    return (
        f'{_STYLE}<div class="ddlab-card" role="group" aria-label="Claim {html.escape(claim.id)}">'
        f"<p>{chip}<b>{html.escape(claim.id)}</b> {html.escape(claim.statement)}</p>"
        f'<p class="source">{html.escape(claim.source)}. Declared: {html.escape(claims.declared(claim))}.</p>{drawn}'
        f'<p>{html.escape(sentence)}</p><p class="from">{html.escape(source)}.{html.escape(beside)}</p></div>'
    )


def interval_picture(claim: claims.Claim, found: Numbers, recorded: Numbers | None = None) -> str:
    """The 95% interval and the mean beside 0 and the declared effect, as SVG; the recorded one thin, below it."""
    rows = [found] if recorded is None else [found, recorded]
    ends = [0.0, claim.claimed, *(end for row in rows for end in row.interval), *(row.number for row in rows)]
    low, high = min(ends), max(ends)
    left = _MARGIN if claim.claimed >= 0 else _LABEL
    unit = (_WIDTH - _MARGIN - _LABEL) / ((high - low) or 1.0)

    def at(value: float) -> float:
        return round(left + (value - low) * unit, 1)

    height = 30 + 14 * len(rows)
    sides = ("end", "start") if claim.claimed >= 0 else ("start", "end")
    parts = [
        _mark(at(0.0), height, "0", sides[0]),
        _mark(at(claim.claimed), height, f"declared {claim.claimed:g}", sides[1], "4 3"),
    ]
    for place, row in enumerate(rows):
        y, thick = 26 + 14 * place, 5 if place == 0 else 2
        first, last = (at(end) for end in row.interval)
        parts.append(f'<line x1="{first}" x2="{last}" y1="{y}" y2="{y}" stroke="currentColor" stroke-width="{thick}"/>')
        parts.append(f'<circle cx="{at(row.number)}" cy="{y}" r="{6 if place == 0 else 4}" fill="currentColor"/>')
    words = f"Mean {found.number:+.3g}, 95% interval {' to '.join(f'{end:+.3g}' for end in found.interval)}; "
    words += f"declared at least {claim.claimed:g}."
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" aria-label="{html.escape(words)}">'
        f"<title>{html.escape(words)}</title>{''.join(parts)}</svg>"
    )


def _mark(x: float, height: int, label: str, anchor: str, dashes: str = "none") -> str:
    """A vertical line with its name beside its upper end."""
    return (
        f'<line x1="{x}" x2="{x}" y1="4" y2="{height - 4}" stroke="currentColor" stroke-width="1.5" stroke-dasharray="{dashes}"/>'
        f'<text x="{x + (4 if anchor == "start" else -4)}" y="13" font-size="11" fill="currentColor" text-anchor="{anchor}">{label}</text>'
    )

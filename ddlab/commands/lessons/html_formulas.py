r"""Formulas of a page as MathML, which browsers draw by themselves: no script, no fonts, no network.

mathml(r"\lambda_\mathrm{var}")      # "<math ...>...</math>"

What the converter does not know stays as LaTeX, marked as code, so that it can be read and is never drawn wrong.
"""

from __future__ import annotations

import html
import re

# The converter has no number at the edge of the page, no starred or spaced operators, and `aligned` only under its older name.
_REWRITTEN = (
    (re.compile(r"\\tag\{([^}]*)\}"), r"\\qquad \\text{(\1)}"),
    (re.compile(r"\\operatorname\*?\{([^}]*)\}"), lambda found: r"\operatorname{" + _without_spaces(found[1]) + "}"),
    (re.compile(r"\\arg(?![a-zA-Z])"), r"\\operatorname{arg}"),
    (re.compile(r"\\(begin|end)\{aligned\}"), r"\\\1{split}"),
)
# A command or a column mark that comes out as it went in has not been understood.
_NOT_UNDERSTOOD = re.compile(r">\s*(\\[a-zA-Z]+|&)\s*<")


def mathml(latex: str, *, block: bool = False) -> str:
    """One formula (without its dollar signs) as MathML, or as `<code class="ddlab-latex">` where the converter does not know it.

    Args:
        block: on a line of its own.
    """
    from latex2mathml.converter import convert

    source = latex.strip()
    rewritten = source
    for pattern, replacement in _REWRITTEN:
        rewritten = pattern.sub(replacement, rewritten)
    try:
        drawn = convert(rewritten, display="block" if block else "inline")
    except Exception:  # whatever a parser of LaTeX raises: the formula must reach the reader all the same
        drawn = ""
    if not drawn or _NOT_UNDERSTOOD.search(drawn):
        return f'<code class="ddlab-latex">{html.escape(source)}</code>'
    # The source goes along: a screen reader may say it, and copying gives it back.
    return drawn.replace("<math ", f'<math alttext="{html.escape(source)}" ', 1)


def _without_spaces(name: str) -> str:
    return re.sub(r"\\[,;:! ]|\s", "", name)

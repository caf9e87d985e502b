"""Names of classes as people write them: which ones look alike, and which have no image."""

import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Sequence


def lookalikes(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of names that a reader would take for one.

    They differ in capitals, in blanks, in signs that are not seen, or in how an accent is written.

    >>> lookalikes(["cat", "dog", "Cat "])
    [('cat', 'Cat ')]
    """
    groups = defaultdict[str, list[str]](list)
    for name in names:
        plain = unicodedata.normalize("NFKC", name).casefold()
        seen = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
        groups[" ".join(seen.split())].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def in_letters(names: Sequence[str]) -> str:
    r"""Return names with every sign that could hide its difference written out.

    >>> in_letters(["cat", "cat\u00a0"])
    "'cat' and 'cat\\xa0'"
    """
    return " and ".join(ascii(name) for name in names)


def untested_text(names: Sequence[str]) -> str:
    """Say which classes no test image shows.

    >>> untested_text(["cat"])
    "no test image of 'cat'"
    """
    return "no test image of " + ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)


def warn_of_lookalikes(names: Sequence[str], stacklevel: int) -> None:
    """Warn of classes that look like one, where the function that reads them was called."""
    for group in lookalikes(names):
        warnings.warn(
            f"{in_letters(group)} look alike and are {len(group)} classes; if they are one, write "
            "them alike.",
            stacklevel=stacklevel + 1,
        )

"""Sentences as pictures of one channel, with the embedding of a word in each row.

So every method and network of images takes them.

questions()                                           360 made-up questions of six kinds, as TREC's
read("questions.txt")                                 a file with "label<tab>sentence" in each line
read("questions.txt", vectors="glove.6B.100d.txt")    with embeddings from a file of GloVe's, too

Embeddings come from the sentences themselves where no file gives them: positive pointwise mutual
information of words that stand near each other, reduced by SVD (Levy & Goldberg 2014, *Neural word
embedding as implicit matrix factorization*). Kept as 256 levels, as all pixels are. A learned row
of a distilled set is read as its nearest word.
"""

import collections
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..core import DDLabError, Index, checked, errors, storage, within
from ..core.randomness import generator
from .arrays import Fraction, split_rows
from .class_names import warn_of_lookalikes
from .images import ImageData

WINDOW = 4  # words to each side that are near
PADDING = ""
# Whose distances from all words are in memory: 40 MB for TREC's ten thousand words.
_ROWS_AT_ONCE = 1000

Length = Annotated[int, within(1, 1000)]
Dimensions = Annotated[int, within(1, 1000)]


@dataclass(frozen=True, eq=False)
class TextData:
    """Embedded sentences.

    Attributes:
        embedded: the sentences [n, 1, length, dim], as any `ImageData`.
        vocabulary: all words; the first is no word, which fills sentences up.
        vectors: float32 [words, dim], normalised like `embedded`.
    """

    embedded: ImageData
    vocabulary: tuple[str, ...]
    vectors: Tensor

    def words(self, images: Tensor) -> list[str]:
        """Return sentences [n, 1, length, dim] as text, each row as its nearest word."""
        errors.check_tensor("images", images, shape=[None, 1, *self.embedded.image_size])
        rows = images[:, 0].flatten(0, 1).cpu().float().split(_ROWS_AT_ONCE)
        nearest = torch.cat([torch.cdist(some, self.vectors).argmin(1) for some in rows]).view(
            len(images), -1
        )
        sentences = []
        for row in nearest.tolist():
            sentences.append(" ".join(filter(None, (self.vocabulary[word] for word in row))))
        return sentences


@checked
def questions(
    *,
    count: Annotated[int, within(12, 10**5)] = 360,
    length: Length = 10,
    dim: Dimensions = 16,
    seed: int = 0,
) -> TextData:
    """Return made-up questions of six kinds, a sixth of them each.

    They are made from patterns; every sixth question of a kind is for the test.
    """
    draws = generator(seed, 0, "questions")

    def pick(rows: Sequence[str]) -> str:
        return rows[int(torch.randint(len(rows), (), generator=draws))]

    kinds = tuple(_PATTERNS)
    lines = []
    for number in range(count):
        pattern = pick(_PATTERNS[kinds[number % 6]])
        lines.append(
            (
                kinds[number % 6],
                re.sub(r"<(\w+)>", lambda match: pick(_WORDS[match[1]].split(",")), pattern),
            )
        )
    # Kinds take turns, so six in a row are one of each, and every sixth such row is for the
    # test.
    test = [number for number in range(count) if number // 6 % 6 == 5]
    return _text_data("questions", lines, test, length, dim, None)


@checked
def read(
    path: str | os.PathLike[str],
    *,
    test: str | os.PathLike[str] | None = None,
    vectors: str | os.PathLike[str] | None = None,
    format: Literal["tab", "trec"] = "tab",
    test_fraction: Fraction = 1 / 6,
    length: Length = 30,
    dim: Dimensions = 100,
    seed: Index = 0,
) -> TextData:
    """Read a file of two columns: label, tab, sentence, whose words are separated by spaces.

    Blank lines are left out.

    Args:
        test: a second such file; without one a share of each class is for the test.
        vectors: a text file in GloVe's format, or word2vec's with its first line; words that it
            lacks lie at its mean.
        format: "trec": as TREC's files are, "DESC:manner How did ..." in Latin-1, of which the
            coarse label is taken.
        test_fraction: share of each class for the test, at least one sentence.
        seed: of that split.

    Raises:
        DDLabError: no file, or not in UTF-8; a line without tab or words; a first line that only
            names the columns; one class, a class of one sentence; words that all stand alone;
            ragged vectors (their line).
    """
    lines = _lines("path", path, format)
    test_lines = [] if test is None else _lines("test", test, format)
    rows = list(range(len(lines), len(lines) + len(test_lines)))
    # Numbered by the first appearance of a label, as the classes are.
    if not test_lines:
        places: dict[str, list[int]] = {}
        for number, (label, _) in enumerate(lines):
            places.setdefault(label, []).append(number)
        for number, (label, members) in enumerate(places.items()):
            if len(members) < 2:
                raise DDLabError(
                    "path must hold at least two sentences of each class to split; given "
                    f"{label!r} with one."
                )
            for row in split_rows(len(members), test_fraction, seed=seed, number=number)[1]:
                rows.append(members[row])
    word_vectors = None if vectors is None else _glove(vectors)
    return _text_data(
        storage.checked_path(path).stem, lines + test_lines, sorted(rows), length, dim, word_vectors
    )


def _lines(argument: str, path: str | os.PathLike[str], format: str) -> list[tuple[str, str]]:
    labelled = []
    for number, line in enumerate(
        _read(argument, path, "latin-1" if format == "trec" else "utf-8"), 1
    ):
        if not line.strip():
            continue
        label, tab, sentence = line.partition(" " if format == "trec" else "\t")
        label, colon, _ = label.partition(":") if format == "trec" else (label, ":", "")
        if not (tab and colon and label.strip() and sentence.split()):
            allowed = (
                "a label such as DESC:manner, a blank" if format == "trec" else "a label, a tab"
            )
            raise DDLabError(
                f"{argument} must have {allowed} and words in each line; given {line[:60]!r} "
                f"in line {number} of {path}."
            )
        labelled.append((label.strip(), sentence))
    # Only where no other line has that label: a class may be called "target".
    if (
        labelled
        and labelled[0][0].lower() in _HEADS
        and all(label != labelled[0][0] for label, _ in labelled[1:])
    ):
        raise DDLabError(
            f"{argument} must hold sentences from the first line on; given {labelled[0]} there, "
            "the names of its columns."
        )
    return labelled


# What a first line calls the column of labels.
_HEADS = ("label", "labels", "class", "category", "sentiment", "target")


def _glove(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    lines = [line.rstrip() for line in _read("vectors", path, "utf-8") if line.strip()]
    first = lines[0].split(" ") if lines else []
    # Word2vec's: how many words, how many numbers.
    if len(first) == 2 and all(part.isdigit() for part in first):
        lines = lines[1:]
    word_vectors = dict[str, np.ndarray]()
    dimensions = None
    for number, line in enumerate(lines, 1):
        fields = line.split(" ")
        dimensions = len(fields) - 1 if dimensions is None else dimensions
        # A word may hold blanks.
        word = fields[: len(fields) - dimensions]
        numbers = fields[len(fields) - dimensions :]
        try:
            # Some of GloVe's words hold blanks (". . ."), so the numbers are counted from the end.
            word_vectors[" ".join(word)] = vector = np.asarray(numbers, np.float32)
        except ValueError:
            vector = np.full(1, np.nan, np.float32)
        if not (word and dimensions and np.isfinite(vector).all()):
            location = f"{line[:60]!r} in line {number} of {path}"
            raise DDLabError(
                f"vectors must have a word and equally many numbers in each line; given {location}."
            )
    if not word_vectors:
        raise DDLabError(f"vectors must have a word in some line; given none in {path}.")
    return word_vectors


def _read(argument: str, path: str | os.PathLike[str], encoding: str) -> list[str]:
    """Return the lines of a file, each ending at a line feed alone.

    A byte-order mark is not part of its text.
    """
    try:
        text = storage.checked_path(path, argument).read_text(encoding=encoding)
    except (OSError, UnicodeDecodeError):
        errors.fail(argument, "a text file that is there, in UTF-8", str(path))
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def _text_data(
    name: str,
    lines: list[tuple[str, str]],
    test: list[int],
    length: int,
    dim: int,
    word_vectors: dict[str, np.ndarray] | None,
) -> TextData:
    names = tuple(dict.fromkeys(label for label, _ in lines))
    if len(names) < 2:
        errors.fail("path", "sentences of two classes at least", f"those of {names}")
    warn_of_lookalikes(names, stacklevel=5)
    # Cut before the words are counted: what no image shows must not shape the embedding.
    sentences = [tuple(sentence.lower().split()[:length]) for _, sentence in lines]
    apart = set(test)
    # Training sentences first: the vocabulary, and so the embedding, must not see the test.
    order = [*(number for number in range(len(lines)) if number not in apart), *test]
    train = [sentences[number] for number in order[: len(order) - len(test)]]
    vocabulary = (PADDING, *dict.fromkeys(word for sentence in train for word in sentence))
    places = {word: place for place, word in enumerate(vocabulary)}
    vectors = (
        embeddings(train, vocabulary, dim)
        if word_vectors is None
        else _look_up(vocabulary, word_vectors)
    )
    low, high = float(vectors.min()), float(vectors.max())
    if low == high:
        errors.fail(
            "path", "sentences of more than one word, or with vectors", "words that stand alone"
        )
    # One scale for all dimensions, so that distances between words stay in proportion.
    levels = np.round((vectors - low) / (high - low) * 255).astype(np.uint8)
    rows = np.zeros((len(order), length), np.int64)
    for row, number in enumerate(order):
        # A word that no training sentence has is none.
        words = [places.get(word, 0) for word in sentences[number]]
        rows[row, : len(words)] = words
    pixels = torch.from_numpy(levels)[torch.from_numpy(rows)][:, None]
    labels = torch.tensor([names.index(lines[number][0]) for number in order])
    first = len(train)
    data = ImageData(
        name=f"{name}-{length}x{vectors.shape[1]}",
        train_images=pixels[:first],
        train_labels=labels[:first],
        test_images=pixels[first:],
        test_labels=labels[first:],
        class_names=names,
    )
    # In the units of normalised images, where learned rows are compared with words.
    units = (torch.from_numpy(levels).float() / 255 - data.mean) / data.std
    return TextData(data, vocabulary, units)


def embeddings(
    sentences: Sequence[Sequence[str]], vocabulary: Sequence[str], dim: int
) -> np.ndarray:
    """Return a vector for each word, float32 [words, dim], from the words within `WINDOW` of each
    other. PPMI reduced by SVD: U sqrt(S) of the first `dim`; the empty word lies at 0.
    """
    import scipy.sparse
    from sklearn.utils.extmath import randomized_svd

    places = {word: place for place, word in enumerate(vocabulary)}
    counts: collections.Counter[tuple[int, int]] = collections.Counter()
    for sentence in sentences:
        words = [places[word] for word in sentence]
        for position, word in enumerate(words):
            # Words on both sides; across the end of a sentence nothing is near.
            counts.update(
                (word, neighbour)
                for neighbour in words[max(position - WINDOW, 0) : position]
                + words[position + 1 : position + 1 + WINDOW]
            )
    rows, columns = np.array(list(counts) or [(0, 0)]).T
    table = scipy.sparse.coo_matrix(
        (list(counts.values()) or [0.0], (rows, columns)), (len(vocabulary),) * 2, float
    )
    totals = np.asarray(table.sum(1)).ravel()
    # max(.., 1) before the logarithm makes it positive PMI: pairs rarer than by chance count as
    # unseen.
    table.data = np.log(
        np.maximum(table.data * totals.sum() / np.maximum(totals[rows] * totals[columns], 1), 1)
    )
    # Eight power iterations: with fewer, the last dimensions still changed from version to version.
    left, strength, _ = randomized_svd(table, min(dim, len(vocabulary)), n_iter=8, random_state=0)
    vectors = np.zeros((len(vocabulary), dim), np.float32)
    vectors[:, : len(strength)] = left * np.sqrt(strength)
    return vectors


def _look_up(vocabulary: Sequence[str], word_vectors: dict[str, np.ndarray]) -> np.ndarray:
    # The mean of the words in use: a word without a vector then lies where it says least.
    middle: Any = np.mean(
        [word_vectors[word] for word in vocabulary if word in word_vectors]
        or list(word_vectors.values()),
        0,
    )
    rows = [np.zeros_like(middle)] + [word_vectors.get(word, middle) for word in vocabulary[1:]]
    return np.stack(rows).astype(np.float32)


_PATTERNS = {
    "abbreviation": ["what does <short> stand for ?", "what is <short> short for ?", "what does the abbreviation <short> mean ?"],
    "description": ["what is <thing> ?", "how does <thing> work ?", "why do people need <thing> ?", "what is the meaning of <thing> ?"],
    "entity": ["what <kind> has the largest <part> ?", "what <kind> is the most <how> ?", "which <kind> do people in <place> like ?"],
    "human": ["who <made> <thing> ?", "who was the first <job> of <place> ?", "what <job> <made> <thing> ?"],
    "location": ["where is <place> ?", "what city has the most <kind>s ?", "in what country is <place> ?", "where was <thing> made ?"],
    "number": ["how many <kind>s are in <place> ?", "when did <place> become free ?", "how far is it to <place> ?", "how old is <thing> ?"],
}  # fmt: skip
_WORDS = {
    "short": "nasa,usa,bbc,dna,cpu,nato,fbi,ibm,rom,aids",
    "part": "brain,heart,tooth,eye,ear,tail",
    "thing": "paper,glass,gravity,a compass,the telephone,a violin,steam,the wheel,ink,a "
    "lens,bread,the radio",
    "kind": "bird,fish,dog,flower,tree,game,song,metal,fruit,colour",
    "how": "rare,common,old,loved,useful,dangerous",
    "place": "rome,peru,egypt,texas,paris,the moon,africa,norway,cuba,the nile",
    "made": "invented,wrote,discovered,built,sold,painted",
    "job": "king,queen,president,doctor,pilot,singer",
}

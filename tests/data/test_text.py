"""Sentences as pictures: words there and back, embeddings against a table written out, files and
what is refused of them.
"""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ddlab import networks
from ddlab.core import DDLabError
from ddlab.data import text
from ddlab.networks.text import WIDTH
from ddlab.training import ordered

LINES = [
    "big\ta whale swims",
    "small\tan ant runs",
    "big\ta bear swims",
    "small\ta flea jumps",
    "big\tthe whale",
    "small\tthe gnat runs",
    "big\ta sun",
]


def written(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_words_of_a_file_come_back_and_unknown_ones_are_none(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    words = dict.fromkeys(word for line in LINES for word in line.split("\t")[1].split())
    glove = []
    for word in words:
        glove.append(f"{word} {' '.join(f'{value:.4f}' for value in draws.normal(size=6))}")
    train = written(tmp_path / f"{'a'}.txt", LINES[:5] + LINES[6:])
    test = written(tmp_path / f"{'b'}.txt", LINES[5:6])
    corpus = text.read(train, test=test, vectors=written(tmp_path / "v.txt", glove), length=4)
    data = corpus.embedded
    assert data.image_size == (4, 6) and data.channels == 1 and data.class_names == ("big", "small")
    assert data.train_labels.tolist() == [0, 1, 0, 1, 0, 0] and data.test_labels.tolist() == [1]
    assert corpus.words(data.normalised()) == [
        line.split("\t")[1] for line in LINES if "gnat" not in line
    ]
    assert corpus.words(data.normalised(split="test")) == ["the runs"]
    whale = torch.tensor([float(value) for value in glove[1].split()[1:]])
    low = min(float(value) for row in glove if "gnat" not in row for value in row.split()[1:])
    high = max(float(value) for row in glove if "gnat" not in row for value in row.split()[1:])
    pixels = corpus.vectors[corpus.vocabulary.index("whale")] * data.std + data.mean
    assert torch.allclose(pixels, (whale - min(low, 0)) / (high - min(low, 0)), atol=0.51 / 255)


def test_embeddings_are_the_root_of_a_table_of_pointwise_information() -> None:
    sentences = [("a", "b", "c", "d", "e", "f"), ("a", "c", "a"), ("f", "b")]
    vocabulary = ("", "a", "b", "c", "d", "e", "f")
    pairs = []
    for s in sentences:
        for i, j in itertools.permutations(range(len(s)), 2):
            if abs(i - j) <= 4:
                pairs.append((s[i], s[j]))
    counts = {word: sum(word_a == word for word_a, _ in pairs) for word in vocabulary}
    table = np.zeros((7, 7))
    for (i, word_a), (j, word_b) in itertools.product(enumerate(vocabulary), repeat=2):
        if pair_count := pairs.count((word_a, word_b)):
            table[i, j] = max(
                0.0, math.log(pair_count * len(pairs) / counts[word_a] / counts[word_b])
            )
    vectors = text.embeddings(sentences, vocabulary, 7).astype(float)
    assert vectors[0] == pytest.approx(0, abs=1e-6) and table.any()
    assert (vectors @ vectors.T) @ (vectors @ vectors.T) == pytest.approx(table @ table.T, abs=1e-5)
    assert text.embeddings(sentences, vocabulary, 9).shape == (7, 9)


def test_made_up_questions_are_of_six_kinds_and_repeat() -> None:
    questions = text.questions(count=60, seed=1)
    repeated = text.questions(count=60, seed=1)
    assert (
        questions.embedded.fingerprint
        == repeated.embedded.fingerprint
        != text.questions(count=60).embedded.fingerprint
    )
    assert questions.embedded.classes == 6 and len(questions.embedded.test_labels) == 6 + 6 * (
        60 // 6 % 6 == 5
    )
    assert not any("<" in word for word in questions.vocabulary)
    assert all(torch.bincount(questions.embedded.train_labels) == 9)


def test_a_part_of_each_class_is_for_the_test_by_a_seed(tmp_path: Path) -> None:
    lines = [f"{'abcdef'[number % 6]}\tword{number % 5} other{number % 7}" for number in range(120)]
    split_0 = text.read(written(tmp_path / "a.txt", lines), seed=0).embedded
    split_0_again = text.read(written(tmp_path / "a.txt", lines), seed=0).embedded
    split_1 = text.read(written(tmp_path / "a.txt", lines), seed=1).embedded
    assert (
        split_0.class_counts("test").tolist() == [3] * 6
        and split_0.class_counts().tolist() == [17] * 6
    )
    assert split_0.fingerprint == split_0_again.fingerprint != split_1.fingerprint


FEW = ["big\ta whale", "small\ta flea", "big\ta sun", "small\tthe ant"]
FILES: dict[str, tuple[bytes, dict[str, Any], int]] = {  # what is read of it: sentences
    "a mark of the byte order": (b"\xef\xbb\xbf" + "\n".join(FEW).encode(), {}, 4),
    "blank lines": ("\n\n".join([*FEW, "  ", ""]).encode(), {}, 4),
    "lines of Windows": ("\r\n".join(FEW).encode(), {}, 4),
    "other separators are of a sentence": (
        "\n".join([*FEW, "big\tone\x0btwo\x85three\u2028four"]).encode(),
        {},
        5,
    ),
    "TREC's": (
        "DESC:manner How did caf\xe9s end ?\nHUM:ind Who ran ?\nDESC:def What is it "
        "?\nHUM:gr Who was it ?\n".encode("latin-1"),
        {"format": "trec"},
        4,
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files_as_they_come(case: str, tmp_path: Path) -> None:
    content, options, count = FILES[case]
    (tmp_path / "a.txt").write_bytes(content)
    corpus = text.read(tmp_path / "a.txt", **options)
    assert len(corpus.embedded) + len(corpus.embedded.test_labels) == count
    assert set(corpus.embedded.class_names) == ({"DESC", "HUM"} if options else {"big", "small"})
    assert not any(word.startswith("\ufeff") or "\r" in word for word in corpus.vocabulary)


def test_vectors_of_other_programs(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", FEW)
    plain = ["whale 1 2", "a 3 4", "flea 5 6"]
    expected = text.read(path, vectors=written(tmp_path / "v.txt", plain)).vectors
    for name, lines in (
        ("word2vec", ["3 2", *plain]),
        ("blanks", [*plain, ". . . 7 8", "at name 9 10"]),
    ):
        assert torch.equal(
            text.read(path, vectors=written(tmp_path / f"{name}.txt", lines)).vectors, expected
        )


@pytest.mark.parametrize(
    "words, lines, vectors",
    [
        (("path", "line 2"), ["a\tone", "no tab"], None),
        (("path", "line 1"), ["a\t  ", "b\tone"], None),
        (("path", "two classes"), ["a\tone", "a\ttwo"], None),
        (("path", "columns"), ["label\ttext", *FEW], None),
        (("path", "two sentences", "'b'"), ["a\tone", "a\ttwo", "b\tthree"], None),
        (("vectors", "line 2"), LINES, ["a 1 2", "b 1"]),
        (("vectors", "line 1"), LINES, ["a 1 x"]),
        (("vectors", "none"), LINES, []),
        (("vectors", "line 1"), LINES, ["a nan 1"]),
    ],
)
def test_files_that_cannot_be(
    words: Any, lines: list[str], vectors: list[str] | None, tmp_path: Path
) -> None:
    vectors_file = None if vectors is None else written(tmp_path / "v.txt", vectors)
    with pytest.raises(DDLabError) as problem:
        text.read(written(tmp_path / "a.txt", lines), vectors=vectors_file)
    assert all(word in str(problem.value) for word in words) and "\n" not in str(problem.value)
    (tmp_path / "latin.txt").write_bytes("a\tcaf\u00e9 noir".encode("latin-1"))
    for name in ("latin.txt", "nothing.txt"):
        with pytest.raises(DDLabError, match="path must be a text file that is there, in UTF-8"):
            text.read(tmp_path / name)
    with pytest.raises(DDLabError, match="more than one word"):
        text.read(written(tmp_path / "alone.txt", ["a\tone", "b\ttwo", "a\tthree", "b\tfour"]))


@pytest.mark.parametrize("family", ["text_rnn", "text_lstm"])
def test_xaviers_draw_leaves_no_bias_in_a_cell(family: str) -> None:
    """As in TDD's code.

    With biases of one, every gate of a new cell is open and its values saturate: nothing is
    learned.
    """
    spec = networks.spec(family).for_data(text.questions(count=60, length=7, dim=5).embedded)
    for name, value in ordered.first_weights(spec, "xavier", seed=0).items():
        rows, columns = value.shape if value.ndim > 1 else (1, 1)
        expected = (2 / (rows + columns)) ** 0.5 if value.ndim > 1 else 0.0
        assert float(value.square().mean().sqrt()) == pytest.approx(expected, rel=0.1), name


@pytest.mark.parametrize("family, torchs", [("text_rnn", nn.RNN), ("text_lstm", nn.LSTM)])
def test_recurrent_networks_are_torchs(family: str, torchs: Any) -> None:
    spec = networks.spec(family).for_data(text.questions(count=60, length=7, dim=5).embedded)
    network = networks.initialise(spec, seed=0)
    images = torch.randn((4, 1, 7, 5), generator=torch.Generator().manual_seed(0))
    whole = torchs(5, WIDTH, num_layers=2, bidirectional=True, batch_first=True)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    with torch.no_grad():
        for name, layer, (cell, end) in itertools.product(
            names, (0, 1), (("there", ""), ("back", "_reverse"))
        ):
            getattr(whole, f"{name}_l{layer}{end}").copy_(network.weights[f"{cell}.{layer}.{name}"])
        last = whole(images[:, 0])[1]
    last = last[0] if isinstance(last, tuple) else last
    outputs = networks.call(spec, network.weights, images)[0]
    assert torch.allclose(outputs.features, torch.cat([last[2], last[3]], 1), atol=1e-6)


def test_a_convolution_over_words_is_one_over_rows_of_a_picture() -> None:
    spec = networks.spec("text_conv").for_data(text.questions(count=60, length=7, dim=5).embedded)
    network = networks.initialise(spec, seed=0)
    images = torch.randn((4, 1, 7, 5), generator=torch.Generator().manual_seed(0))
    parts = []
    for index in range(3):
        weight = network.weights[f"maps.{index}.weight"].transpose(1, 2)[:, None]
        parts.append(
            nn.functional.conv2d(images, weight, network.weights[f"maps.{index}.bias"])
            .relu()
            .amax((2, 3))
        )
    assert torch.allclose(
        networks.call(spec, network.weights, images)[0].features, torch.cat(parts, 1), atol=1e-5
    )

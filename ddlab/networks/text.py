"""Networks that read. An embedded sentence is a picture of one channel with a row for each word.

TextConvNet, tanh RNN, LSTM.

Kim 2014 (TextConvNet, arXiv 1408.5882); Sucholutsky & Schonlau 2021 (TDD, arXiv 1910.02551) distil
for all three. Recurrent ones read forwards and backwards, in two layers as TDD's, without dropout,
which theirs have only in plain training. They run through cells, not through `nn.LSTM`, which keeps
hold of weights of its own.
"""

import functools

import torch
from torch import Tensor, nn

from .zoo import Architecture

WIDTH = 100  # units of a direction, maps of a width


def words(images: Tensor) -> Tensor:
    """Return images [n, channels, length, dim] as rows of words: [n, length, channels * dim]."""
    return images.transpose(1, 2).flatten(2)


class TextConvNet(nn.Module):
    """Maps over three, four and five words, of which the largest value counts; a linear layer."""

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int]) -> None:
        super().__init__()
        length, dim = image_size
        self.maps = nn.ModuleList(
            # A sentence of three words has no window of five.
            nn.Conv1d(channels * dim, WIDTH, min(size, length))
            for size in (3, 4, 5)
        )
        self.classifier = nn.Linear(3 * WIDTH, classes)

    def forward(self, images: Tensor) -> Tensor:
        row = words(images).transpose(1, 2)
        return self.classifier(torch.cat([maps(row).relu().amax(2) for maps in self.maps], 1))


class Recurrent(nn.Module):
    """Two layers, each with a cell forwards and another backwards.

    A linear layer stands on their last states.
    """

    def __init__(
        self,
        cell: type[nn.RNNCell | nn.LSTMCell],
        channels: int,
        classes: int,
        image_size: tuple[int, int],
    ) -> None:
        super().__init__()
        sizes = channels * image_size[1], 2 * WIDTH
        self.there = nn.ModuleList(cell(size, WIDTH) for size in sizes)
        self.back = nn.ModuleList(cell(size, WIDTH) for size in sizes)
        self.classifier = nn.Linear(2 * WIDTH, classes)

    def forward(self, images: Tensor) -> Tensor:
        row = words(images)
        # The second layer reads both directions of the first.
        for cells in zip(self.there, self.back, strict=True):
            forwards, backwards = (
                states_of(cell, state)
                for cell, state in zip(cells, (row, row.flip(1)), strict=True)
            )
            row = torch.cat([forwards, backwards.flip(1)], 2)
        # Each direction's last state has read the whole sentence; `backwards` is still in its own
        # order here.
        return self.classifier(torch.cat([forwards[:, -1], backwards[:, -1]], 1))


def states_of(cell: nn.Module, row: Tensor) -> Tensor:
    """Return a cell's output after each word: [n, length, size] -> [n, length, WIDTH]."""
    state = None
    outputs = []
    for word in row.unbind(1):
        state = cell(word, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs, 1)


FAMILIES = {
    family_class.FAMILY: family_class
    for family_class in (
        Architecture("text_conv", TextConvNet, "classifier", "", SMALLEST_IMAGE=1),
        Architecture(
            "text_rnn", functools.partial(Recurrent, nn.RNNCell), "classifier", "", SMALLEST_IMAGE=1
        ),
        Architecture(
            "text_lstm",
            functools.partial(Recurrent, nn.LSTMCell),
            "classifier",
            "",
            SMALLEST_IMAGE=1,
        ),
    )
}

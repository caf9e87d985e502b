"""Networks that read: an embedded sentence is a picture of one channel, a row for each word. TextConvNet, tanh RNN, LSTM.

Kim 2014 (TextConvNet, arXiv 1408.5882); Sucholutsky & Schonlau 2021 (TDD, arXiv 1910.02551) distil for all three. Recurrent ones read
forwards and backwards. They run through cells, not through `nn.LSTM`, which keeps hold of weights of its own.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from .zoo import Architecture

WIDTH = 100  # units of a direction, maps of a width


def words(images: Tensor) -> Tensor:
    """[n, channels, length, dim] -> [n, length, channels * dim]."""
    return images.transpose(1, 2).flatten(2)


class TextConvNet(nn.Module):
    """Maps over three, four and five words, of which the largest value counts; a linear layer."""

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int]) -> None:
        super().__init__()
        length, dim = image_size
        self.maps = nn.ModuleList(nn.Conv1d(channels * dim, WIDTH, min(size, length)) for size in (3, 4, 5))
        self.classifier = nn.Linear(3 * WIDTH, classes)

    def forward(self, images: Tensor) -> Tensor:
        row = words(images).transpose(1, 2)
        return self.classifier(torch.cat([maps(row).relu().amax(2) for maps in self.maps], 1))


class Recurrent(nn.Module):
    """A cell forwards, another backwards; a linear layer on their last states."""

    def __init__(
        self, cell: type[nn.RNNCell | nn.LSTMCell], channels: int, classes: int, image_size: tuple[int, int]
    ) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cell(channels * image_size[1], WIDTH) for _ in range(2))
        self.classifier = nn.Linear(2 * WIDTH, classes)

    def forward(self, images: Tensor) -> Tensor:
        row, ends = words(images), []
        for cell, order in zip(self.cells, (row, row.flip(1)), strict=True):
            state = None
            for word in order.unbind(1):
                state = cell(word, state)
            ends.append(state[0] if isinstance(state, tuple) else state)
        return self.classifier(torch.cat(ends, 1))


FAMILIES = {
    each.FAMILY: each
    for each in (
        Architecture("text_conv", TextConvNet, "classifier", "", SMALLEST_IMAGE=1),
        Architecture("text_rnn", functools.partial(Recurrent, nn.RNNCell), "classifier", "", SMALLEST_IMAGE=1),
        Architecture("text_lstm", functools.partial(Recurrent, nn.LSTMCell), "classifier", "", SMALLEST_IMAGE=1),
    )
}

"""The bill of a factorised set against tensors and networks that are made and counted."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ddlab.distilled import storage_budget as budget
from ddlab.distilled.storage_budget import Factorised
from tests.support import refuses

SMALL = {
    "channels": st.integers(1, 3),
    "half_height": st.integers(1, 4),
    "half_width": st.integers(1, 4),
    "scale": st.sampled_from([1, 2]),
    "image_bases": st.integers(1, 4),
    "representation_bases": st.integers(1, 5),
    "representation_mean": st.booleans(),
    "views": st.integers(0, 3),
    "shift": st.sampled_from(budget.SHIFTS),
    "hidden": st.integers(1, 4),
}


def factorised_layout(
    half_height: int, half_width: int, image_bases: int, scale: int, channels: int, **fields: Any
) -> Factorised:
    height, width = 2 * half_height, 2 * half_width
    image_bases = min(image_bases, channels * height * width // scale**2)
    sizes = {"height": height, "width": width, "scale": scale, "channels": channels}
    return Factorised(image_bases=image_bases, representation_size=5, **sizes, **fields)


def stored(sizes: Factorised, count: int) -> int:
    """The elements of all tensors that such a set holds."""
    small = (sizes.channels, sizes.height // sizes.scale, sizes.width // sizes.scale)
    v = sizes.representation_bases
    tensors = [
        torch.zeros(sizes.image_bases, *small),
        torch.zeros(count, sizes.image_bases),
        torch.zeros(v, sizes.representation_size),
        torch.zeros(count, v),
    ]
    if sizes.representation_mean:
        tensors.append(torch.zeros(sizes.representation_size))
    for _ in range(sizes.views):
        if sizes.shift == "networks":
            network = torch.nn.Sequential(
                torch.nn.Linear(v, sizes.hidden), torch.nn.ReLU(), torch.nn.Linear(sizes.hidden, v)
            )
            tensors += list(network.parameters())
        elif sizes.shift == "bias":
            tensors.append(torch.zeros(v))
        elif sizes.shift == "stored":
            tensors.append(torch.zeros(count, v))
    return sum(tensor.numel() for tensor in tensors)


@given(count=st.integers(0, 9), **SMALL)
def test_the_bill_counts_every_number(count: int, **sizes: Any) -> None:
    layout = factorised_layout(**sizes)
    bill = layout.bill(count)
    assert bill.total == stored(layout, count) == bill.images + bill.representations
    assert bill.images == layout.image_bases * (layout.basis_floats + count)


@given(floats=st.integers(-10, 3000), **SMALL)
def test_the_largest_count_is_found_by_counting_up(floats: int, **sizes: Any) -> None:
    layout = factorised_layout(**sizes)
    if floats < layout.bill(1).total:
        with refuses("budget", f"at least {layout.bill(1).total} floats", str(floats)):
            layout.largest_count(floats)
        return
    count = 1
    while layout.bill(count + 1).total <= floats:
        count += 1
    assert layout.largest_count(floats) == count


def test_the_numbers_of_boost_on_cifar() -> None:
    """100 images, U = V = 200, H = 4: 114 pairs, 113 where a mean is stored."""
    layout = Factorised()
    floats = 100 * 3 * 32 * 32
    assert layout.largest_count(floats) == 114
    assert layout.replace(representation_mean=True).largest_count(floats) == 113
    bill = layout.bill(114)
    assert (bill.images, bill.representations, bill.total) == (176_400, 130_612, 307_012)
    assert budget.plain_floats(114, image_floats=3072) == 350_208
    assert budget.plain_floats(114, image_floats=768) == 87_552
    assert budget.plain_floats(114, image_floats=512) == 58_368
    assert budget.plain_floats(114, image_floats=4 * 512) == 233_472
    assert (
        max(
            m
            for m in range(200)
            if budget.plain_floats(m, image_floats=3072, representation_floats=512) <= floats
        )
        == 85
    )


@pytest.mark.parametrize(
    ("images", "size", "bases", "count"),
    [
        (25, 32, (50, 50), 114),
        (50, 32, (100, 100), 114),
        (1000, 32, (500, 500), 2418),
        (5000, 32, (700, 500), 12_127),
        (50, 64, (100, 100), 2382),
        (100, 64, (200, 200), 2382),
        (200, 64, (400, 400), 2382),
        (250, 64, (500, 500), 2382),
    ],
)
def test_table_5(images: int, size: int, bases: tuple[int, int], count: int) -> None:
    """The pairs that each row buys, worked out by hand: (N d_x - 768 U - 512 V - A (2 V H + H + V))
    / (U + V).
    """
    large = size == 64
    layout = Factorised(
        height=size,
        width=size,
        scale=4 if large else 2,
        hidden=16 if large else 4,
        image_bases=bases[0],
        representation_bases=bases[1],
    )
    assert layout.largest_count(images * 3 * size**2) == count


def test_better_shift_models_cost_pairs() -> None:
    """Table 11: the same budget for all."""
    counts = [
        Factorised(shift=shift).largest_count(307_200)
        for shift in ("same", "bias", "networks", "stored")
    ]
    assert counts == [128, 126, 114, 51], "51200 / 400, 50600 / 400, 45788 / 400, 51200 / 1000"
    widths = [Factorised(hidden=hidden).largest_count(307_200) for hidden in (2, 4, 8)]
    assert widths == sorted(widths, reverse=True)


def test_bad_input() -> None:
    with refuses("Factorised.scale", "divisor", "3"):
        Factorised(scale=3)
    with refuses("Factorised.image_bases", "768", "769"):
        Factorised(image_bases=769)
    with refuses("Factorised.representation_bases", "512", "513"):
        Factorised(representation_bases=513)
    with refuses("budget", "at least 261812 floats, 86 images", "1000"):
        Factorised().largest_count(1000)
    one_image = Factorised().bill(1).total
    assert Factorised().largest_count(one_image) == 1
    for short in (one_image - 1, Factorised().bill(0).total):
        with refuses("budget", str(one_image), str(short)):
            Factorised().largest_count(short)

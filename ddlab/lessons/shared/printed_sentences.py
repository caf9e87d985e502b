"""What papers say in words, beside the numbers of their own tables and proofs; whether they agree is computed from these."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from ... import theory
from . import printed_tables as printed


@dataclass(frozen=True)
class Sentence:
    """What the paper says in words, where, the numbers that belong to it, and whether they bear it out."""

    words: str
    place: str
    numbers: str
    holds: bool


def rela() -> list[Sentence]:
    """What ReLA's theorems print, beside what its own proofs give, in our words."""
    proof, theorem = (theory.excess_error(0.5, spread=spread) for spread in (0.5, 0.1))
    small, whole = (float(theory.printed_squared_error(10, spread=s, learning_rate=0.1)[-1]) for s in (0.001, 1.0))
    none, all_ = (
        float(theory.relabelling_bound(50, spread=1, relabelled=rho, learning_rate=0.1)[-1]) for rho in (0, 1)
    )
    printed_end = float(theory.printed_squared_error(200, spread=1, learning_rate=0.1)[-1])
    line_before = float(theory.expected_squared_error(200, spread=1, learning_rate=0.1)[-1])
    lab = theory.generalisation_bound(theory.bimodal_mixture(), theory.bimodal_mixture(), 100, seed=0)
    more = replace(lab, complexity=lab.complexity + 1)
    once, twice = round(more.printed - lab.printed), round(more.proved - lab.proved)
    quarter = theory.confidence_term(400) / theory.confidence_term(100)
    information = [theory.printed_normalised_information(spread=spread) for spread in (0.1, 1.0, 1e3, 1e6)]
    near_one = theory.relabelled_information(spread=0.5, relabelled=0.999, dimensions=1).share
    offsets = [theory.decision_boundary(theory.bimodal_mixture(deviation=s)).offset for s in (0.1, 1.0)]
    lower, upper = (float(torch.special.ndtr(torch.tensor(z))) for z in (0.5, 1.0))
    overlaps = [theory.gaussian_overlap(gap=1, spread=0.5, strength=strength) for strength in (0, 1, 8)]
    return [
        Sentence("Theorem 1 bounds the loss that its proof bounds", "Theorem 1, A.1",
                 f"on the distilled data, S = .1, {theorem:.3f}; the proof's, on the data, {proof:.3f}",
                 math.isclose(proof, theorem)),
        Sentence("The error is at most of the order of S^2", "Theorem 1, A.3",
                 f"the bound of A.3 after 10 steps: {small:.3f} at S = .001, {whole:.3f} at S = 1",
                 small <= 1e-3 * whole),
        Sentence("The last line of A.3 equals the line before", "A.3",
                 f"eta = .1, S = 1, t = 200: {printed_end:.1e} and {line_before:.4f}",
                 math.isclose(printed_end, line_before, rel_tol=0.01)),
        Sentence("The bound is of the order of rho, so that it grows with it", "Theorem 2, B.2",
                 f"the bound of B.2: {none:.3f} at rho = 0, {all_:.3f} at rho = 1", all_ >= none),
        Sentence("A higher rho lowers the bound of the error", "Theorem 2, B.2",
                 f"the same: {none:.3f} and {all_:.3f}", all_ < none),
        Sentence("The bound falls with the number of samples like 1 / |S|", "Theorem 4, Lemma 3",
                 f"four times the samples: the proof's term falls to {quarter:.2f}", quarter <= 0.25 + 1e-9),
        Sentence("The complexity enters the bound once", "Theorem 4, Proposition 1",
                 f"{once} times in the theorem, {twice} times in the proof", once == twice),
        Sentence("Normalised mutual information lies in [0, 1]", "C.4, eq 24", f"eq 24 at S = .1: {information[0]:.2f}",
                 all(0 <= value <= 1 for value in information)),
        Sentence("Eq 24 falls towards 0 as S grows", "C.5", "eq 24 at S = 1, 1e3, 1e6: " + ", ".join(f"{v:.2f}" for v in information[1:]),
                 information[1] > information[2] > information[3] > 0),
        Sentence("It tends to 1 as rho does", "C.6, eq 28 to 30",
                 f"I / H at rho = .999, S = .5, 1-D: {near_one:.3f}", near_one > 0.99),
        Sentence("The best boundary does not depend on S", "G",
                 f"{offsets[0]:.4f} at S = .1, {offsets[1]:.4f} at S = 1",
                 math.isclose(*offsets)),
        Sentence("Phi(z) increases as z decreases", "Theorem 6, proof",
                 f"Phi(.5) = {lower:.3f}, Phi(1) = {upper:.3f}", lower > upper),
        Sentence("Stronger augmentation makes classes overlap more", "Theorem 6", "exactly: " + ", ".join(f"{v:.3f}" for v in overlaps),
                 overlaps[0] < overlaps[1] < overlaps[2]),
    ]  # fmt: skip


def speed_parts() -> dict[str, float]:
    """FADRM's speed over SRe2L++'s (Table 2) in its factors: fewer steps, mixed precision (Table 4), multi-resolution (Table 5)."""
    seconds = {name: cost[0] for name, cost in printed.FADRM_2_COST.items()}
    full, mixed = printed.FADRM_4_MS
    whole, small = printed.FADRM_5_SECONDS[0]
    # Seconds per image over milliseconds per step: 4000 steps without mixed precision, 2000 with it at full size.
    steps = (seconds["SRe2L++"] / full) / (whole / mixed)
    return {
        "whole": seconds["SRe2L++"] / seconds["FADRM"],
        "fewer steps": steps,
        "mixed precision": full / mixed,
        "multi-resolution": whole / small,
    }


def _cells(method: int) -> list[tuple[float, float]]:
    """(another method's accuracy, FADRM+'s) in each cell of Table 1 that has both."""
    return [(cell[method], cell[4]) for row in printed.FADRM_1.values() for cell in row if not math.isnan(cell[method])]


def fadrm() -> list[Sentence]:
    """Sentences of FADRM beside its own tables, in our words."""
    seconds, memory = ({name: cost[part] for name, cost in printed.FADRM_2_COST.items()} for part in (0, 1))
    parts = speed_parts()
    refined = parts["mixed precision"] * parts["multi-resolution"]
    ten, tiny = printed.FADRM_1["ImageNet-1k", 10], printed.FADRM_1["Tiny-ImageNet", 50][0]
    saved = [
        50_000 * (seconds[other] - seconds[ours]) / 3600 for other, ours in (("EDC", "FADRM+"), ("SRe2L++", "FADRM"))
    ]
    time, size = (1 - after / before for before, after in (printed.FADRM_4_MS, printed.FADRM_4_GB))
    one, four = printed.FADRM_5
    multi = printed.FADRM_2_STUDENTS["ResNet-18"][1]
    return [
        Sentence("Time and memory are halved by mixed precision", "abstract, 3.2",
                 f"Table 4: {time:.0%} and {size:.0%} less",
                 0.4 <= min(time, size) <= max(time, size) <= 0.6),
        Sentence("Refinements of the optimisation are what reduces the time", "abstract, 5",
                 f"{parts['whole']:.1f} times as fast as SRe2L++: {refined:.1f} by them, {parts['fewer steps']:.1f} by fewer steps",
                 refined >= 0.9 * parts["whole"]),
        Sentence("At 10 images per class it surpasses RDED by 5.7, EDC by 1.4 and CV-DD by 4.0 points", "abstract",
                 "Tables 2 and 3: 47.7 and 42.0, 50.0 and 48.6, 50.0 and 46.0",
                 [round(a - b, 1) for a, b in zip((printed.FADRM_3[0][1], *[multi] * 2), ten[0][:3], strict=True)] == [5.7, 1.4, 4.0]),
        Sentence("FADRM+ is ahead of all others in all settings", "4.2", "Table 1: in all 45 cells",
                 all(theirs < ours for method in range(4) for theirs, ours in _cells(method))),
        Sentence("With ResNet-101 and 10 images per class it is 6.4 points ahead of EDC and CV-DD", "4.2",
                 "Table 1: 58.1 and 51.7 twice",
                 {round(ten[2][4] - ten[2][method], 1) for method in (1, 2)} == {6.4}),
        Sentence("RDED is behind FADRM", "4.2",
                 f"Table 1: Tiny-ImageNet, 50 images per class, ResNet-18, RDED {tiny[0]}, FADRM {tiny[3]}",
                 all(cell[0] < cell[3] for row in printed.FADRM_1.values() for cell in row)),
        Sentence("On ImageNet-1K with 50 images per class it saves 54 hours against EDC", "4.2",
                 f"Table 2: {saved[0]:.1f}", round(saved[0]) == 54),
        Sentence("and 28.5 hours against SRe2L++", "4.2", f"Table 2: {saved[1]:.1f}", round(saved[1], 1) == 28.5),
        Sentence("Its memory is well below that of others with as many teachers", "4.2",
                 "Table 2: 2.9 and 5.3; 11.0 and 17.9 to 23.4",
                 memory["FADRM"] < 0.7 * memory["SRe2L++"] and memory["FADRM+"] < 0.7 * min(memory[n] for n in ("EDC", "CV-DD", "G-VBSM"))),
        Sentence("FADRM+ is ahead for every student", "4.3", "Table 2: 11 students, by .4 to 6.4",
                 all(theirs < ours for theirs, ours in printed.FADRM_2_STUDENTS.values())),
        Sentence("Tables 1 and 2 agree on ResNet-18 at 10 images per class", "two tables",
                 f"{ten[0][4]} and {printed.FADRM_2_STUDENTS['ResNet-18'][1]}; Table 3 has them for two kinds of patches",
                 ten[0][4] == printed.FADRM_2_STUDENTS["ResNet-18"][1]),
        Sentence("1 x 1 patches are better than 2 x 2", "4.4", "Table 3: in all four",
                 all(a > b for a, b in printed.FADRM_3)),
        Sentence("Multi-resolution alone loses accuracy", "4.4", "Table 5: 46.4 to 46.2, 48.7 to 48.2",
                 all(row[1] < row[0] for row in (one, four))),
        Sentence("alpha = .5 is the best merge ratio", "4.4", "Table 5: 47.7 and 50.0",
                 all(max(row) == row[6] for row in (one, four))),
        Sentence("k = 3 is best, and accuracy rises up to it and falls after it", "4.4", "Table 6: both rows",
                 all(row[0] < row[1] < row[2] > row[3] > row[4] > row[5] for row in printed.FADRM_6_MERGES)),
        Sentence("No D_ds does better than 200", "4.4", "Table 6: 47.2, 47.5, 47.7; 224 has 47.7 too",
                 max(accuracy for accuracy, _ in printed.FADRM_6_SIZES.values()) == printed.FADRM_6_SIZES[200][0]),
    ]  # fmt: skip


def boost() -> list[Sentence]:
    """Sentences of Boost beside its own tables, in our words."""

    def ahead(table: dict[str, tuple[tuple[float, float], ...]]) -> bool:
        return all(theirs < ours for row in table.values() for theirs, ours in row)

    tiny = (printed.BOOST_6["TinyImageNet"][0], printed.BOOST_7[200])
    memory, minutes = (printed.BOOST_13["Boost"][part] / printed.BOOST_13["KRR-ST"][part] for part in (0, 1))
    accuracies, misses = zip(*printed.BOOST_11, strict=True)
    kinds = printed.BOOST_12
    return [
        Sentence("Boost is ahead for all architectures and targets", "4.1",
                 "Table 1: ResNet-18, DATM 21.20 and 45.28, Boost 20.90 and 44.12", ahead(printed.BOOST_1)),
        Sentence("It is ahead at every budget", "4.1", "Table 2: by 1.7 to 7.4",
                 all(a < b for a, b in printed.BOOST_2.values())),
        Sentence("DSA and IDM gain nothing from a larger budget", "4.1",
                 "Table 2: IDM 38.71 at 100, 37.21 at 1000, 42.19 at 5000",
                 all(max(row[1:]) <= row[0] for row in printed.BOOST_2_SUPERVISED.values())),
        Sentence("Each of its parts adds accuracy", "4.1", "Table 3: 47.00, 48.57, 52.41",
                 sorted(printed.BOOST_3) == list(printed.BOOST_3)),
        Sentence("Bases of real images give 30.09%", "4.1", f"Table 4: {printed.BOOST_4['real']}",
                 printed.BOOST_4["real"] == 30.09),
        Sentence("The start of the bases is worth up to 30 points", "4.1", "Table 4: 52.41 and 22.05",
                 round(max(printed.BOOST_4.values()) - min(printed.BOOST_4.values())) == 30),
        Sentence("From TinyImageNet it is ahead for all architectures and targets", "A.3",
                 "Table 6: CUB, ConvNet, KRR-ST 11.59, Boost 11.11",
                 ahead(printed.BOOST_6)),
        Sentence("On TinyImageNet it is ahead at every budget", "A.4", "Table 7: by 2.7 to 4.0",
                 all(a < b for a, b in printed.BOOST_7.values())),
        Sentence("Tables 6 and 7 agree on TinyImageNet, ConvNet, N = 200", "two tables",
                 f"KRR-ST {tiny[0][0]} and {tiny[1][0]}, Boost {tiny[0][1]} and {tiny[1][1]}", tiny[0] == tiny[1]),
        Sentence("From ImageNet it is ahead for all architectures and targets", "A.5",
                 "Table 8: CUB, ConvNet, KRR-ST 12.32, Boost 12.08",
                 ahead(printed.BOOST_8)),
        Sentence("Wider approximation networks have less error and not always more accuracy", "A.7",
                 "Table 11: .07, .06, .04; 52.30, 52.41, 51.19",
                 misses[2] > misses[3] > misses[4] and accuracies[4] < accuracies[3]),
        Sentence("Every augmentation is better than none, rotation the best", "A.8",
                 "Table 12: 48.57; 52.41, 50.93, 51.03",
                 min(kinds.values()) == kinds["none"] and max(kinds.values()) == kinds["rotation"]),
        Sentence("It needs about 1.5 times KRR-ST's memory and a comparable time", "A.10",
                 f"Table 13: {memory:.2f} and {minutes:.2f} times",
                 abs(memory - 1.5) < 0.1 and minutes < 1.2),
    ]  # fmt: skip


def rela_tables() -> list[Sentence]:
    """Sentences of ReLA beside its own tables, in our words."""
    two, full, three, four = printed.RELA_2, printed.RELA_2_FULL, printed.RELA_3, printed.RELA_4
    cells = [cell for table in four.values() for cell in table.values()]
    barlow, clip = four["Tiny-ImageNet"]["Barlow Twins"], two["CIFAR-100", 1]
    largest, (rded, ours) = printed.RELA_5_HALF, printed.RELA_6["ImageNet-1K", 50][2]
    gains = [sorted(round(row[a] - row[b], 1) for row in two.values()) for a, b in ((1, 0), (6, 1))]
    best = sum(row[6] == max(row) for row in two.values())
    tables = [(two[name, 10][0], three[name, "ResNet-18"][0]) for name in ("CIFAR-10", "Tiny-ImageNet")]
    return [
        Sentence("With part of the data ReLA is consistently ahead of BYOL", "5.1", "Table 2: in all 72 cells",
                 all(row[0] < min(row[1:]) for row in two.values())),
        Sentence("On CIFAR-100 10% of the data can surpass BYOL on all of it", "5.1",
                 f"Table 2: up to {max(two['CIFAR-100', 10])} and {full['CIFAR-100']}", max(two["CIFAR-100", 10]) > full["CIFAR-100"]),
        Sentence("A ResNet-18 of CIFAR-10 as prior adds 7.7 points on 10% of ImageNet-1K", "abstract", "Table 2: 45.2 to 52.9",
                 round(two["ImageNet-1K", 10][2] - two["ImageNet-1K", 10][0], 1) == 7.7),
        Sentence("CLIP as prior helps more than an untrained one", "5.1", f"Table 2: in all 12 rows, by {gains[1][0]} to {gains[1][-1]}",
                 gains[1][0] > 0),
        Sentence("CLIP, the strongest prior, is the best", "5.1",
                 f"Table 2, CIFAR-100, 1%: CLIP {clip[6]}, BYOL of CIFAR-10 {max(clip)}; best in {best} of 12 rows",
                 best == len(two)),
        Sentence("An untrained prior helps", "5.1", f"Table 2: by {gains[0][0]} to {gains[0][-1]} points", gains[0][0] > 0),
        Sentence("With half of ImageNet-1K it surpasses BYOL on all of it", "5.2",
                 f"{largest} and {full['ImageNet-1K']}", largest > full["ImageNet-1K"]),
        Sentence("It always improves BYOL, whatever the networks", "5.1", "Table 3: in all 48 cells",
                 all(row[0] < min(row[1:]) for row in three.values())),
        Sentence("It is little sensitive to the prior's architecture", "5.1",
                 "Table 3: Tiny-ImageNet, EfficientNet-B0, 23.8 to 48.4",
                 all(max(row[1:]) - min(row[1:]) < 5 for row in three.values())),
        Sentence("Tables 2 and 3 agree on BYOL with 10% of the images and ResNet-18", "two tables",
                 ", ".join(f"{a} and {b}" for a, b in tables), all(a == b for a, b in tables)),
        Sentence("It consistently improves other objectives", "5.1",
                 f"Table 4: Barlow Twins on Tiny-ImageNet, {barlow[0]} to {barlow[1]}",
                 all(cell[0] < min(cell[1:]) for cell in cells)),
        Sentence("It is superior to other distilled sets", "K.2",
                 f"Table 6: ImageNet-1K, 50 images per class, ResNet-50, RDED {rded}, ReLA {ours}",
                 all(theirs < own for row in printed.RELA_6.values() for theirs, own in row)),
    ]  # fmt: skip

"""The claim registry: verdicts follow from numbers alone, and what is written matches what was recorded."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from ddlab.commands import claims as command
from ddlab.core.errors import DDLabError
from ddlab.lessons import Claim, claims, index


def test_verdicts_follow_from_the_interval_and_the_declared_effect() -> None:
    def verdict(values: list[float]) -> str:
        return claims.judge("X1 labels", values, setting="test").verdict

    assert verdict([0.20, 0.21, 0.22]) == "holds"
    assert verdict([0.02, 0.021, 0.022]) == "weaker"
    assert verdict([-0.02, 0.0, 0.01]) == "not seen"
    assert verdict([-0.02, -0.021, -0.022]) == "opposite"
    assert verdict([0.0, 0.05, 0.10]) == "undecided"
    # An interval that reaches up to the claimed effect decides nothing, even with a mean below it.
    assert verdict([0.03, 0.04, 0.05]) == "undecided"


def test_what_no_scale_can_save_is_false() -> None:
    assert claims.judge("D2 batch", [0.0, 0.0, 0.0], setting="test").verdict == "false"
    assert claims.judge("D2 batch", [-5.0, 0.1, 5.0], setting="test").verdict == "undecided"


def test_sentences_are_counted() -> None:
    found = claims.judge("D14", [1, 1, 0, 1, 1], setting="test")
    assert found.verdict == "false" and str(found) == "D14: false (4 of 5 sentences)"
    assert claims.judge("D14", [1, 1, 1], setting="test").verdict == "true"
    row = next(line for line in claims.table().splitlines() if line.startswith("| D14 |"))
    assert "6 of 9 sentences" in row and "bears out: all |" in row and "+0." not in row


def test_the_interval_is_student_t() -> None:
    found = claims.judge("D1", [0.1, 0.2, 0.4], setting="test")
    half = 4.302652729911275 * found.spread / 3**0.5  # t(0.975, 2)
    assert found.interval == pytest.approx((found.number - half, found.number + half))


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> dict[str, Claim]:
    """Claims of each kind: about the mean or about every pair, with and without a condition."""
    plain = dataclasses.replace(claims.CLAIMS["D2 factor"], claimed=0.5)
    made = {
        "mean": plain,
        "mean when": dataclasses.replace(plain, when="t is small"),
        "small when": dataclasses.replace(plain, when="t is small", test="small"),
        "every": dataclasses.replace(plain, every=True),
        "every when": dataclasses.replace(plain, every=True, when="t is small"),
    }
    made = {name: dataclasses.replace(claim, id=name, lesson="test") for name, claim in made.items()}
    monkeypatch.setattr(claims, "CLAIMS", made)
    return made


def test_one_exception_makes_a_claim_about_every_pair_false(declared: dict[str, Claim]) -> None:
    def verdict(values: list[float]) -> str:
        return claims.judge("every", values, setting="test").verdict

    assert verdict([0.5, 0.9, 0.7]) == verdict([0.5 - 1e-10, 5.0]) == "true"
    assert verdict([0.5 - 1e-8, 5.0]) == verdict([0.9] * 99 + [0.4]) == "false"
    assert claims.judge("mean", [0.9] * 99 + [0.4], setting="test").verdict == "true", "the mean is another claim"
    assert "least +0.400, mean +0.895" in str(claims.judge("every", [0.9] * 99 + [0.4], setting="test"))


def test_a_claim_may_hold_under_its_condition_alone(declared: dict[str, Claim]) -> None:
    def verdict(name: str, values: list[float], under: list[float]) -> str:
        return claims.judge(name, values, setting="test", under=under).verdict

    good, bad, wide = [0.6, 0.61, 0.62], [0.1, 0.11, 0.12], [0.0, 0.5, 1.0]
    assert verdict("mean when", good, bad) == "true", "of all pairs: the condition is not asked for"
    assert verdict("mean when", bad, good) == verdict("mean when", wide, good) == "true when"
    assert verdict("mean when", bad, bad) == verdict("mean when", bad, wide) == "false"
    assert verdict("mean when", wide, bad) == "undecided"
    assert verdict("small when", bad, bad) == "weaker"
    assert verdict("every when", [*bad, *good], good) == "true when"
    assert verdict("every when", [*bad, *good], [*good, 0.4]) == "false"
    found = claims.judge("every when", [*bad, *good], setting="test", under=good)
    assert str(found).startswith("every when: true when t is small (effect least +0.100, mean")
    assert "; where t is small: least +0.600, mean +0.610" in str(found)


def test_the_condition_and_its_pairs_come_together(declared: dict[str, Claim]) -> None:
    with pytest.raises(DDLabError, match="under must be the differences where t is small; given None"):
        claims.judge("mean when", [0.1, 0.2], setting="test")
    with pytest.raises(DDLabError, match="under must be None, without a condition"):
        claims.judge("mean", [0.1, 0.2], setting="test", under=[0.1, 0.2])
    with pytest.raises(DDLabError, match="under must be of at least two pairs; given 1"):
        claims.judge("mean when", [0.1, 0.2], setting="test", under=[0.1])
    with pytest.raises(DDLabError, match="under must be a finite number"):
        claims.judge("mean when", [0.1, 0.2], setting="test", under=[0.1, float("inf")])


def test_conditions_are_written_read_back_and_shown(declared: dict[str, Claim], tmp_path, monkeypatch) -> None:
    path = tmp_path / "verdicts.json"
    monkeypatch.setattr(claims, "RECORD", path)
    made = [
        claims.judge("every when", [0.1, 0.6, 0.7], setting="here", under=[0.6, 0.7]),
        claims.judge("every", [0.6, 0.7], setting="here"),
    ]
    claims.save(made, {"commit": "abc"}, path)
    assert [claims.recorded(verdict.claim) for verdict in made] == made
    assert "under" not in json.loads(path.read_text())["verdicts"]["every"]
    row = next(line for line in claims.table().splitlines() if line.startswith("| every when |"))
    for words in (
        "at least 0.5 in every pair; judged as well where t is small",
        "least +0.100",
        "| true when t is small |",
    ):
        assert words in row
    known = json.loads(path.read_text())
    known["verdicts"]["every when"]["under"]["pairs"] = 1
    path.write_text(json.dumps(known))
    with pytest.raises(DDLabError, match="the recorded pairs"):
        claims.recorded("every when")


@pytest.mark.parametrize("values", [[], [0.1], [0.1, float("nan")], ["a", "b"]])
def test_bad_differences_are_refused(values: list) -> None:
    with pytest.raises(DDLabError, match="differences must be"):
        claims.judge("D1", values, setting="test")


def test_an_unknown_claim_is_refused_with_the_nearest() -> None:
    with pytest.raises(DDLabError, match="nearest: 'X1 labels'"):
        claims.judge("X1 label", [0.1, 0.2], setting="test")


def test_every_claim_has_a_recorded_verdict_that_its_numbers_give() -> None:
    for name, claim in claims.CLAIMS.items():
        found = claims.recorded(name)
        assert found.verdict in claims.VERDICTS and found.pairs >= 5
        assert (found.under is None) == (not claim.when)
        expected = _by_the_numbers(claim, found.interval, found.least)
        if (
            found.under
            and expected not in REACHED
            and _by_the_numbers(claim, found.under[1], found.under[4]) in REACHED
        ):
            expected = "true when" if claim.every or claim.test in ("exact", "table") else "holds when"
        assert found.verdict == expected, "the record must not be edited by hand"
        assert {"command", "commit", "machine", "torch"} <= claims.provenance(claim.lesson).keys()


REACHED = ("holds", "true")


def _by_the_numbers(claim: Claim, interval: tuple[float, float], least: float | None) -> str:
    """Written once more, from the stored numbers alone."""
    if claim.every:
        assert least is not None
        return "true" if least - claim.claimed > -1e-9 else "false"
    exact = claim.test in ("exact", "table")
    if interval[0] >= claim.claimed:
        return "true" if exact else "holds"
    if interval[1] >= claim.claimed:
        return "undecided"
    return "false" if exact else "opposite" if interval[1] < 0 else "weaker" if interval[0] > 0 else "not seen"


def test_every_claim_has_a_run_that_records_it() -> None:
    assert {claim.lesson for claim in claims.CLAIMS.values()} == set(claims.EFFECTS)


PAGES = {"CLAIMS.md": ("| R1 smallest |", claims.table()), "README.md": ("Inverting a network](", index("notebooks/"))}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_its_tables_and_a_stale_one_is_replaced(page: str) -> None:
    words, table = PAGES[page]
    text = (command.ROOT / page).read_text(encoding="utf-8")
    assert table in text and command.with_tables(page, text) == text, "run ddlab claims run --table"
    stale = text.replace(words, "otherwise")
    assert stale != text and command.with_tables(page, stale) == text


def test_a_page_without_a_mark_is_refused() -> None:
    with pytest.raises(DDLabError, match="<!-- lessons: end -->"):
        command.with_tables("README.md", "<!-- lessons: begin -->")


def test_every_row_of_the_table_has_its_six_cells() -> None:
    """A bar in a statement (|S|, ||x - y||) does not end its cell."""
    for line in claims.table().splitlines():
        assert len(re.findall(r"(?<!\\)\|", line)) == 7, line
    assert r"\|\|x - y\|\|" in claims.table()


def test_agreement_with_the_record_can_fail() -> None:
    known = claims.recorded("D1")
    near = claims.judge("D1", [known.number, known.number + known.spread], setting="test")
    far = claims.judge("D1", [known.number + 4 * known.spread, known.number + 5 * known.spread], setting="test")
    assert claims.agrees(near) and not claims.agrees(far)


def test_the_record_is_written_and_read_back(tmp_path, monkeypatch) -> None:
    path = tmp_path / "verdicts.json"
    verdict = claims.judge("D1", [0.1, 0.2], setting="test")
    claims.save([verdict], {"commit": "abc"}, path)
    monkeypatch.setattr(claims, "RECORD", path)
    assert claims.recorded("D1") == verdict
    assert json.loads(path.read_text())["provenance"] == {"20_inverting_a_network": {"commit": "abc"}}
    with pytest.raises(DDLabError, match="none yet"):
        claims.recorded("X1 labels")
    assert "not run" in claims.table()
    other = claims.judge("X1 shapes labels", [0.1, 0.2], setting="test")
    claims.save([other], {"commit": "def"}, path)
    assert claims.recorded("D1") == verdict and claims.recorded("X1 shapes labels") == other, "other lessons stay"
    assert claims.provenance("20_inverting_a_network") == {"commit": "abc"}
    assert claims.provenance("00_start") == {"commit": "def"}

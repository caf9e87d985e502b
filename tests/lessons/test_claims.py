"""The claim registry: verdicts follow from numbers alone, and what is written matches what was recorded."""

from __future__ import annotations

import json

import pytest

from ddlab.errors import DDLabError
from ddlab.lessons import claims, index, record


def test_verdicts_follow_from_the_interval_and_the_declared_effect() -> None:
    def verdict(values: list[float]) -> str:
        return claims.judge("X1 labels", values, setting="test").verdict

    assert verdict([0.20, 0.21, 0.22]) == "holds"
    assert verdict([-0.02, 0.0, 0.01]) == "not seen at this scale"
    assert verdict([0.0, 0.05, 0.10]) == "inconclusive"
    # An interval that reaches up to the claimed effect decides nothing, even with a mean below it.
    assert verdict([0.03, 0.04, 0.05]) == "inconclusive"


def test_what_no_scale_can_save_is_false() -> None:
    assert claims.judge("D2 batch", [0.0, 0.0, 0.0], setting="test").verdict == "false"
    assert claims.judge("D14", [0, 1, 0, 1, 1], setting="test").verdict == "inconclusive"
    assert claims.judge("D14", [0, 0, 0, 1, 0], setting="test").verdict == "false"


def test_the_interval_is_student_t() -> None:
    found = claims.judge("D1", [0.1, 0.2, 0.4], setting="test")
    half = 4.302652729911275 * found.spread / 3**0.5  # t(0.975, 2)
    assert found.interval == pytest.approx((found.number - half, found.number + half))


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
        low, high = found.interval
        below = "false" if claim.test in ("exact", "table") else "not seen at this scale"
        expected = "holds" if low >= claim.claimed else below if high < claim.claimed else "inconclusive"
        assert found.verdict == expected, "the record must not be edited by hand"
        assert {"command", "commit", "machine", "torch"} <= claims.provenance(claim.lesson).keys()


def test_every_claim_has_a_run_that_records_it() -> None:
    assert {claim.lesson for claim in claims.CLAIMS.values()} == set(record.RUNS)


def test_the_readme_shows_the_record_and_the_index() -> None:
    text = record.README.read_text(encoding="utf-8")
    assert claims.table() in text and index("notebooks/") in text
    assert record.readme_with_tables(text) == text


def test_a_table_of_the_readme_that_is_stale_is_replaced_and_nothing_else() -> None:
    text = record.README.read_text(encoding="utf-8")
    stale = text.replace("Inverting a network](", "Another title](").replace("| holds |", "| false |")
    assert stale != text and record.readme_with_tables(stale) == text


def test_a_readme_without_a_mark_is_refused() -> None:
    with pytest.raises(DDLabError, match="<!-- lessons: end -->"):
        record.readme_with_tables("<!-- claims: begin -->\n<!-- claims: end -->\n<!-- lessons: begin -->")


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

"""Answers at first contact against an oracle, judged by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.first_contact.answers import LIBRARIES, kept, put_stand_ins
from benchmarks.first_contact.entries import STAND_INS, Entry, Fault, entries
from benchmarks.first_contact.judge import Judged, judged, page

SLOW = Fault(("train.py:20", "data.py:5"), cost_ms=4.0, step_ms=10.0, sure=True, fix="")
SMALL = Fault(("train.py:60",), cost_ms=0.5, step_ms=10.0, sure=True, fix="")


def entry(*faults: Fault) -> Entry:
    kind = "planted" if faults else "healthy"
    return Entry("one", kind, "says", "", ("train.py",), Path(), "", (), faults)  # type: ignore[arg-type]


def row(line: str, severity: str = "high", low: float = 3.0, high: float = 5.0) -> dict[str, Any]:
    predicted = {"low": low, "best_guess": (low + high) / 2, "high": high}
    return {"rule": "r", "lines": [line], "severity": severity, "predicted_ms": predicted}


def answer(
    *plan: dict[str, Any],
    names: tuple[str, ...] = (),
    step_ms: float = 10.0,
    faults: tuple[Fault, ...] = (SLOW, SMALL),
) -> Judged:
    found = {"entry": "one", "version": "1", "headline": "x", "plan": list(plan), "step_ms": step_ms}
    return Judged(entry(*faults), found | {"names": [{"name": name} for name in names]})


def test_a_fault_is_found_at_its_line_or_two_beside() -> None:
    assert answer(row("src/train.py:22")).found(SLOW)
    assert answer(row("data.py:5")).found(SLOW)
    assert not answer(row("train.py:23")).found(SLOW)
    assert not answer(row("other.py:20")).found(SLOW)
    assert answer(names=("train.py:20",)).named(SLOW) and not answer(names=("aten::mm",)).named(SLOW)


def test_only_the_costliest_fault_is_first() -> None:
    assert answer(row("train.py:20"), row("train.py:60")).first_right
    assert not answer(row("train.py:60"), row("train.py:20")).first_right
    assert [fault.share for fault in entry(SMALL, SLOW).to_find] == [0.4]  # 5 % need not be found


def test_the_true_cost_is_scaled_to_the_step_of_the_answer() -> None:
    """4 of 10 ms are 8 of 20: outside of 3 to 5, and inside of 6 to 9."""
    assert answer(row("train.py:20")).ranges == [True]
    assert answer(row("train.py:20"), step_ms=20.0).ranges == [False]
    assert answer(row("train.py:20", low=6.0, high=9.0), step_ms=20.0).ranges == [True]
    assert answer().ranges == []


def test_the_cost_of_what_only_some_steps_have_is_scaled_to_the_average_step() -> None:
    """8 ms best are 40 % of an average step of 20 ms: 4 of 10 ms are 8 of those, though a typical step takes
    10.
    """
    epoch_end = row("train.py:20", low=7.0, high=9.0) | {"share": 0.4}
    assert answer(epoch_end).step_ms_of(epoch_end) == pytest.approx(20.0)
    assert answer(epoch_end).ranges == [True]
    assert answer(row("train.py:20", low=7.0, high=9.0)).ranges == [False]


def test_a_row_of_two_faults_saves_what_both_cost() -> None:
    """4 and 2 of 10 ms are outside of 3 to 5, and inside of 5 to 7. What is only estimated does not count."""
    other = replace(SLOW, cost_ms=2.0)
    assert answer(row("train.py:20"), faults=(SLOW, other)).ranges == [False]
    assert answer(row("train.py:20", low=5.0, high=7.0), faults=(SLOW, other)).ranges == [True]
    assert answer(row("train.py:20"), faults=(SLOW, replace(other, sure=False))).ranges == []


def test_a_claim_elsewhere_costs_precision_and_one_of_low_severity_does_not() -> None:
    one = answer(row("train.py:20"), row("train.py:90"), row("train.py:91", "low"))
    assert (len(one.right), len(one.claims)) == (1, 2)


def test_the_first_answer_of_a_version_counts() -> None:
    first, second = (
        {"entry": "one", "version": "1", "headline": name, "plan": [], "names": []} for name in "ab"
    )
    (found,) = judged([entry(SLOW)], [first, second])
    assert found.answer["headline"] == "a"
    assert "0 of 1 (0 %)" in page([found])


def test_what_was_met_before_is_not_first_contact() -> None:
    old, new = (
        {"entry": "one", "version": version, "headline": "x", "plan": plan, "names": []}
        for version, plan in (("1", []), ("2", [row("train.py:20")]))
    )
    unseen, _, before = page(judged([entry(SLOW)], [old, new])).partition("## Scripts met before")
    assert "| 1 | 1 | 0 of 1 (0 %)" in unseen and "| 2 |" not in unseen
    assert "| 2 | 1 | 1 of 1 (100 %)" in before


@pytest.mark.parametrize("one", entries(), ids=lambda one: one.name)
def test_every_oracle_can_be_read(one: Entry) -> None:
    assert one.says and one.command and all(fault.lines and fault.step_ms > 0 for fault in one.faults)
    assert bool(one.faults) or one.kind != "planted"
    assert all((STAND_INS / name).is_dir() or (STAND_INS / f"{name}.py").is_file() for name in one.stand_ins)


def test_what_an_author_wrote_counts_before_the_stand_in_that_is_shared(tmp_path: Path) -> None:
    (tmp_path / "shims" / "torchvision").mkdir(parents=True)
    (tmp_path / "shims" / "torchvision" / "__init__.py").write_text("models = None\n")
    put_stand_ins(replace(entry(SLOW), stand_ins=("torchvision", "gym")), tmp_path)
    assert {path.name for path in (tmp_path / LIBRARIES).iterdir()} == {"torchvision", "gym.py"}
    assert [path.name for path in (tmp_path / LIBRARIES / "torchvision").iterdir()] == ["__init__.py"]


def test_every_answer_belongs_to_an_entry() -> None:
    assert {answer["entry"] for answer in kept()} <= {one.name for one in entries()}


def test_the_latest_scripts_are_counted_together() -> None:
    def met(number: int, plan: list[dict[str, Any]]) -> Judged:
        told = {
            "entry": str(number),
            "version": str(number // 40),
            "headline": "x",
            "plan": plan,
            "names": [],
        }
        return Judged(replace(entry(SLOW), name=str(number)), told)

    # of 61 the first is left out: it alone was wrong
    found = [met(0, []), *(met(number, [row("train.py:20")]) for number in range(1, 61))]
    assert "| the latest 60 | 60 | 60 of 60 (100 %)" in page(found)
    assert "the latest" not in page(found[1:])

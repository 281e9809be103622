"""What is read of objects again and again while they live."""

from __future__ import annotations

from diagnose.run.child.facts.last_read import LastRead


def test_what_was_read_of_those_that_are_gone_stays() -> None:
    last: LastRead[str] = LastRead()
    assert last.with_those_gone({1: "teacher", 2: "student"}) == ["teacher", "student"]
    assert last.with_those_gone({1: "teacher, again"}) == ["teacher, again", "student"]
    assert last.with_those_gone({}) == ["teacher, again", "student"]


def test_those_that_others_have_replaced_are_gone() -> None:
    """A search tries one model after the other."""
    last: LastRead[str] = LastRead()
    last.with_those_gone({1: "first"})
    assert last.with_those_gone({2: "second"}) == ["second"]
    assert last.with_those_gone({}) == ["second"]

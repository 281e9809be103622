"""Lines that index are marked, each where it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from diagnose.run.child import guard
from diagnose.run.child.places import Places
from diagnose.run.child.recording import index_marks
from diagnose.run.child.recording.index_marks import IndexMarks, indexing_lines

HERE = Path(__file__)


class _Marks:
    """What is opened and closed, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        seen = self.seen

        class Mark:
            def __init__(self, name: str) -> None:
                kind, file, line, _ = name.split("|")
                assert (kind, file) == ("diagnose::subscript", str(HERE))
                self.line = int(line) - FIRST

            def __enter__(self) -> None:
                seen.append(f"+{self.line}")

            def __exit__(self, *error: Any) -> None:
                seen.append(f"-{self.line}")

        monkeypatch.setattr(index_marks, "mark", Mark)


def _work(values: list[int]) -> int:
    first = values[0]
    plain = first + 1
    values[1] = sum(_some(values))
    total = [value for value in values][-1]
    return plain + total


def _some(values: list[int]) -> Iterator[int]:
    yield values[0]
    yield 1


def _fails(values: list[int]) -> None:
    values[99]


def _holds_its_variables(values: list[int]) -> set[str]:
    held = locals()
    first = values[0]
    second = values[first]
    return {*held} | {f"{second}"}


FIRST = _work.__code__.co_firstlineno
SOME = _some.__code__.co_firstlineno - FIRST
FAILS = _fails.__code__.co_firstlineno - FIRST


def _caller() -> FrameType:
    return sys._getframe(1)


def traced(function: Any, *given: Any) -> IndexMarks:
    marks = IndexMarks(Places(str(HERE.parent), str(HERE.parent)))
    if sys.gettrace() is not None:
        pytest.skip("somebody traces the tests")
    marks.begin(sys._getframe())
    try:
        function(*given)
    finally:
        marks.end()
    assert sys.gettrace() is None
    return marks


def test_each_line_that_indexes_is_open_until_the_next_one_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = _Marks(monkeypatch)
    values = [3, 0, 7]
    traced(_work, values)
    assert values == [3, 4, 7]
    # Line 3 sums what the generator of another function yields: its line is open within.
    inner = f"{SOME + 1}"
    assert marks.seen[:6] == ["+1", "-1", "+3", f"+{inner}", f"-{inner}", "-3"]
    assert all(marks.seen.count(f"+{line}") == marks.seen.count(f"-{line}") for line in range(SOME + 3))


def test_an_error_closes_the_mark_and_is_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = _Marks(monkeypatch)
    with pytest.raises(IndexError):
        traced(_fails, [1])
    assert marks.seen == [f"+{FAILS + 1}", f"-{FAILS + 1}"]


def test_what_is_open_at_the_end_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    marks, ended = _Marks(monkeypatch), IndexMarks(Places(str(HERE.parent), str(HERE.parent)))
    here = _caller().f_lineno + 3 - FIRST
    ended.begin(_caller())
    values = [1, 2]
    values[(ended.end() or 0)] = 5  # type: ignore[func-returns-value]
    values[1] = 6
    assert marks.seen == [f"+{here}", f"-{here}"]


def test_whoever_traces_already_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    marks, seen = _Marks(monkeypatch), []
    before = sys.gettrace()

    def theirs(frame: Any, event: str, arg: Any) -> None:
        seen.append(event)

    sys.settrace(theirs)
    try:
        own = IndexMarks(Places(str(HERE.parent), str(HERE.parent)))
        own.begin(sys._getframe())
        _work([1, 2, 3])
        own.end()
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(before)
    assert seen and not marks.seen


def test_a_fault_of_ours_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})
    monkeypatch.setattr(index_marks, "mark", lambda name: 1 / 0)
    traced(_work, values := [3, 0, 7])
    assert values == [3, 4, 7]
    assert any("lines that index" in sentence for sentence in guard.notes())


def test_a_function_that_holds_its_variables_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what it holds would get the variables that came later."""
    marks, found = _Marks(monkeypatch), []
    traced(lambda: found.append(_holds_its_variables([1, 7])))
    assert found == [{"values", "7"}]
    assert not marks.seen


def test_only_lines_that_index_are_told() -> None:
    lines = {line - FIRST for line in indexing_lines(_work.__code__)}
    assert lines >= {1, 3} and not lines & {0, 2, 7}

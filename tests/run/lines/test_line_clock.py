"""How long lines run, told by CPython itself."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch

from diagnose.run.child import guard
from diagnose.run.child.lines import line_clock
from diagnose.run.child.lines.line_clock import LineClock
from diagnose.run.child.places import OWN_FOLDER, Places

HERE = str(Path(__file__).parent)
_net = torch.nn.Linear(2, 2)
_optimizer = torch.optim.SGD(_net.parameters(), lr=0.1)


def _doubles(count: int) -> Iterator[int]:
    for number in range(count):
        time.sleep(0.001)
        yield 2 * number


def _step() -> None:
    time.sleep(0.006)
    total = 0.0
    for number in range(20_000):
        total += number * 0.5
    for _ in _doubles(3):
        time.sleep(0.002)
    _net(torch.ones(2)).sum().backward()
    _optimizer.step()


def told(step: Callable[[], None] = _step, count: int = 3, clock: LineClock | None = None) -> dict[str, Any]:
    clock = clock or LineClock(Places(HERE, HERE))
    assert clock.begin()
    try:
        for _ in range(count):
            step()
            clock.step()
    finally:
        clock.end()
    assert clock.facts is not None
    return clock.facts


def by_line(facts: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """By function and line within it."""
    starts = {function.__name__: function.__code__.co_firstlineno for function in (_step, _doubles)}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for line in facts["lines"]:
        if line["function"] in starts and not line["part"]:
            found[line["function"], line["line"] - starts[line["function"]]] = line
    return found


def ms(line: dict[str, Any], facts: dict[str, Any]) -> float:
    cost_ns = line["count"] * facts["event_ns"] + line["library_calls"] * facts["library_call_ns"]
    return float(line["ns"] - cost_ns) / 1e6 / facts["steps"]


def test_each_line_has_the_time_until_the_next_one() -> None:
    _step()  # what is imported on first use is no line's time
    facts = told()
    lines = by_line(facts)
    assert facts["steps"] == 3
    # sleeps last at least as long as they are asked to; on a busy machine longer
    assert 6 <= ms(lines["_step", 1], facts) < 30
    assert 3 <= ms(lines["_doubles", 2], facts) < 30  # thrice a step, in a generator that is gone on with
    assert 6 <= ms(lines["_step", 6], facts) < 60
    assert [lines["_step", line]["count"] / 3 for line in (1, 4, 6)] == [1, 20_000, 3]


def _loop_ms() -> float:
    began = time.perf_counter()
    total = 0.0
    for number in range(20_000):
        total += number * 0.5
    return (time.perf_counter() - began) * 1e3


def _loop_found_ms() -> float:
    facts = told()
    lines = by_line(facts)
    found_ms = ms(lines["_step", 3], facts) + ms(lines["_step", 4], facts)
    raw_ms = (lines["_step", 3]["ns"] + lines["_step", 4]["ns"]) / 1e6 / 3
    assert raw_ms > found_ms  # being told so often takes longer than the work
    return found_ms


def test_arithmetic_is_seen_though_it_calls_nothing() -> None:
    """The middle of several looks: what others do on the machine is different in each."""
    plain_ms, found_ms = (median(look() for _ in range(5)) for look in (_loop_ms, _loop_found_ms))
    assert 0.2 * plain_ms < found_ms < 5 * plain_ms


def test_no_line_takes_less_than_being_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the machine was a thousand times as slow while that was measured."""
    monkeypatch.setattr(line_clock, "costs_ns", lambda: (1e6, 0.0))
    facts = told()
    lines = by_line(facts)
    assert min(ms(lines["_step", number], facts) for number in (3, 4)) >= 0


def test_parts_of_the_step_are_apart() -> None:
    times: dict[str, int] = defaultdict(int)
    for line in told()["lines"]:
        times[line["part"]] += line["ns"]
    assert set(times) == {"", "forward", "backward", "optimizer"}
    assert all(times.values())


def _is_a_frame_traced() -> bool:
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_trace is not None:
            return True
        frame = frame.f_back
    return False


def _function_of_ours(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, str(Path(OWN_FOLDER) / "hook.py"), "exec"), names)
    return names["tick"]


def test_what_the_recorder_still_does_after_it_began_is_no_line_of_the_scripts() -> None:
    tick = _function_of_ours("def tick(clock, sleep):\n    assert clock.begin()\n    sleep(0.05)")

    def trains(clock: LineClock) -> None:
        tick(clock, time.sleep)
        for _ in range(3):
            time.sleep(0.001)
            clock.step()
        clock.end()

    clock = LineClock(Places(HERE, HERE))
    trains(clock)
    assert clock.facts is not None
    spent_ns = {line["line"]: line["ns"] for line in clock.facts["lines"] if line["function"] == "trains"}
    first = trains.__code__.co_firstlineno
    assert spent_ns[first + 3] >= 3_000_000
    assert spent_ns.get(first + 1, 0) < 25_000_000  # half of what the recorder took there


def test_nothing_is_left_of_it() -> None:
    told()
    assert sys.gettrace() is None
    assert not _is_a_frame_traced()
    gc.collect()


def _holds_its_variables(clock: LineClock) -> bool:
    held = locals()
    begun = clock.begin()
    clock.end()
    return begun or "begun" in held  # it would be there if the function had been traced


def test_the_caller_has_not_the_time_of_a_function_that_cannot_be_traced() -> None:
    clock = LineClock(Places(HERE, HERE))
    assert _holds_its_variables(clock) is (sys.version_info >= (3, 13))
    assert (clock.facts is None) or sys.version_info >= (3, 13)


def test_a_debugger_is_left_alone() -> None:
    def theirs(*_: Any) -> None: ...

    sys.settrace(theirs)
    try:
        clock = LineClock(Places(HERE, HERE))
        assert not clock.begin()
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(None)
    clock.end()
    assert clock.facts is None


def test_the_scripts_exceptions_are_its_own() -> None:
    def fails() -> None:
        with pytest.raises(KeyError, match="theirs"):
            raise KeyError("theirs")

    assert told(fails)["lines"]
    assert sys.gettrace() is None


def test_lines_that_make_typed_tensors_are_told() -> None:
    """A call of a type is none that CPython tells a profiler of."""
    rows = [[0.0] * 50] * 50

    def makes() -> None:
        tensor = torch.FloatTensor(rows)
        assert isinstance(tensor, torch.Tensor)
        torch.tensor(rows)

    facts = told(makes)
    told_lines = {
        line["line"] - makes.__code__.co_firstlineno
        for line in facts["lines"]
        if line["function"] == "makes" and line.get("makes_typed_tensor")
    }
    assert told_lines == {1}


def test_a_failure_of_ours_ends_it_and_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})
    places = Places(HERE, HERE)
    clock = LineClock(places)
    assert clock.begin()
    monkeypatch.setattr(places, "user_file", lambda _: 1 / 0)
    assert clock._tracer is not None
    monkeypatch.setattr(clock._tracer, "_user_file", lambda _: 1 / 0)
    _step()
    clock.step()
    assert sys.gettrace() is None
    clock.end()
    assert clock.facts is None
    assert any("timing the script's lines" in note.lower() for note in guard.notes())


def test_it_can_be_ended_from_another_thread() -> None:
    clock = LineClock(Places(HERE, HERE))
    assert clock.begin()
    _step()
    clock.step()
    ending = threading.Thread(target=clock.end)
    ending.start()
    ending.join()
    _step()
    assert sys.gettrace() is None and clock.facts is not None


def test_a_generator_that_was_traced_leaves_a_later_debugger_alone() -> None:
    clock = LineClock(Places(HERE, HERE))
    assert clock.begin()
    numbers = _doubles(3)
    assert next(numbers) == 0  # it waits while the clock ends
    clock.step()
    clock.end()

    def theirs(*_: Any) -> Any:
        return theirs

    sys.settrace(theirs)
    try:
        assert list(numbers) == [2, 4]
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(None)


def test_ending_it_from_a_thread_that_is_debugged_leaves_that_alone() -> None:
    clock, seen = LineClock(Places(HERE, HERE)), []
    assert clock.begin()

    def theirs(*_: Any) -> None: ...

    def ends() -> None:
        sys.settrace(theirs)
        clock.end()
        seen.append(sys.gettrace())
        sys.settrace(None)

    ending = threading.Thread(target=ends)
    ending.start()
    ending.join()
    _step()
    assert seen == [theirs] and sys.gettrace() is None


def _validates() -> None:
    time.sleep(0.3)


def _epochs(lengths: str) -> tuple[list[bool], int, bool]:
    """Of steps of 4 ms, `V` with a validation: whether each was the last one, how many count, and whether the
    validation is in them.
    """
    clock, over = LineClock(Places(HERE, HERE)), []
    assert clock.begin()
    for length in lengths:
        time.sleep(0.004)
        if length == "V":
            _validates()
        over.append(clock.step())
    clock.end()
    assert clock.facts is not None
    return over, clock.facts["steps"], any(line["function"] == "_validates" for line in clock.facts["lines"])


def test_a_step_that_validates_is_left_out_of_those_around_it() -> None:
    """Two steps and 300 ms would be enough; here one of them is an exception, for all that is known."""
    assert _epochs("-V--") == ([False, False, False, True], 3, False)
    assert _epochs("VV") == ([False, True], 2, True)
    assert _epochs("-V-V") == ([False, False, False, True], 4, True)  # steps that take turns

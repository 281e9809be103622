"""What a step of one level takes more than one of the level before, and by what."""

from __future__ import annotations

import pytest

from diagnose.watched.levels import Cause, causes, levels
from diagnose.watched.log import WatchLog, Window
from tests.watching.logs import LOSS, READ, change, log, window


def slower(before: dict[str, object], after: dict[str, object]) -> WatchLog:
    """Fifty seconds of 10 ms, then fifty windows of 15 ms."""
    windows = [window(100 * at, **before) for at in range(50)]
    windows += [window(100 * at, 15.0, **after) for at in range(50, 100)]
    return log(windows, change(5000, 10.0, 15.0))


def why(watched: WatchLog) -> list[Cause]:
    before, after = levels(watched)
    return causes(before, after, watched)


def test_a_run_without_changes_is_one_level() -> None:
    (level,) = levels(log([window(0), window(100), window(200, 20.0)]))
    assert (level.first, level.steps, level.seconds) == (0, 300, pytest.approx(4.0))
    assert level.mean_ms == pytest.approx(4000 / 300)
    assert level.typical_ms == 10.0  # of 200 of the 300 steps


def test_levels_begin_where_changes_do() -> None:
    before, after = levels(slower({}, {}))
    assert (before.first, before.steps, after.first, after.steps) == (0, 5000, 5000, 5000)
    assert (before.mean_ms, after.mean_ms) == (pytest.approx(10.0), pytest.approx(15.0))


def test_a_change_seen_in_both_steps_is_one() -> None:
    windows = [window(100 * at) for at in range(100)]
    typical, average = change(5000, 10, 15), change(4000, 10, 14, of="average")
    assert [level.first for level in levels(log(windows, typical, average))] == [0, 5000]
    far = change(1000, 10, 14, of="average", at_s=4.0)
    assert [level.first for level in levels(log(windows, typical, far))] == [0, 400, 5000]


def test_waiting_for_batches_is_a_cause_with_its_line() -> None:
    watched = slower({"lines": [(0, 10)]}, {"input_ms": 4.9, "lines": [(0, 10), (2, 5)]})
    waiting, line = why(watched)
    assert (waiting.kind, waiting.ms) == ("input", pytest.approx(4.9))
    # a third of the looks at steps of 15 ms
    assert (line.kind, line.line, line.ms) == ("line", READ, pytest.approx(5.0))


def test_the_garbage_collector_is_a_cause() -> None:
    (cause, *_) = why(slower({}, {"gc_ms": 4.0}))
    assert (cause.kind, cause.ms) == ("garbage", pytest.approx(4.0))


def test_lines_that_take_longer_alike_are_no_cause() -> None:
    assert why(slower({}, {})) == []


def test_fewer_threads_are_the_first_cause() -> None:
    causes_found = why(slower({"threads": 4}, {"threads": 1, "input_ms": 3.0}))
    assert [cause.kind for cause in causes_found] == ["threads", "input"]
    assert (causes_found[0].before, causes_found[0].after) == (4, 1)


def test_cores_that_others_take_are_a_cause() -> None:
    (cause,) = why(slower({"others_cores": 0.1}, {"others_cores": 1.4, "delay_ms": 2.0}))
    assert (cause.kind, cause.ms) == ("no_core", pytest.approx(2.0))
    assert (cause.before, cause.after) == (pytest.approx(0.1), pytest.approx(1.4))


def test_what_the_system_does_not_tell_is_no_cause() -> None:
    unknown = {"others_cores": None, "delay_ms": None, "run_ms": None}
    assert why(slower(unknown, unknown)) == []


def test_one_line_that_grows_among_others_is_named() -> None:
    watched = slower({"lines": [(0, 9), (2, 1)]}, {"lines": [(0, 9), (2, 6)]})
    (cause,) = why(watched)
    assert cause.line == READ
    assert cause.ms == pytest.approx(15 * 6 / 15 - 10 * 1 / 10)


def test_a_line_that_is_all_of_a_step_is_named_by_what_it_calls_only_if_that_grew() -> None:
    assert why(slower({"lines": [(0, 10)]}, {"lines": [(0, 10)]})) == []
    assert LOSS.called


def test_a_faster_level_has_no_cause() -> None:
    windows: list[Window] = [window(100 * at, 10.0) for at in range(50)]
    windows += [window(100 * at, 5.0) for at in range(50, 100)]
    assert why(log(windows, change(5000, 10.0, 5.0))) == []


def test_a_change_that_nobody_noticed_is_seen_afterwards() -> None:
    windows = [window(100 * at) for at in range(14)] + [window(100 * at, 15.0) for at in range(14, 30)]
    assert [(level.first, level.mean_ms) for level in levels(log(windows))] == [
        (0, pytest.approx(10.0)),
        (1400, pytest.approx(15.0)),
    ]


@pytest.mark.parametrize(
    ("run_ms", "waits"), [((10.0, 10.5), True), ((10.0, 14.0), False), ((None, None), False)]
)
def test_a_line_may_only_wait(run_ms: tuple[float | None, float | None], waits: bool) -> None:
    before, after = run_ms
    (cause,) = why(slower({"lines": [(0, 10)], "run_ms": before}, {"lines": [(3, 10)], "run_ms": after}))
    assert (cause.kind, cause.waits) == ("line", waits)

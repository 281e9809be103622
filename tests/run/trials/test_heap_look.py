"""What is tried with malloc, on calls of it that are noted, and on malloc itself in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from diagnose.measure.page_faults import FAULTS_AT_LEAST
from diagnose.run.child.memory import heap
from diagnose.run.child.trials import heap_look
from diagnose.run.child.trials.heap_look import HeapLook

PARAMETERS = [(-4, 0), (-1, 2**31 - 1)]
BACK = [(-4, 65_536), (-1, 2**26)]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What malloc is told; it takes all."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(heap_look, "mallopt", lambda *given: told.append(given) or True)
    monkeypatch.setattr(heap, "_is_replaced", lambda: False)
    for name in ("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"):
        monkeypatch.delenv(name, raising=False)
    return told


def steps(
    monkeypatch: pytest.MonkeyPatch,
    faults: int,
    before: float = 0.0,
    *,
    long_s: float = 0.1,
    system_s: float = 0.0,
) -> HeapLook:
    """A look that has begun, at steps with that many page faults and so long, in which the system works;
    ``before`` anything was recorded they had so many faults.
    """
    total, past = [0], [0]
    monkeypatch.setattr(heap_look, "_page_faults", lambda: total[0])
    monkeypatch.setattr(heap_look, "_system_s", lambda: system_s * past[0])
    monkeypatch.setattr(heap_look, "perf_counter_ns", lambda: int(1e9 * long_s * past[0]))
    look = HeapLook(lambda: before)
    assert look.begin()
    while True:
        total[0] += faults
        past[0] += 1
        if look.step():
            return look


def test_eight_steps_of_each_kind_count(told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    look = steps(monkeypatch, 3000)
    assert look.facts is not None and look.facts["page_faults"] == 3000
    assert len(look.facts["as_is_ms"]) == len(look.facts["changed_ms"]) == 8
    assert told[1:] == [*PARAMETERS, *BACK]
    look.end()
    assert told[1:] == [*PARAMETERS, *BACK]


def test_steps_with_few_faults_are_left_alone(
    told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    look = steps(monkeypatch, 1000)
    nothing: dict[str, float | list[float]] = {
        "system_ms": 0,
        "kept_system_ms": 0,
        "as_is_ms": [],
        "changed_ms": [],
    }
    assert look.facts == nothing | {"page_faults": 1000}
    assert told[1:] == []


def test_steps_that_had_faults_before_and_have_none_keep_their_memory_by_themselves(
    told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    look = steps(monkeypatch, 40, before=3000)
    assert look.facts is not None
    assert (look.facts["page_faults"], look.facts["as_is_ms"], len(look.facts["changed_ms"])) == (40, [], 8)
    assert told[1:] == []


def test_a_step_that_starts_workers_does_not_count_in_what_the_system_works(
    told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: 300 ms of the system's a step as it is, 10 with memory that is kept, but for one of 3 s."""
    past_s, system_s = [0.0], [0.0]
    monkeypatch.setattr(heap_look, "_page_faults", lambda: int(1e5 * past_s[0]))
    monkeypatch.setattr(heap_look, "_system_s", lambda: system_s[0])
    monkeypatch.setattr(heap_look, "perf_counter_ns", lambda: int(1e9 * past_s[0]))
    look = HeapLook(lambda: 0.0)
    assert look.begin()
    is_over, number = False, 0
    while not is_over:
        number += 1
        is_kept = len(told) > 1
        past_s[0] += 4.0 if number == 19 else 0.2 if is_kept else 0.4
        system_s[0] += 3.0 if number == 19 else 0.01 if is_kept else 0.3
        is_over = look.step()
    assert look.facts is not None and max(look.facts["changed_ms"]) == pytest.approx(4000)
    assert look.facts["kept_system_ms"] == pytest.approx(10)
    assert look.facts["system_ms"] == pytest.approx(290)


def test_the_run_and_its_reading_agree_on_what_many_faults_are() -> None:
    assert heap_look.FAULTS_AT_LEAST == FAULTS_AT_LEAST


def test_of_long_steps_five_of_each_kind_count_where_the_system_works_for_long(
    told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    look = steps(monkeypatch, 100_000, long_s=1.0, system_s=0.2)
    assert look.facts is not None and look.facts["as_is_ms"] == look.facts["changed_ms"] == [1000.0] * 5
    assert told[1:] == [*PARAMETERS, *BACK]


@pytest.mark.parametrize(("long_s", "system_s"), [(1.0, 0.05), (2.5, 1.0)])
def test_long_steps_are_not_waited_for_where_little_is_to_be_gained_or_they_take_too_long(
    told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, long_s: float, system_s: float
) -> None:
    assert steps(monkeypatch, 3000, long_s=long_s, system_s=system_s).facts is None and told[1:] == []


def test_a_malloc_that_somebody_has_set_is_left_alone(
    told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert not HeapLook(lambda: 0.0).begin() and not told


def test_an_early_end_puts_malloc_back(told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    total = [0]
    monkeypatch.setattr(heap_look, "_page_faults", lambda: total[0])
    look = HeapLook(lambda: 0.0)
    assert look.begin()
    for _ in range(11):
        total[0] += 3000
        assert not look.step()
    look.end()
    assert look.facts is None and told[1:] == [*PARAMETERS, *BACK]


@pytest.mark.skipif(sys.platform != "linux", reason="malloc is glibc's on Linux")
def test_faults_of_large_tensors_go() -> None:
    """Two tensors of 64 MB a step: 32,768 pages of 4 KiB, or fewer that are larger."""
    script = """
import torch
from diagnose.run.child.trials import heap_look
heap_look.FAULTS_AT_LEAST = 0
faults, look = [], heap_look.HeapLook(lambda: 0.0)
if look.begin():
    over = False
    while not over:
        before = heap_look._page_faults()
        x = torch.ones(2**24)
        y = x * 2
        del x, y
        faults.append(heap_look._page_faults() - before)
        over = look.step()
    print(min(faults[2:10]), sorted(faults[-8:])[4])
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    if not said:
        pytest.skip("another allocator serves this process")
    as_is, kept = map(int, said.split())
    assert kept < as_is / 10

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


def steps(monkeypatch: pytest.MonkeyPatch, faults: int, before: float = 0.0) -> HeapLook:
    """A look that has begun, at steps with that many page faults; ``before`` anything was recorded they had
    so many.
    """
    total = [0]
    monkeypatch.setattr(heap_look, "_page_faults", lambda: total[0])
    look = HeapLook(lambda: before)
    assert look.begin()
    while True:
        total[0] += faults
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


def test_the_run_and_its_reading_agree_on_what_many_faults_are() -> None:
    assert heap_look.FAULTS_AT_LEAST == FAULTS_AT_LEAST


def test_long_steps_are_not_waited_for(told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap_look, "_LONGEST_NS", 0)
    assert steps(monkeypatch, 3000).facts is None and told[1:] == []


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

"""A rank's memory, from a run's facts or from its trace."""

from dataclasses import replace
from typing import Any

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.recording import Recording
from diagnose.ranks.memory import gpu_memory

STEP = 'main 0 100 step ProfilerStep#0\nmain 0 50 op aten::mm\ngpu 60 20 kernel gemm {"device": 1}'
PROPERTIES = [{"id": 0, "totalGlobalMem": 8_000}, {"id": 1, "totalGlobalMem": 16_000}]
KEYS = ("peak_memory_bytes", "memory_bytes")


def recorded(
    text: str = STEP, facts: dict[str, Any] | None = None, properties: Any = PROPERTIES
) -> Recording:
    recording = measured_case({"timeline": text, "info": {"deviceProperties": properties}}).recording
    return replace(recording, facts=facts or {})


def with_memory(recording: Recording, rows: list[tuple[int, int]]) -> Recording:
    """``rows``: device and bytes allocated."""
    assert recording.timeline is not None
    table = recording.timeline.memory.reindex(range(len(rows)), fill_value=0)
    table = table.assign(device=[device for device, _ in rows], allocated_bytes=[size for _, size in rows])
    return replace(recording, timeline=replace(recording.timeline, memory=table))


def told(recording: Recording) -> tuple[int | None, ...]:
    return tuple(gpu_memory(recording)[key] for key in KEYS)


def test_the_allocator_s_own_count_comes_first() -> None:
    facts = {"cuda_memory": {"peak_allocated_bytes": 700, "capacity_bytes": 1_000}}
    assert told(with_memory(recorded(facts=facts), [(1, 300)])) == (700, 1_000)


def test_else_what_the_profiler_recorded_of_the_gpu_that_is_filled_most() -> None:
    assert told(with_memory(recorded(), [(-1, 9_000), (1, 300), (0, 500), (1, 400), (0, 100)])) == (
        500,
        8_000,
    )


def test_without_memory_events_only_the_size_of_the_gpu_that_works_is_known() -> None:
    assert told(recorded()) == (None, 16_000)


@pytest.mark.parametrize(
    "properties",
    [None, "damaged", [None, {"id": 1, "totalGlobalMem": "much"}], [{"id": 5, "totalGlobalMem": 1}]],
)
def test_what_is_not_told_is_unknown(properties: Any) -> None:
    assert told(recorded(properties=properties)) == (None, None)


def test_a_peak_of_nothing_is_no_peak() -> None:
    facts = {"cuda_memory": {"peak_allocated_bytes": 0, "capacity_bytes": None}}
    assert told(recorded("main 0 100 step ProfilerStep#0\nmain 0 50 op aten::mm", facts)) == (None, None)
    assert told(replace(recorded(), timeline=None)) == (None, None)

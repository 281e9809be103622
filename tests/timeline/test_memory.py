"""Memory block by block within the steps: three steps of 100 µs, from 100 µs on, with blocks by hand.

Step by step: test_picture.py.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from diagnose.measure.recording import Recording
from diagnose.report.timeline import memory
from diagnose.report.timeline.memory import SLOTS, memory_series
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from tests.trace.build import Json, block, encoded, event, kernel, launch

FOLDER = Path(__file__).parents[2].parent / "shared" / "traces"
GPU, RESERVED = "GPU 0 memory allocated", "GPU 0 memory reserved"


def traced(*blocks: Json) -> Trace:
    """Complete steps from 100 to 400 µs; an operator at 0 is where the trace starts."""
    steps = [
        event(f"ProfilerStep#{number}", 100 * number, 100, cat="user_annotation") for number in (1, 2, 3)
    ]
    work = [event("aten::mm", 100 * number + 10, 20) for number in (1, 2, 3)] + [
        launch(110, 1, 1),
        kernel("gemm", 120, 5, 1),
    ]
    trace = read_trace(io.BytesIO(encoded(event("aten::ones", 0, 5), *steps, *work, *blocks)))
    assert (trace.complete_steps[0, 0], trace.complete_steps[-1, 1]) == (100_000, 400_000)
    return trace


def curves(*blocks: Json) -> dict[str, list[tuple[float, int]]]:
    """Points by title, of a recording with these blocks."""
    return by_title(memory_series(Recording(Path("trace.json"), timeline=traced(*blocks))))


def by_title(series: list[dict[str, Any]]) -> dict[str, list[tuple[float, int]]]:
    assert {one["x_title"] for one in series} <= {"ms of the recording"}
    return {one["title"]: list(zip(one["x"], one["bytes"], strict=True)) for one in series}


def test_levels_hold_from_one_block_to_the_next_within_the_complete_steps() -> None:
    found = curves(
        block(50, 1000, 5000, 8000),
        block(150, 2000, 7000, 8000),
        block(250, -1000, 6000, 8000),
        block(450, 4000, 10_000, 16_000),  # after the last step
    )
    assert found == {
        GPU: [(0.0, 5000), (0.05, 5000), (0.05, 7000), (0.15, 7000), (0.15, 6000), (0.3, 6000)],
        RESERVED: [(0.0, 8000), (0.3, 8000)],
    }


def test_before_the_first_block_there_was_less_by_it() -> None:
    assert curves(block(150, 2000, 7000, 0))[GPU] == [(0.0, 5000), (0.05, 5000), (0.05, 7000), (0.3, 7000)]


def test_reserved_memory_that_grows() -> None:
    assert curves(block(150, 1, 10, 100), block(250, 1, 11, 300))[RESERVED] == [
        (0.0, 100),
        (0.15, 100),
        (0.15, 300),
        (0.3, 300),
    ]


def test_every_gpu_has_its_curve_and_the_cpu_is_drawn_only_without_one() -> None:
    cpu = block(160, 64, 64, 0, device=-1, device_type=0)
    assert list(curves(block(150, 1, 10, 0, device=1), cpu, block(170, 1, 10, 0))) == [
        GPU,
        "GPU 1 memory allocated",
    ]
    found = curves(cpu, block(450, 1, 10, 0))  # that of the GPU is after the steps
    assert found == {
        "CPU memory allocated since the recording began": [(0.0, 0), (0.06, 0), (0.06, 64), (0.3, 64)]
    }


def test_without_totals_blocks_are_added_up_from_the_recordings_start() -> None:
    found = curves(block(50, 1000), block(150, 500), block(250, -1000))
    assert found == {
        GPU + " since the recording began": [
            (0.0, 1000),
            (0.05, 1000),
            (0.05, 1500),
            (0.15, 1500),
            (0.15, 500),
            (0.3, 500),
        ]
    }
    freed = curves(block(150, -1000), block(250, 400))  # a block from before: the lowest counts as nothing
    assert freed == {
        GPU + " since the recording began": [
            (0.0, 1000),
            (0.05, 1000),
            (0.05, 0),
            (0.15, 0),
            (0.15, 400),
            (0.3, 400),
        ]
    }


def test_many_changes_are_thinned_out_and_keep_their_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each 75 µs the first, lowest, highest and last of 300 levels, a microsecond apart:

    1000 and 1001 in turn, 2001 once, 999 once.
    """
    monkeypatch.setattr(memory, "SLOTS", 4)
    monkeypatch.setattr(memory, "MOST_POINTS", 16)
    levels = [1000 + at % 2 for at in range(300)]
    levels[100], levels[200] = 2001, 999
    found = curves(*(block(100.5 + at, 1, level, 0) for at, level in enumerate(levels)))[GPU]
    assert len(found) <= 16
    assert found[0] == (0.0, 999) and found[-1] == (0.3, 1001)  # 1000 less the first block's byte
    # the highest point is the last, the lowest the first of such
    assert {(0.1015, 2001), (0.2005, 999)} <= set(found)
    assert [x for x, _ in found] == sorted(x for x, _ in found)
    for begin in (0, 0.075, 0.15, 0.225):
        # no block within 0.1 µs after a border
        slot = [(x, level) for x, level in found if begin <= x < begin + 0.0751]
        assert slot[0][0] - begin <= 0.001 and begin + 0.075 - slot[-1][0] <= 0.001


def test_a_recording_has_at_most_2000_points() -> None:
    found = curves(*(block(100 + at / 50, 1, at * 7919 % 9973, 0) for at in range(15_000)))[GPU]
    assert 3 * SLOTS < len(found) <= 2000
    assert max(level for _, level in found) == 9972


def test_curves_come_after_those_of_the_plain_steps_and_from_the_detail_if_the_timeline_has_none() -> None:
    detail = traced(block(150, 1, 10, 0))
    both = Recording(Path("run"), timeline=traced(), detail=detail, facts={"allocated_series_bytes": [1, 2]})
    assert [(one["title"], one["x_title"]) for one in memory_series(both)] == [
        ("GPU memory allocated", "step"),
        (GPU, "ms of the recording"),
    ]


def test_nothing_recorded_nothing_drawn() -> None:
    assert curves() == {}
    assert memory_series(Recording(Path("run"), timeline=None)) == []
    # a whole trace is a step
    trace = read_trace(io.BytesIO(encoded(event("aten::mm", 0), block(0, 1, 10, 0))))
    assert len(memory_series(Recording(Path("trace.json"), timeline=trace))) == len(trace.complete_steps)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**70, "x", None])
def test_hostile_numbers_do_no_harm(value: Any) -> None:
    for blocks in (
        [block(150, value), block(250, value), block(260, 5)],
        [block(150, value, value, value), block(250, 1, 10, 20)],
    ):
        for points in curves(*blocks).values():
            assert [x for x, _ in points] == sorted(x for x, _ in points) and {
                type(level) for _, level in points
            } == {int}


def test_of_many_devices_the_first_are_drawn() -> None:
    assert (
        len(curves(*(block(150, 1, 10, 20, device=ordinal) for ordinal in range(100))))
        == 2 * memory.MOST_DEVICES
    )


@pytest.mark.skipif(not FOLDER.exists(), reason=f"no recorded traces in {FOLDER}")
@pytest.mark.parametrize(
    ("name", "gpu", "span_ms", "begin", "most", "reserved"),
    [
        ("hta-dfindex-v100", 1, 1737.902, 4_096_614_400, 6_629_508_096, 12_782_141_440),
        ("ao-gtx1650", 0, 22.642231, 9_571_328, 10_620_928, 262_144_000),
    ],
)
def test_recorded(name: str, gpu: int, span_ms: float, begin: int, most: int, reserved: int) -> None:
    trace = read_trace(FOLDER / f"{name}.json.gz")
    found = by_title(memory_series(Recording(Path("trace.json"), timeline=trace)))
    allocated = found.pop(f"GPU {gpu} memory allocated")
    assert found == {f"GPU {gpu} memory reserved": [(0.0, reserved), (span_ms, reserved)]}
    assert (allocated[0], allocated[-1][0], len(allocated) <= 2000) == ((0.0, begin), span_ms, True)
    assert max(level for _, level in allocated) == most
    trace_levels = trace.memory[trace.memory["device"] == gpu]["allocated_bytes"].to_numpy()
    inside = trace.memory["time_ns"][trace.memory["device"] == gpu].between(
        trace.complete_steps[0, 0], trace.complete_steps[-1, 1]
    )
    assert min(level for _, level in allocated) == min(trace_levels[inside].min(), begin)


@pytest.mark.skipif(not FOLDER.exists(), reason=f"no recorded traces in {FOLDER}")
def test_recorded_without_totals() -> None:
    """torch 1.9: the sum of what its events say, which is at its most 2,791,636,480 bytes."""
    trace = read_trace(FOLDER / "kineto-rn50-w0-v2.json.gz")
    ((title, points),) = by_title(memory_series(Recording(Path("trace.json"), timeline=trace))).items()
    assert title == "GPU 0 memory allocated since the recording began"
    assert (points[0], max(level for _, level in points)) == ((0.0, 0), 2_791_636_480)

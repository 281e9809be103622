"""The MEMORY table: blocks that are allocated and freed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from tests.trace.build import block, encoded, event, read

FOLDER = Path(__file__).parents[2].parent / "shared" / "traces"
WORK = event("aten::mm", 1000, 100)  # the trace's start


def rows(trace: Trace) -> list[tuple[int, ...]]:
    return [tuple(row) for row in trace.memory.itertuples(index=False)]


def test_blocks_by_time_with_totals_afterwards() -> None:
    trace = read(
        WORK,
        block(1020.5, -512, 1024, 4096),
        block(1010, 1536, 1536, 4096),
        block(1010, 64, 64, 0, device=-1, device_type=0),
        block(1030, 2048, 2048, 2048, device=3, device_type=6),  # HIP
    )
    assert rows(trace) == [
        (10_000, 0, 1536, 1536, 4096),
        (10_000, -1, 64, 64, 0),
        (20_500, 0, -512, 1024, 4096),
        (30_000, 3, 2048, 2048, 2048),
    ]
    assert trace.notes == read(WORK).notes


def test_the_cpu_is_no_gpu_whatever_its_number() -> None:
    assert rows(read(WORK, block(1010, 8, 8, 0, device=0, device_type=0))) == [(10_000, -1, 8, 8, 0)]


def test_totals_that_were_not_recorded_are_unknown() -> None:
    # as torch 1.9 writes it
    without_category = {key: value for key, value in block(1010, 512).items() if key != "cat"}
    assert rows(read(WORK, without_category)) == [(10_000, 0, 512, -1, -1)]


def test_other_instants_and_other_phases_are_none() -> None:
    iteration = {
        "ph": "i",
        "s": "g",
        "name": "Iteration Start: PyTorch Profiler",
        "pid": "Traces",
        "tid": "Trace",
        "ts": 1001,
    }
    begun = block(1010, 512) | {"ph": "B"}
    lasting = event("[memory]", 1010, cat="cpu_instant_event", Bytes=512)
    assert len(read(WORK, iteration, begun, lasting).memory) == 0
    assert len(read(WORK).memory) == 0


@pytest.mark.parametrize("value", ["many", "", None, -7, 1.5, 1e300, 2**70, -(2**70), -(2**63)])
def test_totals_that_are_no_bytes_are_unknown(value: Any) -> None:
    trace = read(WORK, block(1010, value, value, value, value, value), block(1020, 512, 512, 1024))
    (_, device, _, allocated, reserved), good = rows(trace)
    assert (device, allocated, reserved) == (-1, -1, -1)
    assert good == (20_000, 0, 512, 512, 1024)


def test_numbers_in_text_and_whole_floats_are_numbers() -> None:
    assert rows(read(WORK, block("1010", "512", 512.0, "1024", "0", "1"))) == [(10_000, 0, 512, 512, 1024)]


@pytest.mark.parametrize(
    "args", [b'{"Bytes": NaN, "Total Allocated": 512}', b'{"Bytes": {"a": 1}}', b"[1]", b"7", b"null"]
)
def test_arguments_of_any_form_cost_nothing_else(args: bytes) -> None:
    data = encoded(WORK, block(1010, 512) | {"args": "@"}, block(1020, 512)).replace(b'"@"', args)
    trace = read_trace(io.BytesIO(data))
    assert len(trace.host) == 1
    assert rows(trace)[-1] == (20_000, 0, 512, -1, -1)


def test_blocks_without_a_usable_time_are_left_out_and_told() -> None:
    trace = read(WORK, block(None, 512), block("soon", 512), block(1e30, 512), block(1010, 512))
    assert [time for time, *_ in rows(trace)] == [10_000]
    assert trace.notes[0] == "Left out: 3 events without a usable time."


@pytest.mark.skipif(not FOLDER.exists(), reason=f"no recorded traces in {FOLDER}")
@pytest.mark.parametrize(
    ("name", "of_gpu", "of_cpu", "first", "most", "reserved"),
    [
        ("hta-dfindex-v100", (1, 26_770), 1_240, (25_165_824, 4_121_780_224), 6_629_508_096, 12_782_141_440),
        ("kineto-rn50-w0-v2", (0, 8_220), 4_618, (19_267_584, -1), -1, -1),
        ("tl-mi300-nsfw", (0, 620), 0, (1_204_224, 182_526_976), 272_628_736, 291_504_128),
    ],
)
def test_recorded(
    name: str, of_gpu: tuple[int, int], of_cpu: int, first: tuple[int, int], most: int, reserved: int
) -> None:
    """Counts and values from the files' text: torch 2.0, 1.9, and ROCm."""
    memory = read_trace(FOLDER / f"{name}.json.gz").memory
    ordinal, count = of_gpu
    gpu = memory[memory["device"] == ordinal]
    assert (len(gpu), (memory["device"] == -1).sum(), len(memory)) == (count, of_cpu, count + of_cpu)
    assert (gpu["change_bytes"].iloc[0], gpu["allocated_bytes"].iloc[0]) == first
    assert (gpu["allocated_bytes"].max(), gpu["reserved_bytes"].max()) == (most, reserved)

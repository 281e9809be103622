"""A trace is decoded a batch at a time: where it is cut must not matter."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from diagnose.errors import TraceUnreadable
from diagnose.trace import batches, content, memory
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from tests.trace.build import Json, block, encoded, event, kernel, launch

SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*/*/rank0/timeline.pt.trace.json.gz"))
RECORDED = Path(__file__).parents[2].parent / "shared" / "traces"
LARGE = [
    path
    for name in ("hta-nccl-cfg", "hta-ns-resolution", "kineto-rn50-w4-v0")
    if (path := RECORDED / f"{name}.json.gz").exists()
]


def cut_small(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(batches, "BATCH_BYTES", size)
    monkeypatch.setattr(content, "BLOCK", size)


def check_same(one: Trace, other: Trace) -> None:
    for table in ("host", "device", "steps", "memory"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table))
    assert (one.info, one.notes, one.threads, one.origin_ns) == (
        other.info,
        other.notes,
        other.threads,
        other.origin_ns,
    )


@pytest.mark.parametrize(
    "path", SAMPLES[:2] + LARGE, ids=lambda path: "/".join(path.parts[-4:-2]) + path.name.split(".")[0]
)
def test_small_batches_give_the_same_tables(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_BYTES", 2**40)
    whole = read_trace(path)
    cut_small(monkeypatch, 2**14)
    check_same(read_trace(path), whole)


def awkward() -> list[Json]:
    """Events with everything inside that looks like the border between two."""
    text = '}, {"ph": "X"}, {"'
    return [
        event(f"op {i} {text}", 10 * i, 5, Input_Dims=[[i, 2]], Call_stack=text, odd=[{"a": 1}, {"b": [{"c": text}]}]) for i in range(300)
    ] + [launch(10 * i + 1, 1, i) for i in range(50)] + [kernel(text, 10 * i + 2, 3, i) for i in range(50)] + [
        block(10 * i, 512, 512 * i) for i in range(50)
    ]  # fmt: skip


@pytest.mark.parametrize("size", [64, 300, 1000, 5000])
@pytest.mark.parametrize("form", ["events last", "events first", "bare list", "indented", "Ascii only"])
def test_braces_inside_text_and_arguments(form: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    top = {"deviceProperties": [{"id": number, "name": "a"} for number in range(100)], "schemaVersion": 1}
    data = {
        "events last": lambda: encoded(*awkward(), **top),
        "events first": lambda: json.dumps({"traceEvents": awkward(), **top}).encode(),
        "bare list": lambda: json.dumps(awkward()).encode(),
        "indented": lambda: json.dumps({"traceEvents": awkward(), **top}, indent=4).encode(),
        "Ascii only": lambda: json.dumps(
            {"traceEvents": [event("µ", 1), *awkward()], **top}, ensure_ascii=True
        ).encode(),
    }[form]()
    whole = read_trace(io.BytesIO(data))
    assert whole.notes == () or all("damaged" not in note for note in whole.notes)
    cut_small(monkeypatch, size)
    check_same(read_trace(io.BytesIO(data)), whole)


def test_damage_in_the_middle_loses_no_more_than_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(*(event(f"aten::op{i}", 10 * i, 5) for i in range(400))).replace(
        b"aten::op200", b"aten::\xff200"
    )
    whole = read_trace(io.BytesIO(data))
    cut_small(monkeypatch, 1000)
    check_same(read_trace(io.BytesIO(data)), whole)
    assert len(whole.host) == 400


def test_every_batch_keeps_all_digits_of_its_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Microseconds since 1970 with three decimals do not fit a double."""
    start = Decimal("1700000000000000")
    events = [event(f"op{i}", "@", 1) for i in range(200)]
    data = encoded(*events)
    for i in range(200):
        data = data.replace(b'"@"', str(start + 10 * i + Decimal(i * 137 % 1000) / 1000).encode(), 1)
    cut_small(monkeypatch, 1000)
    assert read_trace(io.BytesIO(data)).host["start_ns"].tolist() == [
        10_000 * i + i * 137 % 1000 for i in range(200)
    ]


def test_a_limit_on_memory_is_kept_or_the_trace_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(*(event(f"op{i}", i) for i in range(3000)))
    cut_small(monkeypatch, 10_000)
    assert len(read_trace(io.BytesIO(data), memory_limit=10_000_000).host) == 3000
    with pytest.raises(TraceUnreadable, match="needs more memory than the limit") as refusal:
        read_trace(io.BytesIO(data), memory_limit=100_000)
    assert "% of the file read" in str(refusal.value) and "--memory-limit" in refusal.value.do
    monkeypatch.setattr(memory, "ALWAYS_GRANTED", 0)
    assert len(read_trace(io.BytesIO(data)).host) == 3000, "half of the free memory is plenty"


def test_texts_count_towards_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(*(event(f"op{i}" + 1000 * "x", i) for i in range(1000)))  # 1 MB, and 4 times that
    cut_small(monkeypatch, 10_000)
    assert len(read_trace(io.BytesIO(data), memory_limit=6_000_000).host) == 1000
    with pytest.raises(TraceUnreadable, match="needs more memory than the limit"):
        read_trace(io.BytesIO(data), memory_limit=3_000_000)


def test_memory_events_count_towards_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    # 41 bytes each, and 4 times that for the tables
    data = encoded(event("op", 0), *(block(i, 512, 1024, 2048) for i in range(3000)))
    cut_small(monkeypatch, 10_000)
    assert len(read_trace(io.BytesIO(data), memory_limit=10_000_000).memory) == 3000
    with pytest.raises(TraceUnreadable, match="needs more memory than the limit"):
        read_trace(io.BytesIO(data), memory_limit=300_000)


def test_progress_is_told_in_shares_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(*(event(f"op{i}", i) for i in range(3000)))
    cut_small(monkeypatch, 10_000)
    told: list[float] = []
    read_trace(io.BytesIO(data), progress=lambda content: told.append(content.share))
    assert len(told) > 10 and told == sorted(told) and told[-1] == 1.0


class Stream:
    """What can be read and nothing else, like a download."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def test_progress_without_a_known_size_is_told_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(*(event(f"op{i}", i) for i in range(3000)))
    cut_small(monkeypatch, 10_000)
    told: list[tuple[float, int]] = []
    read_trace(Stream(data), progress=lambda content: told.append((content.share, content.read_bytes)))  # type: ignore[arg-type]
    assert told[-1] == (0.0, len(data))


def test_a_damaged_event_costs_its_part_of_the_file_and_the_rest_is_read_in_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = [event("aten::mm", 10 * i, 5) for i in range(3000)]
    text = encoded(*events).replace(b'"dur": 5', b'"dur": NaN', 1).replace(b'"ts": 90,', b'"ts" 90,', 1)
    whole = read_trace(io.BytesIO(text))
    cut_small(monkeypatch, 2**12)
    monkeypatch.setattr(batches, "DAMAGED_BYTES", 2**14)
    longest = 0

    def measured(self: batches.Events, text: bytearray) -> list[Any]:
        nonlocal longest
        longest = max(longest, len(text))
        return salvaged(self, text)

    salvaged = batches.Events._salvaged
    monkeypatch.setattr(batches.Events, "_salvaged", measured)
    check_same(read_trace(io.BytesIO(text)), whole)
    assert 0 < longest < len(text) / 5
    assert whole.notes[:2] == (
        "1 event held NaN or Infinity; that part was replaced or left out.",
        "1 of 3,000 events are damaged and were left out.",
    )

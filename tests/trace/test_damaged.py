"""Broken files: what is whole is read, what is lost is told, the rest is refused in words."""

from __future__ import annotations

import gzip
import io
import json
import time

import pytest
import zstandard

from diagnose.errors import TraceUnreadable
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from tests.trace.build import encoded, event, kernel

EVENTS = [event(f"aten::op{i}", 10 * i, 5, Input_Dims=[[i]]) for i in range(40)] + [
    kernel("void k<{lambda()#1}, {lambda()#2}>()", 5, 3, 1)
]
WHOLE = encoded(*EVENTS, deviceProperties=[{"id": 0}, {"id": 1}])
PRETTY = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS, "traceName": "x.json"}, indent=2).encode()
BARE = json.dumps(EVENTS).encode()


def opened(data: bytes) -> Trace:
    return read_trace(io.BytesIO(data))


def whole_events(data: bytes) -> int:
    """How many events lie whole before the end of ``data``: by decoding each one from the front."""
    text, decoder = data.decode("utf-8", "ignore"), json.JSONDecoder()
    at, count = text.index("[", text.find('"traceEvents"') if b"traceEvents" in data else 0) + 1, 0
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(", \n"))
        try:
            _, at = decoder.raw_decode(text, at)
        except ValueError:
            return count
        count += 1


@pytest.mark.parametrize("data", [WHOLE, PRETTY, BARE], ids=["compact", "pretty", "bare list"])
def test_cut_anywhere(data: bytes) -> None:
    first = data.index(b'"ph"')
    for cut in range(first, len(data) - 1, 131):
        want = whole_events(data[:cut])
        if want == 0:
            continue
        trace = opened(data[:cut])
        assert len(trace.host) + len(trace.device) == want, cut
        assert any("no end" in note for note in trace.notes) or cut > data.rindex(b"]"), cut


def test_cut_between_the_last_event_and_the_end() -> None:
    trace = opened(WHOLE[: WHOLE.rindex(b"]")])
    assert len(trace.host) == 40
    assert trace.notes == (
        "The file has no end (the recording may have been cut off): 41 whole events were read.",
    )
    assert trace.info["deviceProperties"] == [{"id": 0}, {"id": 1}]


def test_cut_gzip_keeps_what_was_written() -> None:
    big = encoded(*(event(f"aten::op{i * 7919 % 9973}", 10 * i, 5, External_id=i) for i in range(5000)))
    packed = gzip.compress(big)
    read_before = 0
    for share in (0.2, 0.5, 0.9, 0.9999):
        trace = opened(packed[: int(len(packed) * share)])
        assert len(trace.host) > read_before
        assert "compressed file is cut off" in trace.notes[0]
        read_before = len(trace.host)
    assert read_before == 5000


def test_cut_zstd_keeps_what_was_written() -> None:
    big = encoded(*(event(f"aten::op{i * 7919 % 9973}", 10 * i, 5, External_id=i) for i in range(20_000)))
    packed = zstandard.compress(big)
    read_before = 0
    for share in (0.2, 0.5, 0.9, 0.9999):
        trace = opened(packed[: int(len(packed) * share)])
        assert len(trace.host) > read_before
        assert "compressed file is cut off" in trace.notes[0]
        read_before = len(trace.host)
    assert "cut off" not in "".join(opened(packed + zstandard.compress(b" ")).notes)
    assert "compressed file is cut off" in opened(packed + b"more").notes[0]


@pytest.mark.parametrize("packed", [gzip.compress(WHOLE), zstandard.compress(WHOLE)], ids=["gzip", "zstd"])
def test_cut_or_damaged_before_anything_can_be_uncompressed(packed: bytes) -> None:
    for data in (packed[:15], packed[:12] + b"\xff" * 30):
        with pytest.raises(
            TraceUnreadable, match=r"cut off or damaged.\n  saw: nothing in it could be uncompressed"
        ):
            opened(data)


def test_gzip_with_a_damaged_middle() -> None:
    packed = bytearray(gzip.compress(encoded(*(event(f"op{i * 7919 % 9973}", i) for i in range(5000)))))
    packed[len(packed) // 2 : len(packed) // 2 + 20] = b"\xff" * 20
    trace = opened(bytes(packed))
    assert 0 < len(trace.host) <= 5000
    assert trace.notes


@pytest.mark.parametrize(
    "head",
    [
        b'{"schemaVersion": 1, "traceEv',
        b'{"schemaVersion": 1, "traceEvents": [',
        b'{"schemaVersion": 1, "traceEvents": [ {"ph": "X", "na',
    ],
)
def test_cut_before_the_first_whole_event(head: bytes) -> None:
    with pytest.raises(TraceUnreadable):
        opened(head)


@pytest.mark.parametrize(
    ("find", "replacement", "note"),
    [
        (b'"dur": 5', b'"dur": NaN', "NaN or Infinity"),
        (b'"dur": 5', b'"dur": -Infinity', "NaN or Infinity"),
        (b"aten::op7", b"aten::\xff\xfe7", "invalid UTF-8"),
        (b"aten::op7", b"C:\\Users\\x7", "stray backslashes"),
        (b"aten::op7", b"tab\tin name", "control characters"),
        (b"[[7]]", b"[[7],]", "trailing commas"),
    ],
)
def test_small_faults_cost_no_event(find: bytes, replacement: bytes, note: str) -> None:
    trace = opened(WHOLE.replace(find, replacement, 1))
    assert len(trace.host) + len(trace.device) == 41
    assert trace.notes == (f"1 event held {note}; that part was replaced or left out.",)


def test_lines_between_what_an_event_holds_are_no_fault() -> None:
    lines = json.dumps({"traceEvents": [event("aten::mm", 1), event("odd", 3, stream={"a": 1})]}, indent=1)
    assert opened(lines.encode()).notes == (
        "1 event held arguments of an unknown form; that part was replaced or left out.",
    )
    assert opened(lines.replace('"odd"', '"o\nd"').encode()).host["name"].tolist() == ["aten::mm", "o d"]


def test_a_trailing_comma_after_the_last_event() -> None:
    trace = opened(WHOLE[: WHOLE.rindex(b"]")] + b", ]}")
    assert len(trace.host) == 40
    assert not any("damaged" in note for note in trace.notes)


def test_garbage_in_the_middle_costs_the_event_it_is_in() -> None:
    at = WHOLE.index(b"aten::op20")
    trace = opened(WHOLE[:at] + b'\x00\x01" garbage' + WHOLE[at + 8 :])
    assert len(trace.host) + len(trace.device) == 40
    assert trace.notes[-1] == "1 of 41 events are damaged and were left out."


def test_an_event_of_unexpected_types_costs_only_itself() -> None:
    trace = opened(
        encoded(
            event("good", 1),
            event("odd", 2) | {"name": ["a", "list"]},
            event("odd arguments", 3, stream={"a": 1}),
        )
    )
    assert trace.host["name"].tolist() == ["good", "odd arguments"]
    assert trace.notes == (
        "1 event held arguments of an unknown form; that part was replaced or left out.",
        "1 of 3 events are damaged and were left out.",
    )


def test_duplicate_keys_take_the_last() -> None:
    trace = opened(
        b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "name": "b", "ts": 1, "dur": 2, '
        b'"ts": 3, '
        b'"pid": 1, "tid": 1}]}'
    )
    assert (trace.host["name"].tolist(), trace.origin_ns, trace.notes) == (["b"], 3000, ())


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b" \n\t ", "holds no JSON"),
        (b"hello", "is no JSON trace"),
        (b"\x00\x01\x02", "is no JSON trace"),
        (b"{'traceEvents': []}", "single quotes"),
        (b"{}", "no traceEvents"),
        (b'{"a": 1, "b": [1, 2]}', "no traceEvents"),
        (b"[]", "without events"),
        (b"[1, 2, 3]", "without events"),
        (b'{"traceEvents": []}', "without events"),
        (b'{"traceEvents": null}', "no traceEvents"),
        (b'{"traceEvents": 7}', "no traceEvents"),
        (b'{"traceEvents": [{}]}', "not of torch.profiler"),
        (b"[" * 100_000, "without events"),
        (b'{"a":' * 100_000, "no traceEvents"),
        (b"SQLite format 3\x00" + b"\x00" * 100, "no whole database"),
        (b"PK\x03\x04zip", "zip archive"),
        (b"\x80\x04pickle", "pickle"),
    ],
)
def test_refused_in_words(data: bytes, what: str) -> None:
    with pytest.raises(TraceUnreadable) as refusal:
        opened(data)
    assert what in str(refusal.value)
    assert refusal.value.do, "says what to do"


def test_no_usable_time_at_all() -> None:
    with pytest.raises(TraceUnreadable, match="usable time"):
        opened(encoded(event("a", None)))


@pytest.mark.parametrize(
    ("events", "writer"),
    [
        ([event("mul", 1, cat="x", pid="CPU functions")], "old torch.autograd.profiler"),
        ([{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "Ascend Hardware"}}, event("aten::mm", 1)], "Ascend"),
        ([{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "GPU Barriers0"}}, event("k", 1, cat="")], "rocprof"),
        ([event("Kernel (Stream 7)", 1, cat="GPU"), event("range", 1, cat="NVTX")], "Nsight Systems"),
        ([{"ph": "B", "cat": "op", "name": "Take", "ts": 1, "pid": 0, "tid": 0}], "begin and end events"),
        ([event("paint", 1, cat="blink")], "not of torch.profiler"),
    ],
)  # fmt: skip
def test_other_tools_traces_are_named(events: list[dict[str, object]], writer: str) -> None:
    with pytest.raises(TraceUnreadable) as refusal:
        opened(encoded(*events))
    assert writer in str(refusal.value)


@pytest.mark.parametrize(
    "filler",
    [b" " * 3_000_000, b"}" * 300_000, b"," * 300_000, b"{" * 300_000, b"\\" * 300_000, b"(1" * 300_000],
)
def test_hostile_filler_takes_linear_time(filler: bytes) -> None:
    at = WHOLE.index(b', {"ph"') if not filler.startswith(b"(") else WHOLE.index(b"aten::op1")
    started = time.perf_counter()
    trace = opened(WHOLE[:at] + filler + WHOLE[at:-1])
    assert len(trace.host) >= 38
    assert time.perf_counter() - started < 5

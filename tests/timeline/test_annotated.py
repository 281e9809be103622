"""The file with our events in front: valid, whole or not there, and the recorded events as they were."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from diagnose.errors import TraceUnreadable, UsageError
from diagnose.report.timeline import annotated as module
from diagnose.report.timeline.annotated import list_start, write_annotated

OURS: list[dict[str, Any]] = [
    {
        "ph": "X",
        "name": 'a "quoted" \\ name\u2028',
        "pid": 9,
        "tid": 9,
        "ts": Decimal("1700000000000000.123"),
        "dur": Decimal("0.001"),
    }
]
RECORDED = [
    {"ph": "X", "name": f"op {number}", "ts": number, "args": {"list": [{"a": 1}, {"b": 2}]}}
    for number in range(3)
]


def after(tmp_path: Path, data: bytes, ours: list[dict[str, Any]] = OURS) -> bytes:
    """The bytes of the annotated file of a trace with this content."""
    source, path = tmp_path / "trace.json", tmp_path / "annotated.trace.json.gz"
    source.write_bytes(data)
    write_annotated(source, ours, path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["annotated.trace.json.gz", "trace.json"]
    return gzip.decompress(path.read_bytes())


def events(data: bytes) -> list[dict[str, Any]]:
    read = json.loads(data, parse_float=Decimal)
    return read if isinstance(read, list) else read["traceEvents"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document",
    [
        {"traceEvents": RECORDED},
        {
            "schemaVersion": 1,
            "traceEvents": RECORDED,
            "traceName": "a",
            "deviceProperties": [{"id": 0}, {"id": 1}],
        },
        {
            "note": 'here "traceEvents": [',
            "deviceProperties": [{"traceEvents": [1, 2]}],
            "traceEvents": RECORDED,
        },
        {"nested": {"traceEvents": [{"ph": "X"}]}, "key": "traceEvents", "traceEvents": RECORDED},
        {"note": "back \\ slash \\", "traceEvents": RECORDED[:1]},
        {"traceEvents": []},
        RECORDED,
        [],
    ],
)
def test_ours_come_first_and_the_rest_is_unchanged(tmp_path: Path, document: Any, indent: int | None) -> None:
    data = json.dumps(document, indent=indent).encode()
    written = after(tmp_path, data)
    recorded = document if isinstance(document, list) else document["traceEvents"]
    assert events(written) == OURS + recorded
    if isinstance(document, dict):
        assert json.loads(written) | {"traceEvents": recorded} == document


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    written = after(tmp_path, json.dumps(RECORDED).encode())
    assert b'"ts":1700000000000000.123' in written
    assert b'"dur":0.001' in written


@pytest.mark.parametrize("cut", [1, 7, 4096, 2**20])
def test_wherever_the_blocks_are_cut(tmp_path: Path, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {
        "note": '"traceEvents": [' * 20,
        "traceEvents": RECORDED * 20,
        "deviceProperties": [{"id": 0}, {"id": 1}],
    }
    data = json.dumps(many).encode()

    class InPieces:
        name = "trace"

        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def blocks(self) -> Any:
            return (data[at : at + cut] for at in range(0, len(data), cut))

    monkeypatch.setattr(module, "Content", InPieces)
    monkeypatch.setattr(module, "END_BYTES", 500)
    assert events(after(tmp_path, b"")) == OURS + RECORDED * 20


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    assert events(after(tmp_path, b"\xef\xbb\xbf" + json.dumps(RECORDED).encode())) == OURS + RECORDED


def test_compressed_traces_are_read_as_they_are(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = json.dumps({"traceEvents": RECORDED}).encode()
    for packed in (gzip.compress(data), zstandard.ZstdCompressor().compress(data)):
        assert events(after(tmp_path, packed)) == OURS + RECORDED


@pytest.mark.parametrize("opening", [b'{"schemaVersion": 1, "traceEvents": ', b""])
def test_a_file_without_its_end_is_closed_behind_its_last_whole_event(tmp_path: Path, opening: bytes) -> None:
    whole = opening + json.dumps(RECORDED).encode()
    second = whole.index(b'{"ph": "X", "name": "op 1"')
    third = whole.index(b'{"ph": "X", "name": "op 2"')
    for end in range(third + 1, len(whole) - 1):  # anywhere within the third event
        assert events(after(tmp_path, whole[:end])) == OURS + RECORDED[:2]
    assert events(after(tmp_path, whole[:-1])) == OURS + RECORDED  # all but the list's end
    assert events(after(tmp_path, whole[: second + 20])) == OURS + RECORDED[:1]


def test_a_compressed_file_that_is_cut_off_is_closed_too(tmp_path: Path) -> None:
    many = [{**one, "name": f"{one['name']} {number}"} for number in range(5000) for one in RECORDED]
    packed = gzip.compress(json.dumps({"traceEvents": many}).encode())
    read = events(after(tmp_path, packed[: len(packed) // 2]))
    assert len(read) > 1000
    assert read == OURS + many[: len(read) - 1]


def test_without_events_no_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "annotated.trace.json.gz"
    path.write_bytes(b"of an earlier analysis")
    write_annotated(tmp_path / "trace.json", [], path)
    assert not path.exists()


def test_what_is_no_trace_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    source, path = tmp_path / "trace.json", tmp_path / "annotated.trace.json.gz"
    source.write_text('{"events": [1, 2]}')
    with pytest.raises(TraceUnreadable, match="no list of events"):
        write_annotated(source, OURS, path)
    with pytest.raises(UsageError):
        write_annotated(tmp_path / "missing.json", OURS, path)
    assert [one.name for one in tmp_path.iterdir()] == ["trace.json"]


def test_the_same_input_makes_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "trace.json"
    source.write_text(json.dumps(RECORDED))
    paths = [tmp_path / "one.gz", tmp_path / "another.gz"]
    for path in paths:
        write_annotated(source, OURS, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_list_that_is_not_there_yet_is_not_found() -> None:
    text = b'{"a": "x[{", "traceEvents" : [ '
    assert list_start(text) == text.rindex(b"[") + 1
    assert all(list_start(text[:end]) is None for end in range(text.rindex(b"[") + 1))

"""Snapshots of a GPU's memory, worked out by hand, and files that mean harm."""

from __future__ import annotations

import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from diagnose.errors import TraceUnreadable, UsageError
from diagnose.snapshot.reading import read_snapshot
from diagnose.snapshot.replay import Replay
from diagnose.snapshot.summary import DeviceMemory, advice, summary

KIB = 1024
TORCH = "/env/lib/python3.11/site-packages/torch"


def frame(file: str, line: int, name: str) -> dict[str, Any]:
    return {"filename": file, "line": line, "name": name}


ENGINE = frame("engine.cpp", 0, "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask>)")
CALL = frame(f"{TORCH}/nn/modules/module.py", 1750, "_call_impl")
STEP = frame(f"{TORCH}/optim/optimizer.py", 500, "wrapper")
MODEL = [frame(f"{TORCH}/functional.py", 3, "relu"), frame("/job/model.py", 20, "forward"), CALL]
LOOP = [frame("/job/train.py", 9, "main")]
ADAM = [frame("/job/adam.py", 5, "step"), STEP, *LOOP]


def event(action: str, addr: int, kib: int, frames: Any = (), us: int = 0) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": kib * KIB, "stream": 0, "frames": frames, "time_us": us}


def block(addr: int, kib: int, state: str = "active_allocated", frames: Any = ()) -> dict[str, Any]:
    return {"address": addr, "size": kib * KIB, "requested_size": kib * KIB, "state": state, "frames": frames}


def snapshot() -> dict[str, Any]:
    """KiB: at the begin 100 of parameters (kept) and 7 (freed first). Then 50 of the forward, 100 of the
    backward, 30 of an input; the forward's are freed; 200 of the optimizer's state.

    Allocated: 107, 100, 150, 250, 280, 230, 430: the peak is after the last event. Of the 512 that are
    reserved then 82 lie idle. Before its second segment of 256 there were 256.
    """
    events = [
        event("free_requested", 7, 7),
        event("free_completed", 7, 7, us=1_000_000),
        event("alloc", 2, 50, MODEL),
        event("alloc", 3, 100, [ENGINE]),
        event("alloc", 4, 30, LOOP),
        event("free_completed", 2, 50),
        event("segment_alloc", 900, 256),
        event("alloc", 900, 200, ADAM, us=3_000_000),
    ]
    events[0]["time_us"] = 500_000
    blocks = [
        block(1, 100, frames=[frame(f"{TORCH}/nn/modules/module.py", 900, "_apply"), *LOOP]),
        block(2, 26, "inactive"),
        block(3, 100),
        block(4, 30),
    ]
    segments = [
        {"address": 1, "total_size": 256 * KIB, "device": 0, "segment_type": "small", "blocks": blocks},
        {
            "address": 900,
            "total_size": 256 * KIB,
            "device": 0,
            "blocks": [block(900, 200), block(1100, 56, "inactive")],
        },
    ]
    return {"segments": segments, "device_traces": [events]}


def written(folder: Path, content: Any) -> Path:
    path = folder / "snapshot.pickle"
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
    return path


def told(folder: Path, content: Any) -> DeviceMemory:
    return summary(read_snapshot(written(folder, content)), "snapshot.pickle").devices[0]


def test_the_ledger_at_the_peak_adds_up_to_what_is_reserved(tmp_path: Path) -> None:
    memory = told(tmp_path, snapshot())
    assert (memory.allocated, memory.reserved) == (430 * KIB, 512 * KIB)
    assert {row.row: row.bytes // KIB for row in memory.ledger} == {
        "optimizer": 200,
        "parameters": 100,
        "backward": 100,
        "idle": 82,
        "elsewhere": 30,
    }
    assert sum(row.bytes for row in memory.ledger) == memory.reserved
    assert (memory.peak_s, memory.recorded_s) == (2.5, 2.5)
    assert (memory.idle, memory.largest_idle) == (82 * KIB, 56 * KIB)


def test_the_curve_goes_from_what_was_there_to_what_is_there(tmp_path: Path) -> None:
    replay = Replay(read_snapshot(written(tmp_path, snapshot())), 0)
    assert (replay.curve // KIB).tolist() == [107, 107, 100, 150, 250, 280, 230, 230, 430]
    assert (replay.reserved // KIB).tolist() == [256] * 7 + [512] * 2


def test_an_earlier_peak_holds_what_was_freed_since(tmp_path: Path) -> None:
    content = snapshot()
    content["device_traces"][0] = content["device_traces"][0][:6]  # up to the forward's release
    content["segments"] = content["segments"][:1]
    memory = told(tmp_path, content)
    assert memory.allocated == 280 * KIB
    assert {row.row for row in memory.ledger} >= {"forward", "backward", "elsewhere", "parameters"}


def test_who_holds_it_is_told_by_line_and_part(tmp_path: Path) -> None:
    holders = {(one.file, one.line, one.part): one.bytes // KIB for one in told(tmp_path, snapshot()).holders}
    assert holders == {
        ("/job/adam.py", 5, "optimizer"): 200,
        ("/job/train.py", 9, "parameters"): 100,
        ("", -1, "backward"): 100,
        ("/job/train.py", 9, "elsewhere"): 30,
    }


def test_sizes_are_rounded_up_as_the_allocator_does(tmp_path: Path) -> None:
    events = [{"action": "alloc", "addr": 1, "size": 4, "frames": LOOP}]
    segments = [
        {
            "total_size": 2 << 20,
            "blocks": [{"size": 512, "requested_size": 4, "state": "active_allocated", "address": 1}],
        }
    ]
    memory = told(tmp_path, {"segments": segments, "device_traces": [events]})
    assert memory.allocated == 512
    assert {row.row: row.bytes for row in memory.ledger} == {
        "elsewhere": 4,
        "rounding": 508,
        "idle": (2 << 20) - 512,
    }


def test_what_stays_is_named(tmp_path: Path) -> None:
    # Each round 10 KiB of line 9 stay, and 40 of the forward come and go.
    events: list[dict[str, Any]] = []
    for number in range(8):
        events += [
            event("alloc", 100 + number, 10, LOOP),
            event("alloc", 1, 40, MODEL),
            event("free_completed", 1, 40),
        ]
    memory = told(tmp_path, {"segments": [], "device_traces": [events]})
    assert [(one.file, one.line, [held // KIB for held in one.quarters]) for one in memory.growing] == [
        ("/job/train.py", 9, [20, 40, 60, 80])
    ]
    assert any("/job/train.py:9 makes what stays" in text for text in advice(memory))


def test_out_of_memory_with_much_of_it_idle_is_told_with_what_joins_pieces(tmp_path: Path) -> None:
    # 200 KiB are asked for at line 9, the device has 16 left, and 226 of 256 are reserved in pieces
    events = [event("alloc", 1, 30, MODEL), {**event("oom", 0, 200, LOOP), "device_free": 16 * KIB}]
    segments = [{"total_size": 256 * KIB, "blocks": [block(1, 30), block(2, 226, "inactive")]}]
    memory = told(tmp_path, {"segments": segments, "device_traces": [events]})
    failed = memory.out_of_memory
    assert failed is not None
    assert (failed.wanted, failed.device_free, failed.idle, failed.allocated, failed.where) == (
        200 * KIB,
        16 * KIB,
        226 * KIB,
        30 * KIB,
        "/job/train.py:9",
    )
    assert "expandable_segments" in advice(memory)[0]


def test_without_events_it_is_how_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, {"segments": snapshot()["segments"]})
    assert cli.main(["memory", str(path)]) == 0
    page = capsys.readouterr().out
    assert "430 KiB in tensors, 512 KiB reserved" in page and "the peak is not known" in page


def test_the_page_and_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, snapshot())
    assert cli.main(["memory", str(path)]) == 0
    page = capsys.readouterr().out
    assert "**At most 430 KiB in tensors, 2 s after the first event; 512 KiB reserved then.**" in page
    assert "| `adam.py:5`" in page and "The optimizer's state fills it" in page
    assert cli.main(["memory", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["file"]) == (1, "snapshot.pickle")
    assert document["devices"][0]["allocated"] == 430 * KIB


def test_a_snapshot_named_as_a_target_writes_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, snapshot())
    assert cli.main([str(path), "--out", str(tmp_path / "out")]) == 2
    assert "--out is not for it" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert cli.main([str(path)]) == 0


# ---- files that mean harm


class _Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/diagnose-was-here",)


HOSTILE = {
    "a class": pickle.dumps({"segments": [_Runs()]}),
    "the same by an old protocol": pickle.dumps({"segments": [_Runs()]}, protocol=0),
    "an instance": b"(ios\nsystem\n.",
    "an extension": b"\x80\x02\x82\x01.",
    "something outside": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "a memo of 32 GiB": b"\x80\x04K\x01r\xff\xff\xff\xff.",
    "bytes that are not there": b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b"x.",
    "no end": pickle.dumps(snapshot())[:-200],
    "nothing": b"",
    "a list": pickle.dumps([1, 2]),
    "other things in it": pickle.dumps({"segments": "none"}),
    "text": b"hello",
    "depth": b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_means_harm_is_one_refusal(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, began = written(tmp_path, HOSTILE[kind]), time.monotonic()
    with pytest.raises(TraceUnreadable):
        read_snapshot(path, memory_limit=2 << 30)
    assert cli.main(["memory", str(path), "--memory-limit", "2G"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert time.monotonic() - began < 60
    assert not Path("/tmp/diagnose-was-here").exists()


def test_a_stack_that_is_none_is_no_stack(tmp_path: Path) -> None:
    events = [event("alloc", 1, 1, frames) for frames in (7, "no", [None, {"line": "x"}], {})]
    for number, one in enumerate(events):
        one["addr"] = number
    memory = told(tmp_path, {"segments": [], "device_traces": [events]})
    assert memory.allocated == 4 * KIB


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, snapshot())
    with pytest.raises(UsageError, match="may take more memory"):
        read_snapshot(path, memory_limit=10_000)


def test_as_a_target_it_is_read_like_by_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, snapshot())
    assert cli.main(["memory", str(path)]) == 0
    by_command = capsys.readouterr().out
    assert cli.main([str(path)]) == 0
    assert capsys.readouterr().out == by_command
    assert cli.main([str(path), "--fail-on", "high"]) == 2
    assert "--fail-on" in capsys.readouterr().err


# ---- what lies idle

MIB = 1024 * KIB


def segment(address: int, *kib: int, kind: str = "large", expandable: bool = False) -> dict[str, Any]:
    """Blocks one behind the other; those of a negative size are in no tensor."""
    blocks, at = [], address
    for size in kib:
        blocks.append(block(at, abs(size), "active_allocated" if size > 0 else "inactive"))
        at += abs(size) * KIB
    total = sum(abs(size) for size in kib) * KIB
    return {
        "address": address,
        "total_size": total,
        "segment_type": kind,
        "is_expandable": expandable,
        "blocks": blocks,
    }


def test_what_lies_idle_is_told_by_the_sizes_that_it_serves(tmp_path: Path) -> None:
    # small: 2 MiB, of them 0.5 and 1 idle beside 0.5 in use. Segments of 20 MiB: one whole, one with pieces of
    # 4 and 6. Larger: 40 MiB with a piece of 24.
    segments = [
        segment(1 << 30, -512, 512, -1024, kind="small"),
        segment(2 << 30, -20 * KIB),
        segment(3 << 30, 10 * KIB, -4 * KIB, -6 * KIB),
        segment(4 << 30, 16 * KIB, -24 * KIB),
    ]
    memory = told(tmp_path, {"segments": segments})
    assert [
        (idle.serves, idle.reserved, idle.pieces, idle.pieces_bytes, idle.largest, idle.whole_bytes)
        for idle in memory.idle_by_size
    ] == [
        ("large", 40 * MIB, 1, 24 * MIB, 24 * MIB, 0),
        ("middle", 40 * MIB, 2, 10 * MIB, 6 * MIB, 20 * MIB),
        ("small", 2 * MIB, 2, 1.5 * MIB, 1 * MIB, 0),
    ]
    assert sum(idle.pieces_bytes + idle.whole_bytes for idle in memory.idle_by_size) == memory.idle


def test_expandable_segments_are_not_advised_where_they_are_on(tmp_path: Path) -> None:
    off, on = (segment(1 << 30, 8 * KIB, -30 * KIB, expandable=is_on) for is_on in (False, True))
    assert any("expandable_segments" in text for text in advice(told(tmp_path, {"segments": [off]})))
    memory = told(tmp_path, {"segments": [on]})
    assert memory.idle_by_size[0].serves == "any"
    assert not any("expandable_segments" in text for text in advice(memory))


def test_segments_without_a_tensor_are_no_fragmentation(tmp_path: Path) -> None:
    # 30 of 38 MiB idle, but in a segment of their own: empty_cache() gives it back, nothing is to be joined
    memory = told(tmp_path, {"segments": [segment(1 << 30, 8 * KIB), segment(2 << 30, -30 * KIB)]})
    assert not any("expandable_segments" in text for text in advice(memory))

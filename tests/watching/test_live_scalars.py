"""Scalars of a run that goes on."""

from __future__ import annotations

import json
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from diagnose.report.live_scalars import LiveScalars
from diagnose.run.child.watching.windows import WatchFile
from tests.watching.test_windows import window


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    return {
        tag: [(event.step, event.tensor_proto.float_val[0]) for event in events.Tensors(tag)]
        for tag in events.Tags()["tensors"]
    }


def test_each_window_is_told_once(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"rank{rank}").mkdir()
    files = [WatchFile(str(tmp_path / f"rank{rank}")) for rank in (0, 1)]
    live = LiveScalars(tmp_path)
    live()  # nothing yet
    for number in range(4):
        for rank, file in enumerate(files):
            file.add("window", window(10 * number, s=1.0 + rank))
        live(at_once=True)
    live(at_once=True)
    live.close()
    live(at_once=True)
    told = scalars(tmp_path / "tb" / "watched")
    assert told["watched/step_ms"] == [(10, 100.0), (20, 100.0), (30, 100.0), (40, 100.0)]
    assert set(told) == {
        "watched/step_ms",
        "watched/typical_step_ms",
        "watched/input_wait_share",
        "watched/lost_share",
        "watched/memory_bytes",
    }
    assert [value for _, value in scalars(tmp_path / "tb" / "watched_rank1")["watched/step_ms"]] == [
        200.0
    ] * 4


def test_it_is_silent_for_a_while(tmp_path: Path) -> None:
    (tmp_path / "rank0").mkdir()
    file, now = WatchFile(str(tmp_path / "rank0")), [100.0]
    live = LiveScalars(tmp_path, lambda: now[0])
    for number in range(3):
        file.add("window", window(10 * number))
        live()
        now[0] += 4
    live.close()
    assert len(scalars(tmp_path / "tb" / "watched")["watched/step_ms"]) == 1


def test_what_fails_ends_it_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "rank0").mkdir()
    (tmp_path / "tb").write_text("a file, no folder")
    (tmp_path / "rank0" / "watch.jsonl").write_text(json.dumps({"window": window()}) + "\n")
    live = LiveScalars(tmp_path)
    live()
    live(at_once=True)

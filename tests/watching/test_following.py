"""What is new of a run that goes on, and where it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from diagnose.integrations.live_gauges import LiveGauges
from diagnose.report.live_scalars import LiveScalars
from diagnose.run.child.watching.windows import WatchFile
from diagnose.watched.following import Following
from diagnose.watched.log import Window
from tests.integrations.collector import gauges, listening
from tests.watching import logs
from tests.watching.test_windows import window


def rank_file(folder: Path, rank: int) -> WatchFile:
    (folder / f"rank{rank}").mkdir()
    return WatchFile(str(folder / f"rank{rank}"))


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    return {
        tag: [(event.step, event.tensor_proto.float_val[0]) for event in events.Tensors(tag)]
        for tag in events.Tags()["tensors"]
    }


def test_each_window_is_told_once_to_each(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, rank) for rank in (0, 1)]
    told: list[tuple[int, int]] = []
    also: list[tuple[int, int]] = []

    def take(rank: int, window: Window) -> None:
        told.append((rank, window.first))

    follow = Following(tmp_path, take, lambda rank, window: also.append((rank, window.first)))
    follow()  # nothing yet
    for number in range(3):
        for file in files:
            file.add("window", window(10 * number))
        follow(at_once=True)
    follow(at_once=True)
    assert told == also == [(rank, first) for first in (0, 10, 20) for rank in (0, 1)]


def test_it_is_silent_for_a_while(tmp_path: Path) -> None:
    file, now, told = rank_file(tmp_path, 0), [100.0], []
    follow = Following(tmp_path, lambda rank, window: told.append(window.first), clock=lambda: now[0])
    for number in range(3):
        file.add("window", window(10 * number))
        follow()
        now[0] += 4
    assert told == [0]


def test_one_that_fails_is_called_no_more(tmp_path: Path) -> None:
    file, failed, told = rank_file(tmp_path, 0), [], []

    def fails(rank: int, window: Window) -> None:
        failed.append(window.first)
        raise OSError(28, "no space left on device")

    follow = Following(tmp_path, fails, lambda rank, window: told.append(window.first))
    for number in range(2):
        file.add("window", window(10 * number))
        follow(at_once=True)
    assert (failed, told) == ([0], [0, 10])


def test_scalars_of_each_rank(tmp_path: Path) -> None:
    live = LiveScalars(tmp_path)
    for first in (0, 100):
        live.take(0, logs.window(first, samples=800))
        live.take(1, logs.window(first, 20.0))
    live.close()
    live.close()
    told = scalars(tmp_path / "tb" / "watched")
    assert told["watched/step_ms"] == [(100, 10.0), (200, 10.0)]
    assert told["watched/samples_per_s"] == [(100, 800.0), (200, 800.0)]
    assert set(told) == {
        "watched/step_ms",
        "watched/typical_step_ms",
        "watched/samples_per_s",
        "watched/input_wait_share",
        "watched/lost_share",
        "watched/memory_bytes",
    }
    other = scalars(tmp_path / "tb" / "watched_rank1")
    assert [value for _, value in other["watched/step_ms"]] == [20.0, 20.0]
    assert "watched/samples_per_s" not in other


def test_gauges_at_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with listening() as (endpoint, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        live = LiveGauges("train.py")
        live.take(0, logs.window(0, samples=800))
        live.take(1, logs.window(100, 20.0, input_ms=5.0))
        live.close()
    told = gauges(received[-1], "diagnose.rank")
    assert told["diagnose.watched.step.duration"] == {0: 0.01, 1: 0.02}
    assert told["diagnose.watched.step.count"] == {0: 100, 1: 200}
    assert told["diagnose.watched.samples.rate"] == {0: 800}
    assert told["diagnose.watched.input_wait.ratio"] == {0: 0.0, 1: 0.25}


def test_without_a_collector_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")  # discard: nobody listens
    live = LiveGauges("train.py")
    live.take(0, logs.window(0))
    live.close()
    assert capfd.readouterr() == ("", "")

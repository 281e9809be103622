"""What a thread had of the processor, sample by sample, and when a step's parts begin and end."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from diagnose.run.child.phases.parts import Parts
from diagnose.run.child.processor import FILE, PARTS, TICK, Processor
from diagnose.run.child.steps.clock import ENGINE

from .running import Recorded

BORDER, NOW_NS, MIDDLE_NS, END_NS, RAN_NS, DELAY_NS, POOL_DELAY_NS, SWITCHES = range(8)


def samples(folder: Path) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack("<qqqqqqqq", (folder / FILE).read_bytes()))


def written(processor: Processor, folder: Path) -> list[tuple[int, ...]]:
    processor.write(str(folder))
    return samples(folder)


def spin(ns: int) -> None:
    """As much of this thread's own time, however long that takes."""
    until = time.thread_time_ns() + ns
    while time.thread_time_ns() < until:
        pass


def test_a_thread_runs_when_it_computes_and_not_when_it_sleeps(tmp_path: Path) -> None:
    processor = Processor()
    processor.begin(0)
    processor.sample()
    time.sleep(0.05)
    processor.sample()
    spin(30_000_000)
    processor.sample()
    processor.close()
    before, slept, spun = written(processor, tmp_path)
    assert slept[NOW_NS] - before[NOW_NS] >= 50_000_000
    assert slept[RAN_NS] - before[RAN_NS] < 10_000_000
    assert 30_000_000 <= spun[RAN_NS] - slept[RAN_NS] <= spun[NOW_NS] - slept[NOW_NS] + 1_000_000
    for earlier, later in (
        (before, slept),
        (slept, spun),
    ):  # what it neither ran nor slept it waited for a core
        if os.path.exists("/proc/thread-self/schedstat"):
            ran_ns, delay_ns = later[RAN_NS] - earlier[RAN_NS], later[DELAY_NS] - earlier[DELAY_NS]
            assert 0 <= delay_ns <= later[NOW_NS] - earlier[NOW_NS] - ran_ns + 1_000_000


def test_two_threads_on_one_core_wait_for_it(tmp_path: Path) -> None:
    if not os.path.exists("/proc/thread-self/schedstat"):
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    stop = os.fork()
    if not stop:
        while os.getppid() != 1:
            pass
        os._exit(0)
    try:
        processor = Processor()
        processor.begin(0)
        processor.sample()
        spin(60_000_000)
        processor.sample()
        processor.close()
    finally:
        os.kill(stop, 9)
        os.waitpid(stop, 0)
        os.sched_setaffinity(0, cores)
    before, after = written(processor, tmp_path)
    took_ns, ran_ns, delay_ns = (after[at] - before[at] for at in (NOW_NS, RAN_NS, DELAY_NS))
    assert delay_ns >= 10_000_000
    assert abs(took_ns - ran_ns - delay_ns) < 0.1 * took_ns


def test_without_the_kernels_file_only_the_delay_is_unknown(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("diagnose.run.child.processor._opened", lambda name: -1)
    processor = Processor()
    processor.begin(0)
    processor.sample(now_ns=7)
    (one,) = written(processor, tmp_path)
    assert (one[BORDER], one[NOW_NS], one[DELAY_NS], one[POOL_DELAY_NS]) == (TICK, 7, -1, -1)
    assert 7 < one[MIDDLE_NS] <= one[END_NS]
    assert one[RAN_NS] > 0
    assert one[SWITCHES] >= 0


def test_calls_of_other_threads_are_passed_over_and_nothing_is_written(tmp_path: Path) -> None:
    processor = Processor()
    processor.begin(0)
    other = threading.Thread(target=processor.sample)
    other.start()
    other.join()
    processor.write(str(tmp_path))
    assert not (tmp_path / FILE).exists()


def test_a_script_that_closes_our_files_is_not_disturbed(tmp_path: Path) -> None:
    processor = Processor()
    processor.begin(10_000_000_000)
    processor.sample()
    for file in (processor._own, *processor._pool):
        if file >= 0:
            os.close(file)
    processor.sample()
    processor.sample()
    assert len(written(processor, tmp_path)) == (1 if processor._own >= 0 else 3)
    processor.close()


def test_parts_of_a_step_are_timed_and_the_wrappers_go(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ended = type("Calls", (), {"step_ended": None})()
    places = {"forward": (nn.Module, "__call__"), "backward": ENGINE, "step_ended": (ended, "step_ended")}
    before = nn.Module.__call__, getattr(*ENGINE)
    processor = Processor()
    parts = Parts(processor, places.__getitem__)
    parts.begin("parts", 0)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    ended.step_ended()
    parts.end()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert (nn.Module.__call__, getattr(*ENGINE), ended.step_ended) == (*before, None)
    borders = [one[BORDER] for one in written(processor, tmp_path)]
    forward, backward, step = (PARTS[part] for part in ("forward", "backward", "optimizer"))
    assert borders == [forward, -forward, backward, -backward, step, -step]
    processor.close()


def test_a_part_that_raises_ends_as_well(tmp_path: Path) -> None:
    processor = Processor()
    parts = Parts(
        processor,
        lambda kind: (
            (nn.Module, "__call__") if kind == "forward" else (type("Nothing", (), {kind: None}), kind)
        ),
    )
    parts.begin("parts", 0)
    for _ in range(2):
        with contextlib.suppress(RuntimeError):
            nn.Linear(2, 2)(torch.ones(1, 3))
    parts.end()
    processor.close()
    assert [one[BORDER] for one in written(processor, tmp_path)] == [1, -1, 1, -1]


def test_a_recorded_run_has_its_samples(run_script: Callable[..., Recorded]) -> None:
    run = run_script("plain", stacks=False)
    all_samples = samples(run.folder / "rank0")
    assert [phase["name"] for phase in run.steps["phases"]] == ["warmup", "plain", "parts", "timeline"]
    for phase in run.steps["phases"][1:]:
        first_ns, last_ns = phase["tick_ns"][0], phase["tick_ns"][-1]
        steps = len(phase["tick_ns"]) - 1
        inside = [one for one in all_samples if first_ns <= one[NOW_NS] <= last_ns]
        counts = Counter(one[BORDER] for one in inside)
        at_ticks = [one[NOW_NS] for one in inside if one[BORDER] == TICK]
        if phase["name"] == "plain":  # of steps shorter than a millisecond not each has a sample
            assert {first_ns, last_ns} <= set(at_ticks) <= set(phase["tick_ns"])
            assert all(later - earlier >= 1e6 for earlier, later in itertools.pairwise(at_ticks[:-1]))
        else:
            assert at_ticks == phase["tick_ns"]
        assert all(later[RAN_NS] >= earlier[RAN_NS] for earlier, later in itertools.pairwise(inside))
        of_parts = {counts[border] for part in PARTS.values() for border in (part, -part)}
        assert of_parts == ({0} if phase["name"] == "plain" else {steps})
    assert run.facts["profiler_costs"]["mark_ns"] > run.facts["profiler_costs"]["range_ns"] > 0

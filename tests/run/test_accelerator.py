"""What is asked of a GPU and when, on stubs that log it: nothing of these tests needs one."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from diagnose import in_process
from diagnose.errors import UsageError
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.pipeline import Analysis
from diagnose.run.child import accelerator
from diagnose.run.child.facts import machine
from diagnose.run.child.facts.facts import Facts
from diagnose.run.child.memory.memory import Memory
from diagnose.run.child.steps import device_ticks
from diagnose.run.child.steps.device_ticks import DeviceTicks
from diagnose.run.gpu_state import GpuState
from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target
from diagnose.verify.trial import Job, TrialSettings, run_trial

from .running import SCRIPTS, Recorded

SCRIPT = SCRIPTS / "on_gpu.py"
CHILD = Path(__file__).parents[2] / "diagnose" / "run" / "child"
KERNELS_MS = 4.0  # of a step of the script


class Logged(Recorded):
    """A run with the stubs, and what they were asked, in order."""

    @property
    def log(self) -> list[dict[str, Any]]:
        lines = (
            (self.folder.parent / "log").read_text().splitlines()
            if (self.folder.parent / "log").exists()
            else []
        )
        return [json.loads(line) for line in lines]

    def asked(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.log if line["what"] == what]

    def phase(self, name: str) -> dict[str, Any]:
        (found,) = (phase for phase in self.steps["phases"] if phase["name"] == name)
        return found


@pytest.fixture
def on_stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Logged]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))

    def run(how: str, count: int, **settings: Any) -> Logged:
        outcome = launch(
            Target(str(SCRIPT), False, (how, str(count))), Settings(**settings), tmp_path / "run"
        )
        return Logged(outcome, tmp_path / "run", "", "")

    return run


def test_on_a_gpu_plain_steps_come_first_and_are_timed_on_it(on_stubs: Callable[..., Logged]) -> None:
    run = on_stubs("counted", 400, steps=4)
    assert run.outcome.ended == "stopped" and run.steps["notes"] == []

    # The first session comes when the plain steps are over, and so does whatever waits for the device.
    plain, timeline, detail = (run.phase(name) for name in ("plain", "timeline", "detail"))
    assert run.asked("start")[0]["ns"] > run.phase("parts")["tick_ns"][-1] >= plain["tick_ns"][-1]
    assert not timeline["cold"] and not detail["cold"]

    waits = [line["ns"] for line in run.asked("synchronize")]
    # before plain, parts, timeline and detail, after the two recordings, and where trials of settings begin
    assert len(waits) == 7
    assert not any(plain["tick_ns"][0] < ns < plain["tick_ns"][-1] for ns in waits)

    # All sessions of the process ask for the same.
    assert {tuple(line["activities"]) for line in run.asked("profile")} == {("CPU", "CUDA")}
    assert len(run.asked("profile")) == 3  # what the profiler costs, the timeline, the detail

    # A session records one step more than counts.
    parts_end = run.phase("parts")["first_tick"] + len(run.phase("parts")["tick_ns"]) - 1
    assert timeline["dropped_ticks"] == 1 and timeline["first_tick"] == parts_end + 1
    assert len(timeline["tick_ns"]) == 5 == len(timeline["input_elements"]) + 1
    with gzip.open(run.folder / "rank0" / "timeline.pt.trace.json.gz", "rt") as file:
        marked = re.findall(r"diagnose::tick\|(\d+)", file.read())
    assert sorted(map(int, marked)) == list(range(timeline["first_tick"], timeline["first_tick"] + 5))

    # The host does not wait for its GPU, so the GPU's clock tells what a step takes.
    (device_ns,) = plain["device_tick_ns"].values()
    assert (
        list(plain["device_tick_ns"]) == ["cuda:1"]
        and len(device_ns) == len(plain["tick_ns"])
        and device_ns[0] == 0
    )
    assert statistics.median(b - a for a, b in itertools.pairwise(device_ns)) == pytest.approx(
        KERNELS_MS * 1e6, rel=0.01
    )
    assert not any("device_tick_ns" in phase for phase in run.steps["phases"] if phase["name"] != "plain")

    # Where the script's memory is, not where torch's current device is.
    assert {line["device"] for line in run.log if "device" in line} == {1}
    assert run.facts["device"] == "cuda:1" and run.facts["gpu_name"] == "NVIDIA H100 80GB HBM3"
    assert run.facts["cuda_memory"]["peak_allocated_bytes"] == 1_000_000
    expected = {
        "initialized": True,
        "allocated_bytes": 1_000_000,
        "devices": ["cuda:1"],
        "parameters_on": ["cpu"],
    }
    assert run.facts["accelerator"] == expected


@pytest.mark.parametrize("how", ["counted", pytest.param("uncounted", marks=pytest.mark.long)])
def test_six_steps_on_a_gpu_give_a_timeline(on_stubs: Callable[..., Logged], how: str) -> None:
    # One to warm up (its end is the first tick), one that settles it, a plain one, one that
    # the session drops, two of timeline.
    run = on_stubs(how, 6)
    assert run.outcome.ended == "finished"
    assert {phase["name"]: len(phase["tick_ns"]) - 1 for phase in run.steps["phases"]} == {
        "warmup": 1,
        "plain": 1,
        "timeline": 2,
    }
    timeline = run.phase("timeline")
    assert timeline["cold"] and timeline["dropped_ticks"] == 1 and "after_session" not in run.phase("plain")
    assert run.asked("start")[0]["ns"] > run.phase("plain")["tick_ns"][-1]
    assert run.steps["notes"] == [
        "The script ended before it had warmed up: the timeline comes from its very first steps."
    ]
    document = Analysis(Measured(load_recording(run.folder))).document
    assert document.steps.cold and document.steps.complete == 2 and document.ledger


@pytest.mark.long
def test_eight_steps_on_a_gpu_give_lines_too(on_stubs: Callable[..., Logged]) -> None:
    run = on_stubs("uncounted", 8)
    assert len(run.phase("detail")["tick_ns"]) == 2 and run.phase("detail")["cold"]
    assert run.json("rank0/detail.calls.json")["line"]


@pytest.mark.long
def test_on_a_gpu_a_script_of_unknown_length_has_a_first_look_and_a_short_round(
    on_stubs: Callable[..., Logged],
) -> None:
    run = on_stubs("uncounted", 22)
    # where they were, now they are gone
    assert run.outcome.ended == "finished" and run.facts["accelerator"]["parameters_on"] == ["cpu"]
    assert [phase["name"] for phase in run.steps["phases"]] == [
        "warmup",
        "plain",
        "parts",
        "timeline",
        "detail",
    ]
    assert not run.phase("timeline")["cold"] and run.steps_in("plain") == 3
    assert run.phase("plain")["after_session"] and run.phase("plain")["device_tick_ns"]["cuda:0"][0] == 0
    # The model was tried out on the CPU first: had that been recorded, torch would record no GPU any more.
    assert {tuple(line["activities"]) for line in run.asked("profile")} == {("CPU", "CUDA")}


@pytest.mark.long
def test_nothing_is_started_that_the_script_does_not_use(on_stubs: Callable[..., Logged]) -> None:
    run = on_stubs("cpu", 60, steps=2, keep_going=True)
    assert run.outcome.ended == "finished" and run.steps["complete"]  # the forked child used its GPU
    assert [line for line in run.log if line.get("starts") or line["initialized"]] == []
    assert {tuple(line["activities"]) for line in run.asked("profile")} == {("CPU",)}
    facts = run.facts
    assert (facts["device"], facts["gpu_available"], facts["gpu_name"]) == ("cpu", True, None)
    assert facts["accelerator"] == {
        "initialized": False,
        "allocated_bytes": 0,
        "devices": [],
        "parameters_on": ["cpu"],
    }
    assert facts["heap_series_bytes"] and facts["cuda_memory"] is None
    assert "device_tick_ns" not in run.phase("plain") and "dropped_ticks" not in run.phase("timeline")


@pytest.mark.long
def test_replays_of_a_captured_step_tick_and_the_capture_is_left_alone(
    on_stubs: Callable[..., Logged],
) -> None:
    run = on_stubs("captured", 400, steps=4)
    assert (run.steps["clock"], run.outcome.ended, run.steps["notes"]) == ("replay", "stopped", [])
    assert run.steps_in("plain") >= 10 and run.steps_in("timeline") == 4
    assert [line for line in run.log if line["capturing"]] == []


def test_captures_between_steps_are_left_alone_in_every_phase(on_stubs: Callable[..., Logged]) -> None:
    run = on_stubs("recaptured", 400, steps=4)
    assert (run.steps["clock"], run.steps["ticks_per_step"], run.outcome.ended, run.steps["notes"]) == (
        "optimizer",
        1,
        "stopped",
        [],
    )
    assert [line for line in run.log if line["capturing"]] == []
    assert len(run.phase("plain")["device_tick_ns"]["cuda:0"]) == len(run.phase("plain")["tick_ns"])


@pytest.mark.long
@pytest.mark.live
def test_a_trial_is_timed_where_its_memory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parent), "FAKE_LOG": str(tmp_path / "log")}
    for name, value in environment.items():
        monkeypatch.setenv(name, value, prepend=":" if name == "PYTHONPATH" else None)
    job = Job(Target(str(SCRIPT), False, ("both", "100")), str(tmp_path), str(tmp_path), sys.executable)
    moved = [{"name": name, "arguments": {}, "sites": []} for name in ("non_blocking", "expandable_segments")]
    left = run_trial(job, moved, TrialSettings(12, 4, 1, timeout_s=120), tmp_path / "trial")
    assert left["ended"] == "stopped" and len(left["device_ms"]) == len(left["tick_ns"]) == 12
    assert statistics.median(b - a for a, b in itertools.pairwise(left["device_ms"])) == pytest.approx(
        KERNELS_MS, rel=0.01
    )
    assert (left["peak_allocated_bytes"], left["peak_reserved_bytes"]) == (1_000_000, 1_000_000)
    assert left["interventions"][1] == {"held": 1, "why_not": ""}


# ---- without a process of its own


def test_all_calls_into_an_accelerator_are_in_one_file() -> None:
    call = re.compile(r"torch\.(cuda|accelerator|xpu|mps)\.\w+")
    # only marked, or passed over
    patched = {"marks.py": {"torch.cuda.synchronize"}, "debugging.py": {"torch.cuda.empty_cache"}}
    found = {
        path: {match[0] for match in call.finditer(path.read_text())}
        for path in CHILD.rglob("*.py")
        if path.name != "accelerator.py"
    }
    assert {path.name: calls for path, calls in found.items() if calls} == patched


class Queue:
    """A device that passes its events `behind` ticks after they were recorded, each 1.5 ms after the last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, behind: int) -> None:
        self.events, self.recorded, self.behind = 0, 0, behind
        monkeypatch.setattr(accelerator, "devices", lambda: [torch.device("cuda", 0)])
        monkeypatch.setattr(accelerator, "timing_event", self.event)
        monkeypatch.setattr(accelerator, "current_stream", lambda device: None)

    def event(self, device: torch.device) -> SimpleNamespace:
        self.events += 1
        event = SimpleNamespace()
        event.record = lambda stream: setattr(event, "number", self.record())
        event.query = lambda: self.recorded - event.number >= self.behind
        event.elapsed_time = lambda end: self.elapsed_ms(event, end)
        return event

    def elapsed_ms(self, begin: SimpleNamespace, end: SimpleNamespace) -> float:
        if not end.query():
            raise RuntimeError("device not ready")
        return 1.5 * (end.number - begin.number)

    def record(self) -> int:
        self.recorded += 1
        return self.recorded


def test_a_long_plain_phase_takes_no_more_events_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_ticks, "_EVENTS_AT_MOST", 32)
    queue, ticks = Queue(monkeypatch, behind=20), DeviceTicks()
    ticks.begin()
    for _ in range(2_000):  # over the 667 ticks after which times are counted from another event
        ticks.tick()
    queue.behind = 0
    assert ticks.end() == {"cuda:0": [1_500_000 * number for number in range(2_001)]}
    assert queue.events <= 32 + 2 and not ticks


def test_a_device_that_falls_far_behind_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_ticks, "_EVENTS_AT_MOST", 8)
    monkeypatch.setattr(device_ticks, "note", lambda what, error: failures.append(str(error)))
    failures: list[str] = []
    Queue(monkeypatch, behind=20)
    ticks = DeviceTicks()
    ticks.begin()
    for _ in range(50):
        ticks.tick()
    assert ticks.end() == {} and failures == ["cuda:0 is 8 ticks behind the host"]


def test_a_device_that_hangs_is_not_waited_for_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_ticks, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(device_ticks, "note", lambda what, error: failures.append(str(error)))
    failures: list[str] = []
    Queue(monkeypatch, behind=2)
    ticks = DeviceTicks()
    ticks.begin()
    ticks.tick()
    assert ticks.end() == {} and failures == ["device not ready"]


def test_a_device_that_cannot_be_timed_leaves_the_host_s_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_ticks, "note", lambda what, error: failures.append(str(error)))
    failures: list[str] = []
    Queue(monkeypatch, behind=0)
    monkeypatch.setattr(accelerator, "devices", lambda: 1 / 0)
    ticks = DeviceTicks()
    ticks.begin()
    ticks.tick()
    assert (ticks.end(), failures, bool(ticks)) == ({}, ["division by zero"], False)


def test_a_build_without_graphs_captures_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise RuntimeError("CUDA graphs may only be used in Pytorch built with CUDA")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", refuse)
    assert not accelerator.is_capturing()


@pytest.mark.parametrize(
    ("by_nvml", "has_driver", "told"), [(2, True, 2), (0, True, 0), (-1, True, None), (-1, False, 0)]
)
def test_gpus_are_counted_without_their_driver(
    monkeypatch: pytest.MonkeyPatch, by_nvml: int, has_driver: bool, told: int | None
) -> None:
    def ask_driver() -> int:
        assert by_nvml >= 0, "the driver was started"
        return by_nvml

    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "_device_count_nvml", lambda: by_nvml)
    monkeypatch.setattr(torch.cuda, "device_count", ask_driver)
    monkeypatch.setattr(accelerator, "_has_driver", lambda: has_driver)
    assert accelerator.gpu_count() == told


class Another:
    """An accelerator that torch knows by `torch.accelerator` only."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, kind: str, count: int, statistics: dict[str, int] | None
    ) -> None:
        self.waited_for: list[torch.device] = []
        self.initialized = True
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device(kind))
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: count)
        monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
        monkeypatch.setattr(torch.accelerator, "synchronize", self.waited_for.append)
        monkeypatch.setattr(
            torch.accelerator, "memory_stats", lambda device: self.statistics(device, statistics)
        )
        monkeypatch.setattr(torch._C, "_accelerator_isAllocatorInitialized", lambda: self.initialized)
        monkeypatch.setattr(torch.xpu, "is_initialized", lambda: self.initialized)

    def statistics(self, device: torch.device, told: dict[str, int] | None) -> dict[str, int]:
        if told is None:
            raise RuntimeError("Allocator for mps is not a DeviceAllocator.")
        return {name: value * device.index for name, value in told.items()}


def test_an_xpu_is_used_as_a_gpu_is(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = {"allocated_bytes.all.peak": 3, "allocated_bytes.all.current": 2}
    xpu = Another(monkeypatch, "xpu", 3, statistics)
    # nothing is on the first
    assert [accelerator.name(device) for device in accelerator.devices()] == ["xpu:2", "xpu:1"]
    accelerator.synchronize()
    assert xpu.waited_for == [torch.device("xpu", 2), torch.device("xpu", 1)]
    assert (
        accelerator.peaks("allocated_bytes.all.peak") == 6
        and accelerator.allocated_bytes(torch.device("xpu", 1)) == 2
    )
    assert (
        accelerator.gpu_count() == 3
        and not accelerator.is_capturing()
        and accelerator.out_of_memory_count() == 0
    )
    activities = SimpleNamespace(
        CPU=torch.profiler.ProfilerActivity.CPU, XPU=torch.profiler.ProfilerActivity.XPU
    )
    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: {activities.CPU, activities.XPU})
    assert accelerator.Activities(device=True).decided() == [activities.CPU, activities.XPU]
    assert accelerator.Activities(device=False).decided() == [activities.CPU]
    monkeypatch.setattr(torch, "Event", lambda device, enable_timing: (device, enable_timing))
    monkeypatch.setattr(torch.accelerator, "current_stream", lambda device: f"stream of {device}")
    device = torch.device("xpu", 1)
    assert (accelerator.timing_event(device), accelerator.current_stream(device)) == (
        (device, True),
        "stream of xpu:1",
    )
    xpu.initialized = False
    assert (
        accelerator.devices() == []
        and accelerator.peaks("allocated_bytes.all.peak") is accelerator.out_of_memory_count() is None
    )


def test_mps_is_waited_for_and_is_no_gpu_that_the_profiler_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    mps = Another(monkeypatch, "mps", 1, None)
    assert [accelerator.name(device) for device in accelerator.devices()] == ["mps"]
    accelerator.synchronize()
    assert mps.waited_for == [torch.device("mps", 0)]
    assert accelerator.gpu_count() == 0 and not accelerator.Activities(device=True).come_late(trained=False)
    assert accelerator.Activities(device=True).decided() == [torch.profiler.ProfilerActivity.CPU]
    assert accelerator.peaks("allocated_bytes.all.peak") is None
    assert accelerator.facts([torch.device("mps", 0)]) == {
        "initialized": True,
        "allocated_bytes": None,
        "devices": ["mps"],
        "parameters_on": ["mps"],
    }


def test_parameters_are_where_models_and_optimizers_have_them() -> None:
    facts = Facts.__new__(Facts)
    facts._parameter_devices = set()
    model = nn.Linear(2, 2, device="meta")
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    assert facts._parameters_on([(model, None)], []) == {torch.device("meta")}
    assert facts._parameters_on([], [(optimizer, None)]) == {torch.device("meta"), torch.device("cpu")}


def test_an_accelerator_without_properties_has_memory_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    Another(monkeypatch, "xpu", 2, {"allocated_bytes.all.peak": 3, "allocated_bytes.all.current": 2})
    monkeypatch.delattr(torch.xpu, "get_device_properties")
    assert (
        accelerator.properties(torch.device("xpu", 1))
        is machine._gpu("name")
        is machine._capability()
        is None
    )
    memory = Memory()
    memory.begin()
    memory.step(1, 0)
    memory.stop()
    told = memory.facts(1)
    assert told["allocated_series_bytes"] == [2]
    assert told["cuda_memory"] == {
        "peak_allocated_bytes": 3,
        "peak_reserved_bytes": None,
        "capacity_bytes": None,
        "retries_per_step": None,
        "segment_allocations_per_step": None,
        "out_of_memory_count": None,
    }


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("hip", [None, "6.4"])
def test_a_driver_is_looked_for_and_not_started(
    monkeypatch: pytest.MonkeyPatch, hip: str | None, there: bool
) -> None:
    def load(library: str) -> None:
        assert hip is None
        if not there:
            raise OSError(f"{library}: cannot open shared object file")

    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(accelerator.ctypes, "CDLL", load)
    monkeypatch.setattr(accelerator.os.path, "exists", lambda path: there)
    assert accelerator._has_driver() is there


def test_a_block_that_is_to_be_recorded_on_a_gpu_needs_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(accelerator, "gpu_count", lambda: 0)
    with pytest.raises(UsageError, match="no GPU"), in_process.record(device="cuda"):
        pass
    assert in_process._watched_gpu(Settings(), tmp_path) is None
    monkeypatch.setattr(accelerator, "gpu_count", lambda: None)  # perhaps there is one
    watched = in_process._watched_gpu(Settings(), tmp_path)
    assert isinstance(watched, GpuState)
    watched.stop()

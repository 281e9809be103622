"""A CPU build of torch that looks as if it had two CUDA GPUs, for scripts of
tests: `import fake_accelerator` first.

Each GPU is a queue: work that is launched runs after what was launched before, while the host goes
on. Whatever starts the driver, waits, or concerns the profiler is a line of JSON in the file that
FAKE_LOG names. Parameters stay on the CPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.profiler import ProfilerActivity

COUNT = 2
_busy_until_ns = [0] * COUNT
_allocated_bytes = [0] * COUNT
_state = SimpleNamespace(initialized=False, capturing=False, current=0)


def _log(what: str, **more: Any) -> None:
    if "FAKE_LOG" in os.environ:
        line = {
            "what": what,
            "ns": time.perf_counter_ns(),
            "initialized": _state.initialized,
            "capturing": _state.capturing,
            **more,
        }
        with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


# ---- what scripts do


def use(device: int = 0, size: int = 1_000_000) -> None:
    """As a model is moved there."""
    _state.initialized = True
    _allocated_bytes[device] += size


def launch(ms: float, device: int = 0) -> None:
    """A kernel that takes so long."""
    assert _state.initialized
    _busy_until_ns[device] = max(time.perf_counter_ns(), _busy_until_ns[device]) + round(ms * 1e6)


@contextlib.contextmanager
def capture() -> Iterator[torch.cuda.CUDAGraph]:
    _state.capturing = True
    yield torch.cuda.CUDAGraph()
    _state.capturing = False


# ---- what torch answers


def _starting(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    """Of torch's functions that put CUDA to use."""

    def call(*args: Any, **kwargs: Any) -> Any:
        _log(name, starts=True, device=_index(args[0] if args else kwargs.get("device")))
        if _state.capturing:
            raise RuntimeError("operation not permitted when stream is capturing")
        _state.initialized = True
        return answer(*args, **kwargs)

    return call


def _index(device: Any) -> int:
    return (
        _state.current
        if device is None
        else device
        if isinstance(device, int)
        else torch.device(device).index
    )


def _asking_driver(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        _log(name, starts=not _state.initialized)
        return answer(*args)

    return call


def _synchronize(device: Any = None) -> None:
    time.sleep(max(0, _busy_until_ns[_index(device)] - time.perf_counter_ns()) / 1e9)


def _statistics(device: Any = None) -> dict[str, int]:
    held = _allocated_bytes[_index(device)]
    names = ("allocated_bytes.all.peak", "allocated_bytes.all.current", "reserved_bytes.all.peak")
    return dict.fromkeys(names, held) | {"num_ooms": 0, "num_alloc_retries": 0, "segment.all.allocated": 1}


class Event:
    """Of the stream it is recorded on; passed when that has done all it had then."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._ns = 0

    def record(self, stream: Any = None) -> None:
        assert not _state.capturing
        self._ns = max(time.perf_counter_ns(), _busy_until_ns[_state.current if stream is None else stream])

    def query(self) -> bool:
        return time.perf_counter_ns() >= self._ns

    def elapsed_time(self, end: Event) -> float:
        if not (self.query() and end.query()):
            raise RuntimeError("device not ready")
        return (end._ns - self._ns) / 1e6


class _Graph:
    """What stands below `torch.cuda.CUDAGraph`."""

    def __new__(cls, keep_graph: bool = False) -> Any:
        return object.__new__(cls)

    def __init__(self, keep_graph: bool = False) -> None:
        self._tracker = None

    def replay(self) -> None:
        launch(1)


def _install() -> None:
    cuda: Any = torch.cuda
    cuda.is_initialized = lambda: _state.initialized
    cuda.device_count = lambda: 0 if os.environ.get("CUDA_VISIBLE_DEVICES") == "" else COUNT
    cuda.is_current_stream_capturing = lambda: _state.capturing
    cuda.current_stream = _index
    cuda.memory_stats = _statistics
    cuda.get_sync_debug_mode = lambda: 0
    cuda.manual_seed_all = lambda seed: None
    cuda.Event = Event
    cuda.is_available = _asking_driver("is_available", lambda: True)
    properties = SimpleNamespace(name="NVIDIA H100 80GB HBM3", major=9, minor=0, total_memory=85_000_000_000)
    cuda.current_device = _starting("current_device", lambda: _state.current)
    cuda.synchronize = _starting("synchronize", _synchronize)
    cuda.get_device_properties = _starting("get_device_properties", lambda device: properties)
    torch._C._cuda_memoryStats = lambda device: {
        "allocated_bytes": {"all": {"current": _allocated_bytes[device]}}
    }  # type: ignore[attr-defined]
    below: Any = torch.cuda.CUDAGraph.__mro__[1]
    below.__new__, below.__init__, below.replay = _Graph.__new__, _Graph.__init__, _Graph.replay
    both = {ProfilerActivity.CPU, ProfilerActivity.CUDA}
    torch.profiler.supported_activities = _asking_driver("supported_activities", lambda: both)
    _watch_profilers()


def _watch_profilers() -> None:
    profile: Any = torch.profiler.profile
    create, start, stop = profile.__init__, profile.start, profile.stop

    def __init__(profiler: Any, *args: Any, activities: Any = None, **kwargs: Any) -> None:
        _log("profile", activities=sorted(one.name for one in activities))
        create(profiler, *args, activities=[ProfilerActivity.CPU], **kwargs)

    def logged(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(profiler: Any) -> Any:
            _log(name)
            return original(profiler)

        return call

    profile.__init__, profile.start, profile.stop = __init__, logged("start", start), logged("stop", stop)


_install()

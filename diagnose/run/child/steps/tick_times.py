"""When the ticks of the phase in progress came: in memory, in a log that outlives the process, and on the
devices; now and then with a sample of what the kernel counts of the process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from time import perf_counter_ns

import torch

from ..processor import TICK
from .device_ticks import DeviceTicks
from .ticks import TickLog

# at least between two samples of plain steps: reading the kernel's files costs a step some 10 µs in its midst
_SAMPLED_NS = 1_000_000
_PASSES_NS = 5_000_000  # how long the parent's wish to stop may go unnoticed
_a_profiler_runs = torch.autograd._profiler_enabled


class TickTimes:
    """``count``: of all ticks so far; ``ns``: of those of the phase, from the one that it began with on."""

    def __init__(self, folder: str, sample: Callable[[int, int], None]) -> None:
        """``sample``: takes a sample of the processor at a border of that kind. Raises OSError."""
        self._log, self._sample = TickLog(folder), sample
        self.count = 0
        self.ns: list[int] = []
        self._devices = DeviceTicks()
        self._tick_devices: Callable[[], None] | None = None  # in a plain phase where a device is in use
        # until then ticks are only written down, and no sample is taken
        self._wakes_at = self._wakes_ns = self._samples_ns = 0
        self._watched = self._theirs = 0

    def passes(self, now_ns: int) -> bool:
        """Whether this tick needs no more than to be written down, as most of the
        plain phase do; then that has been done.

        All that a short step pays for being timed is here, on the way here, and in `losses.py` and
        `fetch.py`.
        """
        if now_ns >= self._wakes_ns or self.count >= self._wakes_at:
            return False
        self.count += 1
        self.ns.append(now_ns)
        if self._tick_devices is not None:
            self._tick_devices()
        self._log.add(now_ns)
        if self._samples_ns <= now_ns <= self._wakes_ns - _SAMPLED_NS:  # the next that wakes us has one too
            self.sample(now_ns)
        self._watched += 1
        self._theirs += _a_profiler_runs()
        return True

    def add(self, now_ns: int) -> None:
        """A tick, with a sample."""
        self.count += 1
        self.ns.append(now_ns)
        if self._tick_devices is not None:
            self._tick_devices()
        self._log.add(now_ns)
        self.sample(now_ns)

    def sample(self, now_ns: int) -> None:
        self._samples_ns = now_ns + _SAMPLED_NS
        self._sample(TICK, now_ns)

    def begin(self, phase: str, first_tick: int, now_ns: int) -> None:
        """A phase begins with this tick; those before it are forgotten."""
        self.ns = [now_ns]
        self._log.begin(phase, first_tick, now_ns)

    def last_is_now(self) -> int:
        """The step that began with the last tick begins only now, ns."""
        self.ns[-1] = now_ns = perf_counter_ns()
        self._log.move_last(now_ns)
        return now_ns

    def forget(self) -> None:
        """The phase is over."""
        self.ns = []

    def remove_log(self) -> None:
        """All phases are over and written. Raises OSError."""
        self._log.remove()

    # ticks that are only written down

    def sleep(self, now_ns: int, until_tick: int) -> None:
        """For a moment nothing needs to be decided, unless that tick comes."""
        self._wakes_ns, self._wakes_at = now_ns + _PASSES_NS, until_tick

    def wake(self) -> None:
        self._wakes_ns = 0

    # devices

    def begin_on_devices(self) -> None:
        self._devices.begin()
        self._tick_devices = self._devices.tick if self._devices else None

    @property
    def on_devices(self) -> bool:
        return self._tick_devices is not None

    def end_on_devices(self) -> dict[str, list[int]]:
        """By device, ns from the phase's first tick to each; empty where that is not known."""
        self._tick_devices = None
        return self._devices.end()

    def discard_devices(self) -> None:
        """Without waiting for them."""
        self._tick_devices, self._devices = None, DeviceTicks()

    # what ticks tell

    def steps(self, period: int) -> int:
        """Whole ones of the phase so far, of so many ticks each."""
        return max(0, len(self.ns) - 1) // period

    def pace_ns(self, period: int) -> int:
        """How long a step took lately; 0 where that is not known."""
        borders = self.ns[::-period][:4]
        step_ns = sorted(later - earlier for later, earlier in itertools.pairwise(borders))
        return step_ns[len(step_ns) // 2] if step_ns else 0

    def watch_profilers(self) -> None:
        """At a tick that nothing of ours records: whether a profiler of the script's own does."""
        self._watched += 1
        self._theirs += _a_profiler_runs()

    @property
    def own_profiler_share(self) -> float | None:
        """Of those ticks; None before the first."""
        return self._theirs / self._watched if self._watched else None

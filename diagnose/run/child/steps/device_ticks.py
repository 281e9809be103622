"""When the devices reached the ticks of the clock: the host may be many steps ahead of them.

Nothing waits for a device before `end`.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter, sleep
from typing import Any

import torch

from .. import accelerator
from ..guard import note

_EVENTS_AT_MOST = 2_048  # of a device; then those that it has passed are read and used again
_PATIENCE_S, _POLL_S = 5.0, 0.0005
_ANCHOR_MS = 1_000.0  # times between events come as 32-bit floats: exact to a tenth of a µs only so far


class DeviceTicks:
    """A timing event for every tick on each device in use, from `begin` on; without a device nothing."""

    def __init__(self) -> None:
        self._clocks: list[_DeviceClock] = []

    def __bool__(self) -> bool:
        return bool(self._clocks)

    def begin(self) -> None:
        """Begins with a tick."""
        try:
            self._clocks = [_DeviceClock(device) for device in accelerator.devices()]
        except Exception as error:
            self._fail(error)
        self.tick()

    def tick(self) -> None:
        try:
            for clock in self._clocks:
                clock.tick()
        except Exception as error:
            self._fail(error)

    def end(self) -> dict[str, list[int]]:
        """By device, ns from the first tick to each, the first included; empty where that is not known.

        Waits for the last tick, though not for long: a device that hangs must
        not keep the script from being ended.
        """
        clocks, self._clocks = self._clocks, []
        try:
            deadline = perf_counter() + _PATIENCE_S
            while not all(clock.is_through() for clock in clocks) and perf_counter() < deadline:
                sleep(_POLL_S)
            return {accelerator.name(clock.device): clock.read() for clock in clocks}
        except Exception as error:
            self._fail(error)
            return {}

    def _fail(self, error: Exception) -> None:
        note("timing steps on the device", error)
        self._clocks = []


class _DeviceClock:
    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._tick_ns: list[int] = []  # of the ticks whose events have been read
        self._waiting: deque[Any] = deque()  # events of the ticks after those
        self._free: list[Any] = []
        self._anchor: Any = None  # the event of an earlier tick, from which times are counted
        self._anchor_ns = 0

    def tick(self) -> None:
        if len(self._waiting) >= _EVENTS_AT_MOST:
            if not self._waiting[0].query():
                raise RuntimeError(f"{self.device} is {len(self._waiting)} ticks behind the host")
            self._read_next()
        event = self._free.pop() if self._free else accelerator.timing_event(self.device)
        event.record(accelerator.current_stream(self.device))
        self._waiting.append(event)

    def is_through(self) -> bool:
        return bool(self._waiting[-1].query())

    def read(self) -> list[int]:
        while self._waiting:
            self._read_next()
        return self._tick_ns

    def _read_next(self) -> None:
        event = self._waiting.popleft()
        elapsed_ms = self._anchor.elapsed_time(event) if self._anchor is not None else 0.0
        self._tick_ns.append(now_ns := self._anchor_ns + round(1e6 * elapsed_ms))
        if self._anchor is None or elapsed_ms >= _ANCHOR_MS:
            self._anchor, event = event, self._anchor
            self._anchor_ns = now_ns
        if event is not None:
            self._free.append(event)

"""What was allocated when, and the peak: a snapshot's events replayed in order.

A snapshot holds what is allocated at its end, and the last events before. What was there before the first of
them is what is left at the end without having been allocated, and what was freed without that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diagnose.measure.held_bytes import held_bytes
from diagnose.snapshot.reading import Block, Event, Snapshot
from diagnose.snapshot.stacks import Origin, Stacks

_ROUNDED_TO = 512  # bytes: c10/cuda/CUDACachingAllocator.h, kMinBlockSize
_MAPPED, _UNMAPPED = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")


@dataclass(frozen=True)
class Allocation:
    """``size``: bytes that were asked for; ``taken``: of the block that they got, as the snapshot has it, or
    rounded up where it is gone. ``begin``, ``end``: the numbers of the events that made and freed it; −1 for
    before the first one, the count of events for what was never freed.
    """

    size: int
    taken: int
    begin: int
    end: int
    origin: Origin


@dataclass(frozen=True)
class OutOfMemory:
    """``size``: bytes that were asked for; ``device_free``: what the device had left, if it was told."""

    number: int
    size: int
    device_free: int | None
    origin: Origin


class Replay:
    """Of one device. ``segments``: what its allocator has at the end."""

    def __init__(self, snapshot: Snapshot, device: int) -> None:
        self._stacks = Stacks()
        traces = snapshot.device_traces
        self.events: list[Event] = traces[device] if device < len(traces) else []
        self.segments = [segment for segment in snapshot.segments if segment.device == device]

    @cached_property
    def allocations(self) -> list[Allocation]:
        found, live = [], dict[int, tuple[int, int, Any]]()
        for number, event in enumerate(self.events):
            if event.action == "alloc":
                live[event.addr] = (number, event.size, event.frames)
            elif event.action in ("free_completed", "free"):
                begin, size, frames = live.pop(event.addr, (-1, event.size, ()))
                found.append(Allocation(size, _rounded(size), begin, number, self._stacks.origin(frames)))
        end = len(self.events)
        for address, block in self._blocks():
            begin, size, frames = live.pop(address, (-1, block.requested_size or block.size, block.frames))
            found.append(Allocation(size, block.size, begin, end, self._stacks.origin(frames)))
        return found + [
            Allocation(size, _rounded(size), begin, end, self._stacks.origin(frames))
            for begin, size, frames in live.values()
        ]

    def _blocks(self) -> Iterator[tuple[int, Block]]:
        """Those in use at the end, by their addresses."""
        for segment in self.segments:
            address = segment.address
            for block in segment.blocks:
                if block.state.startswith("active"):
                    yield (address if block.address is None else block.address), block
                address += block.size

    @cached_property
    def curve(self) -> np.ndarray:
        """Bytes of the blocks in use: before the first event, and after each."""
        sizes, begins, ends = (
            [getattr(allocation, of) for allocation in self.allocations] for of in ("taken", "begin", "end")
        )
        return held_bytes(sizes, begins, ends, len(self.events))

    @cached_property
    def peak(self) -> int:
        """The number of the event after which most was allocated; −1 for before the first."""
        return int(np.argmax(self.curve)) - 1

    @cached_property
    def at_peak(self) -> list[Allocation]:
        return [one for one in self.allocations if one.begin <= self.peak < one.end]

    @cached_property
    def reserved(self) -> np.ndarray:
        """Bytes the allocator has from the driver: before the first event, and after each."""
        change = np.array(
            [event.size * ((event.action in _MAPPED) - (event.action in _UNMAPPED)) for event in self.events],
            np.int64,
        )
        at_end = sum(segment.total_size for segment in self.segments)
        later = np.concatenate([np.cumsum(change[::-1])[::-1], [0]]) if len(change) else np.zeros(1, np.int64)
        return at_end - later

    @cached_property
    def out_of_memory(self) -> OutOfMemory | None:
        """The last time that nothing was left."""
        for number in range(len(self.events) - 1, -1, -1):
            event = self.events[number]
            if event.action == "oom":
                free = event.device_free if event.device_free is not None else event.addr or None
                return OutOfMemory(number, event.size, free, self._stacks.origin(event.frames))
        return None

    def seconds(self, number: int) -> float | None:
        """From the first event to this one; None where times were not recorded."""
        if number < 0 or not self.events or not self.events[0].time_us:
            return None
        return (self.events[number].time_us - self.events[0].time_us) / 1e6


def _rounded(size: int) -> int:
    """As the allocator does. Of a large block it may leave up to 1 MiB more on, which nothing tells later."""
    return -(-max(size, 1) // _ROUNDED_TO) * _ROUNDED_TO


def devices(snapshot: Snapshot) -> list[int]:
    """Those that hold anything or did anything, by what they hold, most first."""
    held: dict[int, int] = {}
    for segment in snapshot.segments:
        held[segment.device] = held.get(segment.device, 0) + segment.total_size
    for device, events in enumerate(snapshot.device_traces):
        if events:
            held.setdefault(device, 0)
    return sorted(held, key=lambda device: -held[device])

"""Recordings of TensorFlow's and JAX's profilers (`*.xplane.pb`) to typed tables. A reader: see
`diagnose.trace.formats`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diagnose.errors import TraceUnreadable
from diagnose.trace.content import Content
from diagnose.trace.decode import Args, Event, TraceFile
from diagnose.trace.events import Lanes
from diagnose.trace.memory import PEAK, Memory
from diagnose.trace.repair import Damage
from diagnose.trace.schema import Trace
from diagnose.trace.tables import trace_of
from diagnose.trace.wire import Damaged
from diagnose.trace.xla_events import DEVICE, RECORD, TOLD, Place, Timed, Translation
from diagnose.trace.xspace import XPlane, XSpace, read_space

_AT_ONCE = 20_000  # events


def read(content: Content, blocks: Iterator[bytes], memory: Memory, calls: Path | None) -> Trace:
    """See `diagnose.trace.formats.Reader`. All of the file is held: what its events are called stands behind
    them.
    """
    file = bytearray()
    for block in memory.watched(content, blocks, lambda: len(file) // PEAK):
        file.extend(block)
    recording = _Recording(_space(memoryview(file), content.name))
    lanes = Lanes()
    for batch in memory.watched(content, recording.events(), lambda: lanes.nbytes + len(file) // PEAK):
        lanes.add(batch)
    if not lanes.host.count and not lanes.device.count:
        raise TraceUnreadable(
            f"{content.name} holds no event that could be read.", saw=recording.summary, do=RECORD
        )
    lost = recording.lost
    told = [TOLD[recording.framework]]
    if content.cut_off or lost:
        told.append(
            f"The file is cut off or damaged: {lost} part{'s' * (lost != 1)} of it (a device or the host) "
            "could not be read."
        )
    return trace_of(
        content.name, lanes, recording.about(), Damage(tuple(told), cut_off=content.cut_off or lost > 0)
    )


def _space(file: memoryview, name: str) -> XSpace:
    try:
        return read_space(file)
    except Damaged as error:
        raise TraceUnreadable(
            f"{name} is no recording of XLA's profiler.", saw=str(error), do=RECORD
        ) from error


class _Recording:
    """What a file tells, as events of torch.profiler's."""

    def __init__(self, space: XSpace) -> None:
        self.lost = space.lost
        # what devices ran tells what the host's calls are for
        self._planes = sorted(space.planes, key=lambda plane: not DEVICE.match(plane.name))
        self._translation = Translation()
        self._begin_ns = next((line.timestamp_ns for plane in self._planes for line in plane.lines), 0)

    @property
    def framework(self) -> str:
        return self._translation.framework

    @property
    def summary(self) -> str:
        names = ", ".join(plane.name for plane in self._planes[:4])
        whole = f"{len(self._planes)} parts that are whole{f' ({names})' * bool(names)}"
        return f"{whole}, {self.lost} damaged or cut"

    def events(self) -> Iterator[list[Event]]:
        """Some at a time."""
        batch: list[Event] = []
        for event in self._all():
            batch.append(event)
            if len(batch) == _AT_ONCE:
                yield batch
                batch = []
        yield [*batch, *self._translation.last()]

    def _all(self) -> Iterator[Event]:
        for pid, plane in enumerate(self._planes, 1):
            self._translation.tells(plane.value_names)
            for tid, line in enumerate(plane.lines, 1):
                place = Place(plane.name, pid, line.name, tid)
                yield Event("M", None, "thread_name", pid, tid, None, None, Args(name=line.name))
                since_us = (line.timestamp_ns - self._begin_ns) / 1000
                try:
                    for event in plane.events(line):
                        start, length = since_us + event.start_ps / 1e6, event.length_ps / 1e6
                        yield from self._translation.event(
                            place, Timed(event.name, start, length, event.told)
                        )
                except Damaged:
                    self.lost += 1

    def about(self) -> TraceFile:
        """The devices that worked, and whose profiler it was."""
        devices = [_device(plane) for plane in self._planes if DEVICE.match(plane.name) and plane.lines]
        return TraceFile(
            events=[],
            deviceProperties=devices,
            baseTimeNanoseconds=self._begin_ns,
            framework=self._translation.framework,
        )


def _device(plane: XPlane) -> dict[str, Any]:
    """As torch.profiler has it. The capability is told of NVIDIA's only: AMD's numbers mean other things."""
    told = plane.told
    found = DEVICE.match(plane.name)
    vendor = str(told.get("device_vendor", ""))
    about: dict[str, Any] = {
        "id": int(found[1]) if found else 0,
        "name": str(told.get("gpu_device_name") or f"{vendor} {plane.name.split(':')[1]}".strip()),
    }
    of_nvidia = {"computeMajor": "compute_cap_major", "computeMinor": "compute_cap_minor"}
    named = {
        "totalGlobalMem": "memory_size",
        "numSms": "core_count",
        **(of_nvidia if vendor == "Nvidia" else {}),
    }
    return about | {key: told[name] for key, name in named.items() if name in told}

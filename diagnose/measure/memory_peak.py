"""What fills memory at the peak of a step, part by part and line by line, and what stays after its step, from
the storages that `diagnose.run.child.memory.memory_look` saw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np

from diagnose.measure.held_bytes import held_bytes
from diagnose.measure.memory_parts import NO_TENSORS, RAN_OUT, TITLES
from diagnose.measure.recording import Recording

_OWNED = ("parameters", "gradients", "state")
_MOST_HOLDERS = 12
_HOLDS_AT_LEAST = 0.01  # of the tensors: a line that holds less is not worth a row
_KEPT_LINES = 5
_FEWEST_EVENTS, _CURVE_PARTS = 4, 200
# columns of a storage's row (memory.json)
_BYTES, _BEGIN, _END, _ORIGIN, _DEVICE = range(5)


@dataclass(frozen=True)
class Part:
    """``part``: of `TITLES`."""

    part: str
    bytes: int


@dataclass(frozen=True)
class Holder:
    """A line of the script, or a parameter where no line is known (``line`` −1), and what it holds.
    ``module``: which one ran, empty where several did or none.
    """

    file: str
    line: int
    function: str
    module: str
    part: str
    bytes: int
    count: int


@dataclass(frozen=True)
class Kept:
    """A line of which something was still there a step later, bytes a step."""

    file: str
    line: int
    function: str
    bytes: int
    count: int


@dataclass(frozen=True)
class Curve:
    """Bytes in tensors over the step of the peak, whose way is counted in tensors that come and go: the most
    in each of `bytes` equal parts. ``peak``: that part; ``backward``: the first and last one of it, None
    where there is none.
    """

    bytes: list[int]
    peak: int
    backward: tuple[int, int] | None


class MadeAtPeak(NamedTuple):
    """The operator, by the name that profilers give it, that made the tensor at the peak. ``before``: the
    share of the tensors of its name (and of the backward or not) in its step that were made before.
    """

    operator: str
    in_backward: bool
    before: float


@dataclass(frozen=True)
class MemoryPeak:
    """Of one device, bytes. ``parts`` are all that is held, largest first; ``tensors`` leaves out what is in
    no tensor. ``during``: the part whose line made the peak, or `RAN_OUT`, when there is no ``curve``.
    ``made_by``: None where no operator of a step has.
    """

    device: str
    tensors: int
    parts: list[Part]
    holders: list[Holder]
    during: str
    curve: Curve | None
    made_by: MadeAtPeak | None = None

    @property
    def total(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def filled_by(self) -> Part | None:
        """What most of the tensors are for."""
        return next((part for part in self.parts if part.part not in NO_TENSORS), None)


class Stored(NamedTuple):
    """A storage: bytes, the numbers of the events that made and ended it, and what tells it from others."""

    bytes: int
    begin: int
    end: int
    made_by: tuple[str, ...]


class Span(NamedTuple):
    """A storage's life: as `Stored`, its part as of `TITLES`, the module that made it, and of the step that
    made it the number (−1: before the first), the event it began with, and its backward's first and last
    (−1 where there is none).
    """

    bytes: int
    begin: int
    end: int
    part: str
    module: str
    step: int
    step_begin: int
    backward: int
    backward_end: int


class _Step(NamedTuple):
    """Numbers of events. The backward is from the first storage made in it to the next one made in something
    else; −1 where there is none.
    """

    begin: int
    end: int
    backward: int
    backward_end: int


class _Origin(msgspec.Struct):
    part: str
    file: str = ""
    line: int = -1
    function: str = ""
    module: str = ""
    operator: str = ""


class _Counts(msgspec.Struct):
    allocated: int
    reserved: int


class _Allocator(msgspec.Struct):
    end: _Counts


class _Told(msgspec.Struct):
    """memory.json (docs/architecture.md)."""

    devices: list[str]
    origins: list[_Origin]
    storages: list[tuple[int, int, int, int, int]]
    step_ends: list[int]
    resident_bytes: int = 0
    allocators: dict[str, _Allocator] = {}
    ran_out: bool = False


class MemoryLook:
    """memory.json of a rank, read; see `seen_memory`."""

    def __init__(self, told: dict[str, Any]) -> None:
        """Raises msgspec.ValidationError for a file that is none of ours."""
        found = msgspec.convert(told, _Told)
        self._origins, self._devices, self._ends = found.origins, found.devices, found.step_ends
        self._resident, self._allocators = found.resident_bytes, found.allocators
        self.ran_out = found.ran_out
        self._rows = np.asarray(found.storages, np.int64).reshape(-1, 5)
        self._part = np.asarray([origin.part for origin in self._origins])
        self._curves: dict[str, np.ndarray] = {}

    @cached_property
    def peaks(self) -> list[MemoryPeak]:
        """Of the accelerators, most first; of the CPU where there are none."""
        others = [device for device in self._devices if device != "cpu"]
        found = [self._peak(device) for device in others or self._devices]
        return sorted(found, key=lambda peak: -peak.tensors)

    def curve(self, device: str) -> np.ndarray:
        """Bytes in tensors before the first event, and after each."""
        if device not in self._curves:
            rows = self._of(device)
            self._curves[device] = held_bytes(
                rows[:, _BYTES], rows[:, _BEGIN], rows[:, _END], self._ends[-1] + 1
            )
        return self._curves[device]

    def storages(self, device: str) -> list[Stored]:
        """In the order in which they were made, those from before the first step before all."""
        keys = [
            (origin.part, origin.file, str(origin.line), origin.module, origin.operator)
            for origin in self._origins
        ]
        return [
            Stored(int(row[_BYTES]), int(row[_BEGIN]), int(row[_END]), keys[row[_ORIGIN]])
            for row in sorted(self._of(device), key=lambda row: int(row[_BEGIN]))
        ]

    def spans(self, device: str) -> Iterator[Span]:
        """Each storage, in no order."""
        steps = [self._step_with(end) for end in self._ends]
        none = _Step(-1, -1, -1, -1)
        for row in self._of(device):
            at = int(np.searchsorted(self._ends, row[_BEGIN])) if row[_BEGIN] >= 0 else -1
            step = steps[at] if 0 <= at < len(steps) else none
            yield Span(
                int(row[_BYTES]),
                int(row[_BEGIN]),
                int(row[_END]),
                self._part_of(row, step),
                self._origins[row[_ORIGIN]].module,
                at if step is not none else -1,
                step.begin,
                step.backward,
                step.backward_end,
            )

    def kept(self) -> list[Kept]:
        """What was made in the first step and is there at the end of the last, and belongs to no model, no
        optimizer and no input; most first.
        """
        rows = self._rows
        stays = (rows[:, _BEGIN] >= 0) & (rows[:, _BEGIN] < self._ends[0]) & (rows[:, _END] < 0)
        held: dict[tuple[str, int, str], list[int]] = defaultdict(list)
        for row in rows[stays]:
            origin = self._origins[row[_ORIGIN]]
            if origin.line > 0 and origin.part not in (*_OWNED, "inputs"):
                held[origin.file, origin.line, origin.function].append(int(row[_BYTES]))
        found = [Kept(*place, sum(sizes), len(sizes)) for place, sizes in held.items()]
        return sorted(found, key=lambda kept: -kept.bytes)[:_KEPT_LINES]

    def _of(self, device: str) -> np.ndarray:
        return self._rows[self._rows[:, _DEVICE] == self._devices.index(device)]

    def _peak(self, device: str) -> MemoryPeak:
        curve = self.curve(device)
        number = int(np.argmax(curve)) - 1  # of the event after which most is held
        step = self._step_with(number)
        rows = self._of(device)
        held = rows[(rows[:, _BEGIN] <= number) & ((rows[:, _END] < 0) | (rows[:, _END] > number))]
        by_part: dict[str, int] = defaultdict(int)
        for row in held:
            by_part[self._part_of(row, step)] += int(row[_BYTES])
        by_part |= self._beside(device, int(curve[number + 1]))
        parts = [Part(part, size) for part, size in by_part.items() if size > 0]
        made = rows[rows[:, _BEGIN] == number]
        during = str(self._part[made[0][_ORIGIN]]) if len(made) else "before"
        if self.ran_out:
            during = RAN_OUT
        return MemoryPeak(
            device,
            int(curve[number + 1]),
            sorted(parts, key=lambda part: -part.bytes),
            list(self._holders(held, step)),
            during,
            None if self.ran_out else _curve(curve, number, step),
            None if self.ran_out or not len(made) else self._made_by(made[0], rows, step),
        )

    def _made_by(self, row: np.ndarray, rows: np.ndarray, step: _Step) -> MadeAtPeak | None:
        origin = self._origins[row[_ORIGIN]]
        namespace, _, rest = origin.operator.partition(".")
        if not rest:
            return None
        in_backward = origin.part == "backward"
        like = [
            other.operator == origin.operator and (other.part == "backward") == in_backward
            for other in self._origins
        ]
        begins = rows[:, _BEGIN][np.asarray(like)[rows[:, _ORIGIN]]]
        begins = begins[(begins >= step.begin) & (begins < step.end)]
        before = float((begins < row[_BEGIN]).mean())
        return MadeAtPeak(f"{namespace}::{rest.partition('.')[0]}", in_backward, before)

    def _step_with(self, number: int) -> _Step:
        begins = [0, *(end + 1 for end in self._ends[:-1])]
        begin, end = next(
            ((begin, end) for begin, end in zip(begins, self._ends, strict=True) if number <= end),
            (begins[-1], self._ends[-1]),
        )
        made = self._rows[(self._rows[:, _BEGIN] >= begin) & (self._rows[:, _BEGIN] < end)]
        backward = made[self._part[made[:, _ORIGIN]] == "backward"][:, _BEGIN] if len(made) else made
        if not len(backward):
            return _Step(begin, end, -1, -1)
        later = made[made[:, _BEGIN] > backward.max()][:, _BEGIN]
        return _Step(begin, end, int(backward.min()), int(later.min()) if len(later) else end)

    def _part_of(self, row: np.ndarray, step: _Step) -> str:
        """What a storage is for, as its whole life tells."""
        part = str(self._part[row[_ORIGIN]])
        made_before = step.begin <= row[_BEGIN] < step.backward
        stays_until = made_before and (row[_END] < 0 or row[_END] > step.backward)
        goes_with_it = stays_until and 0 <= row[_END] <= step.backward_end
        if stays_until if part == "forward" else part == "elsewhere" and goes_with_it:
            return "activations"
        return part if part in TITLES else "elsewhere"

    def _beside(self, device: str, tensors: int) -> dict[str, int]:
        """What is held, but by no tensor that was seen."""
        if device == "cpu":
            return {"outside": self._resident - tensors}
        if device not in self._allocators:
            return {}
        now = self._allocators[device].end
        unseen = max(0, now.allocated - int(self.curve(device)[-1]))
        return {"unseen": unseen, "cached": now.reserved - tensors - unseen}

    def _holders(self, held: np.ndarray, step: _Step) -> Iterator[Holder]:
        sizes: dict[tuple[str, int, str, str], list[int]] = defaultdict(list)
        modules: dict[tuple[str, int, str, str], set[str]] = defaultdict(set)
        for row in held:
            origin, part = self._origins[row[_ORIGIN]], self._part_of(row, step)
            place = ("", -1, "") if part in _OWNED else (origin.file, origin.line, origin.function)
            sizes[(*place, part)].append(int(row[_BYTES]))
            modules[(*place, part)].add(origin.module)
        found = [
            Holder(
                *key[:3],
                next(iter(modules[key])) if len(modules[key]) == 1 else "",
                key[3],
                sum(sizes[key]),
                len(sizes[key]),
            )
            for key in sizes
        ]
        least = _HOLDS_AT_LEAST * sum(holder.bytes for holder in found)
        for holder in sorted(found, key=lambda holder: -holder.bytes)[:_MOST_HOLDERS]:
            if holder.bytes >= least:
                yield holder


def _curve(curve: np.ndarray, number: int, step: _Step) -> Curve | None:
    """``curve``: as `MemoryLook.curve`; ``number``: of the event of the peak."""
    held = curve[step.begin + 1 : step.end + 2]
    if not step.begin <= number <= step.end or len(held) < _FEWEST_EVENTS:
        return None
    parts = np.array_split(np.arange(step.begin, step.begin + len(held)), min(len(held), _CURVE_PARTS))
    first = np.asarray([part[0] for part in parts])

    def part_of(event: int) -> int:
        return int(np.searchsorted(first, event, side="right")) - 1

    backward = (part_of(step.backward), part_of(step.backward_end)) if step.backward >= 0 else None
    return Curve(np.maximum.reduceat(held, first - step.begin).tolist(), part_of(number), backward)


def seen_memory(recording: Recording) -> MemoryLook | None:
    """None where nothing was seen, or memory.json is none of ours."""
    try:
        return MemoryLook(recording.memory) if recording.memory else None
    except msgspec.ValidationError:
        return None

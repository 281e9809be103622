"""Storages as memory.json tells them: when each came and went, where it is from and what it is for."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, NamedTuple

import torch

from .. import accelerator
from ..guard import guarded
from ..places import Place
from .memory import resident_bytes

STORAGES_AT_MOST = 200_000
_NEW_TOP = 1.01  # times the one before: only then what the process holds is read again
# positions of a storage's row
_BYTES, _END, _ORIGIN, _DEVICE = 0, 2, 3, 4


class Origin(NamedTuple):
    """Where a storage is from. ``part``: what it is for. ``module``: the innermost that ran, or what it is
    called; ``operator``: that gave it, empty where it came from elsewhere.
    """

    part: str
    place: Place
    module: str
    operator: str


class _Seen(weakref.ref[torch.UntypedStorage]):
    """A storage that was seen, and its row."""

    __slots__ = ("key", "row")
    key: int
    row: list[int]


class StorageLog:
    """Storages by `add`, their ends by themselves until `close`. Holds none of them."""

    def __init__(self) -> None:
        self._live: dict[int, _Seen] = {}  # by `_cdata` of the storage
        self._rows: list[list[int]] = []
        self._origins: list[Origin] = []
        self._known_origins: dict[Origin, int] = {}
        self._devices: list[str] = []
        self._held: list[int] = []  # bytes, of each device
        self._top = self._resident = 0
        self._numbers = itertools.count()
        self._ends: list[int] = []
        self._begin: dict[str, dict[str, int]] = {}

    def __contains__(self, storage: torch.UntypedStorage) -> bool:
        return storage._cdata in self._live

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= STORAGES_AT_MOST

    @property
    def step_count(self) -> int:
        return len(self._ends)

    def begin(self) -> None:
        """The first step begins."""
        self._begin = allocators()

    def add(self, storage: torch.UntypedStorage, origin: Origin, *, made: bool = True) -> None:
        """``made``: now; else it was there before."""
        device = accelerator.name(storage.device)
        if device not in self._devices:
            self._devices.append(device)
            self._held.append(0)
        at, size = self._devices.index(device), storage.nbytes()
        number = next(self._numbers) if made else -1
        seen = _Seen(storage, self._freed)
        seen.key, seen.row = storage._cdata, [size, number, -1, self._index(origin), at]
        self._live[seen.key] = seen
        self._rows.append(seen.row)
        self._held[at] += size
        if device == "cpu" and self._held[at] > _NEW_TOP * self._top:
            self._top, self._resident = self._held[at], resident_bytes()

    def belongs(self, key: int, part: str, name: str) -> None:
        """The storage with that `_cdata`, if it is there, is of something that lives longer than a step."""
        if seen := self._live.get(key):
            place = self._origins[seen.row[_ORIGIN]].place
            seen.row[_ORIGIN] = self._index(Origin(part, place, name, ""))

    def end_step(self) -> None:
        self._ends.append(next(self._numbers))

    def told(self, *, ran_out: bool = False) -> dict[str, Any]:
        """memory.json. ``storages``: of each bytes, the numbers of the events that made and ended it (−1 for
        before the first step, or not yet), and which of ``origins`` and of ``devices`` it is from and on.
        ``step_ends``: events, too. ``resident_bytes``: of the process when most was held on the CPU.
        ``allocators``: of each device with one, bytes at the begin and now. ``ran_out``: memory had run out.
        """
        return {
            "devices": self._devices,
            "origins": [
                {
                    **origin.place._asdict(),
                    "part": origin.part,
                    "module": origin.module,
                    "operator": origin.operator,
                }
                for origin in self._origins
            ],
            "storages": self._rows,
            "step_ends": self._ends,
            "resident_bytes": self._resident,
            "allocators": {
                device: {"begin": self._begin.get(device), "end": end} for device, end in allocators().items()
            },
            "ran_out": ran_out,
        }

    def close(self) -> None:
        """No end is written down any more."""
        self._live.clear()

    @guarded("looking at what fills memory")
    def _freed(self, seen: Any) -> None:
        """Called as the storage goes, by whichever thread gave it up."""
        key, row = seen.key, seen.row
        row[_END] = next(self._numbers)
        self._held[row[_DEVICE]] -= row[_BYTES]
        if self._live.get(key) is seen:
            del self._live[key]

    def _index(self, origin: Origin) -> int:
        known = self._known_origins.get(origin)
        if known is None:
            known = self._known_origins[origin] = len(self._origins)
            self._origins.append(origin)
        return known


def allocators() -> dict[str, dict[str, int]]:
    """What torch's allocator counts on each device in use, bytes: in tensors, the most of that so far, and
    what it has from the driver.
    """
    found = {}
    for device in accelerator.devices():
        counts = accelerator.memory_statistics(device)
        if counts:
            found[accelerator.name(device)] = {
                "allocated": counts.get("allocated_bytes.all.current", 0),
                "most_allocated": counts.get("allocated_bytes.all.peak", 0),
                "reserved": counts.get("reserved_bytes.all.current", 0),
            }
    return found

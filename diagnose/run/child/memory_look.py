"""What fills memory, for two steps once all is recorded: each storage, when it came and went, from which line
and module, and what it is for.

A mode of torch's sees each operator with the tensors that it is given and gives. A storage that was not known
is new; a weak reference tells its end. What was there before is found among Python's objects. What an
operator takes while it runs, and gives back before it ends, is not seen.
"""

from __future__ import annotations

import itertools
import os
import resource
import sys
import weakref
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from . import accelerator
from .guard import guarded
from .inspection import compiler_in_use
from .places import NOWHERE, Place, Places
from .storages import Owner, living_tensors, owners, storage_of

_STEPS = 2
_STORAGES_AT_MOST = 200_000
_PAGE = resource.getpagesize()
_NEW_TOP = 1.01  # times the one before: only then what the process holds is read again
_KINDS = {  # of library code, by the end of its file's name: what is made under it is for this
    os.path.join("utils", "data", "dataloader.py"): "inputs",
    os.path.join("torch", "optim", "optimizer.py"): "optimizer",
}
_PLAIN = Tensor.__torch_dispatch__
_MODULES = os.path.join("torch", "nn", "modules", "module.py")
# positions of a storage's row
_END, _ORIGIN = 2, 3


class Origin(NamedTuple):
    """Where a storage is from. ``part``: what it is for. ``module``: the innermost that ran, or the
    parameter's name; ``operator``: that gave it, empty where it came from elsewhere.
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


class MemoryLook(TorchDispatchMode):
    """`begin` at the end of a step, then `step` at the end of each until it returns True."""

    what = "looking at what fills memory"

    def __init__(
        self,
        places: Places,
        models: Callable[[], Iterable[nn.Module]],
        optimizers: Callable[[], Iterable[Any]],
    ) -> None:
        super().__init__()
        self._places, self._models, self._optimizers = places, models, optimizers
        self.told: dict[str, Any] | None = None
        self._entered = self._looks = False
        self._kinds: dict[CodeType, str] = {}
        self._forget()

    def begin(self) -> bool:
        """Whether the next steps are looked at: no compiled ones, for which a mode makes another program."""
        if compiler_in_use() or accelerator.is_capturing():
            return False
        self._forget()
        self._pid = os.getpid()
        self._modules |= {
            id(part): name or type(part).__name__
            for model in self._models()
            for name, part in model.named_modules()
        }
        known = self._owners()
        for tensor in living_tensors():
            self._is_there(tensor, known)
        self._begin |= _allocators()
        self.__enter__()
        self._entered = self._looks = True
        return True

    def step(self) -> bool:
        """A step has ended. Whether it was the last one."""
        self._ends.append(next(self._numbers))
        for key, owner in self._owners().items():
            if seen := self._live.get(key):
                place = self._origins[seen.row[_ORIGIN]].place
                seen.row[_ORIGIN] = self._index(Origin(owner.part, place, owner.name, ""))
        if len(self._ends) < _STEPS and self._looks:
            return False
        self.told = self._summed_up() if self._looks else None
        self.end()
        return True

    def end(self) -> None:
        """Harmless when repeated. A mode of the script's own on top of ours is left there: then ours does no
        more than call.
        """
        self._looks = False
        if self._entered and _get_current_dispatch_mode() is self:
            self._entered = False
            self.__exit__(None, None, None)
        self._forget()

    def _forget(self) -> None:
        self._live: dict[int, _Seen] = {}  # by `_cdata` of the storage
        self._rows: list[list[int]] = []
        self._origins: list[Origin] = []
        self._known_origins: dict[Origin, int] = {}
        self._devices: list[str] = []
        self._held: list[int] = []  # bytes, of each device
        self._top = self._resident = 0
        self._numbers = itertools.count()
        self._ends: list[int] = []
        self._modules: dict[int, str] = {}
        self._begin: dict[str, dict[str, int]] = {}

    def _owners(self) -> dict[int, Owner]:
        return owners(self._models(), self._optimizers())

    def _is_there(self, tensor: Tensor, known: dict[int, Owner]) -> None:
        """Before the first step."""
        storage = storage_of(tensor)
        if storage is not None and storage._cdata not in self._live:
            owner = known.get(storage._cdata, Owner("before", ""))
            self._add(storage, Origin(owner.part, NOWHERE, owner.name, ""), -1)

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if any(kind.__torch_dispatch__ is not _PLAIN for kind in types):
            return NotImplemented  # a kind of tensor that says itself what it is made of
        result = func(*args, **(kwargs or {}))
        if self._looks and os.getpid() == self._pid:
            self._see(func, args, result)
        return result

    @guarded("looking at what fills memory")
    def _see(self, func: Any, given: Any, result: Any) -> None:
        for tensors, is_made in ((given, False), (result, True)):
            for tensor in _flat(tensors):
                storage = storage_of(tensor)
                if storage is not None and storage._cdata not in self._live:
                    self._add(storage, self._origin(str(func) if is_made else ""), next(self._numbers))

    def _add(self, storage: torch.UntypedStorage, origin: Origin, number: int) -> None:
        device = accelerator.name(storage.device)
        if device not in self._devices:
            self._devices.append(device)
            self._held.append(0)
        at, size = self._devices.index(device), storage.nbytes()
        seen = _Seen(storage, self._freed)
        seen.key, seen.row = storage._cdata, [size, number, -1, self._index(origin), at]
        self._live[seen.key] = seen
        self._rows.append(seen.row)
        self._held[at] += size
        self._looks = self._looks and len(self._rows) < _STORAGES_AT_MOST
        if device == "cpu" and self._held[at] > _NEW_TOP * self._top:
            self._top, self._resident = self._held[at], _resident_bytes()

    @guarded("looking at what fills memory")
    def _freed(self, seen: Any) -> None:
        """Called as the storage goes, by whichever thread gave it up."""
        key, row = seen.key, seen.row
        row[_END] = next(self._numbers)
        self._held[row[-1]] -= row[0]
        if self._live.get(key) is seen:
            del self._live[key]

    def _index(self, origin: Origin) -> int:
        known = self._known_origins.get(origin)
        if known is None:
            known = self._known_origins[origin] = len(self._origins)
            self._origins.append(origin)
        return known

    def _origin(self, operator: str) -> Origin:
        """Of what an operator makes now; one without a name is given what no operator made."""
        part = "backward" if torch._C._current_graph_task_id() != -1 else "" if operator else "inputs"
        place, module = NOWHERE, ""
        frame: FrameType | None = sys._getframe(3)
        while frame is not None:
            kind = self._kind(frame.f_code)
            if kind == "user" and place is NOWHERE:
                file = self._places.user_file(frame.f_code.co_filename)
                place = Place(file, frame.f_lineno or -1, frame.f_code.co_name)
            elif kind == "forward" and not module:
                module = self._modules.get(id(frame.f_locals.get("self")), "")
                part = part or kind
            elif kind not in ("user", ""):
                part = part or kind
            frame = frame.f_back
        return Origin(part or "elsewhere", place, module, operator)

    def _kind(self, code: CodeType) -> str:
        kind = self._kinds.get(code)
        if kind is None:
            name = code.co_filename
            if self._places.user_file(name):
                kind = "user"
            elif name.endswith(_MODULES):
                kind = "forward" if code.co_name == "_call_impl" else ""
            else:
                kind = next((kind for end, kind in _KINDS.items() if name.endswith(end)), "")
            self._kinds[code] = kind
        return kind

    def _summed_up(self) -> dict[str, Any]:
        """memory.json. ``storages``: of each bytes, the numbers of the events that made and ended it (−1 for
        before the first step, or not yet), and which of ``origins`` and of ``devices`` it is from and on.
        ``step_ends``: events, too. ``resident_bytes``: of the process when most was held on the CPU.
        ``allocators``: of each device with one, bytes at the begin and now.
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
                device: {"begin": self._begin.get(device), "end": end}
                for device, end in _allocators().items()
            },
        }


def _flat(values: Any) -> Iterable[Tensor]:
    """The tensors among what an operator is given or gives."""
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _flat(value)


def _allocators() -> dict[str, dict[str, int]]:
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


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE

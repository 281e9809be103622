"""What fills memory, for two steps once all is recorded: each storage, when it came and went, from which line
and module, and what it is for.

A mode of torch's sees each operator with the tensors that it is given and gives. A storage that was not known
is new; a weak reference tells its end. What was there before is found among Python's objects. What an
operator takes while it runs, and gives back before it ends, is not seen.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from torch import Tensor
from torch.autograd.grad_mode import inference_mode
from torch.utils._python_dispatch import _get_current_dispatch_mode

from .. import accelerator
from ..guard import attempt, guarded
from ..inspection import compiler_in_use, in_backward, inside_a_mode, inside_a_restoring_block
from ..patching import Patches
from ..places import NOWHERE, Place, Places
from ..source.frame_values import forget_locals
from ..tensors import tensors_in
from ..uncompiled_mode import UncompiledMode
from .storage_log import Origin, StorageLog
from .storages import Living, living, owners, storage_of

_STEPS = 2
_KINDS = {  # of library code, by the end of its file's name: what is made under it is for this
    os.path.join("utils", "data", "dataloader.py"): "inputs",
    os.path.join("torch", "optim", "optimizer.py"): "optimizer",
}
_PLAIN = Tensor.__torch_dispatch__
_MODULES = os.path.join("torch", "nn", "modules", "module.py")


class MemoryLook(UncompiledMode):
    """`begin` at the end of a step, then `step` at the end of each until it returns True."""

    what = "looking at what fills memory"

    def __init__(self, places: Places) -> None:
        super().__init__()
        self._places = places
        self.told: dict[str, Any] | None = None
        self._entered = self._looks = False
        self._patches = Patches()
        self._kinds: dict[CodeType, str] = {}
        self._modules: dict[int, str] = {}
        self._log = StorageLog()

    def begin(self) -> bool:
        """Whether the next steps are looked at: no compiled ones, for which a mode makes another program, and
        none that end inside a mode of the script's, or a block that puts back what was on before it.
        """
        if compiler_in_use() or accelerator.is_capturing() or inside_a_mode() or inside_a_restoring_block():
            return False
        self._pid, self._log = os.getpid(), StorageLog()
        alive = living()
        self._modules = {
            id(part): name or type(part).__name__
            for model in alive.models
            for name, part in model.named_modules()
        }
        for tensor in alive.tensors:
            storage = storage_of(tensor)
            if storage is not None and storage not in self._log:
                self._log.add(storage, Origin("before", NOWHERE, "", ""), made=False)
        self._tell_owners(alive)
        del alive
        self._log.begin()
        self._patches.replace(inference_mode, "__exit__", self._leaving(inference_mode.__exit__))
        self.__enter__()
        self._entered = self._looks = True
        return True

    def step(self) -> bool:
        """A step has ended. Whether it was the last one."""
        self._log.end_step()
        self._tell_owners(living())
        if self._log.step_count < _STEPS and not self._log.is_full:
            return False
        self.told = None if self._log.is_full else _made_anew(self._log.told())
        self.end()
        return True

    def end(self) -> None:
        """Harmless when repeated. A mode of the script's own on top of ours is left there: then ours does no
        more than call. So it is inside a block that began after it, and would put it back where it ends.
        """
        self._looks = False
        if self._entered and not inside_a_restoring_block() and _get_current_dispatch_mode() is self:
            self._entered = False
            self.__exit__(None, None, None)
        if not self._entered:
            self._patches.restore()
        self._log.close()
        self._log = StorageLog()

    def _leaving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A block inside which the last step has ended is over: now it can be left."""

        def __exit__(block: Any, *error: Any) -> Any:
            left = original(block, *error)
            if not self._looks and os.getpid() == self._pid:
                attempt(self.what, self.end, None)
            return left

        return __exit__

    def _tell_owners(self, alive: Living) -> None:
        for key, owner in owners(alive).items():
            self._log.belongs(key, owner.part, owner.name)

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
        if self._log.is_full:
            return
        for tensors, is_made in ((given, False), (result, True)):
            for tensor in tensors_in(tensors):
                storage = storage_of(tensor)
                if storage is not None and storage not in self._log:
                    self._log.add(storage, self._origin(str(func) if is_made else ""))

    def _origin(self, operator: str) -> Origin:
        """Of what an operator makes now; one without a name is given what no operator made."""
        part = "backward" if in_backward() else "" if operator else "inputs"
        place, module = NOWHERE, ""
        frame: FrameType | None = sys._getframe(3)
        while frame is not None:
            kind = self._kind(frame.f_code)
            if kind == "user" and place is NOWHERE:
                file = self._places.user_file(frame.f_code.co_filename)
                place = Place(file, frame.f_lineno or -1, frame.f_code.co_name)
            elif kind == "forward" and not module:
                module = self._modules.get(id(frame.f_locals.get("self")), "")
                forget_locals(frame)
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


def _made_anew(told: dict[str, Any]) -> dict[str, Any]:
    """The same in other memory. What is made in the middle of a step lies above the step's tensors: kept, it
    would hold malloc's heap open, and the script would no longer give memory back after each step.
    """
    made: dict[str, Any] = json.loads(json.dumps(told))
    return made

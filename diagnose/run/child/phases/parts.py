"""Times the parts of a step without a profiler: forward, backward, the
optimizer's step, the loader's next batch.

The wrappers exist only in the phase that is for it, and do no more than take a sample where
a part begins and one where it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import dataloader

from ..guard import guarded
from ..patching import Patches
from ..processor import PARTS, Processor


class Parts:
    """Installs the wrappers and removes them again. `place_for`: see `Marks`."""

    def __init__(self, processor: Processor, place_for: Callable[[str], tuple[Any, str]]) -> None:
        self.processor, self._place_for = processor, place_for
        self._patches = Patches()
        self._step_hook: Any = None
        self._open: set[str] = set()  # parts of the thread that trains
        self._thread = 0

    def begin(self, phase: str, step_ns: int) -> None:
        """A phase begins in the thread that trains: its parts are timed if it is the one for that.

        `step_ns`: see `Processor.begin`.
        """
        self.processor.begin(step_ns)
        if phase == "parts":
            self._install()

    def end(self) -> None:
        """Harmless when repeated."""
        self._patches.restore()
        if self._step_hook is not None:
            self._step_hook.remove()
            self._step_hook = None

    def forked(self) -> None:
        self.end()
        self.processor.forget()

    def _install(self) -> None:
        self._thread = get_ident()
        self._open.clear()
        iterator = dataloader._BaseDataLoaderIter
        for part, (owner, name) in {
            "forward": self._place_for("forward"),
            "backward": self._place_for("backward"),
            "next": (iterator, "__next__"),
        }.items():
            self._patches.replace(owner, name, self._timed(part, getattr(owner, name)))
        owner, name = self._place_for("step_ended")
        self._patches.replace(owner, name, self._step_ended)
        self._step_hook = register_optimizer_step_pre_hook(self._step_begins)

    def _timed(self, part: str, original: Callable[..., Any]) -> Callable[..., Any]:
        open_parts, sample, border = self._open, self.processor.sample, PARTS[part]
        is_compiling = torch.compiler.is_compiling

        def timed(*args: Any, **kwargs: Any) -> Any:
            if part in open_parts or get_ident() != self._thread or is_compiling():
                return original(*args, **kwargs)
            open_parts.add(part)
            sample(border)
            try:
                return original(*args, **kwargs)
            finally:
                sample(-border)
                open_parts.discard(part)

        return timed

    @guarded("timing the optimizer's step")
    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if (
            "optimizer" not in self._open
            and get_ident() == self._thread
            and not torch.compiler.is_compiling()
        ):
            self._open.add("optimizer")
            self.processor.sample(PARTS["optimizer"])

    @guarded("timing the optimizer's step")
    def _step_ended(self) -> None:
        """Called by the clock, whose own hook ends the step."""
        if "optimizer" in self._open and get_ident() == self._thread:
            self.processor.sample(-PARTS["optimizer"])
            self._open.discard("optimizer")

"""The script's own profiler: noticed always, and made inert while ours records, because two
at once cancel or crash each other.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch
from torch.autograd import profiler as autograd_profiler

from ..guard import attempt, guarded
from ..patching import Patches

_NAME = "(not recorded: diagnose was recording)"
# Scripts take the longest event, or the first: a list of none is an error to them.
_TRACE = {
    "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": _NAME, "pid": 0, "tid": 0, "ts": 0, "dur": 1}
    ]
}


def _one_event() -> autograd_profiler.EventList:
    """Of 1 us, and with a name that says why there is no other."""
    event = autograd_profiler.FunctionEvent(0, _NAME, 0, 0, 1, input_shapes=[], stack=[])
    events = autograd_profiler.EventList([event])
    events._build_tree()
    return events


class _NoResults:
    """What an inert profiler has recorded: nothing, in the form its own methods expect."""

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_TRACE, file)

    def events(self) -> list[Any]:
        return []

    experimental_event_tree = events

    def trace_start_ns(self) -> int:
        return 0


class OtherProfilers:
    """Watches every `torch.autograd.profiler.profile` that is not ours (torch.profiler is built on it), and
    `emit_nvtx` and `emit_itt`.
    """

    def __init__(self, around_start: Callable[[], AbstractContextManager[None]]) -> None:
        """`around_start` gives the context in which any profiler is started, theirs or ours."""
        self._around_start = around_start
        self.ours_records = False
        self.silenced = 0
        self._active: weakref.WeakSet[Any] = weakref.WeakSet()
        self._patches = Patches()

    @property
    def active(self) -> bool:
        """One of theirs records or is about to."""
        return bool(self._active) or torch.autograd._profiler_enabled()

    def install(self) -> None:
        cls = autograd_profiler.profile
        prepare, start, leave = cls._prepare_trace, cls._start_trace, cls.__exit__

        def _prepare_trace(profiler: Any) -> Any:
            if self._silence(profiler):
                return None
            self._notice(profiler)
            return prepare(profiler)

        def _start_trace(profiler: Any) -> Any:
            if self._silence(profiler):
                return None
            self._notice(profiler)
            with ExitStack() as around:
                what = "taking our wrappers away while a profiler starts"
                attempt(what, lambda: around.enter_context(self._around_start()), None)
                return start(profiler)

        def __exit__(profiler: Any, *error: Any) -> Any:
            self._active.discard(profiler)
            return leave(profiler, *error)

        for replacement in (_prepare_trace, _start_trace, __exit__):
            self._patches.replace(cls, replacement.__name__, replacement)
        for emitter in (autograd_profiler.emit_nvtx, autograd_profiler.emit_itt):
            self._watch(emitter)

    def _watch(self, emitter: type) -> None:
        """What gives Nsight's or VTune's profiler the operators' names is a profiler, too."""
        enter, leave = emitter.__enter__, emitter.__exit__  # type: ignore[attr-defined]

        def __enter__(emitting: Any) -> Any:
            if self.ours_records and emitting.enabled:
                emitting.enabled = False
                self.silenced += 1
                return emitting
            if emitting.enabled:
                self._notice(emitting)
            return enter(emitting)

        def __exit__(emitting: Any, *error: Any) -> Any:
            self._active.discard(emitting)
            return leave(emitting, *error)

        for replacement in (__enter__, __exit__):
            self._patches.replace(emitter, replacement.__name__, replacement)

    def remove(self) -> None:
        self._patches.restore()

    def ours_started(self, ours: Any) -> None:
        """`ours` is the profiler that records now; any other that starts is made inert until `ours_stops`."""
        self._active.discard(ours)
        self.ours_records = True

    def ours_stops(self) -> None:
        self.ours_records = False

    @guarded("watching the script's own profiler")
    def _notice(self, profiler: Any) -> None:
        if not self.ours_records:
            self._active.add(profiler)

    @guarded("watching the script's own profiler", False)
    def _silence(self, profiler: Any) -> bool:
        """Turn `profiler` into torch's own no-op (`enabled=False`) if ours is recording.

        True if it is one.
        """
        if self.ours_records and profiler.enabled:
            self._active.discard(profiler)
            profiler.enabled = False
            profiler.entered = True
            profiler.kineto_results = _NoResults()
            profiler._function_events = _one_event()
            profiler._needs_processing = False
            self.silenced += 1
        return not profiler.enabled

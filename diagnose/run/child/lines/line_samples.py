"""Which lines of the script run in the plain phase, looked at every few milliseconds from a thread beside it.

No hook says what only some steps do: a validation, a checkpoint, a buffer that is filled again. A look costs
some tenths of a millisecond of pure Python, which hands its lock over for it: three to five hundredths of
its time in all, and next to nothing otherwise (`python -m benchmarks looks`).
"""

from __future__ import annotations

import _thread
import contextlib
import os
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

import torch

from ..guard import guarded
from ..places import Places, library_path
from ..tensors import tensors_near
from .looks import seen_now

_WITHIN_S = 0.02  # of each other come two looks
_LOOKS = 1000  # after so many their distance doubles, so that a long phase has few thousand
_LINES_AT_MOST = 12  # of one look: the outermost lines, where what only some steps do is called
_STACKS_AT_MOST = 500  # different ones
_ENDS_WITHIN_S = 0.1
_MODULE_CALLS: set[CodeType] = {
    vars(torch.nn.Module)[name].__code__
    for name in ("_wrapped_call_impl", "_call_impl")
    if name in vars(torch.nn.Module)
}


class LineSamples:
    """From `begin` to `stop`; the thread that calls `begin` is the one looked at."""

    def __init__(self, places: Places) -> None:
        self._places = places
        # of all plain phases: an earlier one may hold more steps than the last
        self._ns: list[int] = []
        self._stack: list[int] = []
        self._batch: list[int] = []
        self._stacks: dict[tuple[Any, ...], int] = {}

    def begin(self) -> None:
        self._trained, self._process = _thread.get_ident(), os.getpid()
        # held while it looks: to take it means that it has ended
        self._looking, self._stopped = _thread.allocate_lock(), _thread.allocate_lock()
        self._looking.acquire()
        self._stopped.acquire()
        _thread.start_new_thread(self._look_on, ())

    def stop(self) -> None:
        self._stopped.release()
        if os.getpid() == self._process:  # a forked child has no other thread
            self._looking.acquire(timeout=_ENDS_WITHIN_S)

    def facts(self, steps: int) -> dict[str, Any]:
        return {
            "line_samples": {
                "ns": self._ns[:],
                "stack": self._stack[: len(self._ns)],
                "batch": self._batch[: len(self._ns)],
                "stacks": [list(map(list, stack)) for stack in self._stacks],
            }
        }

    @guarded("looking at the lines of plain steps")
    def _look_on(self) -> None:
        try:
            while True:
                within_s = _WITHIN_S * 2 ** (len(self._ns) // _LOOKS)
                stack, batch = seen_now(self._trained, self._seen, within_s, self._wait)
                if self._over:
                    return
                self._keep(stack, batch)
        finally:
            self._looking.release()

    def _wait(self, seconds: float) -> None:
        self._over = self._stopped.acquire(timeout=seconds)

    def _seen(self, frame: FrameType | None) -> tuple[tuple[Any, ...], int]:
        return user_lines(frame, self._places), batch_given(frame)

    def _keep(self, stack: tuple[Any, ...], batch: int) -> None:
        number = self._stacks.get(stack)
        if number is None:
            if len(self._stacks) >= _STACKS_AT_MOST:
                return
            number = self._stacks[stack] = len(self._stacks)
        self._stack.append(number)
        self._batch.append(batch)
        self._ns.append(perf_counter_ns())


def stack_now(thread: int, places: Places) -> tuple[Any, ...]:
    """The user's lines on the stack of another thread, see `seen_now`."""
    return seen_now(thread, lambda frame: user_lines(frame, places))


def user_lines(frame: FrameType | None, places: Places) -> tuple[Any, ...]:
    """(file, line, function, what it calls), outermost first. What it calls is a function of a library or
    of the script, as `torch/serialization.py: save`.
    """
    lines: list[tuple[str, int, str, str]] = []
    called = ""
    while frame is not None:
        code = frame.f_code
        file = places.user_file(code.co_filename)
        if file:
            lines.append((file, frame.f_lineno or -1, code.co_name, called))
        called = f"{file or library_path(code.co_filename)}: {code.co_name}"
        frame = frame.f_back
    return tuple(lines[: -_LINES_AT_MOST - 1 : -1])


def batch_given(frame: FrameType | None) -> int:
    """The first dimension of the first tensor that the outermost module on the stack was called with; 0 where
    none is called.
    """
    called: FrameType | None = None
    while frame is not None:
        if frame.f_code in _MODULE_CALLS:
            called = frame
        frame = frame.f_back
    with contextlib.suppress(Exception):  # it may go on and end meanwhile
        return _first_dimension(called) if called is not None else 0
    return 0


def _first_dimension(called: FrameType) -> int:
    # Not cleared, though this copy keeps what the call was given until it ends: whoever traces the script's
    # thread writes it back.
    local = called.f_locals
    given = [*local.get("args", ()), *local.get("kwargs", {}).values()]
    # a class of the script's may run its own code when it is asked for its shape
    shapes = (tensor.shape for tensor in tensors_near(given) if type(tensor) is torch.Tensor)
    return next((shape[0] for shape in shapes if shape), 0)

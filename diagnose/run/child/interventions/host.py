"""How the process uses its processors and its memory manager, as far as it can be said at run time."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable

import torch

from ..cores import before_binding
from .base import Intervention, Sites
from .startup import before

_WORKER_LOOP = "torch.utils.data._utils.worker"  # where each loader worker gives itself one thread


class GarbageFreeze(Intervention):
    """After the first step, what lives then is no longer looked at by the cyclic collector."""

    idle = "The script ended before its second step."

    def tick(self, number: int) -> None:
        if number != 1:
            return
        if not gc.isenabled():
            self.pass_over("The cyclic garbage collector is switched off.")
            return
        gc.collect()
        gc.freeze()
        self.count = 1

    def remove(self) -> None:
        if self.count:
            gc.unfreeze()


class Threads(Intervention):
    """torch computes with `count` threads, whatever the script says;
    OMP_NUM_THREADS is set before Python starts.
    """

    def __init__(self, sites: Sites, *, count: int) -> None:
        super().__init__(sites)
        self._threads = count
        # the script's number; None: what torch chooses by itself, which cannot be seen any more
        self._own: int | None = None
        self._set: Callable[[int], None] = torch.set_num_threads
        self._held_at_end: int | None = None

    @property
    def held(self) -> int:
        return self._in_force() if self._held_at_end is None else self._held_at_end

    @property
    def why_not(self) -> str:
        return "" if self.held else "It is already so."

    def install(self) -> None:
        self._before, self._own = torch.get_num_threads(), _own_threads()
        self._set(self._threads)
        self.patches.replace(torch, "set_num_threads", self._overruled(torch.set_num_threads))

    def tick(self, number: int) -> None:
        now = torch.get_num_threads()
        if now != self._threads:  # by a library that does not go through Python
            self._own = now
            self._set(self._threads)

    def remove(self) -> None:
        if self._held_at_end is None:
            self._held_at_end = self._in_force()
            self.patches.restore()
            self._set(self._own or self._before)

    def _in_force(self) -> int:
        return int(torch.get_num_threads() == self._threads != self._own)

    def _overruled(self, original: Callable[[int], None]) -> Callable[[int], None]:
        @functools.wraps(original)
        def set_num_threads(count: int) -> None:
            if sys._getframe(1).f_globals.get("__name__") == _WORKER_LOOP:
                return original(count)
            self._own = count

        return set_num_threads


def _own_threads() -> int | None:
    asked = before("OMP_NUM_THREADS")
    if asked == os.environ.get("OMP_NUM_THREADS"):  # nobody has changed it
        return torch.get_num_threads()
    return int(asked) if asked and asked.isdigit() else None


class Affinity(Intervention):
    """All threads of the process run on `cores` only, and so do those that it starts; `cores.bind` has seen
    to it where the process began under us.
    """

    def __init__(self, sites: Sites, *, cores: list[int]) -> None:
        super().__init__(sites)
        self._cores = set(cores)
        self._before: dict[int, set[int]] = {}

    def install(self) -> None:
        if not hasattr(os, "sched_setaffinity"):
            self.refuse("This system cannot bind a process to cores.")
            return
        now = before_binding()
        if now == self._cores:
            self.refuse("It is already so.")
            return
        try:
            os.sched_setaffinity(0, self._cores)
        except (OSError, ValueError) as error:
            self.refuse(f"The system refuses cores {sorted(self._cores)}: {error}")
            return
        self.count = 1
        self._before[0] = now
        for thread in _other_threads():  # that importing torch has started
            with contextlib.suppress(OSError):
                self._before[thread] = os.sched_getaffinity(thread)
                os.sched_setaffinity(thread, self._cores)

    def remove(self) -> None:
        for thread, cores in self._before.items():
            with contextlib.suppress(OSError):  # it has ended
                os.sched_setaffinity(thread, cores)


def _other_threads() -> set[int]:
    try:
        return {int(name) for name in os.listdir("/proc/self/task")} - {os.getpid()}
    except OSError:
        return set()

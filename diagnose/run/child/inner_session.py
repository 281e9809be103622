"""The recording of a block of code from inside the program it belongs to.

When the block is left, nothing of ours stays in torch.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

import torch

from .session import Plan, Session
from .shared_state import SharedState
from .steps.clock import compiled_model_class

_NOBODY = -1  # as the process that is recorded
_POLL_S = 0.02
# torch's profiler reads it when it is first used, and would write on the program's stderr
_LOG_LEVEL = "KINETO_LOG_LEVEL"

_open: list[InnerSession] = []  # the one of this process, if any
_opening = threading.Lock()
_forks_are_noticed = False  # such a hook cannot be taken back, so there is one for all


class AnotherIsOpen(RuntimeError):
    """Two blocks of one process cannot be recorded at the same time."""


class InnerSession(Session):
    """Records this process from `begin` to `end`, once; the plan's `keep_going` is to be true,
    for nothing here may stop a program.
    """

    def __init__(self, plan: Plan, rank: int = 0) -> None:
        """`rank`: which of those that record into the plan's folder. Raises OSError."""
        super().__init__(plan)
        self._rank = rank
        self._pid = os.getpid()
        self._lock = threading.RLock()  # another thread than the one that trains may leave the block
        self._sets_log_level = _LOG_LEVEL not in os.environ

    def begin(self) -> None:
        """Start listening. Raises AnotherIsOpen, OSError."""
        _enter(self)
        try:
            if self._sets_log_level:
                os.environ[_LOG_LEVEL] = "99"
            os.makedirs(self._rank_folder, exist_ok=True)
            self.record_this_process()
            self.install()
        except BaseException:
            self.end()
            raise

    @property
    def done(self) -> bool:
        """All is recorded and nothing is watched, or the block has been left."""
        return self._finished and self._watched is None

    @property
    def live(self) -> str:
        """How it goes, in words, while it is watched."""
        return self._shared.live if self._watched is not None else ""

    @property
    def phase(self) -> str:
        """What is being done, in words."""
        return self._shared.phase

    @property
    def tick_count(self) -> int:
        """Since the clock in use was found."""
        return self._ticks

    def called_class(self) -> type:
        return compiled_model_class() or torch.nn.Module

    def step(self) -> None:
        """A step of the program's own ends here."""
        self._clock.step()

    def tick(self, source: object) -> None:
        with self._lock:
            super().tick(source)

    def wait_for_others(self, at_most_s: float) -> None:
        """Until the other ranks of the folder have written what they record, or are gone."""
        deadline = time.monotonic() + at_most_s
        while (
            self._coordinator is not None and self._coordinator.others_record and time.monotonic() < deadline
        ):
            time.sleep(_POLL_S)

    def end(self) -> None:
        """Write what there is and take every hook out of torch, whatever happened in between.

        Not from inside a tick.
        """
        with self._lock:
            try:
                if os.getpid() == self._pid:
                    self.note_memory_error(sys.exc_info()[1])
                    self.flush()
            finally:
                self.remove()
                self._clock.take_out_hook()
                self.facts.close()
                self._phases = None
                if self._sets_log_level:
                    os.environ.pop(_LOG_LEVEL, None)
                _leave(self)

    def remove(self) -> None:
        # What Ctrl-C may have left, in the reverse order of its making.
        self._marks.remove()
        self.facts.plain.end(0)
        self._parts.end()
        super().remove()
        if self._foreign.ours_records:
            with contextlib.suppress(RuntimeError):
                torch.autograd._disable_profiler()
        self._foreign.ours_stops()
        if os.getpid() == self._pid:
            self._shared.set_pid(self._rank, _NOBODY)  # workers that live on log no more
            if self._rank == 0:  # the others have the page open
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(self.plan.folder, SharedState.FILE))

    def forked(self) -> None:
        super().forked()
        self._lock = threading.RLock()  # a thread that is not in this process may have held it
        self._elected = False
        self._clock.remove()
        self._clock.take_out_hook()
        self._foreign.remove()


def _enter(session: InnerSession) -> None:
    global _forks_are_noticed
    with _opening:
        if _open:
            raise AnotherIsOpen
        _open.append(session)
        if not _forks_are_noticed:
            os.register_at_fork(after_in_child=_forked)
            _forks_are_noticed = True


def _leave(session: InnerSession) -> None:
    with contextlib.suppress(ValueError):
        _open.remove(session)


def _forked() -> None:
    while _open:
        _open.pop().forked()

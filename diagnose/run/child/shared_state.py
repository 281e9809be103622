"""The page of memory that the parent and the processes of one run share: what
to do, and how far the recording is.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import NamedTuple

from .phases.schedule import Budget
from .steps.step_clock import StepClock
from .steps.ticks import PHASES
from .writing import reserve

_SIZE = 4096
_STATE, _STOP, _ATTENTION, _TORCH, _WORDS, _STAGE, _ORDERS, _SLOTS = 0, 1, 2, 3, 8, 64, 320, 568
_WORD = struct.Struct("<q")
_TEXT_ROOM = 200
_STAGE_LAYOUT = struct.Struct(f"<qqqqqqq{_TEXT_ROOM}s")  # a budget, ticks a step, ns a step, text
_NO_BUDGET = Budget(0, 0, 0, 0)

_CTRL_C = 2  # why an end is asked for; 1 for another reason
_DONE, _NO_GPU = 1, 2  # states; 0 while the recording goes on

_SLOT = struct.Struct("<qqqq")
_LIVE = 2_624  # behind the slots
_SLOTS_AT_MOST = 64  # the ranks of one machine have numbers in a row
RECORDING, WRITTEN, ENDED = 1, 2, 3  # of a slot; 0: a rank that has not ticked yet


class Stage(NamedTuple):
    """What the recording is at, in words. `budget`: of its steps, without any where nobody knows how many it
    takes; a step is `ticks_per_step` ticks and took `step_ns` before, 0 if that is not known.
    """

    text: str
    budget: Budget = _NO_BUDGET
    ticks_per_step: int = 1
    step_ns: int = 0


class RankSlot(NamedTuple):
    """A rank: its process, how often it has ticked, and how far it is."""

    pid: int
    rank: int
    tick: int
    state: int


class SharedState:
    """Single bytes and aligned 8-byte words only, so that no lock is needed."""

    FILE = "live"

    def __init__(self, folder: str, node: int = 0) -> None:
        """Open the page in `folder`, creating it; each machine (`node`) of a run has one. Raises OSError."""
        descriptor = os.open(
            os.path.join(folder, self.file(node)), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
        )
        try:
            if os.fstat(descriptor).st_size < _SIZE:
                reserve(descriptor, _SIZE)
            self._page = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)

    @classmethod
    def file(cls, node: int = 0) -> str:
        return f"{cls.FILE}-{node}" if node else cls.FILE

    @property
    def attention(self) -> bool:
        """There is something to obey: a stop is requested or the last tick is set.

        One byte, because it is read at every tick.
        """
        return self._page[_ATTENTION] != 0

    @property
    def stop_requested(self) -> bool:
        """The parent asks for an end at the next tick."""
        return self._page[_STOP] != 0

    @property
    def stopped_by_ctrl_c(self) -> bool:
        """That end is asked for because somebody pressed Ctrl-C, once."""
        return self._page[_STOP] == _CTRL_C

    def request_stop(self, *, by_ctrl_c: bool = False) -> None:
        self._page[_STOP] = _CTRL_C if by_ctrl_c else 1
        self._page[_ATTENTION] = 1

    @property
    def done(self) -> bool:
        """Every result is on disk and the script is being stopped."""
        return self._page[_STATE] == _DONE

    def set_done(self) -> None:
        self._page[_STATE] = _DONE

    @property
    def no_gpu(self) -> bool:
        """A GPU was asked for and torch sees none."""
        return self._page[_STATE] == _NO_GPU

    def set_no_gpu(self) -> None:
        self._page[_STATE] = _NO_GPU

    @property
    def torch_imported(self) -> bool:
        """A process of the run has imported torch."""
        return self._page[_TORCH] != 0

    def set_torch_imported(self) -> None:
        self._page[_TORCH] = 1

    @property
    def last_tick(self) -> int:
        """The tick at which every rank stops; 0 while the run goes on."""
        return self._word(1)

    @last_tick.setter
    def last_tick(self, number: int) -> None:
        self._set_word(1, number)
        self._page[_ATTENTION] = 1

    @property
    def ranks(self) -> int:
        """How many processes tick, recorded or not."""
        return self._word(2)

    @ranks.setter
    def ranks(self, count: int) -> None:
        self._set_word(2, count)

    @property
    def ticks(self) -> int:
        """Ticks since the stage began. Written at every tick, so it costs next to nothing."""
        return self._word(3)

    @ticks.setter
    def ticks(self, count: int) -> None:
        _WORD.pack_into(self._page, _WORDS + 24, count)

    @property
    def stage(self) -> Stage:
        *limits, ticks_per_step, step_ns, raw = _STAGE_LAYOUT.unpack_from(self._page, _STAGE)
        text = raw.split(b"\0", 1)[0].decode("utf-8", "replace")
        return Stage(text, Budget(*limits), ticks_per_step, step_ns)

    @stage.setter
    def stage(self, stage: Stage) -> None:
        budget = stage.budget
        limits = (budget.steps, budget.at_least, budget.time_ns, budget.time_limit_ns, budget.least_ns)
        raw = _STAGE_LAYOUT.pack(
            *limits, stage.ticks_per_step, stage.step_ns, stage.text.encode()[: _TEXT_ROOM - 1]
        )
        self.ticks = 0  # before the stage: a reader in between sees the old one at its begin
        self._page[_STAGE : _STAGE + len(raw)] = raw

    # a run that is watched

    @property
    def live(self) -> str:
        """How a watched run goes, in words; empty before it is watched."""
        raw = self._page[_LIVE : _LIVE + _TEXT_ROOM]
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")

    @live.setter
    def live(self, text: str) -> None:
        self._page[_LIVE : _LIVE + _TEXT_ROOM] = text.encode()[: _TEXT_ROOM - 1].ljust(_TEXT_ROOM, b"\0")

    @property
    def snaps_asked(self) -> int:
        """How often somebody has asked for a recording of what a watched run does now."""
        return self._word(5)

    def ask_for_snap(self) -> None:
        self._set_word(5, self.snaps_asked + 1)

    @property
    def alerts(self) -> int:
        """How often `live` was news that should be seen at once."""
        return self._word(6)

    def alert(self, text: str) -> None:
        self.live = text
        self._set_word(6, self.alerts + 1)

    @property
    def phase(self) -> str:
        """The stage in words."""
        return self.stage.text

    # the ranks of this machine

    @property
    def leader(self) -> int:
        """The rank that leads, counted from 1; 0 before the first tick."""
        return self._word(4)

    @leader.setter
    def leader(self, number: int) -> None:
        self._set_word(4, number)

    def order(self, clock: str, phase: str) -> int:
        """The tick of that clock at which all ranks end the phase; 0 if that is not said."""
        return int(_WORD.unpack_from(self._page, _order_offset(clock, phase))[0])

    def set_order(self, clock: str, phase: str, tick: int) -> None:
        _WORD.pack_into(self._page, _order_offset(clock, phase), tick)

    def slots(self) -> list[RankSlot]:
        """Of all ranks whose processes are known."""
        page = self._page[_SLOTS : _SLOTS + _SLOT.size * _SLOTS_AT_MOST]
        return [slot for fields in _SLOT.iter_unpack(page) if (slot := RankSlot(*fields)).pid]

    def set_slot(self, rank: int, slot: RankSlot) -> None:
        _SLOT.pack_into(self._page, _slot_offset(rank), *slot)

    def pid_at(self, rank: int) -> int:
        """The process that is recorded as this rank; 0 before it is known."""
        return int(_WORD.unpack_from(self._page, _slot_offset(rank))[0])

    def set_pid(self, rank: int, pid: int) -> None:
        _WORD.pack_into(self._page, _slot_offset(rank) + 8, rank)
        _WORD.pack_into(self._page, _slot_offset(rank), pid)

    def set_tick(self, rank: int, tick: int) -> None:
        _WORD.pack_into(self._page, _slot_offset(rank) + 16, tick)

    def set_state(self, rank: int, state: int) -> None:
        _WORD.pack_into(self._page, _slot_offset(rank) + 24, state)

    def _word(self, index: int) -> int:
        return int(_WORD.unpack_from(self._page, _WORDS + 8 * index)[0])

    def _set_word(self, index: int, value: int) -> None:
        _WORD.pack_into(self._page, _WORDS + 8 * index, value)


def _order_offset(clock: str, phase: str) -> int:
    return _ORDERS + 8 * (len(PHASES) * (StepClock(clock).trust - 1) + PHASES.index(phase))


def _slot_offset(rank: int) -> int:
    return _SLOTS + _SLOT.size * (rank % _SLOTS_AT_MOST)

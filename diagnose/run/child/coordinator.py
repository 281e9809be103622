"""The ranks of one run on one machine: who is recorded, who leads, and at which tick all of
them go from one phase to the next.

Ranks that train together wait for each other in every step. A profiler that starts on one of them at another
time than on the others slows them all, in steps that they take for plain ones. So one rank leads: where time
decides, it decides for all, a few ticks ahead.

Ranks on several machines have no page in common. Nothing is decided by time there: each counts its
ticks, and all come to the same end.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import torch

from .shared_state import ENDED, RECORDING, WRITTEN, RankSlot, SharedState, Stage

_AHEAD = 2  # ticks: ranks that wait for each other are at most one apart
_APART = 32  # ticks: ranks further apart do not wait for each other in every step


def own_rank() -> int:
    """Of this process: in its process group, else as its launcher says; 0 without either."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    rank, world_size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return int(rank) if rank.isdecimal() and world_size.isdecimal() and int(rank) < int(world_size) else 0


def is_first_in(rank_folder: str) -> bool:
    """Whether no other process has asked this of the rank's folder, which is made. Raises OSError."""
    os.makedirs(rank_folder, exist_ok=True)
    try:
        os.close(os.open(os.path.join(rank_folder, "elected"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


class RankCoordinator:
    """A recorded rank's own view of all: its seat in the page that they share.

    `spread`: there are others on other machines.
    """

    def __init__(self, shared: SharedState, rank: int, *, spread: bool = False) -> None:
        self._shared, self._rank, self.spread = shared, rank, spread
        self._tick = self._written_at = 0
        self._alone = True
        shared.set_slot(rank, RankSlot(os.getpid(), rank, 0, RECORDING))
        if not shared.leader or shared.leader > rank + 1:
            shared.leader = rank + 1

    @property
    def leads(self) -> bool:
        return self._shared.leader == self._rank + 1

    @property
    def alone(self) -> bool:
        """No other process on this machine has ticked so far."""
        self._alone = self._alone and self._shared.ranks < 2 and len(self._shared.slots()) < 2
        return self._alone

    @property
    def others_record(self) -> bool:
        """Another rank on this machine has not written yet what it records."""
        return bool(self._others(RECORDING))

    def tick(self, number: int) -> None:
        """Called at every tick of ranks that are not alone, before anything else is asked."""
        self._tick = number
        self._shared.set_tick(self._rank, number)

    # what people see

    def announce(self, stage: Stage) -> None:
        """One rank speaks for all."""
        if self.leads:
            self._shared.stage = stage

    def count(self, ticks: int) -> None:
        """Ticks since the stage began."""
        if self.leads:
            self._shared.ticks = ticks

    # phases

    def ends(self, clock: str, phase: str, period: int, wanted: Callable[[], bool]) -> bool:
        """Whether a phase ends at this tick, where time decides. `wanted`: whether this rank
        would end it; a step is `period` ticks.

        All ranks of a run that are at about the same tick get the same answer at the same tick.
        """
        if self.spread:
            return wanted()
        ordered = self._shared.order(clock, phase)
        if ordered and (self.leads or self._is_near(self._leader(RECORDING, WRITTEN))):
            return self._tick >= ordered
        if not wanted():
            return False
        if not self._takes_the_lead(RECORDING):
            return not self._is_near(self._leader(RECORDING))  # it will say when
        others = [slot for slot in self._others(RECORDING) if self._is_near(slot)]
        if not others:
            return True
        ahead = max(slot.tick for slot in others) - self._tick + _AHEAD
        self._shared.set_order(clock, phase, self._tick + -(-max(ahead, _AHEAD) // period) * period)
        return False

    # the end

    def written(self) -> None:
        """All that this rank recorded is on disk."""
        self._written_at = self._tick
        self._shared.set_state(self._rank, WRITTEN)

    def ended(self) -> None:
        """The process ends: another one leads from now on."""
        self._shared.set_state(self._rank, ENDED)
        if self.leads and (others := self._others(RECORDING, WRITTEN)):
            self._shared.leader = min(slot.rank for slot in others) + 1

    def last_tick(self, *, whatever_others_do: bool = False) -> int | None:
        """The tick at which all ranks can stop, said by the one that leads once all have
        written what they recorded; None before.
        """
        if not self._takes_the_lead(RECORDING, WRITTEN) or (
            self._others(RECORDING) and not whatever_others_do
        ):
            return None
        if self.spread:
            # all write at the same tick, and who comes to the next one knows that the others have
            return self._written_at + _AHEAD
        ticks = [slot.tick for slot in self._others(RECORDING, WRITTEN) if self._is_near(slot)]
        goes_alone = not ticks and self._shared.ranks < 2
        return self._tick if goes_alone else max([self._tick, *ticks]) + _AHEAD

    def _takes_the_lead(self, *states: int) -> bool:
        """Whether this rank leads, because it does or because the one that did is
        not in one of these states any more.
        """
        if not self.leads and self._leader(*states) is None:
            self._shared.leader = self._rank + 1
        return self.leads

    def _leader(self, *states: int) -> RankSlot | None:
        return next((slot for slot in self._others(*states) if slot.rank == self._shared.leader - 1), None)

    def _others(self, *states: int) -> list[RankSlot]:
        """Those in one of these states that live."""
        return [
            slot
            for slot in self._shared.slots()
            if slot.rank != self._rank and slot.state in states and _lives(slot.pid)
        ]

    def _is_near(self, slot: RankSlot | None) -> bool:
        return slot is not None and abs(slot.tick - self._tick) <= _APART


def _lives(pid: int) -> bool:
    """Whether the process is there and not only waiting for its parent to notice its end."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] not in (b"Z", b"X")
    except OSError:
        return False

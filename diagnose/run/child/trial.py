"""One run of a comparison: the script as it is, or with fixes injected.

No profiler; what each rank leaves is trial.json.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from time import perf_counter_ns
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from . import accelerator
from .coordinator import RankCoordinator, is_first_in, own_rank
from .exit_hooks import call_at_every_end
from .facts.losses import Losses
from .guard import attempt, notes
from .identical import SEED, BatchHashes, SeededBatches, seed_everything
from .interventions import Intervention, build
from .loaded import imported_from
from .memory.memory import peak_resident_bytes
from .memory.memory_look import MemoryLook
from .outputs import Outputs
from .places import Places
from .shared_state import SharedState
from .steps.clock import Clock
from .steps.device_ticks import DeviceTicks
from .stop import Stopper
from .work import WorkSamples
from .writing import write_json

LOSSES_AT_MOST = 10_000
FOREIGN_AT_MOST = 3  # of the files that should not have been imported


@dataclass(frozen=True)
class TrialPlan:
    """`steps`: after how many the script is stopped; `untimed_steps`: at the begin, in which batches are
    hashed (a run is longer where workers may have had more batches ready before its first step);
    `ticks_per_step`: as recorded; `interventions`: what `interventions.build` takes; `seed_batches`: see
    `SeededBatches`; `by_torchrun`: it starts the ranks; `most_s`: it stops once its steps took so long, if
    there are `at_least` of them; `looks_at_memory`: two more steps then tell what fills memory;
    `foreign_folders`: from which no module of the script's is to come.
    """

    steps: int
    untimed_steps: int
    ticks_per_step: int = 1
    interventions: list[dict[str, Any]] = field(default_factory=list)
    seed_batches: bool = False
    by_torchrun: bool = False
    most_s: float | None = None
    at_least: int = 0
    looks_at_memory: bool = False
    foreign_folders: list[str] = field(default_factory=list)


class Trial:
    """The clock's listener: counts steps to the end of the trial.

    The fixes are installed before it is made: the clock takes `Module.__call__`
    as it finds it, and must find theirs.
    """

    def __init__(
        self, folder: str, plan: TrialPlan, interventions: list[Intervention], places: Places
    ) -> None:
        self._memory = MemoryLook(places)
        self._looking = False
        self._folder, self._plan, self._interventions = folder, plan, interventions
        self._shared, self._stopper = SharedState(folder), Stopper()
        self._rank_folder = folder
        self._clock = Clock(self)
        self._losses = Losses(self._clock.place_for, LOSSES_AT_MOST)
        self._outputs = Outputs(self._clock.place_for)
        self._hashes = BatchHashes()
        self._timed: bool | None = None  # whether this is a process that is timed; None before the first tick
        self._coordinator: RankCoordinator | None = None  # of one that is
        self._written = False
        self._ticks = 0
        self._forget()

    def install(self) -> None:
        if self._plan.seed_batches:
            SeededBatches().install()
        self._hashes.install()
        self._clock.install()

    # the clock's listener

    def tick(self, source: object) -> None:
        if self._timed is None:
            self._timed = self._is_first_of_its_rank()
        self._ticks = number = self._ticks + 1
        for intervention in self._interventions:
            self._tell(intervention, number)
        if self._timed:
            self._count(number)
        if self._shared.attention and (self._shared.stop_requested or number >= self._shared.last_tick):
            self.write()
            self._take_out_fixes()
            self._stopper.stop()

    def _tell(self, intervention: Intervention, number: int) -> None:
        try:
            intervention.tick(number)
        except Exception as error:  # the trial goes on without it
            intervention.refuse(f"It fails after a step: {type(error).__name__}: {error}")

    def _take_out_fixes(self) -> None:
        """What the script does when it is stopped, as saving its model, it does as it would without them."""
        fixes, self._interventions = self._interventions, []
        for intervention in reversed(fixes):  # they lie on top of each other
            attempt("taking a fix out", intervention.remove, None)

    def _count(self, number: int) -> None:
        assert self._coordinator is not None
        self._coordinator.tick(number)
        if self._looking:
            self._look_on(number)
            return
        if number == 1:
            self._losses.begin()
            if self._clock.kind in ("forward", "answer"):
                self._outputs.begin(self._clock.kind)
        if number == self._plan.untimed_steps * self._plan.ticks_per_step:
            self._hashes.remove()
            self._outputs.stop()
        begin, end = self._plan.untimed_steps * self._plan.ticks_per_step, self._ticks_of(self._plan.steps)
        if number in (begin, (begin + end) // 2):
            self._sample(number)
        self._note_time()
        if number >= end or self._took_long(number):
            self._sample(number)
            self._looking = self._plan.looks_at_memory and attempt(
                self._memory.what, self._memory.begin, False
            )
            if not self._looking:
                self.write()
                self._say_last_tick()

    def _sample(self, number: int) -> None:
        """At few steps, for it takes time."""
        self._work.sample(number)
        supply = self._hashes.supply()
        if supply is not None:
            self._supply.append((number, *supply))

    def _look_on(self, number: int) -> None:
        """Until what fills memory has been seen."""
        border = number % self._plan.ticks_per_step == 0
        if border and attempt(self._memory.what, self._memory.step, True):
            self._looking = False
            self.write()
            self._say_last_tick()

    def _took_long(self, number: int) -> bool:
        if self._plan.most_s is None or number < self._ticks_of(self._plan.at_least):
            return False
        return self._tick_ns[-1] - self._tick_ns[0] >= self._plan.most_s * 1e9

    def _ticks_of(self, steps: int) -> int:
        """What was fetched ahead while the script began is used up in steps that are not timed."""
        more = max(0, self._hashes.fetched_ahead + 1 - self._plan.untimed_steps)
        return (steps + more) * self._plan.ticks_per_step

    def _say_last_tick(self) -> None:
        """All ranks stop at the same tick, which one of them says."""
        assert self._coordinator is not None
        last_tick = None if self._shared.last_tick else self._coordinator.last_tick(whatever_others_do=True)
        if last_tick is not None:
            self._shared.set_done()
            self._shared.last_tick = last_tick

    def _note_time(self) -> None:
        self._tick_ns.append(perf_counter_ns())
        if len(self._tick_ns) == 1:
            self._device_ticks.begin()
        else:
            self._device_ticks.tick()

    def clock_upgraded(self, kind: str) -> None:
        self._losses.stop()
        self._outputs.stop()
        self._forget()

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None: ...

    def optimizer_stepped(self) -> None: ...

    def forked(self) -> None:
        """In a forked child, which is not timed unless it is the first to tick."""
        self._timed, self._coordinator, self._written = None, None, False
        self._forget()

    # what is left

    def write(self) -> None:
        """Write what there is. Called at every way out of the process, and harmless when repeated."""
        if self._written or self._coordinator is None:
            return
        self._written = True
        device_ms = self._device_ms()  # waits for the GPU
        self._losses.stop()
        try:
            write_json(
                os.path.join(self._rank_folder, "trial.json"), {"schema": 1, **self._result(device_ms)}
            )
            if self._memory.told:
                write_json(os.path.join(self._rank_folder, "memory.json"), self._memory.told)
        except OSError as error:
            sys.stderr.write(f"diagnose: the trial could not be written: {error}\n")
        self._coordinator.written()

    def _result(self, device_ms: list[float] | None) -> dict[str, Any]:
        return {
            "clock": self._clock.kind,
            "tick_ns": self._tick_ns,
            "device_ms": device_ms,
            "work": self._work.samples,
            "batch_hashes": self._hashes.hashes,
            "supply": self._supply,
            "fetched_ahead": self._hashes.fetched_ahead,
            "batch_size": max(self._hashes.sizes, key=self._hashes.sizes.count, default=None),
            "losses": self._losses.facts(1)["losses"] if self._tick_ns else None,
            "outputs": self._outputs.seen or None,
            "interventions": [
                {"held": intervention.held, "why_not": intervention.why_not}
                for intervention in self._interventions
            ],
            "peak_allocated_bytes": accelerator.peaks("allocated_bytes.all.peak"),
            "peak_reserved_bytes": accelerator.peaks("reserved_bytes.all.peak"),
            "peak_resident_bytes": peak_resident_bytes(),
            "notes": notes(),
            "foreign_files": imported_from(self._plan.foreign_folders)[:FOREIGN_AT_MOST],
        }

    def _device_ms(self) -> list[float] | None:
        """When the last of the devices in use ended each step, from the first one on; None without
        one, or if it was first used later.
        """
        if not self._device_ticks:
            return None
        device_ns = self._device_ticks.end().values()
        return [max(ends) / 1e6 for ends in zip(*device_ns, strict=True)] or None

    def _forget(self) -> None:
        self._ticks = 0
        self._tick_ns: list[int] = []
        self._work = WorkSamples()
        self._supply: list[tuple[int, int, int]] = []
        self._device_ticks = DeviceTicks()

    def _is_first_of_its_rank(self) -> bool:
        """One process of each rank is timed, the first that ticks; a loader worker never is."""
        if torch.utils.data.get_worker_info() is not None:
            return False
        self._shared.ranks += 1
        rank = own_rank()
        self._rank_folder = os.path.join(self._folder, f"rank{rank}")
        if not is_first_in(self._rank_folder):
            return False
        self._coordinator = RankCoordinator(self._shared, rank)
        return True


def begin(plan: dict[str, Any]) -> None:
    """Start listening in this process; torch has just been imported.

    Raises TypeError or KeyError if the parent did not write the plan.
    """
    asked = TrialPlan(**plan["trial"])
    if asked.by_torchrun and "TORCHELASTIC_RUN_ID" not in os.environ:
        return  # torchrun itself, in which no fix is to be made that its ranks would inherit
    # ranks that draw the same random numbers may take the same batches, which they do not by themselves
    seed_everything(SEED + own_rank())
    places = Places(plan["script_folder"], plan["cwd"])
    interventions = build(asked.interventions, places)
    for intervention in interventions:
        intervention.install()
    trial = Trial(plan["folder"], asked, interventions, places)
    trial.install()
    os.register_at_fork(after_in_child=trial.forked)
    call_at_every_end(trial.write)

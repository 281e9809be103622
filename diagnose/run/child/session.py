"""One process of the run: listens to the clock, and if it is one that is
recorded leads it through the phases.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, replace
from time import perf_counter_ns
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import Optimizer

from . import accelerator
from .coordinator import RankCoordinator, is_first_in, own_rank
from .exit_hooks import call_at_every_end
from .facts.facts import Facts
from .guard import attempt, guarded
from .launcher import is_gone
from .memory.held import held_at
from .memory.memory_errors import fatal_memory_error
from .phases.parts import Parts
from .phases.phases import Phases
from .phases.schedule import budgets
from .places import Places
from .processor import Processor
from .recording.marks import Marks
from .recording.other_profilers import OtherProfilers
from .shared_state import SharedState, Stage
from .signals import takes_ctrl_c
from .sigterm import Termination
from .steps.clock import Clock
from .stop import Stopper, StopRun
from .trials.setting_trials import SettingTrials
from .unwarned import no_warnings_of_ours
from .watching.snap_signal import SnapSignal
from .watching.watched_run import WatchedRun
from .watching.windows import snap_folder

if TYPE_CHECKING:
    from .watching.snap import Snap


@dataclass(frozen=True)
class Plan:
    """What the parent asks for, from the environment."""

    folder: str  # the run folder
    steps: int | None
    plain_steps: int | None
    stacks: bool
    keep_going: bool
    device: str
    script_folder: str
    cwd: str
    wait_s: float
    node: int = 0  # which machine of the run this is
    machines: int = 1
    watch: bool = False  # once all is recorded
    launcher: dict[str, Any] | None = None


class Session:
    """The clock's listener."""

    def __init__(
        self, plan: Plan, clock: Clock | None = None, activities: accelerator.Activities | None = None
    ) -> None:
        """``clock``, ``activities``: of another session of this process, which gives this one its ticks."""
        self.plan = plan
        self._shared = SharedState(plan.folder, plan.node)
        self._stopper = Stopper()
        self._termination = Termination(self.flush)
        self._snap_signal = SnapSignal(self._shared.ask_for_snap)
        self._places = Places(plan.script_folder, plan.cwd)
        self._clock = clock or Clock(self)
        self.facts = Facts(
            self._places, plan.folder, self._shared, self._clock.place_for, self._clock.forward_unwrapped
        )
        beside = (self.facts.uploads, self.facts.zero_grads, self.facts.untrained)
        processor = Processor()
        place_for = self._clock.place_for
        self._marks = Marks(self._places, self.facts.calls, place_for, processor, beside, self._look_at_room)
        self._parts = Parts(processor, self._clock.place_for)
        self._foreign = OtherProfilers(self._clock.forward_unwrapped)
        self._activities = activities or accelerator.Activities(device=plan.device != "cpu")
        self._ticks = 0
        self._elected: bool | None = None  # None: nobody has ticked in this process yet
        self._rank = 0
        self._coordinator: RankCoordinator | None = None  # of a process that is recorded
        self._phases: Phases | None = None
        self._watched: WatchedRun | None = None  # once all is recorded
        self._finished = self._stops = False
        self._passes_over = False  # the next tick

    def install(self) -> None:
        """Raises StopRun if the run is to be recorded on a GPU and there is none."""
        if self.plan.device == "cuda" and accelerator.gpu_count() == 0:
            self._shared.set_no_gpu()
            raise StopRun
        if self.plan.watch:
            self._snap_signal.install()
        self._clock.install(self.called_class())
        self._foreign.install()
        self.facts.install()

    def called_class(self) -> type:
        """The class whose calls may be forwards."""
        return torch.nn.Module

    # the clock's listener

    def tick(self, source: object) -> None:
        now = perf_counter_ns()
        self._ticks += 1
        watched = self._watched
        if watched is not None:
            watched.tick(now, source)
            if self._shared.attention:
                self._obey()
            return
        if self._phases is not None and self._phases.passes(now):
            return
        with self._termination.deferred():
            self._consider(now, source)

    def _consider(self, now: int, source: object) -> None:
        """What this tick means. Raises StopRun."""
        if self._elected is None:
            self._elect()
            if self._elected:
                self._termination.install()
        if self._coordinator is not None:
            self._coordinator.tick(self._ticks)
        phases = None if self._finished or self._passes_over else self._phases
        self._passes_over = False
        if phases is not None:
            try:
                phases.tick(now, source)
            except Exception as error:
                phases.abandon(error)
            if phases.over:
                self._finish(stop=not (self.plan.keep_going or is_gone(self.plan.launcher)))
        elif self._stops:
            self._stop_all()
        if self._shared.attention:
            self._obey()

    def _obey(self) -> None:
        """Stop if this is the tick for it; a script with a handler of its own for Ctrl-C ends as that has it.
        Raises StopRun.
        """
        asked = self._shared.stop_requested
        if asked and self._shared.stopped_by_ctrl_c and takes_ctrl_c():
            asked = False
        if asked and self._coordinator is not None and not self._shared.last_tick:
            if not self._finished:
                self.flush()
            self._stop_all(whatever_others_do=True)
        last_tick = self._shared.last_tick
        if (last_tick and self._ticks >= last_tick) or (asked and self._coordinator is None):
            self._stopper.stop()

    def clock_upgraded(self, kind: str) -> None:
        self._ticks = 0
        if self._watched is not None:
            self._watched.end()
            self._watched = None  # what it counted were no steps
        if self._phases is not None and not self._finished:
            # What has begun while the discarded recording ran, as the step that ticks, must end before
            # another one starts: torch would write its end into memory that is freed.
            self._passes_over = self._phases.recording
            self._phases.discard()
            self.facts.calls.forget()
            self._phases = self._new_phases()

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None:
        self.facts.optimizer_constructed(optimizer, frame)

    def optimizer_stepped(self) -> None:
        if self._watched is not None:
            self._watched.optimizer_stepped()
        if self._phases is not None and not self._finished:
            self._phases.optimizer_stepped()

    @guarded("looking at memory")
    def _look_at_room(self) -> None:
        if self._phases is not None and not self._finished:
            self._phases.look_at_room()

    # which process is recorded

    def _elect(self) -> None:
        """The first process of each rank that ticks is recorded; a loader worker never is."""
        self._elected = False
        if torch.utils.data.get_worker_info() is not None:
            return
        self._shared.ranks += 1
        self._rank = own_rank()
        if is_first_in(self._rank_folder):
            self.record_this_process()

    def record_this_process(self) -> None:
        self._elected = True
        self._coordinator = RankCoordinator(self._shared, self._rank, spread=self.plan.machines > 1)
        self._phases = self._new_phases()

    @property
    def _rank_folder(self) -> str:
        return os.path.join(self.plan.folder, f"rank{self._rank}")

    def _new_phases(self) -> Phases:
        assert self._coordinator is not None
        return Phases(
            self._rank_folder,
            self._coordinator,
            marks=self._marks,
            parts=self._parts,
            foreign=self._foreign,
            facts=self.facts,
            trials=SettingTrials(
                self.facts.calls,
                self._clock.place_for,
                looks=(
                    *((self.facts.line_clock,) if self.plan.stacks else ()),
                    self.facts.memory,
                    self.facts.dataflow,
                    *(() if self.plan.keep_going else self.facts.looks_before_a_stop),
                ),
                early_looks=(self.facts.memory,),
                threads_set=self.facts.threads_set,
                may_round_otherwise=not self.plan.keep_going,
            ),
            clock=self._clock.kind,
            budgets=budgets(self.plan.steps, self.plan.plain_steps, timed=not self._coordinator.spread),
            wait_s=self.plan.wait_s,
            stacks=self.plan.stacks,
            activities=self._activities,
        )

    def _finish(self, *, stop: bool) -> None:
        """Everything is written; then stop all ranks at the same tick, or take every
        hook away and let the script go on.
        """
        assert self._coordinator is not None
        self.flush()
        if stop:
            self._stops = True
            self._stop_all()
        else:
            self._coordinator.announce(Stage("recorded; the script runs on"))
            self._watch_on() if self.plan.watch else self.remove()

    @guarded("watching the run")
    def _watch_on(self) -> None:
        """Of our hooks only the clock stays, and what the watch needs."""
        assert self._coordinator is not None and self._phases is not None
        watched = None
        try:
            self._foreign.remove()
            self.facts.remove()
            watched = WatchedRun(
                self._rank_folder,
                self._new_snap,
                places=self._places,
                shared=self._shared,
                leads=self._coordinator.leads,
                period=self._phases.period,
                ticks=self._ticks,
            )
            watched.begin()
            self._watched = watched
        except Exception:
            if watched is not None:
                watched.end()
            self.remove()
            raise

    def _new_snap(self, number: int) -> Snap:
        from .watching.snap import Snap  # a session, too

        plan = replace(
            self.plan, folder=snap_folder(self.plan.folder, number), keep_going=True, watch=False, machines=1
        )
        return Snap(plan, self._rank, self._clock, self._activities)

    def _stop_all(self, *, whatever_others_do: bool = False) -> None:
        """Say at which tick all ranks stop, once all have written what they
        recorded, if it is this one that says it.
        """
        assert self._coordinator is not None
        last_tick = self._coordinator.last_tick(whatever_others_do=whatever_others_do)
        if last_tick is not None and not self._shared.last_tick:
            self._shared.set_done()
            self._shared.last_tick = last_tick

    def remove(self) -> None:
        """Take every hook of ours out of torch."""
        self._termination.remove()
        self._snap_signal.remove()
        self._clock.remove()
        self._foreign.remove()
        self.facts.remove()

    # ends that are not ours

    @guarded("writing the recording")
    def flush(self) -> None:
        """Write what there is. Called at every way out of the process, and harmless when repeated."""
        if self._watched is not None:
            self._watched.end()
            self._watched = None
        if self._phases is not None and not self._finished:
            self._finished = True
            trying = self._phases.trying
            try:
                self._phases.close()
            except Exception as error:
                with contextlib.suppress(Exception):  # nobody reads it any more
                    sys.stderr.write(f"diagnose: the recording could not be written: {error}\n")
            assert self._coordinator is not None
            self._coordinator.written()
            if trying and not self.plan.keep_going and getattr(sys, "last_value", None) is None:
                self._shared.set_done()  # the script was recorded to its planned end

    @guarded("ending the recording")
    def leave(self) -> None:
        """The process ends."""
        with self._termination.deferred():
            self.note_memory_error(getattr(sys, "last_value", None))
            self.flush()
        if self._coordinator is not None:
            self._coordinator.ended()

    def note_memory_error(self, error: BaseException | None) -> None:
        """If that ends the script, it is told of, also where no step has
        ended yet, or all is recorded already.
        """
        with contextlib.suppress(Exception):
            self.facts.memory_error = fatal_memory_error(
                error, self._places, None if self._finished else self._ticks
            )
            if error is None or self.facts.memory_error is None:
                return
            looked = self.facts.memory.told
            self.facts.memory.told = attempt(
                "looking at what held the memory", lambda: held_at(error, self._places), looked
            )
            if self._elected is None:
                self._elect()
            if self._finished and self._coordinator is not None:
                self.facts.write(self._rank_folder)

    @guarded("looking after a forked process")
    def forked(self) -> None:
        """In a forked child: what the parent records is not ours, and nothing
        may be recorded here by its profiler.
        """
        was_recording = self._phases is not None and self._phases.recording
        if self._phases is not None:
            self._phases.forked()
        if self._watched is not None:
            self._watched.forked()
        self._termination.remove()
        self._snap_signal.remove()
        self._watched = None
        self._phases, self._coordinator, self._elected, self._ticks, self._finished, self._stops = (
            None,
            None,
            None,
            0,
            False,
            False,
        )
        self.facts.close()
        self.facts.plain.end(0)
        self._parts.forked()
        if was_recording:
            self._marks.remove()
            self._foreign.ours_stops()
            torch.autograd._enable_record_function(False)
            sys.setprofile(None)


def begin(plan: dict[str, Any]) -> None:
    """Start listening in this process; torch has just been imported.

    Raises TypeError if the parent did not write the plan.
    """
    no_warnings_of_ours()
    session = Session(Plan(**plan))
    try:
        session.install()
    except Exception:
        session.remove()
        raise
    os.register_at_fork(after_in_child=session.forked)
    call_at_every_end(session.leave)

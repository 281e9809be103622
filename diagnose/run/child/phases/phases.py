"""The phases of one recording: leads through them tick by tick and writes what each one gave.

While the script warms up, a short timeline and a step of detail are recorded at once, or from the sixth tick
on (`unrecorded.py`). Then come plain steps, their parts, the timeline and the detail, in a short round first
if the script may end before a full one. Of two phases of a name the one with more steps counts.
"""

from __future__ import annotations

import contextlib
import threading
from time import perf_counter_ns
from typing import Any

import torch

from ..accelerator import Activities, synchronize
from ..coordinator import RankCoordinator
from ..facts.facts import Facts
from ..inspection import compiler_in_use
from ..processor import TICK_ENDS
from ..recording.marks import Marks
from ..recording.other_profilers import OtherProfilers
from ..recording.recorded_phase import RecordedPhase
from ..recording.recorder import STACKS_CRASH, stacks_are_safe
from ..shared_state import Stage
from ..steps.step_clock import StepClock
from ..steps.tick_times import TickTimes
from ..trials.setting_trials import SettingTrials
from ..writing import GIVEN_UP, STOPPED_BY_FULL_DISK, is_full
from . import schedule
from .awaited import Awaited
from .parts import Parts
from .python_calls import PythonCalls
from .recordings import Recordings
from .results import Results
from .rounds import Rounds
from .unrecorded import Unrecorded
from .warm_up import WarmUp

_NEVER = 1 << 62
_TEXTS = {
    "warmup": "warming up",
    "plain": "timing plain steps",
    "parts": "timing their parts",
    "timeline": "recording the timeline",
    "detail": "recording source lines",
}
_FIRST_LOOK = "taking a first look, in case the script ends soon"  # the short round
_TRYING = "trying settings"
_WRITING = {"timeline": "writing the timeline", "detail": "writing source lines"}


class Phases:
    """Created at the first tick of a clock; `tick` is called at every tick, `close` once at the end."""

    def __init__(
        self,
        folder: str,
        coordinator: RankCoordinator,
        *,
        marks: Marks,
        parts: Parts,
        foreign: OtherProfilers,
        facts: Facts,
        trials: SettingTrials,
        clock: str,
        budgets: schedule.Round,
        wait_s: float,
        stacks: bool,
        activities: Activities,
    ) -> None:
        self._coordinator, self._foreign, self._facts = coordinator, foreign, facts
        self._recordings = Recordings(marks, foreign, activities, facts, self._end_with_thread)
        self._clock, self._activities, self._trials = clock, activities, trials
        self._stacks = stacks and stacks_are_safe()
        self._rounds = Rounds(budgets, stacks=self._stacks)
        self._parts, self._sample = parts, parts.processor.sample
        self._times = TickTimes(folder, self._sample)
        self._period = 1
        self._step_ns = 0  # how long one took lately; 0 before the first
        self._plain_step_ns = 0  # of those without a profiler
        self._warm, self._unrecorded = WarmUp(), Unrecorded(facts.heap)
        self._name = "warmup"
        self._first_tick = 0
        self._python_calls = PythonCalls(budgets["detail"].steps)
        self._after_session = self._plain_first = self._gave_up = False
        self._looks_early = False
        self._awaited = Awaited(facts.rare_work, coordinator.announce, wait_s)
        # the tick and the time from which the phase's end is considered
        self._next_tick, self._next_ns = (0, 0)
        self.over = False
        self._results = Results(
            folder,
            facts,
            parts.processor,
            clock=clock,
            activities=activities,
            thread=threading.current_thread().name,
        )
        if stacks and not self._stacks:
            self._results.note(STACKS_CRASH)
        parts.processor.forget()
        coordinator.announce(Stage(_TEXTS["warmup"]))

    @property
    def trying(self) -> bool:
        """All is recorded, and settings are being tried."""
        return self._trials.running and not self._looks_early

    @property
    def period(self) -> int:
        """Ticks a step."""
        return self._period

    @property
    def recording(self) -> bool:
        return self._recordings.now is not None

    def passes(self, now_ns: int) -> bool:
        """Whether this tick needs no more than to be written down; then that has been done."""
        return self._times.passes(now_ns)

    def tick(self, now_ns: int, source: object) -> None:
        """One tick of the clock at host time `now_ns`; must be called inside the thread that trains."""
        if self._gave_up:
            self._times.forget()
            self.over = True
            return
        number = self._times.count
        if self._trials.running:
            self._times.count += 1
            self._try_settings(number)
            return
        self._times.add(now_ns)
        self._coordinator.count(len(self._times.ns) - 1)
        if self.recording:
            if self._recordings.tick(number):
                self._times.begin(self._name, number, now_ns)
        elif self._name in ("warmup", "plain", "parts"):
            self._times.watch_profilers()
            if self._name == "plain":
                self._look_around(number, now_ns)
        if self._name == "warmup":
            self._warm.add(source)
            self._warm_up(number, now_ns)
        elif (number - self._first_tick) % self._period == 0 and self._is_used_up(number, now_ns):
            self._end_phase(number, now_ns)
        self._sample(TICK_ENDS)

    def _look_around(self, number: int, now_ns: int) -> None:
        """What need not be done at every plain tick: several ranks have to know
        each other's ticks, one alone has time.
        """
        steps, within = divmod(number - self._first_tick, self._period)
        if not within:
            self._facts.plain.step(steps, now_ns)
            if self._coordinator.alone:
                self._times.sleep(now_ns, self._next_tick)
            else:
                self._times.wake()

    # warm-up

    def _warm_up(self, number: int, now_ns: int) -> None:
        if number == 0:
            self._times.begin("warmup", number, now_ns)
            self._plain_first = self._activities.come_late(
                trained=self._clock in (StepClock.OPTIMIZER, StepClock.STEP)
            )
            self._facts.heap.look()
            if not (self._plain_first or self._several):
                self._unrecorded.begin(now_ns, self._steps_left(), self._facts.places)
            self._parts.begin(self._name, self._step_ns)
            self._update().write()
            if self._plain_first or self._unrecorded.waits:
                self._times.last_is_now()
            else:
                self._begin_early("timeline", number)
            return
        self._python_calls.end()
        if self._unrecorded.waits:
            if not self._unrecorded.tick(number, now_ns):
                self._begin_early("timeline", number)
        elif self._recordings.early is None:
            self._settle(number, now_ns)
        elif number >= (self._recordings.early.until or 0):
            self._end_early(number, now_ns)
        if self._name == "warmup":
            self._count_calls()

    def _count_calls(self) -> None:
        """Those of Python in the step that begins, where a detail may have too many."""
        if not (self._recordings.with_stacks or self._several or self._foreign.active):
            self._python_calls.count(self._times.pace_ns(self._period))

    def _settle(self, number: int, now_ns: int) -> None:
        self._period = self._warm.period()
        if not self._warm.may_end(number, self._period):
            return
        # ranks that wait for each other all go through one round
        rounds = self._rounds.plan(
            self._steps_left(),
            self._times.pace_ns(self._period),
            at_once=self._coordinator.spread or not self._coordinator.alone,
            unrecorded=self._plain_first and self._activities.in_use,
        )
        enough = 0 if len(rounds) == 1 else schedule.warm_up_steps(rounds[0])
        if self._coordinator.ends(self._clock, "warmup", self._period, lambda: self._settled(enough)):
            self._rounds.enter(self._with_room(rounds))
            self._begin(self._rounds.take(), number)

    def _with_room(self, rounds: list[schedule.Round]) -> list[schedule.Round]:
        """Without a detail that would take too much; ranks that wait for each other do all the same."""
        if self._several:
            return rounds
        limited = self._python_calls.limited(rounds, self._times.pace_ns(self._period), self._period)
        if self._stacks and "detail" not in limited[-1]:
            self._results.note(f"The detail {GIVEN_UP}")
        return limited

    def _steps_left(self) -> int | None:
        """That the DataLoader has, at least; None where nobody knows."""
        ticks_left = self._facts.ticks_left(self._times.count)
        return ticks_left // self._period if ticks_left is not None else None

    def _settled(self, enough: int) -> bool:
        timed = not self._coordinator.spread
        return self._warm.is_over(self._times.ns, self._times.count, self._period, enough=enough, timed=timed)

    def _settle_from_here(self, paused_ns: int) -> None:
        """Steps count again from now on; after a pause only when the batches are used up
        that workers have loaded meanwhile.
        """
        now_ns = self._times.last_is_now()
        paused = paused_ns > self._times.pace_ns(self._period)
        self._warm.count_from(now_ns, self._facts.batches_ahead() if paused else 0)

    def _begin_early(self, name: str, number: int) -> None:
        """Record at once: the script may end before it has warmed up."""
        self._recordings.calibrate()
        if self._foreign.active:
            return
        ticks = schedule.EARLY_STEPS[name] * (
            min(self._warm.source_count, 16) if name == "timeline" else self._period
        )
        self._recordings.begin(name, number, cold=True, until=number + ticks)
        self._times.last_is_now()

    def _end_early(self, number: int, now_ns: int) -> None:
        """The detail follows the timeline, unless it may take too long or the compiler is still at work."""
        recorded, step_ns = self._keep_early(number)
        if (
            recorded.name == "timeline"
            and self._stacks
            and step_ns <= schedule.LONGEST_EARLY_NS
            and (self._several or self._python_calls.steps_that_fit(int(step_ns), self._period, 1))
            and not compiler_in_use()
        ):
            self._begin_early("detail", number)
        else:
            self._settle_from_here(perf_counter_ns() - now_ns)

    def _keep_early(self, number: int) -> tuple[RecordedPhase, float]:
        """Write what was recorded until that tick. With how long its steps took, ns."""
        self._period = self._warm.period()
        recorded = self._recordings.stop()
        tick_ns = self._times.ns[-(number - recorded.first_tick + 1) :]
        self._update().keep_recording(recorded.recording, recorded.told(tick_ns))
        recorded.recording.discard()
        return recorded, (tick_ns[-1] - tick_ns[0]) / max(1, (len(tick_ns) - 1) // self._period)

    def optimizer_stepped(self) -> None:
        """An optimizer's step has ended between two ticks. The next one is not to begin in a recording: it
        may end in a later one, and torch would write that into memory that is freed.
        """
        if not self.recording:
            return
        try:
            if self._recordings.early is not None:
                self._close_early()
                self._settle_from_here(0)
            else:
                self._end_recording()
        except Exception as error:
            self.abandon(error)

    def look_at_room(self) -> None:
        """Within a step: a recording whose end would take the memory that the script needs is given up, and
        so are all that would follow.
        """
        recorded = self._recordings.now
        if recorded is None or not self._recordings.take_too_much():
            return
        self._results.note(f"The {recorded.name} {GIVEN_UP}")
        self._gave_up = True
        self._recordings.discard()

    # plain, timeline, detail

    def _begin(self, name: str, number: int) -> None:
        synchronize(self._activities.device)
        self._keep_phase(is_whole=self._rounds.is_last)
        self._name, self._first_tick = name, number
        budget = self._rounds.budget(name)
        self._coordinator.announce(
            Stage(_FIRST_LOOK)
            if self._rounds.is_short
            else Stage(_TEXTS[name], budget, self._period, self._step_ns)
        )
        self._parts.begin(name, self._step_ns)
        if name in ("timeline", "detail"):
            self._begin_recording(name, number)
        elif name == "plain":
            self._awaited.begin(self._steps_left())
            if self._activities.device:
                self._after_session = self._activities.has_device
                self._times.begin_on_devices()
            self._facts.plain.begin()
        begin_ns = perf_counter_ns()
        self._times.begin(name, number, begin_ns)
        self._times.sample(begin_ns)
        self._next_tick = _NEVER if budget.least_ns else self._first_tick + budget.steps * self._period
        self._next_ns = begin_ns + min(
            budget.least_ns or budget.time_ns, budget.time_ns, budget.time_limit_ns
        )
        if name == "plain" and self._coordinator.alone:
            self._times.sleep(begin_ns, self._next_tick)

    def _begin_recording(self, name: str, number: int) -> None:
        """A device's work may be missing at the begin of a session (pytorch#192021):
        one step more, which does not count.
        """
        self._recordings.calibrate()
        dropped_ticks = self._period if self._activities.has_device else 0
        self._first_tick = number + dropped_ticks
        cold = self._rounds.budget(name).cold
        self._recordings.begin(name, self._first_tick, cold=cold, dropped_ticks=dropped_ticks)

    def _is_used_up(self, number: int, now_ns: int) -> bool:
        """By steps all ranks know it for themselves, for they began at the same tick;
        by time the one that leads says it.
        """
        if number >= self._next_tick or self._was_cut:
            return True
        budget, steps = self._rounds.budget(self._name), (number - self._first_tick) // self._period
        used_up = now_ns >= self._next_ns and budget.used_up(steps, now_ns - self._times.ns[0])
        if self._name == "plain" and used_up:
            # ranks that train together wait for nothing: each would wait for something else
            may_wait = budget.least_ns > 0 and self._coordinator.alone
            begins_ns = self._times.ns[:: self._period]
            used_up = not self._awaited.lacks(
                begins_ns,
                self._times.pace_ns(self._period),
                self._steps_left(),
                may_wait=may_wait,
                is_first=not self._results.holds("timeline", cold=False),
            )
        return self._coordinator.ends(self._clock, self._name, self._period, lambda: used_up)

    @property
    def _was_cut(self) -> bool:
        """The phase's recording has been ended already."""
        return not self.recording and self._name in ("timeline", "detail")

    def _end_phase(self, number: int, now_ns: int) -> None:
        cold = self._rounds.budget(self._name).cold
        if self._was_cut and not self._results.holds(self._name, cold=cold):
            self._rounds.again(self._name)  # nothing of it was worth keeping
        elif self.recording:
            self._end_recording()
        elif self._foreign.active and self._rounds.next == "timeline":
            self._wait_for_theirs(number, now_ns)
            return
        if self._rounds.next:
            self._begin(self._rounds.take(), number)
        elif self._rounds.is_short:
            self._keep_phase()
            self._rounds.leave()
            self._name, self._first_tick = "warmup", number
            self._times.begin("warmup", number, now_ns)
            self._looks_early = not self._several and self._trials.begin_early()
            if not self._looks_early:
                self._settle_from_here(perf_counter_ns() - now_ns)
        else:
            self._begin_trials(number)

    def _wait_for_theirs(self, number: int, now_ns: int) -> None:
        """A profiler of the script's own runs: go on with plain steps until it has ended, though not for
        ever.
        """
        budget = self._rounds.budget("plain")
        steps, elapsed = (number - self._first_tick) // self._period, now_ns - self._times.ns[0]
        if steps >= 2 * budget.steps or elapsed >= 2 * budget.time_limit_ns:
            self._results.note(
                "The script's own profiler runs all the time, so nothing could be recorded beside it: switch "
                "it off and run again."
            )
            self.over = True

    def _end_recording(self) -> None:
        """Stop the recording of the current phase and write its files; the
        phase is kept if it holds a whole step.
        """
        steps = self._times.steps(self._period) if self._times.count > self._first_tick else 0
        self._note_pace()
        recorded = self._recordings.stop()
        if steps >= 1:
            if not self._rounds.is_short:
                self._coordinator.announce(Stage(_WRITING[self._name]))
            self._update().keep_recording(recorded.recording, recorded.told(self._times.ns))
        recorded.recording.discard()
        self._times.forget()

    # settings

    def _begin_trials(self, number: int) -> None:
        """All is recorded."""
        synchronize(self._activities.device)
        self._keep_phase()
        self._first_tick = number
        self.over = self._several or not self._trials.begin(self._plain_step_ns)
        if not self.over:
            self._facts.freeze()
            self._coordinator.announce(Stage(_TRYING))

    def _try_settings(self, number: int) -> None:
        if (number - self._first_tick) % self._period or not self._trials.step():
            return
        if self._looks_early:
            self._looks_early = False
            self._update().write()
            self._settle_from_here(perf_counter_ns() - self._times.ns[-1])
        else:
            self.over = True

    @property
    def _several(self) -> bool:
        """Ranks that train together would have to try the same at the same time."""
        return self._coordinator.spread or not self._coordinator.alone or _process_group_is_there()

    # the end

    def _end_with_thread(self) -> None:
        """The thread that trained ends, and with it what it records."""
        self._close_recording()
        self.over = self._name != "warmup"

    def close(self) -> None:
        """Keep what the current phase holds and write everything."""
        self._python_calls.end()
        self._close_recording()
        self._keep_phase()
        self.over = self.over or self.trying
        self._trials.end()
        results = self._update()
        if results.holds("timeline", cold=True):
            results.note(
                "The script ended before it had warmed up: the timeline comes from its very first steps."
            )
        results.write()
        with contextlib.suppress(OSError):
            self._times.remove_log()

    def _close_recording(self) -> None:
        try:
            if self._recordings.early is not None:
                self._close_early()
            elif self.recording:
                self._end_recording()
        except Exception as error:
            self._recordings.now = None
            lost = f"The {self._name} in progress was lost when the script ended: {error}."
            self._results.note(STOPPED_BY_FULL_DISK if is_full(error) else lost)

    def _close_early(self) -> None:
        """Between two ticks: what is recorded of a whole step is kept."""
        early = self._recordings.early
        assert early is not None
        if self._times.count - 1 - early.first_tick >= self._warm.period():
            self._keep_early(self._times.count - 1)
        else:
            self._recordings.discard()

    def abandon(self, error: Exception) -> None:
        """Our own failure: the script runs on, what has been recorded stays."""
        self._results.note(STOPPED_BY_FULL_DISK if is_full(error) else f"The {self._name} failed: {error!r}")
        with contextlib.suppress(Exception):
            self.discard()
        self._times.forget()
        self._recordings.now, self.over = None, True

    def discard(self) -> None:
        """Forget everything: a better clock has been found."""
        self._times.wake()
        self._python_calls.end()
        self._trials.end()
        self._facts.thaw()
        self._times.discard_devices()
        self._facts.plain.end(0)
        self._parts.end()
        self._recordings.discard()

    def forked(self) -> None:
        """In a forked child nothing is tried or counted."""
        self._python_calls.end()
        self._trials.end()

    def _keep_phase(self, *, is_whole: bool = False) -> None:
        self._times.wake()
        self._parts.end()
        self._facts.plain.end(self._times.steps(self._period))
        self._note_pace()
        if self._times.ns:
            phase = {
                "name": self._name,
                "first_tick": self._first_tick,
                "tick_ns": self._times.ns,
            } | self._on_devices()
            self._times.forget()
            self._update().keep(phase, is_whole=is_whole)

    def _on_devices(self) -> dict[str, Any]:
        """What the devices tell of the ticks of the plain phase."""
        if not self._times.on_devices:
            return {}
        told: dict[str, Any] = {"after_session": True} if self._after_session else {}
        device_tick_ns = self._times.end_on_devices()
        return told | ({"device_tick_ns": device_tick_ns} if device_tick_ns else {})

    def _note_pace(self) -> None:
        self._step_ns = self._times.pace_ns(self._period) or self._step_ns
        if self._name == "plain":
            self._plain_step_ns = self._step_ns

    def _update(self) -> Results:
        """The results, told how far the recording is."""
        if self._foreign.silenced:
            self._results.note(
                "The script's own profiler was disabled while ours recorded: its results of this run hold "
                "nothing of that time."
            )
        self._facts.trials = self._trials.facts
        self._facts.plain.facts.update(self._unrecorded.facts(self._period))
        self._facts.recorded_steps = self._recordings.ticks / self._period
        share = self._times.own_profiler_share
        if share is not None:
            self._facts.own_profiler_share = share
        self._results.period, self._results.tick_count, self._results.complete = (
            self._period,
            self._times.count,
            self.over,
        )
        return self._results


def _process_group_is_there() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()

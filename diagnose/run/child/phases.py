"""The phases of one recording: leads through them tick by tick and writes what each one gave.

While the script warms up, a short timeline and a step of detail are recorded at once. Then come plain steps,
their parts, the timeline and the detail, in a short round first if the script may end before a full one. Of
two phases of a name the one with more steps counts.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from . import schedule
from .accelerator import Activities, synchronize
from .awaited import Awaited
from .calibration import measured_costs
from .coordinator import RankCoordinator
from .device_ticks import DeviceTicks
from .facts import Facts
from .inspection import compiler_in_use
from .marks import Marks
from .other_profilers import OtherProfilers
from .parts import Parts
from .processor import TICK, TICK_ENDS
from .recorder import STACKS_CRASH, Recording, mark_tick, stacks_are_safe
from .results import Results
from .setting_trials import SettingTrials
from .shared_state import Stage
from .step_clock import StepClock
from .ticks import TickLog
from .warm_up import WarmUp
from .writing import STOPPED_BY_FULL_DISK, is_full

_NEVER = 1 << 62
# at least between two samples of plain steps: reading the kernel's files costs a step some 10 µs in its midst
_SAMPLED_NS = 1_000_000
_PASSES_NS = 5_000_000  # how long the parent's wish to stop may go unnoticed
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
_a_profiler_runs = torch.autograd._profiler_enabled


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
        stacks: bool,
        activities: Activities,
    ) -> None:
        self._coordinator, self._marks, self._foreign, self._facts = coordinator, marks, foreign, facts
        self._clock, self._activities, self._trials = clock, activities, trials
        self._stacks = stacks and stacks_are_safe()
        self._full_round = budgets
        self._rounds: list[schedule.Round] = []  # the one in progress and those to come
        self._names: list[str] = []  # of its phases to come
        self._parts, self._sample = parts, parts.processor.sample
        self._ticks = 0
        self._period = 1
        self._step_ns = 0  # how long one took lately; 0 before the first
        self._plain_step_ns = 0  # of those without a profiler
        self._warm = WarmUp()
        self._name = "warmup"
        self._first_tick = 0
        self._tick_ns: list[int] = []
        self._input_elements: list[int] = []  # of each tick of a recording
        self._recording: Recording | None = None
        self._dropped_ticks = 0  # at the begin of the recording
        self._device_ticks = DeviceTicks()
        self._tick_devices: Callable[[], None] | None = None  # in a plain phase where a device is in use
        self._calibrated = self._after_session = self._plain_first = False
        self._looks_early = False
        self._awaited = Awaited(facts.rare_work, coordinator.announce)
        self._early = ""  # the phase that is recorded while the script warms up
        self._early_from = self._early_until = 0  # ticks
        # the tick and the time from which the phase's end is considered
        self._next_tick, self._next_ns = (0, 0)
        # until then plain ticks are only written down, and no sample is taken
        self._wakes_ns = self._samples_ns = 0
        self._ticks_watched = self._ticks_theirs = self._ticks_recorded = 0
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
        self._log = TickLog(folder)
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
        return self._recording is not None

    def passes(self, now_ns: int) -> bool:
        """Whether this tick needs no more than to be written down, as most of the
        plain phase do; then that has been done.

        All that a short step pays for being timed is here, on the way here, and in `losses.py` and
        `fetch.py`.
        """
        if now_ns >= self._wakes_ns or self._ticks >= self._next_tick:
            return False
        self._ticks += 1
        self._tick_ns.append(now_ns)
        if self._tick_devices is not None:
            self._tick_devices()
        self._log.add(now_ns)
        if self._samples_ns <= now_ns <= self._wakes_ns - _SAMPLED_NS:  # the next that wakes us has one too
            self._samples_ns = now_ns + _SAMPLED_NS
            self._sample(TICK, now_ns)
        self._ticks_watched += 1
        self._ticks_theirs += _a_profiler_runs()
        return True

    def tick(self, now_ns: int, source: object) -> None:
        """One tick of the clock at host time `now_ns`; must be called inside the thread that trains."""
        number = self._ticks
        self._ticks += 1
        if self._trials.running:
            self._try_settings(number)
            return
        self._tick_ns.append(now_ns)
        if self._tick_devices is not None:
            self._tick_devices()
        self._log.add(now_ns)
        self._samples_ns = now_ns + _SAMPLED_NS
        self._sample(TICK, now_ns)
        self._coordinator.count(len(self._tick_ns) - 1)
        if self._recording is not None:
            if number >= self._first_tick:
                mark_tick(number)
            self._ticks_recorded += 1
            self._facts.calls.look_closely = False  # one step is enough
            self._facts.uploads.step_ended()
            self._facts.calls.feeding.tick()
            self._input_elements.append(self._facts.calls.taken_elements())
            if self._dropped_ticks and number == self._first_tick:
                self._tick_ns, self._input_elements = [now_ns], []
                self._log.begin(self._name, number, now_ns)
        elif self._name in ("warmup", "plain", "parts"):
            self._ticks_watched += 1
            self._ticks_theirs += _a_profiler_runs()
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
            self._wakes_ns = now_ns + _PASSES_NS if self._coordinator.alone else 0

    # warm-up

    def _warm_up(self, number: int, now_ns: int) -> None:
        if number == 0:
            self._log.begin("warmup", number, now_ns)
            self._plain_first = self._activities.come_late(
                trained=self._clock in (StepClock.OPTIMIZER, StepClock.STEP)
            )
            if not self._plain_first:
                self._calibrate()
            self._parts.begin(self._name, self._step_ns)
            self._update().write()
            if self._plain_first:
                self._step_begins_now()
            else:
                self._begin_early("timeline", number)
        elif self._recording is not None:
            if number >= self._early_until:
                self._end_early(number, now_ns)
        else:
            self._settle(number, now_ns)

    def _calibrate(self) -> None:
        self._calibrated = True
        self._facts.profiler_costs = (
            None if self._foreign.active else measured_costs(self._marks, self._activities)
        )

    def _settle(self, number: int, now_ns: int) -> None:
        self._period = self._warm.period()
        if not self._warm.may_end(number, self._period):
            return
        rounds = self._rounds or self._rounds_to_come()
        enough = 0 if len(rounds) == 1 else schedule.warm_up_steps(rounds[0])
        if self._coordinator.ends(self._clock, "warmup", self._period, lambda: self._settled(enough)):
            self._rounds = rounds
            self._names = [name for name in rounds[0] if name != "detail" or self._stacks]
            self._begin(self._names.pop(0), number, now_ns)

    def _rounds_to_come(self) -> list[schedule.Round]:
        """Ranks that wait for each other all go through one."""
        full = schedule.paced(self._full_round, self._pace_ns())
        if self._coordinator.spread or not self._coordinator.alone:
            return [full]
        unrecorded = self._plain_first and self._activities.in_use
        return schedule.rounds(full, self._steps_left(), self._pace_ns(), unrecorded=unrecorded)

    def _steps_left(self) -> int | None:
        """That the DataLoader has, at least; None where nobody knows."""
        ticks_left = self._facts.ticks_left(self._ticks)
        return ticks_left // self._period if ticks_left is not None else None

    def _settled(self, enough: int) -> bool:
        timed = not self._coordinator.spread
        return self._warm.is_over(self._tick_ns, self._ticks, self._period, enough=enough, timed=timed)

    def _settle_from_here(self, paused_ns: int) -> None:
        """Steps count again from now on; after a pause only when the batches are used up
        that workers have loaded meanwhile.
        """
        now_ns = self._step_begins_now()
        self._warm.count_from(now_ns, self._facts.batches_ahead() if paused_ns > self._pace_ns() else 0)

    def _step_begins_now(self) -> int:
        """What we did since the last tick belongs to no step."""
        self._tick_ns[-1] = now_ns = perf_counter_ns()
        self._log.move_last(now_ns)
        return now_ns

    def _begin_early(self, name: str, number: int) -> None:
        """Record at once: the script may end before it has warmed up."""
        if self._foreign.active:
            return
        ticks = schedule.EARLY_STEPS[name] * (
            min(self._warm.source_count, 16) if name == "timeline" else self._period
        )
        self._early, self._early_from, self._early_until = name, number, number + ticks
        self._start(Recording(self._marks, self._foreign, self._activities, stacks=name == "detail"), number)
        self._step_begins_now()

    def _start(self, recording: Recording, number: int) -> None:
        self._recording = recording
        self._input_elements = []
        self._facts.calls.begin()
        self._facts.calls.look_closely = recording.stacks
        recording.start(None if self._dropped_ticks else number, self._end_with_thread)

    def _end_early(self, number: int, now_ns: int) -> None:
        """The detail follows the timeline, unless it may take too long or the compiler is still at work."""
        name, step_ns = self._early, self._keep_early(number)
        if (
            name == "timeline"
            and self._stacks
            and step_ns <= schedule.LONGEST_EARLY_NS
            and not compiler_in_use()
        ):
            self._begin_early("detail", number)
        else:
            self._settle_from_here(perf_counter_ns() - now_ns)

    def _keep_early(self, number: int) -> float:
        """Write what was recorded until that tick. How long its steps took, ns."""
        name, self._early = self._early, ""
        recording, self._recording = self._recording, None
        assert recording is not None
        self._period = self._warm.period()
        tick_ns = self._tick_ns[-(number - self._early_from + 1) :]
        synchronize(self._activities.device)
        recording.stop()
        self._update().keep_recording(
            recording, self._phase(name) | {"first_tick": self._early_from, "tick_ns": tick_ns, "cold": True}
        )
        return (tick_ns[-1] - tick_ns[0]) / max(1, (len(tick_ns) - 1) // self._period)

    def optimizer_stepped(self) -> None:
        """An optimizer's step has ended between two ticks. The next one is not to begin in a recording: it
        may end in a later one, and torch would write that into memory that is freed.
        """
        if self._recording is None:
            return
        try:
            if self._early:
                self._close_early()
                self._settle_from_here(0)
            else:
                self._end_recording()
        except Exception as error:
            self.abandon(error)

    # plain, timeline, detail

    def _begin(self, name: str, number: int, now_ns: int) -> None:
        synchronize(self._activities.device)
        self._keep_phase(is_whole=len(self._rounds) == 1)
        self._name, self._first_tick, self._tick_ns = name, number, [now_ns]
        budget = self._rounds[0][name]
        is_short = len(self._rounds) > 1
        self._coordinator.announce(
            Stage(_FIRST_LOOK) if is_short else Stage(_TEXTS[name], budget, self._period, self._step_ns)
        )
        self._parts.begin(name, self._step_ns)
        if name in ("timeline", "detail"):
            self._begin_recording(name, number)
        elif name == "plain":
            self._facts.plain.begin()
            self._awaited.begin(self._steps_left())
            if self._activities.device:
                self._after_session = self._activities.has_device
                self._device_ticks.begin()
                self._tick_devices = self._device_ticks.tick if self._device_ticks else None
        self._tick_ns[0] = begin_ns = perf_counter_ns()
        self._log.begin(name, number, begin_ns)
        self._sample(TICK, begin_ns)
        self._samples_ns = begin_ns + _SAMPLED_NS
        if name == "plain" and self._coordinator.alone:
            self._wakes_ns = begin_ns + _PASSES_NS
        self._next_tick = _NEVER if budget.least_ns else self._first_tick + budget.steps * self._period
        self._next_ns = begin_ns + min(
            budget.least_ns or budget.time_ns, budget.time_ns, budget.time_limit_ns
        )

    def _begin_recording(self, name: str, number: int) -> None:
        """A device's work may be missing at the begin of a session (pytorch#192021):
        one step more, which does not count.
        """
        if not self._calibrated:
            self._calibrate()
        recording = Recording(self._marks, self._foreign, self._activities, stacks=name == "detail")
        self._dropped_ticks = self._period if self._activities.has_device else 0
        self._first_tick = number + self._dropped_ticks
        self._start(recording, number)

    def _is_used_up(self, number: int, now_ns: int) -> bool:
        """By steps all ranks know it for themselves, for they began at the same tick;
        by time the one that leads says it.
        """
        if number >= self._next_tick or self._was_cut:
            return True
        budget, steps = self._rounds[0][self._name], (number - self._first_tick) // self._period
        used_up = now_ns >= self._next_ns and budget.used_up(steps, now_ns - self._tick_ns[0])
        if self._name == "plain" and used_up:
            # ranks that train together wait for nothing: each would wait for something else
            may_wait = budget.least_ns > 0 and self._coordinator.alone
            begins_ns = self._tick_ns[:: self._period]
            used_up = not self._awaited.lacks(
                begins_ns,
                self._pace_ns(),
                self._steps_left(),
                may_wait=may_wait,
                is_first=not self._results.holds("timeline", cold=False),
            )
        return self._coordinator.ends(self._clock, self._name, self._period, lambda: used_up)

    @property
    def _was_cut(self) -> bool:
        """The phase's recording has been ended already."""
        return self._recording is None and self._name in ("timeline", "detail")

    def _end_phase(self, number: int, now_ns: int) -> None:
        if self._was_cut and not self._results.holds(self._name, cold=self._rounds[0][self._name].cold):
            self._names.insert(0, self._name)  # nothing of it was worth keeping
        elif self._recording is not None:
            self._end_recording()
        elif self._foreign.active and self._names[:1] == ["timeline"]:
            self._wait_for_theirs(number, now_ns)
            return
        if self._names:
            self._begin(self._names.pop(0), number, now_ns)
        elif len(self._rounds) > 1:
            self._keep_phase()
            del self._rounds[0]
            self._name, self._first_tick, self._tick_ns = "warmup", number, [now_ns]
            self._log.begin("warmup", number, now_ns)
            self._looks_early = not self._several and self._trials.begin_early()
            if not self._looks_early:
                self._settle_from_here(perf_counter_ns() - now_ns)
        else:
            self._begin_trials(number)

    def _wait_for_theirs(self, number: int, now_ns: int) -> None:
        """A profiler of the script's own runs: go on with plain steps until it has ended, though not for
        ever.
        """
        budget = self._rounds[0]["plain"]
        steps, elapsed = (number - self._first_tick) // self._period, now_ns - self._tick_ns[0]
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
        recording, self._recording = self._recording, None
        assert recording is not None
        name, steps = (
            self._name,
            (len(self._tick_ns) - 1) // self._period if self._ticks > self._first_tick else 0,
        )
        self._note_pace()
        synchronize(self._activities.device)
        recording.stop()
        if steps >= 1:
            if len(self._rounds) < 2:
                self._coordinator.announce(Stage(_WRITING[name]))
            self._update().keep_recording(recording, self._phase(name) | {"cold": self._rounds[0][name].cold})
        recording.discard()
        self._tick_ns = []

    def _phase(self, name: str) -> dict[str, Any]:
        """A phase with a recording, as it stands in steps.json."""
        phase = {
            "name": name,
            "first_tick": self._first_tick,
            "tick_ns": self._tick_ns,
            "input_elements": self._input_elements,
        }
        return phase | ({"dropped_ticks": self._dropped_ticks} if self._dropped_ticks else {})

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
            self._settle_from_here(perf_counter_ns() - self._tick_ns[-1])
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
            self._log.remove()

    def _close_recording(self) -> None:
        try:
            if self._early:
                self._close_early()
            elif self._recording is not None:
                self._end_recording()
        except Exception as error:
            self._recording = None
            lost = f"The {self._name} in progress was lost when the script ended: {error}."
            self._results.note(STOPPED_BY_FULL_DISK if is_full(error) else lost)

    def _close_early(self) -> None:
        """Between two ticks: what is recorded of a whole step is kept."""
        if self._ticks - 1 - self._early_from >= self._warm.period():
            self._keep_early(self._ticks - 1)
        elif self._recording is not None:
            self._recording.discard()
        self._recording, self._early = None, ""

    def abandon(self, error: Exception) -> None:
        """Our own failure: the script runs on, what has been recorded stays."""
        self._results.note(STOPPED_BY_FULL_DISK if is_full(error) else f"The {self._name} failed: {error!r}")
        with contextlib.suppress(Exception):
            self.discard()
        self._recording, self._tick_ns, self.over = None, [], True

    def discard(self) -> None:
        """Forget everything: a better clock has been found."""
        self._wakes_ns = 0
        self._trials.end()
        self._facts.thaw()
        self._tick_devices, self._device_ticks = None, DeviceTicks()
        self._facts.plain.end(0)
        self._parts.end()
        if self._recording is not None:
            self._recording.discard()
            self._recording = None

    def forked(self) -> None:
        """In a forked child nothing is tried."""
        self._trials.end()

    def _keep_phase(self, *, is_whole: bool = False) -> None:
        self._wakes_ns = 0
        self._parts.end()
        self._facts.plain.end((len(self._tick_ns) - 1) // self._period)
        self._note_pace()
        if self._tick_ns:
            phase = {
                "name": self._name,
                "first_tick": self._first_tick,
                "tick_ns": self._tick_ns,
            } | self._on_devices()
            self._tick_ns = []
            self._update().keep(phase, is_whole=is_whole)

    def _on_devices(self) -> dict[str, Any]:
        """What the devices tell of the ticks of the plain phase."""
        if self._tick_devices is None:
            return {}
        self._tick_devices = None
        told: dict[str, Any] = {"after_session": True} if self._after_session else {}
        device_tick_ns = self._device_ticks.end()
        return told | ({"device_tick_ns": device_tick_ns} if device_tick_ns else {})

    def _note_pace(self) -> None:
        self._step_ns = self._pace_ns() or self._step_ns
        if self._name == "plain":
            self._plain_step_ns = self._step_ns

    def _pace_ns(self) -> int:
        """How long a step took lately; 0 where that is not known."""
        borders = self._tick_ns[:: -self._period][:4]
        step_ns = sorted(later - earlier for later, earlier in itertools.pairwise(borders))
        return step_ns[len(step_ns) // 2] if step_ns else 0

    def _update(self) -> Results:
        """The results, told how far the recording is."""
        if self._foreign.silenced:
            self._results.note(
                "The script's own profiler was disabled while ours recorded: its results of this run are "
                "empty."
            )
        self._facts.trials = self._trials.facts
        self._facts.recorded_steps = self._ticks_recorded / self._period
        if self._ticks_watched:
            self._facts.own_profiler_share = self._ticks_theirs / self._ticks_watched
        self._results.period, self._results.tick_count, self._results.complete = (
            self._period,
            self._ticks,
            self.over,
        )
        return self._results


def _process_group_is_there() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()

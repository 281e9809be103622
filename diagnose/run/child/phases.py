"""The phases of one recording: warm-up, plain, timeline, detail; leads through them tick by tick and writes what each one gave."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from time import perf_counter_ns
from typing import Any

import torch

from . import schedule
from .calibration import measured_costs
from .calls import write_calls
from .crew import Crew
from .facts import Facts
from .foreign import ForeignProfilers
from .key_averages import write_key_averages
from .live import Stage
from .marks import Marks
from .parts import Parts
from .processor import TICK, TICK_ENDS
from .recorder import Recording, mark_tick, synchronize
from .writing import write_json

TIMELINE_FILE, DETAIL_FILE = "timeline.pt.trace.json.gz", "detail.pt.trace.json.gz"
CALLS_FILE, AVERAGES_FILE = "detail.calls.json", "key_averages.json"
_PASSES_NS = 5_000_000  # how long the parent's wish to stop may go unnoticed
_TEXTS = {
    "warmup": "warming up",
    "plain": "timing plain steps",
    "parts": "timing their parts",
    "timeline": "recording the timeline",
    "detail": "recording source lines",
}
_WRITING = {"timeline": "writing the timeline", "detail": "writing source lines"}
_a_profiler_runs = torch.autograd._profiler_enabled


class Phases:
    """Created at the first tick of a clock; `tick` is called at every tick, `close` once at the end."""

    def __init__(
        self,
        folder: str,
        crew: Crew,
        *,
        marks: Marks,
        parts: Parts,
        foreign: ForeignProfilers,
        facts: Facts,
        clock: str,
        budgets: dict[str, schedule.Budget],
        stacks: bool,
        cuda: bool,
    ) -> None:
        self._folder, self._crew, self._marks, self._foreign, self._facts = folder, crew, marks, foreign, facts
        self._clock, self._cuda, self._stacks = clock, cuda, stacks
        self._budgets = budgets
        self._parts, self._sample = parts, parts.processor.sample
        self._notes: list[str] = []
        self._finished: list[dict[str, Any]] = []
        self._ticks = 0
        self._period = 1
        self._step_ns = 0  # how long one took lately; 0 before the first
        self._sources: list[int] = []
        self._classes: list[type] = []
        self._name = "warmup"
        self._first_tick = 0
        self._tick_ns: list[int] = []
        self._input_elements: list[int] = []  # of each tick of a recording
        self._recording: Recording | None = None
        self._cold: tuple[Recording, dict[str, Any]] | None = None
        self._settling_from = 0
        self._next_tick, self._next_ns = 0, 0  # the tick and the time from which the phase's end is considered
        self._wakes_ns = 0  # until then plain ticks are only written down
        self._ticks_watched = self._ticks_theirs = self._ticks_recorded = 0
        self._thread = threading.current_thread().name
        self.over = False
        parts.processor.forget()
        crew.announce(Stage(_TEXTS["warmup"]))

    @property
    def recording(self) -> bool:
        return self._recording is not None

    def note(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes.append(sentence)

    def passes(self, now_ns: int) -> bool:
        """Whether this tick needs no more than to be written down, as most of the plain phase do; then that has been done.

        All that a short step pays for being timed is here, on the way here, and in `losses.py` and `fetch.py`.
        """
        if now_ns >= self._wakes_ns or self._ticks >= self._next_tick:
            return False
        self._ticks += 1
        self._tick_ns.append(now_ns)
        self._parts.processor.tick(now_ns)
        self._ticks_watched += 1
        self._ticks_theirs += _a_profiler_runs()
        return True

    def tick(self, now_ns: int, source: object) -> None:
        """One tick of the clock at host time `now_ns`; must be called inside the thread that trains."""
        number = self._ticks
        self._ticks += 1
        self._tick_ns.append(now_ns)
        self._sample(TICK, now_ns)
        self._crew.count(len(self._tick_ns) - 1)
        if self._recording is not None:
            mark_tick(number)
            self._ticks_recorded += 1
            self._facts.calls.look_closely = False  # one step is enough
            self._facts.uploads.step_ended()
            self._input_elements.append(self._facts.calls.taken_elements())
        elif self._name in ("warmup", "plain", "parts"):
            self._ticks_watched += 1
            self._ticks_theirs += _a_profiler_runs()
            if self._name == "plain":
                self._look_around(number, now_ns)
        if self._name == "warmup":
            self._sources.append(id(source))
            self._classes.append(type(source))
            self._warm_up(number, now_ns)
        elif (number - self._first_tick) % self._period == 0 and self._is_used_up(number, now_ns):
            self._end_phase(number, now_ns)
        self._sample(TICK_ENDS)

    def _look_around(self, number: int, now_ns: int) -> None:
        """What need not be done at every plain tick: several ranks have to know each other's ticks, one alone has time."""
        steps, within = divmod(number - self._first_tick, self._period)
        if not within:
            self._facts.plain.step(steps, now_ns)
            self._wakes_ns = now_ns + _PASSES_NS if self._crew.alone else 0

    # warm-up

    def _warm_up(self, number: int, now_ns: int) -> None:
        if number == 0:
            self._start_cold(number)
            return
        if self._recording is not None:
            if number >= schedule.COLD_STEPS * min(len(set(self._sources)), 16):
                self._stop_cold(now_ns)
            return
        self._period = self._find_period()
        if (number + 1) % self._period or (len(self._sources) < 2 * len(set(self._sources)) and number < schedule.WARMUP_TICKS):
            return
        if self._crew.ends(self._clock, "warmup", self._period, lambda: self._settled(now_ns)):
            self._begin("plain", number, now_ns)

    def _settled(self, now_ns: int) -> bool:
        borders = self._tick_ns[:: -self._period][::-1]
        borders = [ns for ns in borders if ns >= self._settling_from]
        step_ns = [later - earlier for earlier, later in itertools.pairwise(borders)]
        return schedule.settled(step_ns, now_ns - self._tick_ns[0], timed=not self._crew.spread)

    def _find_period(self) -> int:
        """By optimizer; by optimizer class for scripts that make new ones all the time."""
        found = schedule.period(self._sources)
        return found if found > 1 else schedule.period(self._classes)

    def _start_cold(self, number: int) -> None:
        """A short recording at once, kept in memory in case the script ends before a proper one."""
        if self._foreign.active:
            return
        self._facts.profiler_costs = measured_costs(self._marks, cuda=self._cuda)
        self._parts.begin(self._name, self._step_ns)
        self._start(Recording(self._marks, self._foreign, cuda=self._cuda, stacks=False), number)
        self._tick_ns[-1] = perf_counter_ns()

    def _start(self, recording: Recording, number: int) -> None:
        self._recording = recording
        self._input_elements = []
        self._facts.calls.taken_elements()
        recording.start(number)

    def _stop_cold(self, now_ns: int) -> None:
        recording, self._recording = self._recording, None
        assert recording is not None
        synchronize(self._cuda)
        recording.stop()
        phase = self._phase("timeline") | {"tick_ns": list(self._tick_ns), "trace": TIMELINE_FILE, "cold": True}
        self._cold = (recording, phase)
        self._tick_ns[-1] = self._settling_from = perf_counter_ns()

    # plain, timeline, detail

    def _begin(self, name: str, number: int, now_ns: int) -> None:
        self._keep_phase()
        self._name, self._first_tick, self._tick_ns = name, number, [now_ns]
        budget = self._budgets[name]
        self._crew.announce(Stage(_TEXTS[name], budget, self._period, self._step_ns))
        synchronize(self._cuda)
        self._parts.begin(name, self._step_ns)
        if name in ("timeline", "detail"):
            self._facts.calls.look_closely = name == "detail"
            self._start(Recording(self._marks, self._foreign, cuda=self._cuda, stacks=name == "detail"), number)
        elif name == "plain":
            self._facts.plain.begin()
        self._tick_ns[0] = begin_ns = perf_counter_ns()
        self._sample(TICK, begin_ns)
        self._next_tick, self._next_ns = number + budget.steps * self._period, begin_ns + min(budget.time_ns, budget.time_limit_ns)

    def _is_used_up(self, number: int, now_ns: int) -> bool:
        """By steps all ranks know it for themselves, for they began at the same tick; by time the one that leads says it."""
        if number >= self._next_tick:
            return True
        budget, steps = self._budgets[self._name], (number - self._first_tick) // self._period
        used_up = now_ns >= self._next_ns and budget.used_up(steps, now_ns - self._tick_ns[0])
        return self._crew.ends(self._clock, self._name, self._period, lambda: used_up)

    def _end_phase(self, number: int, now_ns: int) -> None:
        if self._name in ("plain", "parts"):
            self._end_plain(number, now_ns)
        elif self._name == "timeline":
            self._end_recording()
            self._drop_cold()
            if self._stacks:
                self._begin("detail", number, now_ns)
            else:
                self.over = True
        else:
            self._end_recording()
            self.over = True

    def _end_plain(self, number: int, now_ns: int) -> None:
        budget, steps, elapsed = self._budgets["plain"], (number - self._first_tick) // self._period, now_ns - self._tick_ns[0]
        if not self._foreign.active:
            self._begin("parts" if self._name == "plain" else "timeline", number, now_ns)
        elif steps >= 2 * budget.steps or elapsed >= 2 * budget.time_limit_ns:
            self.note("The script's own profiler runs all the time, so nothing could be recorded beside it: switch it off and run again.")
            self.over = True

    def _end_recording(self) -> None:
        """Stop the recording of the current phase and write its files; the phase is kept if it holds a whole step."""
        recording, self._recording = self._recording, None
        assert recording is not None
        name, steps = self._name, (len(self._tick_ns) - 1) // self._period
        self._note_pace()
        synchronize(self._cuda)
        recording.stop()
        if steps < 1:
            recording.discard()
            self._tick_ns = []
            return
        self._crew.announce(Stage(_WRITING[name]))
        phase = self._write_recording(recording, self._phase(name), steps)
        recording.discard()
        self._finished.append(phase)
        self._tick_ns = []
        self._write()

    def _phase(self, name: str) -> dict[str, Any]:
        """A phase with a recording, as it stands in steps.json."""
        return {"name": name, "first_tick": self._first_tick, "tick_ns": self._tick_ns, "input_elements": self._input_elements}

    def _write_recording(self, recording: Recording, phase: dict[str, Any], steps: int) -> dict[str, Any]:
        detail = phase["name"] == "detail"
        phase["trace"] = DETAIL_FILE if detail else TIMELINE_FILE
        if not detail:
            phase.setdefault("cold", False)
        recording.export(os.path.join(self._folder, phase["trace"]))
        if detail:
            phase["calls"] = CALLS_FILE
            write_calls(recording.profiler, os.path.join(self._folder, CALLS_FILE), self._facts.places)
        else:
            write_key_averages(recording.profiler, os.path.join(self._folder, AVERAGES_FILE), steps, cuda=self._cuda)
        return phase

    def _drop_cold(self) -> None:
        if self._cold is not None:
            self._cold[0].discard()
            self._cold = None

    # the end

    def close(self) -> None:
        """Keep what the current phase holds, fall back on the early recording if there is no other, and write everything."""
        try:
            if self._recording is not None and self._name == "warmup":
                self._close_cold()
            elif self._recording is not None:
                self._end_recording()
        except Exception as error:
            self._recording = None
            self.note(f"The {self._name} in progress was lost when the script ended: {error}.")
        self._keep_phase()
        if self._cold is not None and not any(phase["name"] == "timeline" for phase in self._finished):
            recording, phase = self._cold
            self._period = self._find_period()
            self._finished.append(self._write_recording(recording, phase, max(1, (len(phase["tick_ns"]) - 1) // self._period)))
            self.note("The script ended before it had warmed up: the timeline comes from its very first steps.")
        self._drop_cold()
        self._write()

    def _close_cold(self) -> None:
        if len(self._tick_ns) > 1:
            self._stop_cold(perf_counter_ns())
        elif self._recording is not None:
            self._recording.discard()
        self._recording = None

    def abandon(self, error: Exception) -> None:
        """Our own failure: the script runs on, what has been recorded stays."""
        self.note(f"The {self._name} failed: {error!r}")
        with contextlib.suppress(Exception):
            self.discard()
        self._recording, self._tick_ns, self.over = None, [], True

    def discard(self) -> None:
        """Forget everything: a better clock has been found."""
        self._wakes_ns = 0
        self._facts.plain.end(0)
        self._parts.end()
        if self._recording is not None:
            self._recording.discard()
            self._recording = None
        self._drop_cold()

    def _keep_phase(self) -> None:
        self._wakes_ns = 0
        self._parts.end()
        self._facts.plain.end((len(self._tick_ns) - 1) // self._period)
        self._note_pace()
        if self._tick_ns:
            self._finished.append({"name": self._name, "first_tick": self._first_tick, "tick_ns": self._tick_ns})
            self._tick_ns = []
            self._write()

    def _note_pace(self) -> None:
        borders = self._tick_ns[:: -self._period][:4]
        step_ns = sorted(later - earlier for later, earlier in itertools.pairwise(borders))
        self._step_ns = step_ns[len(step_ns) // 2] if step_ns else self._step_ns

    def _write(self) -> None:
        if self._foreign.silenced:
            self.note("The script's own profiler was kept inert while ours recorded; its results of this run are empty.")
        self._facts.recorded_steps = self._ticks_recorded / self._period
        steps = {
            "schema": 1,
            "clock": self._clock,
            "ticks_per_step": self._period,
            "tick_count": self._ticks,
            "pid": os.getpid(),
            "thread": self._thread,
            "per_step": self._facts.calls.per_step(self._facts.recorded_steps),
            "phases": self._finished,
            "complete": self.over,
            "notes": self._notes,
        }
        write_json(os.path.join(self._folder, "steps.json"), steps)
        if self._ticks_watched:
            self._facts.own_profiler_share = self._ticks_theirs / self._ticks_watched
        self._facts.write(self._folder)
        self._parts.processor.write(self._folder)

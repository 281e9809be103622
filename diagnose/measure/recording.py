"""A recording: everything one run left behind, or a lone trace file, behind one face.

Every part may be missing (the script ended early, somebody else recorded it): then
it is empty or ``None``, never zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from diagnose.errors import DiagnoseError, TraceUnreadable, UsageError
from diagnose.measure.device_steps import done_ns
from diagnose.measure.own_time import fetches_in_own_time, in_own_time
from diagnose.measure.processor import RECORD as PROCESSOR_RECORD
from diagnose.measure.warm_up import without_warm_up
from diagnose.measure.worker_lines import COLUMNS as WORKER_LINES
from diagnose.measure.worker_lines import read_worker_lines
from diagnose.run.child.steps.ticks import read_ticks
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from diagnose.trace.source import Source, is_url, shown

# ``in_worker``: 0 of the training process, else flags: 1, whether random numbers were asked for, and drawn
FETCH_ASKED, FETCH_DRAWS = 2, 4
FETCH_RECORD = np.dtype(
    [
        ("start_ns", "<u8"),
        ("dur_ns", "<u8"),
        ("cpu_ns", "<u8"),
        ("delay_ns", "<i8"),
        ("pid", "<u4"),
        ("in_worker", "<u4"),
    ]
)
# files before loading.bin, and what stands for what they did not tell
_OLDER_FETCHES: dict[str, dict[str, float]] = {
    "fetches.bin": {"delay_ns": -1},
    "fetch.bin": {"cpu_ns": np.nan, "delay_ns": -1},
}


@dataclass(frozen=True)
class Recording:
    """``run``, ``clock`` (steps.json), ``facts``, ``key_averages``, ``calls``: as in
    docs/architecture.md; ``fetches``: a row a batch.
    """

    source: Path  # the run folder or the trace file; for a trace at a URL the working folder
    timeline: Trace | None
    detail: Trace | None = None
    run: dict[str, Any] = field(default_factory=dict)
    clock: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    key_averages: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)  # memory.json
    proof: dict[str, Any] = field(default_factory=dict)  # verify.json: what fixes were measured to gain
    fetches: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(np.empty(0, FETCH_RECORD)))
    worker_lines: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=WORKER_LINES))
    # a row a sample
    processor: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(np.empty(0, PROCESSOR_RECORD)))
    notes: tuple[str, ...] = ()
    url: str = ""  # of a trace at one, without secrets

    def phase(self, name: str) -> dict[str, Any] | None:
        """The last phase of that name in steps.json."""
        found = [phase for phase in self.clock.get("phases", []) if phase["name"] == name]
        return found[-1] if found else None

    def step_ns(self, phase_name: str) -> np.ndarray:
        """Durations of the whole steps of a phase, ns; empty if the phase is missing.

        See `done_ns` for where a GPU computes.
        """
        phase = self.phase(phase_name)
        if phase is None:
            return np.empty(0, np.int64)
        return np.diff(done_ns(phase)[:: self.ticks_per_step])

    def input_elements(self, phase_name: str, *, of_sequences: bool = False) -> np.ndarray:
        """How many elements the tensors had that models were given in each whole step of a
        phase, or their batches of sequences alone; empty where that is not known.

        0 for a step in which no model with parameters was called.
        """
        name = "sequence_elements" if of_sequences else "input_elements"
        told = (self.phase(phase_name) or {}).get(name) or []
        whole = len(told) // self.ticks_per_step * self.ticks_per_step
        return np.asarray(told[:whole], np.int64).reshape(-1, self.ticks_per_step).sum(axis=1)

    def memory_steps(self, count: int) -> np.ndarray:
        """After how many plain steps each of the ``count`` numbers of a memory
        series was read (facts.json), from 1 on.

        Where that is not written, memory was read after every step, or every second, fourth, … of a long
        phase.
        """
        told = np.asarray(self.facts.get("memory_series_steps") or [], np.int64)
        if len(told) == count and (np.diff(told) > 0).all():
            return told
        every = 2 ** max(0, round(math.log2(max(len(self.step_ns("plain")), 1) / max(count, 1))))
        return every * np.arange(1, count + 1)

    @property
    def is_lone_trace(self) -> bool:
        """There is nothing but a trace: no run of the script left it."""
        return not (self.run or self.clock or self.facts)

    @property
    def trains_alone(self) -> bool:
        """No other rank trains with this one."""
        return ((self.facts.get("process_group") or {}).get("world_size") or 1) <= 1

    @property
    def ticks_per_step(self) -> int:
        return int(self.clock.get("ticks_per_step") or 1)


def rank_folders(run: Path) -> dict[int, Path]:
    """The folders ``rank<k>`` of a run folder by rank, lowest first."""
    numbers = sorted(
        int(path.name[4:]) for path in run.glob("rank*") if path.name[4:].isdecimal() and path.is_dir()
    )
    return {number: run / f"rank{number}" for number in numbers}


def load_recording(source: Source, *, rank: int | None = None, **reading: Any) -> Recording:
    """The recording in a run folder or a trace, which may be at a URL;
    ``reading`` are options of `read_trace`.

    ``rank``: which of a run folder, else the lowest. Raises TraceUnreadable if a lone trace cannot be read.
    In a run folder an unreadable trace becomes a note: the rest is worth a report.
    """
    if is_url(source):
        return Recording(
            source=Path(), timeline=without_warm_up(read_trace(source, **reading)), url=shown(source)
        )
    path = Path(source)
    if path.is_dir():
        return _load_run_folder(
            path, min(rank_folders(path), default=0) if rank is None else rank, partial(read_trace, **reading)
        )
    return Recording(source=path, timeline=without_warm_up(read_trace(path, **reading)))


def _load_run_folder(folder: Path, number: int, read: Callable[..., Trace]) -> Recording:
    rank = folder / f"rank{number}"
    clock = _with_phase_in_progress(_json(rank / "steps.json"), rank)
    notes: list[str] = list(clock.get("notes", []))
    recording = Recording(
        source=folder,
        timeline=None,
        run=_json(folder / "run.json"),
        clock=clock,
        facts=_json(rank / "facts.json"),
        key_averages=_json(rank / "key_averages.json"),
        memory=_json(rank / "memory.json"),
        proof=_json(folder / "verify.json"),
        fetches=_fetches(rank),
        worker_lines=read_worker_lines(rank / "worker_lines.jsonl"),
        processor=_records(rank / "processor.bin", PROCESSOR_RECORD),
    )
    if recording.trains_alone and recording.facts.get("device") == "cpu":
        recording = replace(recording, fetches=fetches_in_own_time(recording.fetches, recording.processor))
    timeline = _phase_trace(recording, rank, "timeline", read, notes)
    detail = _phase_trace(recording, rank, "detail", read, notes)
    calls_name = (recording.phase("detail") or {}).get("calls")
    calls = _json(rank / calls_name) if calls_name else {}
    return replace(recording, timeline=timeline, detail=detail, calls=calls, notes=tuple(notes))


def _with_phase_in_progress(clock: dict[str, Any], rank: Path) -> dict[str, Any]:
    """What a killed process had timed of a phase without a recording, unless an
    earlier one of that name holds more.
    """
    left = read_ticks(str(rank))
    if (
        left is None
        or not clock
        or clock.get("complete")
        or left.name in ("timeline", "detail")
        or len(left.tick_ns) < 2
    ):
        return clock
    others = [phase for phase in clock["phases"] if phase["name"] != left.name]
    earlier = next((phase for phase in clock["phases"] if phase["name"] == left.name), None)
    if earlier is not None and (left.name == "warmup" or len(earlier["tick_ns"]) >= len(left.tick_ns)):
        return clock
    return clock | {
        "phases": [*others, {"name": left.name, "first_tick": left.first_tick, "tick_ns": left.tick_ns}]
    }


def _phase_trace(
    recording: Recording, rank: Path, name: str, read: Callable[..., Trace], notes: list[str]
) -> Trace | None:
    phase = recording.phase(name)
    if phase is None or not phase.get("trace"):
        return None
    calls = rank / phase["calls"] if phase.get("calls") else None
    try:
        trace = read(rank / phase["trace"], calls=calls if calls and calls.exists() else None)
    except (TraceUnreadable, UsageError) as error:
        notes.append(f"The {name} trace could not be read: {error}")
        return None
    trace = in_own_time(trace, recording.processor, phase, alone=recording.trains_alone)
    return grouped_steps(trace, recording.ticks_per_step)


def grouped_steps(trace: Trace, ticks_per_step: int) -> Trace:
    """The trace with every ``ticks_per_step`` tick intervals joined into one step
    (two optimizers tick twice a step).
    """
    if ticks_per_step <= 1 or trace.step_source != "mark":
        return trace
    steps = trace.steps.iloc[: len(trace.steps) // ticks_per_step * ticks_per_step]
    group = np.arange(len(steps)) // ticks_per_step
    joined = steps.groupby(group).agg(
        {"number": "first", "start_ns": "min", "end_ns": "max", "complete": "all"}
    )
    return replace(trace, steps=joined.reset_index(drop=True))


def _fetches(rank: Path) -> pd.DataFrame:
    """A row a batch, with what the thread that fetched it was given: ``cpu_ns``, its processor time (nan
    where it was not recorded), and ``delay_ns``, how long it was ready to run and had no core (-1).
    """
    if not (older := [name for name in _OLDER_FETCHES if (rank / name).exists()]):
        return _records(rank / "loading.bin", FETCH_RECORD)
    unknown = _OLDER_FETCHES[older[0]]
    fields = [field for field in FETCH_RECORD.descr if field[0] not in unknown]
    return _records(rank / older[0], np.dtype(fields)).assign(**unknown)


def _records(path: Path, record: np.dtype) -> pd.DataFrame:
    if not path.exists():
        return pd.DataFrame(np.empty(0, record))
    data = path.read_bytes()
    whole = len(data) // record.itemsize * record.itemsize  # a killed worker can leave half a record
    return pd.DataFrame(np.frombuffer(data[:whole], record))


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DiagnoseError(
            f"{path} is damaged", saw=str(error), do="run the script again with `python -m diagnose`"
        ) from error
    if not isinstance(loaded, dict):
        raise DiagnoseError(
            f"{path} is damaged",
            saw=f"a {type(loaded).__name__} where an object belongs",
            do="run the script again",
        )
    return loaded

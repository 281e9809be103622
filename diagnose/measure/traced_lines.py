"""What the script's lines take by themselves, as CPython told where each begins (`run/child/lines/`).

1. From a line's time comes off what being told of it cost: as often as it began, and called a function of a
   library, what that costs as measured in the run.
2. The lines in a part of the step (forward, backward, optimizer, loader) together take what the part does in
   plain steps, without a GPU; all others what is left of the step.
3. What they still take beyond that is taken from them as far as they were slowed: in proportion to their
   time and to the part of it that being told was, half of it at most. The rest makes them add up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diagnose.measure.areas.user_code import LineTime, line_times
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.view import once

_MOST_TAKEN = 0.5  # of a line, beyond what being told usually costs
# the part of a step that a line ran in, and its row of the ledger
_ROWS = {"forward": "forward", "backward": "backward", "optimizer": "optimizer", "next": "input_wait"}
# rows of the ledger that lie in a part of the step, in which a line's time is not counted as its Python
_OF_PARTS = ("python", *_ROWS.values())

NO_CALL = "its own arithmetic and indexing"  # what takes the time of a line that calls nothing

Line = tuple[str, int]  # file, number


@dataclass(frozen=True)
class OwnTime:
    """Of a line of the script, ms a plain step: ``ms`` in all, of it ``beside_ms`` outside forward, backward,
    optimizer and loader, ``loading_ms`` in the loader; what its own functions take, which it may call, is in
    none.
    """

    function: str
    ms: float
    beside_ms: float
    loading_ms: float
    count_per_step: float


@once
def own_times(measured: Measured) -> dict[Line, OwnTime]:
    """By line; empty where lines were not timed."""
    told, step_ms = measured.recording.facts.get("line_times"), measured.metric("step_ms")
    if not told or not told.get("lines") or isinstance(step_ms, Missing):
        return {}
    lines: list[dict[str, Any]] = told["lines"]
    raw_ns, count, calls = (
        np.array([line[name] for line in lines], float) for name in ("ns", "count", "library_calls")
    )
    raw_ms, told_ms = (
        ns / told["steps"] / 1e6
        for ns in (raw_ns, count * told["event_ns"] + calls * told["library_call_ns"])
    )
    left_ms, slowed = np.maximum(raw_ms - told_ms, 0.0), np.minimum(1.0, told_ms / np.maximum(raw_ms, 1e-12))
    whole_ms = float(step_ms)
    for part, row in _ROWS.items():
        inside, part_ms = np.array([line["part"] == part for line in lines]), measured.row_ms(row)
        if not measured.has_gpu and left_ms[inside].sum() > 0 and part_ms < whole_ms:
            left_ms[inside] = _adding_up_to(part_ms, left_ms[inside], slowed[inside])
            whole_ms -= part_ms
            slowed[inside] = np.nan
    others = ~np.isnan(slowed)
    left_ms[others] = _adding_up_to(whole_ms, left_ms[others], slowed[others])
    return _by_line(lines, left_ms, count / told["steps"])


def _adding_up_to(whole_ms: float, ms: np.ndarray, slowed: np.ndarray) -> np.ndarray:
    excess_ms, slowed_ms = max(0.0, ms.sum() - whole_ms), ms * slowed
    if slowed_ms.sum() > 0:
        ms = ms - np.minimum(_MOST_TAKEN * ms, slowed_ms * excess_ms / slowed_ms.sum())
    return ms * (whole_ms / ms.sum()) if ms.sum() > 0 else ms


def _by_line(lines: list[dict[str, Any]], ms: np.ndarray, count: np.ndarray) -> dict[Line, OwnTime]:
    rows: dict[Line, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        rows[line["file"], line["line"]].append(number)
    beside, loading = (np.array([line["part"] == part for line in lines]) for part in ("", "next"))
    return {
        place: OwnTime(
            _function([lines[row]["function"] for row in found]),
            float(ms[found].sum()),
            float(ms[found][beside[found]].sum()),
            float(ms[found][loading[found]].sum()),
            float(count[found].max()),
        )
        for place, found in rows.items()
    }


def _function(names: list[str]) -> str:
    """The function that the line stands in, not the comprehension that is a part of it."""
    return next((name for name in names if not name.startswith("<") or name == "<module>"), names[0])


@once
def python_ms(measured: Measured) -> dict[Line, float]:
    """Of each line the Python of a plain step beside the model: its time there less what the recording has of
    its operators, reads and copies. Together at most the ledger's row.
    """
    view = measured.detail
    if view is None or not len(view.calls):
        return {}
    times = own_times(measured)
    recorded: dict[Line, float] = defaultdict(float)
    rows = np.flatnonzero(view.calls_in_steps)
    for row, intervals in view.ledger.rows.items() if times else ():
        if row not in _OF_PARTS and len(intervals):
            for line in line_times(view, rows, intervals):
                recorded[line.file, line.line] += line.share * measured.row_ms(row)
    left = {line: max(0.0, time.beside_ms - recorded[line]) for line, time in times.items()}
    pace = min(1.0, measured.row_ms("python") / max(sum(left.values()), 1e-12))
    return {line: ms * pace for line, ms in left.items()}


def python_lines(lines: list[LineTime], measured: Measured) -> list[LineTime]:
    """The lines of Python beside the model, with shares of it by their own time; as they are where lines were
    not timed.
    """
    own_ms = python_ms(measured)
    return _shared(lines, own_ms, max(measured.row_ms("python"), sum(own_ms.values())), own_times(measured))


def loading_lines(lines: list[LineTime], measured: Measured) -> list[LineTime]:
    """The lines of a fetch in the main process, likewise. The loop that asks for batches is none of them."""
    times = own_times(measured)
    own_ms = {line: own.loading_ms for line, own in times.items() if own.loading_ms and not own.beside_ms}
    return _shared(lines, own_ms, sum(own.loading_ms for own in times.values()), times)


def _shared(
    lines: list[LineTime], own_ms: dict[Line, float], whole_ms: float, times: dict[Line, OwnTime]
) -> list[LineTime]:
    if not own_ms or not whole_ms:
        return lines
    by_line = {(line.file, line.line): line for line in lines}
    found = []
    for place, ms in own_ms.items():
        share = ms / whole_ms
        line = by_line.get(place) or LineTime(
            *place, times[place].function, times[place].count_per_step, 0.0, 0.0, NO_CALL
        )
        found.append(replace(line, share=share, typical_share=share))
    return sorted((line for line in found if line.share > 0), key=lambda line: -line.share)

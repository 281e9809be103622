"""The picture: a step as a timeline, as it is and with the plan's fixes made one after another
(docs/architecture.md, *The picture*).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diagnose.document.text import ms
from diagnose.measure.ledger import TITLES
from diagnose.measure.measured import Measured
from diagnose.measure.peak_moment import peak_rows
from diagnose.measure.sources import Sources
from diagnose.measure.view import Rows
from diagnose.predict.new_ledger import changed_ledger, replayed, replayed_with
from diagnose.predict.plan import Assessed
from diagnose.predict.prediction import Change, Prediction
from diagnose.report.timeline.drawn import DrawnStep, ReplayedSteps, recorded_step
from diagnose.report.timeline.events import Drawing
from diagnose.report.timeline.memory import memory_series
from diagnose.report.timeline.roofline import roofline
from diagnose.trace.collector import collector_at_rest

SCHEMA = 1
MOST_FIXES = 8  # drawn one after another
AS_IT_IS = "As it is"
RECORDED = "As recorded, with what the profiler adds."
AHEAD = (
    "The host runs ahead of the GPU: what it does is drawn from the step's beginning on, and the GPU runs "
    "it in a later step."
)
FAILED = "Replaying it failed ({error})."
WAITS = "The wait for worker processes is drawn at the step's beginning."
UNLIKE = "Drawn: one step{how}, {drawn}; a typical step takes {step}."
STEADY = " of the steady-state replay"
ALIKE = 0.01  # by which the drawn step may differ from the typical one before both numbers are said


class Version(NamedTuple):
    """A step to draw, and what is said of it. ``ledger``: ms per step."""

    title: str
    rules: list[str]
    ledger: dict[str, float]
    step: DrawnStep
    replayed: bool
    failure: str = ""

    def note(self) -> str:
        drawn_ms, step_ms = self.step.length_ns / 1e6, sum(self.ledger.values())
        sentences = {
            RECORDED: not self.replayed,
            self.failure: bool(self.failure),
            AHEAD: self.step.is_ahead,
            WAITS: self.step.wait_ns > 0,
            UNLIKE.format(how=STEADY * self.replayed, drawn=ms(drawn_ms), step=ms(step_ms)): abs(
                drawn_ms - step_ms
            )
            > ALIKE * step_ms,
        }
        return " ".join(sentence for sentence, holds in sentences.items() if holds)


@collector_at_rest()
def picture(
    measured: Measured, prediction: Prediction, assessed: Sequence[Assessed], sources: Sources
) -> dict[str, Any]:
    """The picture of a recording.

    ``assessed``: its findings, the plan in its order (`diagnose.predict.plan.assess`).
    """
    plan = [one for one in assessed if one.group == "plan"]
    versions = _versions(measured, prediction, plan)
    drawing = (
        Drawing(measured, sources, [one.finding.rule for one in plan], [version.step for version in versions])
        if versions
        else None
    )
    rows = [
        row
        for row in TITLES
        if any(row in version.ledger or len(version.step.causes.get(row, ())) for version in versions)
    ]
    peak = peak_rows(measured)
    drawn = [_version(version, drawing, rows, peak) for version in versions] if drawing else []
    return {
        "schema": SCHEMA,
        "names": drawing.names if drawing else [],
        "places": drawing.places if drawing else [],
        "findings": [
            {"rule": one.finding.rule.id, "number": number, "title": one.finding.rule.fix.title}
            for number, one in enumerate(plan, 1)
        ],
        "rows": [{"row": row, "title": TITLES[row][0], "meaning": TITLES[row][1]} for row in rows],
        "lanes": drawing.lanes if drawing else [],
        "versions": drawn,
        "memory": memory_series(measured.recording),
        "roofline": roofline(measured, sources),
    }


def write_picture(picture: dict[str, Any], path: Path) -> None:
    """As gzipped JSON, the same bytes for the same picture."""
    path.write_bytes(
        gzip.compress(json.dumps(picture, separators=(",", ":"), allow_nan=False).encode(), mtime=0)
    )


# ---- versions


def _versions(measured: Measured, prediction: Prediction, plan: Sequence[Assessed]) -> list[Version]:
    failure = ""
    if prediction.missing is None:
        try:
            return _replayed_versions(prediction, plan)
        except Exception as error:  # what was recorded is worth a picture all the same
            failure = FAILED.format(error=f"{type(error).__name__}: {error}")
    step = recorded_step(measured)
    if step is None:
        return []
    ledger = {row: measured.row_ms(row) for row in step.causes if measured.row_ms(row) > 0}
    return [Version(AS_IT_IS, [], ledger, step, False, failure)]


def _replayed_versions(prediction: Prediction, plan: Sequence[Assessed]) -> list[Version]:
    fixes = _drawn_fixes(plan)
    made: list[list[Change]] = [[change for *_, change in fixes[:count]] for count in range(len(fixes) + 1)]
    now = replayed(prediction)
    # Replayed as it is, even where the wait for worker processes is taken out to be simulated.
    as_it_is = now if not now.edits else replayed_with(prediction, [], prediction.recorded_ms)
    then = [now, *(replayed(prediction, changes) for changes in made[1:])]
    steps = [ReplayedSteps(prediction, one) for one in (as_it_is, *then[1:])]
    chosen = _alike([step.lengths_ns for step in steps])
    versions = []
    for number, (one, changes) in enumerate(zip(then, made, strict=True)):
        drawn = steps[number].drawn(chosen, with_fetches=number == 0)
        ledger = {row: ms for row, ms in changed_ledger(prediction, now, one, changes).items() if ms > 0}
        title = _title([fix for fix, _, _ in fixes[:number]])
        versions.append(Version(title, [rule for _, rule, _ in fixes[:number]], ledger, drawn, True))
    return versions


def _drawn_fixes(plan: Sequence[Assessed]) -> list[tuple[int, str, Change]]:
    """Number, rule and change of the plan's rows that change every step."""
    changes = [
        (number, one.finding.rule.id, one.change)
        for number, one in enumerate(plan, 1)
        if one.change is not None
    ]
    return [row for row in changes if row[2].edits or row[2].workers is not None][:MOST_FIXES]


def _alike(lengths_ns: Sequence[np.ndarray]) -> int:
    """The step that is nearest to the mean in all versions."""
    return int(np.argmin(sum(np.abs(lengths - lengths.mean()) for lengths in lengths_ns)))


def _title(numbers: Sequence[int]) -> str:
    """`After fix 1`, `After fixes 1–2`, `After fixes 1–2, 4`."""
    if not numbers:
        return AS_IT_IS
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
    return f"After fix{'es' if len(numbers) > 1 else ''} {shown}"


def _version(version: Version, drawing: Drawing, rows: Sequence[str], peak: Rows) -> dict[str, Any]:
    events, left_out = drawing.events(version.step)
    return {
        "title": version.title,
        "rules": version.rules,
        "step_ms": float(sum(version.ledger.values())),
        "replayed": version.replayed,
        "note": version.note(),
        "ledger": {row: float(ms) for row, ms in version.ledger.items()},
        "drawn_us": round(float(version.step.length_ns) / 1000, 3),
        "peak_us": _peak_us(version.step, peak),
        "causes": _causes(version.step, rows),
        "events": events,
        "left_out": left_out,
    }


def _peak_us(step: DrawnStep, peak: Rows) -> float | None:
    """When the drawn step's memory is at its peak; None where that is not known."""
    ends_ns = step.host.end_ns[np.isin(step.host.row, peak)]
    return round(float(ends_ns.max()) / 1000, 3) if len(ends_ns) else None


def _causes(step: DrawnStep, rows: Sequence[str]) -> dict[str, list[Any]]:
    parts = [
        (number, intervals) for number, row in enumerate(rows) if len(intervals := step.causes.get(row, ()))
    ]
    if not parts:
        return {"row": [], "start": [], "dur": []}
    row = np.concatenate([np.full(len(intervals), number) for number, intervals in parts])
    intervals = np.concatenate([intervals for _, intervals in parts])
    order = np.argsort(intervals[:, 0], kind="stable")
    start, length = intervals[order, 0], (intervals[:, 1] - intervals[:, 0])[order]
    return {
        "row": row[order].tolist(),
        "start": np.round(start / 1000, 3).tolist(),
        "dur": np.round(length / 1000, 3).tolist(),
    }

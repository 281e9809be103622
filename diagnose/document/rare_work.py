"""What the script does seldom, and did in no recorded step."""

from __future__ import annotations

import math
from typing import Any

from diagnose.document.text import count, seconds
from diagnose.measure.areas.unseen import occasion, unseen_works
from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources
from diagnose.trace.notes import UNSEEN_WORK, Note

_MOST, _LINES_AT_MOST = 3, 4
_LONGEST_S = 600  # that anybody waits for one report
_ENOUGH = 1.3  # of what the last steps suggest: others are slower
_ROUND_S = 10


def unseen_work(measured: Measured, sources: Sources) -> list[Note]:
    """One for each occasion that came in no plain step, with its lines and how to wait for it."""
    recording = measured.recording
    waited_s = _waited_s(recording)
    by_occasion: dict[tuple[str, int | None], list[dict[str, Any]]] = {}
    for told in sorted(unseen_works(recording), key=lambda told: told["every"] or 0):
        by_occasion.setdefault(occasion(told), []).append(told)
    return [
        Note(
            UNSEEN_WORK,
            f"What {_lines(works, sources)} {_when(works[0]['every'])} was not timed: "
            f"{_why(_comes_in_s(works[0], measured), waited_s)}",
        )
        for works in list(by_occasion.values())[:_MOST]
    ]


def _lines(works: list[dict[str, Any]], sources: Sources) -> str:
    """`train.py:40 does`, `train.py:40, 41 and 43 do`: of one file."""
    first, *others = [str(told["line"]) for told in works[:_LINES_AT_MOST]]
    at = f"{sources.shown(works[0]['file'])}:{first}"
    if not others:
        return f"{at} does"
    return f"{', '.join([at, *others[:-1]])} and {others[-1]} do"


def _comes_in_s(told: dict[str, Any], measured: Measured) -> float:
    """Seconds from where the plain steps would have ended; nan where nobody knows."""
    next_in = told.get("next_in")
    return next_in * measured.number("step_ms") / 1e3 if next_in is not None else math.nan


def _why(comes_in_s: float, waited_s: float | None) -> str:
    if comes_in_s > _LONGEST_S:
        return f"it comes after {seconds(comes_in_s)} only. Record once where it comes sooner."
    if waited_s is not None and comes_in_s > waited_s:
        wait_s = _ROUND_S * math.ceil(_ENOUGH * comes_in_s / _ROUND_S)
        return f"it comes after about {seconds(comes_in_s)}. `--wait {wait_s}` waits for it."
    return "it came in no step that was timed. Record once where it comes sooner."


def _waited_s(recording: Recording) -> float | None:
    """The longest that plain steps would have gone on; None where they wait for nothing."""
    settings = recording.run.get("settings") or {}
    waits = settings.get("steps") is None and recording.trains_alone and not recording.run.get("in_process")
    return settings.get("wait_s") if waits else None


def _when(every: int | None) -> str:
    return f"every {count(every)} steps" if every else "after each epoch"

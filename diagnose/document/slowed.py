"""The change that made a watched run longest, in few words."""

from __future__ import annotations

from itertools import pairwise

from diagnose.document.model.watched import WatchCause, Watched, WatchLevel
from diagnose.document.text import count, end_of, factor, share

LEADS = 0.05  # of the run's time: what a slow-down has to cost to be what the report is about
TWICE = 2.0  # from here on a factor says more than per cent
_LONGEST_PLACE = 40
_WHY = {
    "input": "waiting for batches",
    "garbage": "garbage collection",
    "no_core": "other programs take cores",
    "threads": "fewer threads",
    "clocks": "lower GPU clocks",
    "line": "",
}


def slowed_down(watched: Watched | None) -> tuple[WatchLevel, WatchLevel] | None:
    """The levels before and after; None where no slow-down cost the run much."""
    if watched is None:
        return None
    slower = [(before, after) for before, after in pairwise(watched.levels) if _lost_ms(before, after) > 0]
    if not slower:
        return None
    costliest = max(slower, key=lambda levels: _lost_ms(*levels))
    return costliest if _lost_ms(*costliest) >= LEADS * 1000 * watched.s else None


def _lost_ms(before: WatchLevel, after: WatchLevel) -> float:
    return (after.mean_ms - before.mean_ms) * after.steps


def longer(before: WatchLevel, after: WatchLevel) -> str:
    """`31 % longer`, or `4.37 × as long`."""
    ratio = after.mean_ms / before.mean_ms
    return f"{factor(ratio)} as long" if ratio >= TWICE else f"{share(ratio - 1)} longer"


def slowed_headline(watched: Watched | None) -> list[str]:
    """`Steps take 31 % longer from step 1,812 on: waiting for batches (reader.py:88)`, and shorter ways to
    say it; empty where the run did not become slower.
    """
    levels = slowed_down(watched)
    if levels is None:
        return []
    said = f"Steps take {longer(*levels)} from step {count(levels[1].first)} on"
    causes = levels[1].causes
    why = next((_WHY[cause.kind] for cause in causes if _WHY[cause.kind]), "")
    place = next((_place(cause) for cause in causes if cause.line), "")
    full = (
        f"{said}: {why} ({place})" if why and place else f"{said}: {why or place}" if why or place else said
    )
    return [full, f"{said}: {why or place}" if why or place else said, said]


def _place(cause: WatchCause) -> str:
    return end_of(f"{cause.line.file}:{cause.line.line}", _LONGEST_PLACE) if cause.line else ""

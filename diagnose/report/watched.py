"""A whole run that was watched, as texts that every report can show."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

from diagnose.document.model import Document
from diagnose.document.model.watched import SlowSteps, WatchCause, Watched, WatchLevel, WatchLine, WatchSnap
from diagnose.document.slowed import longer
from diagnose.document.text import count, ms, quoted, quoted_place, seconds, share, size
from diagnose.report.operators import Table
from diagnose.run.child.watching.changes import LEAST

HEADING = "The whole run"
WORTH_TELLING = 0.02  # of the run's time, lost to slow steps
CHANGES_AT_MOST = 8
_ENOUGH_S = 30.0  # to say that steps became no slower
_MOST_CAUSES = 3


def sentences(document: Document) -> list[str]:
    """What became of the steps over the run, most important first; empty where it was not watched."""
    watched = document.watched
    if watched is None:
        return []
    changes = [
        _changed(before, after, watched) for before, after in pairwise(watched.levels)
    ]  # in their order
    left = len(changes) - CHANGES_AT_MOST
    told = [*changes[:CHANGES_AT_MOST], *([f"{count(left)} more changes follow."] if left > 0 else [])]
    return [
        *(told or [_steady(watched)]),
        *_lost(watched),
        *_memory(watched),
        *_ranks(watched),
        *map(_snap, watched.snaps),
        *(["The end of what was written about it could not be read."] if watched.damaged else []),
    ]


def about(document: Document) -> str:
    """How much was watched; empty where nothing was."""
    watched = document.watched
    if watched is None:
        return ""
    rank = f" of rank {watched.rank}" if watched.ranks else ""
    return (
        f"Watched: {count(watched.steps)} steps{rank} in {seconds(watched.s)}, from step "
        f"{count(watched.first)} on, without a profiler."
    )


def _changed(before: WatchLevel, after: WatchLevel, watched: Watched) -> str:
    """`From step 1,812 on (5 min into the watch) a step takes 13.4 ms instead of 10.2 ms, 31 % longer: …`"""
    since = f"From step {count(after.first)} on ({seconds(after.at_s)} into the watch)"
    begin = f"{since} a step takes {ms(after.mean_ms)} instead of {ms(before.mean_ms)}"
    ratio = after.mean_ms / before.mean_ms
    if ratio <= 1:
        return f"{begin}, {share(1 - ratio)} less."
    causes = "; ".join(_cause(cause) for cause in after.causes[:_MOST_CAUSES])
    return (
        f"{begin}, {longer(before, after)}: {causes or 'all lines take longer alike, and nothing says why'}."
    )


def _cause(cause: WatchCause) -> str:
    if cause.kind == "threads":
        return f"torch computes with {count(cause.after)} threads instead of {count(cause.before)}"
    if cause.kind == "clocks":
        why = f" ({cause.told.replace('_', ' ')})" if cause.told else ""
        fell = f"the GPU's clock fell from {count(cause.before)} to {count(cause.after)} MHz{why}"
        return f"{fell}, which takes up to {ms(cause.ms)} more"
    if cause.kind == "no_core":
        return (
            f"other programs use {count(round(cause.after or 0, 1))} cores instead of "
            f"{count(round(cause.before or 0, 1))}, and for {ms(cause.ms)} more the training thread has none"
        )
    if cause.kind == "input":
        return f"waiting for batches takes {ms(cause.ms)} more"
    if cause.kind == "garbage":
        return f"Python's garbage collector takes {ms(cause.ms)} more"
    return f"{_place(cause.line)} takes {ms(cause.ms)} more{', and waits' if cause.waits else ''}"


def _place(line: WatchLine | None) -> str:
    """`train.py:41` (`torch.save(net, path)`)."""
    if line is None:
        return "no line that is known"
    source = f" ({quoted(line.source)})" if line.source else ""
    return f"{quoted_place(line)}{source}"


def _steady(watched: Watched) -> str:
    level = watched.levels[0]
    if watched.s < _ENOUGH_S:
        return (
            f"{seconds(watched.s)} is too short to tell whether its steps become slower: they took "
            f"{ms(level.typical_ms)}, typically."
        )
    more = _more_at_the_end(watched.curve.mean_ms)
    if abs(more) >= LEAST:
        return (
            "No lasting change was noticed, but in the last third of the time steps took "
            f"{share(abs(more))} {'longer' if more > 0 else 'shorter'} than in the first, on average; a "
            f"typical one {ms(level.typical_ms)}."
        )
    return f"Its steps took the same all the time: {ms(level.typical_ms)}, typically."


def _more_at_the_end(mean_ms: list[float]) -> float:
    """In the last third of these than in the first, as a share; 0 for too few."""
    third = len(mean_ms) // 3
    return fmean(mean_ms[-third:]) / fmean(mean_ms[:third]) - 1 if third else 0.0


def _lost(watched: Watched) -> list[str]:
    if watched.lost_share < WORTH_TELLING:
        return []
    return [
        f"Slow steps took {share(watched.lost_share)} of the time: what they took beyond a usual step, "
        f"{seconds(watched.lost_share * watched.s)} in all."
    ]


def _memory(watched: Watched) -> list[str]:
    grown = watched.memory_growth_bytes
    if grown is None:
        return []
    each = 1000 * grown / max(watched.steps, 1)
    return [f"Memory grew by {size(grown)} from start to end, about {size(each)} in 1,000 steps."]


def _ranks(watched: Watched) -> list[str]:
    slower = [rank for rank in watched.ranks if rank.slower_at_s is not None]
    if not slower:
        return []
    return [
        f"{count(len(slower))} of {count(len(watched.ranks))} ranks became slower; rank {watched.rank} is "
        "told of, whose own computing and input grew most: the others may only wait for it."
    ]


def _snap(snap: WatchSnap) -> str:
    begin = f"Recorded again from step {count(snap.first)} on ({snap.reason}): `snap-{snap.number}`"
    return f"{begin}. Since the start: {'; '.join(snap.changed)}." if snap.changed else f"{begin}."


def slow_table(document: Document) -> Table | None:
    """Slow steps by cause; None where there are none."""
    watched = document.watched
    if watched is None or not watched.slow:
        return None
    return Table(
        "Slow steps",
        ("Where", "What", "Steps", "Lost", "Of the run", "Comes back", "Slowest"),
        [_slow(slow, watched) for slow in watched.slow],
        (
            "Slow is a step that takes half as long again as usual; lost is what it takes beyond that. Of "
            "seconds with many slow steps the worst stand for all.",
        ),
    )


_WHAT = {"input": "waiting for a batch", "garbage": "Python's garbage collector", "unknown": "not seen"}


def _slow(slow: SlowSteps, watched: Watched) -> tuple[str, ...]:
    line = slow.line
    where = f"{line.file}:{line.line}" if line else "–"
    what = _WHAT.get(slow.kind) or (line.source or line.called or line.function if line else "")
    return (
        where,
        what,
        count(slow.count),
        seconds(slow.lost_s),
        share(slow.lost_s / watched.s),
        f"every {count(slow.every)} steps" if slow.every else "–",
        f"{ms(slow.worst_ms)}, step {count(slow.worst_step)}",
    )

"""The whole run, where it was watched, as the result document tells it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import median

from diagnose.document.model import watched as model
from diagnose.measure.recording import Recording, rank_folders
from diagnose.measure.sources import Sources
from diagnose.run.child.watching.windows import FILE
from diagnose.trace.notes import Note
from diagnose.watched.clocks import Clock, fallen, read_clocks
from diagnose.watched.levels import Cause, Level, causes, levels
from diagnose.watched.log import Line, WatchLog, read_log
from diagnose.watched.slow_steps import SlowKind, slow_kinds

POINTS = 400  # of the curve
SLOW_KINDS = 6
WORTH_TELLING = 0.005  # of the run's time: what slow steps of a kind have to take
_GROWTH_BYTES, _GROWTH_SHARE = 50_000_000, 0.05
_QUARTER = 5  # windows, at least


def watched_run(recording: Recording, sources: Sources) -> model.Watched | None:
    """None where the run was not watched."""
    if not recording.run or not recording.source.is_dir():
        return None
    found = (read_log(folder, rank) for rank, folder in rank_folders(recording.source).items())
    logs = [log for log in found if log is not None]
    if not logs:
        return None
    ranks = [_rank(log) for log in logs] if len(logs) > 1 else []
    told = max(zip(logs, ranks, strict=True), key=lambda pair: pair[1].own_ms)[0] if ranks else logs[0]
    return _told(told, ranks, sources, read_clocks(recording.source))


def unwatched(recording: Recording) -> list[Note]:
    """Why a run that was to be watched was not."""
    settings = recording.run.get("settings") or {}
    if not settings.get("watch") or any((folder / FILE).exists() for folder in _folders(recording)):
        return []
    return [Note("", "Nothing was watched: the script ended before all was recorded.")]


def _folders(recording: Recording) -> list[Path]:
    return list(rank_folders(recording.source).values()) if recording.source.is_dir() else []


def _told(
    log: WatchLog, ranks: list[model.WatchRank], sources: Sources, clocks: list[Clock]
) -> model.Watched:
    parts = levels(log)
    why = [[], *(_why(before, after, log, clocks) for before, after in pairwise(parts))]
    slow = [kind for kind in slow_kinds(log) if kind.lost_s >= WORTH_TELLING * log.seconds]
    return model.Watched(
        rank=log.rank,
        first=log.windows[0].first,
        steps=log.steps,
        s=log.seconds,
        lost_share=Level(log.windows).lost_share,
        levels=[_level(level, of, sources) for level, of in zip(parts, why, strict=True)],
        slow=[_slow(kind, sources) for kind in slow[:SLOW_KINDS]],
        snaps=[
            model.WatchSnap(number=snap.number, first=snap.first, reason=snap.reason) for snap in log.snaps
        ],
        curve=_curve(log),
        memory_growth_bytes=_growth(log),
        ranks=ranks,
        damaged=bool(log.damaged),
    )


def _why(before: Level, after: Level, log: WatchLog, clocks: list[Clock]) -> list[Cause]:
    if after.mean_ms <= before.mean_ms:
        return []
    return [*fallen(clocks, before, after, log), *causes(before, after, log)]


def _rank(log: WatchLog) -> model.WatchRank:
    parts = levels(log)
    slower = [(a, b) for a, b in pairwise(parts) if b.mean_ms > a.mean_ms]
    if not slower:
        return model.WatchRank(rank=log.rank, slower_at_s=None, own_ms=0.0)
    before, after = slower[0]
    return model.WatchRank(
        rank=log.rank, slower_at_s=after.windows[0].at_s, own_ms=_own_ms(after) - _own_ms(before)
    )


def _own_ms(level: Level) -> float:
    """What a step takes by this rank's own computing, input and lack of cores; others wait for it."""
    return sum(level.average(name) or 0.0 for name in ("run_ms", "input_ms", "delay_ms"))


def _level(level: Level, why: list[Cause], sources: Sources) -> model.WatchLevel:
    return model.WatchLevel(
        first=level.first,
        steps=level.steps,
        at_s=level.windows[0].at_s,
        s=level.seconds,
        typical_ms=level.typical_ms,
        mean_ms=level.mean_ms,
        lost_share=level.lost_share,
        causes=[
            model.WatchCause(
                kind=cause.kind,
                ms=cause.ms,
                line=_line(cause.line, sources),
                before=cause.before,
                after=cause.after,
                told=cause.told,
                waits=cause.waits,
            )
            for cause in why
        ],
    )


def _slow(kind: SlowKind, sources: Sources) -> model.SlowSteps:
    return model.SlowSteps(
        kind=kind.kind,
        line=_line(kind.line, sources),
        count=kind.count,
        lost_s=kind.lost_s,
        every=kind.every,
        worst_step=kind.worst.step,
        worst_ms=kind.worst.ms,
    )


def _line(line: Line | None, sources: Sources) -> model.WatchLine | None:
    if line is None:
        return None
    return model.WatchLine(
        file=sources.shown(line.file),
        line=line.line,
        function=line.function,
        source=sources.line(line.file, line.line),
        called=line.called,
    )


def _curve(log: WatchLog) -> model.WatchCurve:
    """At most `POINTS` points, each of as many windows."""
    each = -(-len(log.windows) // POINTS)
    groups = [log.windows[at : at + each] for at in range(0, len(log.windows), each)]
    parts = [Level(group) for group in groups]
    return model.WatchCurve(
        at_s=[group[0].at_s for group in groups],
        first=[group[0].first for group in groups],
        median_ms=[part.typical_ms for part in parts],
        mean_ms=[part.mean_ms for part in parts],
        input_ms=[part.average("input_ms") or 0.0 for part in parts],
        end_s=log.windows[-1].at_s + log.windows[-1].s,
        memory_bytes=[group[-1].memory_bytes for group in groups],
    )


def _growth(log: WatchLog) -> int | None:
    """From the first quarter of the run to the last, where each holds more than the one before."""
    quarter = len(log.windows) // 4
    if quarter < _QUARTER:
        return None
    held = [window.memory_bytes for window in log.windows]
    middles = [median(held[at * quarter : (at + 1) * quarter]) for at in range(4)]
    grown = middles[-1] - middles[0]
    steady = all(later > earlier for earlier, later in pairwise(middles))
    least = max(_GROWTH_BYTES, _GROWTH_SHARE * middles[0])
    return round(grown) if steady and grown >= least else None

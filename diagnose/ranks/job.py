"""All ranks' summaries become one `Job`: who holds the others up, how
often, and what that rank does instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.measure.job import CollectiveKind, Job, JobStep, Pattern, RankState
from diagnose.ranks.arrivals import covered, inherited_ns, median_of_others, of_same_ranks
from diagnose.ranks.collective_replay import CollectiveReplay
from diagnose.ranks.collectives import COLUMNS
from diagnose.ranks.critical_path import OneStep, critical_path, passages, path_parts
from diagnose.ranks.kinds import collective_kinds, meetings
from diagnose.ranks.matching import Aligned, aligned, names_of
from diagnose.ranks.summary import RankSummary

# A rank that all wait for less than this is not late: arrivals differ by as much in a healthy job.
LEAST_LATE = 0.01  # of a step
LEAST_ERRORS = 3.0  # of the clocks
LEAST_STEPS = 3  # fewer cannot tell whether it is always the same rank
PERSISTENT = 2 / 3  # of the steps are held up most by the same rank
# standard errors of what it holds up more than the next: one of two comes last in
# most of a few steps by chance as well
LEAST_SURE = 3.0
ROTATING = 1 / 2  # of the steps are held up by some rank


def job_of(summaries: Iterable[RankSummary]) -> Job:
    """The job of these ranks.

    Raises DiagnoseError if there is none; a rank that does not fit costs only itself, and a note says so.
    """
    ranks, duplicates, notes = _by_rank(list(summaries))
    if not ranks:
        raise DiagnoseError("no rank of the job could be read", do="analyse one trace alone to see why")
    world_size = max(len(ranks), *(rank.world_size for rank in ranks), *(rank.rank + 1 for rank in ranks))
    together = aligned(ranks)
    if silent := [one for one in together.left_out if not len(one.collectives)]:
        notes.append(
            f"Not compared, because no collective was recorded in its steps: rank {names_of(silent)}."
        )
    if unlike := [one for one in together.left_out if len(one.collectives)]:
        other = (
            "other steps or other collectives"
            if all(rank.numbered for rank in ranks)
            else "other collectives"
        )
        notes.append(
            f"Not compared, because its recording holds {other} than the other ranks': rank "
            f"{names_of(unlike)}."
        )
    notes += together.notes
    delays = _Delays(together, world_size)
    late, pattern = delays.late_rank()
    causes = delays.causes_ms(late) if late is not None else {}
    cause = max(causes, key=lambda row: causes[row], default=None)
    if cause is not None and causes[cause] <= 0:
        cause = None
    return Job(
        world_size=world_size,
        ranks=tuple(_state(rank, delays) for rank in ranks),
        missing=tuple(sorted(set(range(world_size)) - {rank.rank for rank in ranks})),
        duplicates=duplicates,
        step_count=delays.step_count,
        matched=together.rows.shape[1],
        unmatched=together.unmatched,
        collectives=delays.collectives(),
        late_rank=late,
        pattern=pattern,
        held_up_ms=delays.held_up_ms,
        cause=cause,
        cause_ms=causes[cause] if cause is not None else None,
        causes_ms=causes,
        notes=tuple(notes),
        gain_ms=delays.gain_ms(late, cause) if late is not None and cause is not None else None,
        step=delays.median_step(),
        longest_last_share=delays.longest_last_share(),
    )


def _by_rank(summaries: list[RankSummary]) -> tuple[list[RankSummary], tuple[int, ...], list[str]]:
    """One summary a rank, sorted; which ranks came more than once; notes.

    Those that do not tell get the numbers left over, by source.
    """
    told = [summary for summary in summaries if summary.rank >= 0]
    untold = sorted(
        (summary for summary in summaries if summary.rank < 0), key=lambda summary: summary.source
    )
    notes = []
    if untold:
        free = (
            number for number in range(len(summaries) + len(told)) if number not in {one.rank for one in told}
        )
        untold = [replace(one, rank=next(free)) for one in untold]
        notes.append(
            f"The traces hold no rank, so ranks are numbered in the order of names: {names_of(untold)}."
        )
    first: dict[int, RankSummary] = {}
    again = [one for one in [*told, *untold] if first.setdefault(one.rank, one) is not one]
    if again:
        notes.append(
            f"There are several recordings of one rank: the first is used. Left out: rank {names_of(again)}."
        )
    return [first[rank] for rank in sorted(first)], tuple(sorted({one.rank for one in again})), notes


def _state(summary: RankSummary, delays: _Delays) -> RankState:
    at = delays.position.get(summary.rank)
    series = delays.lateness_ms[at] if at is not None else np.empty(0)
    known = at is not None and delays.step_count > 0
    return RankState(
        rank=summary.rank,
        source=summary.source,
        host=summary.host,
        step_ms=summary.step_ms,
        rows_ms=summary.rows_ms,
        offset_ms=float(delays.together.offset_ns[at]) / 1e6 if known else np.nan,
        offset_error_ms=float(delays.together.error_ns[at]) / 1e6 if known else np.nan,
        lateness_ms=float(series.mean()) if known else np.nan,
        held_up_ms=float(delays.alone_ms[at].mean()) if known else np.nan,
        last_share=delays.last_share(summary.rank) if known else np.nan,
        lateness_series_ms=tuple(series.tolist()),
        peak_memory_bytes=summary.peak_memory_bytes,
        memory_bytes=summary.memory_bytes,
    )


class _Delays:
    """Who comes to the matched collectives when. Arrays have the shape (ranks, steps) unless said otherwise.

    ``lateness_ms``: how much later a rank comes than the median of the others, early arrivals counted as
    none. ``alone_ms``: how long all wait for it alone, where it comes last. ``blamed_ms``: there, how much
    later it comes than the median of the others. Where ranks meet in several process groups, what a rank
    waited in one does not count as its lateness in the next, and the group counts in which it is most: the
    same lateness holds up one group after the other.
    """

    def __init__(self, together: Aligned, world_size: int) -> None:
        self.together = together
        self.position = {summary.rank: at for at, summary in enumerate(together.summaries)}
        self._is_whole = len(together.summaries) == world_size
        steps = together.steps
        counted = _counted(steps)
        self._columns = np.flatnonzero(counted)
        self._numbers, self._step = np.unique(steps[counted], return_inverse=True)
        self.step_count = len(self._numbers)
        arrival, end = together.times_ns("arrival_ns"), together.times_ns("end_ns")
        self._arrival, self._end = arrival[:, counted], end[:, counted]
        self._begin = _left_before(arrival, end, counted)
        self._is_last = (
            np.arange(len(self._arrival))[:, None] == _or_never(self._arrival).argmax(axis=0)[None]
        )
        self._last = np.fmax.reduce(self._arrival, axis=0, keepdims=True)
        self._groups = of_same_ranks(self._arrival)
        others, inherited = (
            median_of_others(self._arrival),
            inherited_ns(self._last - self._arrival, self._groups),
        )
        last_but_one = (
            np.sort(_or_never(self._arrival), axis=0)[-2:-1] if len(self._arrival) > 1 else self._arrival
        )
        self.lateness_ms = self._by_step(others + inherited, self._arrival)
        self.blamed_ms = self._by_step(
            np.where(self._is_last, others + inherited, self._arrival), self._arrival
        )
        self.alone_ms = self._by_step(
            np.where(self._is_last, last_but_one + inherited, self._arrival), self._arrival
        )
        held_up = self._by_step(
            np.where(self._is_last, others, np.inf).min(axis=0, keepdims=True), self._last
        )
        self.held_up_ms = float(held_up.mean()) if self.step_count else np.nan

    def _by_step(self, begin_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
        """What the intervals, one a collective, cover of each step, ms: those of
        the process group of which it is most.
        """
        most = np.zeros((len(begin_ns), self.step_count))
        for columns in self._groups:
            lengths_ms = covered(begin_ns[:, columns], end_ns[:, columns]) / 1e6
            by_step = [np.bincount(self._step[columns], of_rank, self.step_count) for of_rank in lengths_ms]
            most = np.maximum(most, np.array(by_step).reshape(most.shape))
        return most

    def late_rank(self) -> tuple[int | None, Pattern]:
        """The rank that holds the others up, and whether that is always the same."""
        if not self.step_count:
            return None, "unknown"
        found = Counter(rank for rank in self._holders if rank is not None)
        rank, times = found.most_common(1)[0] if found else (None, 0)
        if self.step_count < LEAST_STEPS:
            return rank, "unknown"
        if rank is not None and times >= PERSISTENT * self.step_count:
            return (rank, "persistent") if self._is_sure(rank) else (None, "unknown")
        return None, "rotating" if found.total() >= ROTATING * self.step_count else "none"

    def _is_sure(self, rank: int) -> bool:
        """Whether the steps agree that it holds up more than any other does."""
        at = self.position[rank]
        more = self.blamed_ms[at] - np.delete(self.blamed_ms, at, axis=0).max(axis=0, initial=0.0)
        return bool(more.mean() > LEAST_SURE * more.std(ddof=1) / np.sqrt(len(more)))

    @cached_property
    def _holders(self) -> list[int | None]:
        """For each step the rank that all wait for longest; None where that is not worth a word."""
        reference = self.together.summaries[0].steps
        step_ms = float((reference["end_ns"] - reference["start_ns"]).median()) / 1e6
        least_ms = max(LEAST_LATE * step_ms, LEAST_ERRORS * float(self.together.error_ns.max()) / 1e6)
        most = self.blamed_ms.argmax(axis=0)
        ranks = [self.together.summaries[at].rank for at in most]
        return [
            rank if self.blamed_ms[at, step] >= least_ms else None
            for step, (at, rank) in enumerate(zip(most, ranks, strict=True))
        ]

    def last_share(self, rank: int) -> float:
        return self._holders.count(rank) / self.step_count

    def longest_last_share(self) -> float | None:
        """Of the steps that some rank holds up, those in which no rank's input was larger, and that of half
        of the ranks smaller; None where the recordings do not tell how large inputs were.
        """
        inputs = np.stack([_inputs(summary, self._numbers) for summary in self.together.summaries])
        held_up = [(self.position[rank], step) for step, rank in enumerate(self._holders) if rank is not None]
        known = [(at, step) for at, step in held_up if (inputs[:, step] >= 0).all()]
        largest = [
            inputs[at, step] == inputs[:, step].max() and inputs[at, step] > np.median(inputs[:, step])
            for at, step in known
        ]
        return float(np.mean(largest)) if known else None

    def causes_ms(self, rank: int) -> dict[str, float]:
        """For each row of the ledger what the rank spends more than the median of the others on the
        way to collectives it comes last to.
        """
        at = self.position[rank]
        columns = self._is_last[at]
        rows = [str(name) for name in self.together.summaries[at].collectives if name not in COLUMNS]
        return {row: self._excess_ms(row, at, columns) for row in rows}

    def _excess_ms(self, row: str, at: int, columns: np.ndarray) -> float:
        return float(self._more_ns(row, at)[columns].sum()) / self.step_count / 1e6

    def _more_ns(self, row: str, at: int) -> np.ndarray:
        """What a row of the ledger takes a rank more than the median of the
        others, on its way to each collective.
        """
        spent = self._spent_ns(row)
        return spent[at] - median_of_others(spent)[at]

    def _spent_ns(self, row: str) -> np.ndarray:
        """What a row of the ledger takes each rank on its way to each
        collective, shape (ranks, collectives).
        """
        spent = [
            _spent_ns(summary, row, own)
            for summary, own in zip(self.together.summaries, self.together.rows, strict=True)
        ]
        return np.stack(spent)[:, self._columns]

    def gain_ms(self, rank: int, row: str) -> float:
        """What all gain per step if that row of the ledger took the rank what it takes the
        median of the others, by a replay of all.
        """
        at = self.position[rank]
        less = np.zeros_like(self._arrival, dtype=np.float64)
        less[at] = np.nan_to_num(self._more_ns(row, at))
        return CollectiveReplay(self._arrival, self._end, self._begin).gain_ns(less) / self.step_count / 1e6

    def median_step(self) -> JobStep | None:
        """The step of median length, from collective to collective; None if nothing was matched."""
        if not self.step_count:
            return None
        lasts = [np.flatnonzero(self._step == number)[-1] for number in range(self.step_count)]
        over = np.fmax.reduce(self._end, axis=0)[lasts]
        lengths = np.diff(over, prepend=self._begin.max())
        chosen = int(np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2])
        columns = np.flatnonzero(self._step == chosen)
        begin = np.fmax.reduce(self._end[:, : columns[0]], axis=1, initial=-np.inf)
        step = OneStep(
            arrival_ns=self._arrival[:, columns],
            end_ns=self._end[:, columns],
            begin_ns=np.maximum(begin, self._begin),
            kinds=self.together.of_meeting("kind")[self._columns][columns].tolist(),
            spent_ns={row: np.nan_to_num(self._spent_ns(row)[:, columns]) for row in self._rows},
        )
        legs, ranks = critical_path(step), [summary.rank for summary in self.together.summaries]
        whole_ms = (step.over_ns - legs[0].begin_ns) / 1e6
        return JobStep(
            int(self._numbers[chosen]), whole_ms, path_parts(legs, step, ranks), passages(legs, step, ranks)
        )

    @property
    def _rows(self) -> list[str]:
        """The rows of the ledger that any rank spends time in."""
        return sorted(
            {
                str(name)
                for summary in self.together.summaries
                for name in summary.collectives
                if name not in COLUMNS
            }
        )

    def collectives(self) -> tuple[CollectiveKind, ...]:
        """The matched collectives by kind and lane, those that take longest first."""
        if not self.step_count:
            return ()
        found = meetings(self.together, self._columns, self._arrival, self._end, is_whole=self._is_whole)
        return collective_kinds(found, self.step_count)


def _inputs(summary: RankSummary, numbers: np.ndarray) -> np.ndarray:
    """How many elements the model was given in each of these steps; -1 where that is not known."""
    told = summary.steps.set_index("number")["input_elements"]
    return told[~told.index.duplicated()].reindex(numbers, fill_value=-1).to_numpy()


def _or_never(arrival_ns: np.ndarray) -> np.ndarray:
    """The same where a rank takes part, before everything where it does not."""
    return np.where(np.isfinite(arrival_ns), arrival_ns, -np.inf)


def _spent_ns(summary: RankSummary, row: str, matched: np.ndarray) -> np.ndarray:
    """What a row of the ledger takes on the way to each matched collective since the one
    before, less what is spent within others.

    nan for the collectives of other groups.
    """
    there = matched >= 0
    spent = np.where(there, 0.0, np.nan)
    if row in summary.collectives:
        spent[there] = _since_before(summary.collectives[row].to_numpy().cumsum(), matched[there])
    return spent


def _since_before(until_ns: np.ndarray, matched: np.ndarray) -> np.ndarray:
    """What was spent until each of these collectives, less what was until the
    one before it in the order of launch.
    """
    order = np.argsort(matched)
    since = np.empty(len(matched))
    since[order] = np.diff(until_ns[matched[order]], prepend=0)
    return since


def _counted(steps: np.ndarray) -> np.ndarray:
    """Which matched collectives tell who is late: those in steps, less the first step, or of
    a single step the first collective.

    What a rank did before is not recorded, and each rank's profiler takes its own time to start.
    """
    in_steps = steps >= 0
    several = len(np.unique(steps[in_steps])) > 1
    if several:
        return in_steps & (steps != steps[in_steps].min())
    return in_steps & (np.cumsum(in_steps) > 1)


def _left_before(arrival_ns: np.ndarray, end_ns: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """When each rank left the collectives before the first that counts; where there
    is none, when it comes to its first.
    """
    first = int(np.argmax(counted)) if counted.any() else 0
    came = np.fmin.reduce(arrival_ns, axis=1, initial=np.inf)
    return np.fmax(came, np.fmax.reduce(end_ns[:, :first], axis=1, initial=-np.inf))

"""Which collective of one rank is which of another, and how far their clocks are apart.

Ranks of one process group make the same collectives in the same order, so the how-manyth tells; but each
recording begins where it likes. The steps' numbers tell the shift between two. Where they do not count from
the job's beginning, of the shifts that put steps onto steps the one holds at which the ends agree best: a
collective ends for all ranks at one moment. Where some were lost, that moment alone has to tell.

Where the traces name the groups, each group is matched by itself, and ranks that share one join the groups'
clocks. Where they do not, all ranks are taken to be one group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from diagnose.ranks.collectives import TEXTS
from diagnose.ranks.summary import RankSummary

# Not every rank waits for every other in these: their ends tell nothing about clocks, and
# coming late to one may hold up nobody.
ONE_SIDED = ("send_recv", "broadcast", "reduce", "gather", "scatter")
LEAST_ALIKE = 0.9  # of the collectives at a shift: the same kind in the same lane
# Ends of one collective scatter by what the network and the scheduler add (ms where processes share a core).
# Those of different ones scatter as steps do, and some end before others have come: nobody leaves a
# collective before everybody has come.
MOST_SCATTER = 0.5  # of a step
LEAST_CAUSAL = 0.9  # of the collectives
LEAST_MOMENTS, LEAST_MOMENT_SHARE = 3, 0.5  # collectives that end together by chance are fewer
FURTHEST = 6.0  # scatters from the median: it is not the same collective
LEAST_FURTHEST_NS = 1_000_000
EQUAL_SCATTER_NS = 100_000
SIGMA_OF_MAD = 1.4826  # standard deviation of a normal distribution by its median absolute deviation
MOST_CELLS = 20_000_000  # ranks times collectives that are compared: 160 MB a table


@dataclass(frozen=True)
class Aligned:
    """Clocks and collectives of the ranks that could be aligned.

    ``rows``: of each rank's table of collectives, shape (ranks, collectives); a column is one collective, -1
    where a rank is not in its group. ``offset_ns``, ``error_ns``: how far each clock is ahead of the first of
    these ranks', and how far the ends of collectives scatter about that; both 0 on one machine.
    """

    summaries: tuple[RankSummary, ...]
    rows: np.ndarray
    offset_ns: np.ndarray
    error_ns: np.ndarray
    unmatched: int
    left_out: tuple[RankSummary, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def first(self) -> np.ndarray:
        """For each collective the first rank that takes part."""
        return (self.rows >= 0).argmax(axis=0)

    def of_meeting(self, name: str) -> np.ndarray:
        """A column of the tables of collectives as the first rank that takes part has it, shape
        (collectives,).
        """
        found = np.empty(self.rows.shape[1], object)
        for at, (one, own) in enumerate(zip(self.summaries, self.rows, strict=True)):
            mine = self.first == at
            found[mine] = one.collectives[name].to_numpy()[own[mine]]
        return found if name in TEXTS else found.astype(np.int64)

    @cached_property
    def steps(self) -> np.ndarray:
        """The step of each collective, as the first of the ranks counts; -1 outside.

        Of those without it the time tells.
        """
        told = self.of_meeting("step")
        if all(summary.numbered for summary in self.summaries):
            return told
        steps = self.summaries[0].steps
        arrival = self._column("arrival_ns") - np.round(self.offset_ns).astype(np.int64)[:, None]
        last = np.where(self.rows >= 0, arrival, np.iinfo(np.int64).min).max(axis=0)
        at = np.searchsorted(steps["start_ns"].to_numpy(), last, side="right") - 1
        inside = (at >= 0) & (last < np.append(steps["end_ns"].to_numpy(), 0)[at])
        return np.where(
            self.first == 0, told, np.where(inside, np.append(steps["number"].to_numpy(), -1)[at], -1)
        )

    def times_ns(self, name: str) -> np.ndarray:
        """Times of the collectives on the first rank's clock, from the first arrival on, shape
        (ranks, collectives); nan without a part.
        """
        arrival, times = self._column("arrival_ns"), self._column(name)
        first = arrival[self.rows >= 0].min(initial=np.iinfo(np.int64).max)
        on_one_clock = times - first - np.round(self.offset_ns).astype(np.int64)[:, None]
        return np.where(self.rows >= 0, on_one_clock, np.nan)

    def of_ranks(self, name: str) -> np.ndarray:
        """A column of numbers of the tables of collectives, shape (ranks, collectives); nan without a
        part.
        """
        return np.where(self.rows >= 0, self._column(name), np.nan)

    def _column(self, name: str) -> np.ndarray:
        columns = np.zeros(self.rows.shape, np.int64)
        for at, (one, own) in enumerate(zip(self.summaries, self.rows, strict=True)):
            columns[at, own >= 0] = one.collectives[name].to_numpy()[own[own >= 0]]
        return columns


@dataclass(frozen=True)
class _Fit:
    """``rows``: for each of the reference's meetings the row of the other rank's table, -1 for none."""

    rows: np.ndarray
    offset_ns: float
    error_ns: float
    scatter_ns: float


@dataclass(frozen=True)
class _Group:
    """The collectives of one process group.

    ``ranks``: positions of those that fit; arrays as in `Aligned`, for these ranks alone.
    """

    ranks: list[int]
    rows: np.ndarray
    offset_ns: np.ndarray
    error_ns: np.ndarray
    unmatched: int


def aligned(summaries: Sequence[RankSummary]) -> Aligned:
    """All ranks on one clock, collective by collective; a rank whose collectives do not fit is left out.

    Needs one summary at least.
    """
    meetings = [_meetings(summary) for summary in summaries]
    groups = [_group(summaries, members, tables) for members, tables in _by_group(meetings)]
    clocks, joined = _one_clock(groups)
    compared = _few_enough(joined, len(clocks))
    kept = sorted({rank for one in compared for rank in one.ranks})
    offset = np.array([clocks[at][0] for at in kept])
    together = Aligned(
        summaries=tuple(summaries[at] for at in kept),
        rows=_side_by_side(compared, kept),
        offset_ns=offset - offset[0],
        error_ns=np.array([clocks[at][1] for at in kept]),
        unmatched=sum(group.unmatched for group in groups),
        left_out=tuple(summary for at, summary in enumerate(summaries) if at not in clocks),
        notes=_notes(compared, kept, len(joined)),
    )
    return together if len(compared) < 2 else _in_order(together)


def _meetings(summary: RankSummary) -> pd.DataFrame:
    """The collectives in which everybody waits for everybody; the index stays that of the table."""
    table = summary.collectives
    table = table[~table["kind"].isin(ONE_SIDED)]
    return table.assign(label=table["kind"].astype(str) + table["lane"].astype(str))


def _by_group(meetings: Sequence[pd.DataFrame]) -> list[tuple[list[int], list[pd.DataFrame]]]:
    """For each process group the positions of its ranks and their collectives in it, largest groups first.

    Collectives whose group is not told count for all ranks, unless the others
    show that there are smaller groups.
    """
    members: dict[str, list[int]] = {}
    for at, table in enumerate(meetings):
        for group in table["group"].unique().tolist():
            members.setdefault(group, []).append(at)
    everybody = [at for at, table in enumerate(meetings) if len(table)]
    named = {group: ranks for group, ranks in members.items() if group}
    if any(ranks != everybody for ranks in named.values()):
        members.pop("", None)
    if not members or not named:
        return [(list(range(len(meetings))), list(meetings))]
    order = sorted(members, key=lambda group: (-len(members[group]), group))
    return [
        (members[group], [meetings[at][meetings[at]["group"] == group] for at in members[group]])
        for group in order
    ]


def _group(summaries: Sequence[RankSummary], members: list[int], meetings: Sequence[pd.DataFrame]) -> _Group:
    """The ranks of a group whose collectives fit those of the one that is the reference, and
    their collectives found on all of these.
    """
    reference = _usual(meetings)
    own, step_ns = meetings[reference], _step_ns(summaries[members[reference]])
    numbered = all(summaries[at].numbered for at in members)
    host = summaries[members[reference]].host
    one_clock = [bool(host) and summaries[at].host == host for at in members]
    fits = [
        _fit(own, of, step_ns, numbered=numbered, one_clock=same)
        for of, same in zip(meetings, one_clock, strict=True)
    ]
    fits[reference] = _Fit(own.index.to_numpy(), 0.0, 0.0, 0.0)
    kept = [fit for fit in fits if fit is not None]
    rows = np.stack([fit.rows for fit in kept])
    everywhere = (rows >= 0).all(axis=0) & (len(kept) > 1)
    return _Group(
        ranks=[at for at, fit in zip(members, fits, strict=True) if fit is not None],
        rows=rows[:, everywhere],
        offset_ns=np.array([fit.offset_ns for fit in kept]),
        error_ns=np.array([fit.error_ns for fit in kept]),
        unmatched=int((~everywhere).sum()),
    )


def _one_clock(groups: Sequence[_Group]) -> tuple[dict[int, tuple[float, float]], list[_Group]]:
    """For each rank that groups join with the largest one how far its clock is ahead of one of
    them, and the error; and those groups.
    """
    rest = sorted(groups, key=lambda group: -len(group.ranks))
    clocks: dict[int, tuple[float, float]] = {rest[0].ranks[0]: (0.0, 0.0)}
    joined: list[_Group] = []
    while near := next((one for one in rest if not clocks.keys().isdisjoint(one.ranks)), None):
        rest.remove(near)
        joined.append(near)
        known = next(at for at, rank in enumerate(near.ranks) if rank in clocks)
        offset, error = clocks[near.ranks[known]]
        for rank, apart, scatter in zip(
            near.ranks, near.offset_ns - near.offset_ns[known], near.error_ns, strict=True
        ):
            clocks.setdefault(rank, (offset + float(apart), max(error, float(scatter))))
    return clocks, joined


def _few_enough(groups: Sequence[_Group], rank_count: int) -> Sequence[_Group]:
    """The first groups, as many as fit into memory; one at least."""
    cells = np.cumsum([rank_count * group.rows.shape[1] for group in groups])
    return groups[: max(1, int((cells <= MOST_CELLS).sum()))]


def _side_by_side(groups: Sequence[_Group], kept: Sequence[int]) -> np.ndarray:
    """The collectives of all groups, shape (ranks, collectives), -1 where a rank is not in the group."""
    parts = []
    for group in groups:
        rows = np.full((len(kept), group.rows.shape[1]), -1)
        rows[np.searchsorted(kept, group.ranks)] = group.rows
        parts.append(rows)
    return np.concatenate(parts, axis=1)


def _notes(compared: Sequence[_Group], kept: Sequence[int], joined: int) -> tuple[str, ...]:
    """What was compared, where that is not simply all ranks in all collectives."""
    found = [one for one in compared if one.rows.shape[1]]
    notes = []
    if any(len(one.ranks) < len(kept) for one in found):
        notes.append(f"The ranks form {len(found)} process groups, and are compared within each.")
    if len(compared) < joined:
        notes.append(
            f"Only the {len(compared)} largest of {joined} process groups were compared: all would not fit "
            "into memory."
        )
    return tuple(notes)


def _in_order(together: Aligned) -> Aligned:
    """The same with the collectives in the order in which their last rank comes: none of a rank is
    then ahead of one that it waited for.
    """
    last = np.fmax.reduce(together.times_ns("arrival_ns"), axis=0)
    return replace(together, rows=together.rows[:, np.argsort(last, kind="stable")])


def _usual(meetings: Sequence[pd.DataFrame]) -> int:
    """The first rank that recorded as many collectives as most ranks: one that lost some is no reference."""
    counts = Counter(len(meeting) for meeting in meetings if len(meeting))
    most = max(counts, key=lambda count: (counts[count], count), default=0)
    return [len(meeting) for meeting in meetings].index(most)


def _step_ns(summary: RankSummary) -> float:
    return (
        float((summary.steps["end_ns"] - summary.steps["start_ns"]).median()) if len(summary.steps) else 0.0
    )


def _fit(
    own: pd.DataFrame, theirs: pd.DataFrame, step_ns: float, *, numbered: bool, one_clock: bool
) -> _Fit | None:
    """How the other rank's collectives lie on the reference's; None if they fit nowhere.

    ``one_clock``: both ran on one machine.
    """
    shifts = _shifts_by_number(own, theirs) if numbered else _shifts(own, theirs)
    pairs = [pair for shift in shifts if (pair := _shifted(shift, own, theirs)) is not None]
    fits = [
        fit for mine, others in pairs if (fit := _fit_of(own, mine, others, one_clock=one_clock)) is not None
    ]
    fits = [fit for fit in fits if fit.scatter_ns <= max(MOST_SCATTER * step_ns, EQUAL_SCATTER_NS)]
    if not fits:  # collectives were lost, or sampled
        mine, others = _at_one_moment(own, theirs, numbered=numbered)
        enough = len(mine) >= max(LEAST_MOMENTS, LEAST_MOMENT_SHARE * min(len(own), len(theirs)))
        return _fit_of(own, mine, others, one_clock=one_clock) if enough else None
    least = min(fit.scatter_ns for fit in fits)
    as_good = [fit for fit in fits if fit.scatter_ns <= 2 * least + EQUAL_SCATTER_NS]
    return min(as_good, key=lambda fit: abs(fit.offset_ns))


def _shifts_by_number(own: pd.DataFrame, theirs: pd.DataFrame) -> list[int]:
    """The shift that puts most steps onto those of the same number; none if no step was recorded on both."""
    ours, others = _firsts(own), _firsts(theirs)
    votes = Counter(others[number] - ours[number] for number in ours.keys() & others.keys())
    return [shift for shift, _ in votes.most_common(1)]


def _shifts(own: pd.DataFrame, theirs: pd.DataFrame) -> list[int]:
    """All shifts that put the beginning of a step onto that of a step."""
    return sorted(
        {0, *(other - mine for mine in _firsts(own).values() for other in _firsts(theirs).values())}
    )


def _firsts(table: pd.DataFrame) -> dict[int, int]:
    """Step number → position of its first collective."""
    steps = table["step"].to_numpy()
    numbers, first = np.unique(steps, return_index=True)
    return {int(number): int(at) for number, at in zip(numbers, first, strict=True) if number >= 0}


def _shifted(shift: int, own: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """The collectives that are one at that shift, of both ranks; None if most are not alike."""
    here = np.arange(max(0, -shift), min(len(own), len(theirs) - shift))
    alike = own["label"].to_numpy()[here] == theirs["label"].to_numpy()[here + shift]
    if not len(here) or alike.mean() < LEAST_ALIKE:
        return None
    return own.iloc[here[alike]], theirs.iloc[here[alike] + shift]


def _at_one_moment(
    own: pd.DataFrame, theirs: pd.DataFrame, *, numbered: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The collectives of both ranks that are alike and end at one moment, by the difference
    of clocks at which most of them do.
    """
    keys = ["label", "step"] if numbered else ["label"]
    columns = [*keys, "end_ns", "row"]
    pairs = own.assign(row=own.index)[columns].merge(
        theirs.assign(row=theirs.index)[columns], on=keys, suffixes=("", "_other")
    )
    pairs = pairs.assign(apart=pairs["end_ns_other"] - pairs["end_ns"]).sort_values("apart", kind="stable")
    apart = pairs["apart"].to_numpy()
    last = np.searchsorted(apart, apart + LEAST_FURTHEST_NS, side="right")
    first = int((last - np.arange(len(apart))).argmax()) if len(apart) else 0
    pairs = (
        pairs.iloc[first : last[first] if len(apart) else 0]
        .drop_duplicates("row")
        .drop_duplicates("row_other")
    )
    return own.loc[pairs["row"]], theirs.loc[pairs["row_other"]]


def _fit_of(own: pd.DataFrame, mine: pd.DataFrame, others: pd.DataFrame, *, one_clock: bool) -> _Fit | None:
    """The fit where these are one collective each; None if ranks would leave before others come."""
    apart = others["end_ns"].to_numpy() - mine["end_ns"].to_numpy()
    offset = float(np.median(apart))
    scatter = error = SIGMA_OF_MAD * float(np.median(np.abs(apart - offset)))
    furthest = max(FURTHEST * scatter, LEAST_FURTHEST_NS)
    near = np.abs(apart - offset) <= furthest
    if one_clock and abs(offset) <= furthest:  # further apart, it only is a machine of the same name
        offset = error = 0.0
    if _causal_share(mine, others, offset) < LEAST_CAUSAL:
        return None
    rows = pd.Series(-1, index=own.index)
    rows[mine.index[near]] = others.index.to_numpy()[near]
    return _Fit(rows.to_numpy(), offset, error, scatter)


def _causal_share(mine: pd.DataFrame, others: pd.DataFrame, offset_ns: float) -> float:
    """The share of collectives that neither rank leaves before the other has come."""
    first_end = np.minimum(mine["end_ns"].to_numpy(), others["end_ns"].to_numpy() - offset_ns)
    last_arrival = np.maximum(mine["arrival_ns"].to_numpy(), others["arrival_ns"].to_numpy() - offset_ns)
    return float((first_end >= last_arrival - EQUAL_SCATTER_NS).mean())


def names_of(summaries: Iterable[RankSummary]) -> str:
    """Ranks for a sentence: ``3 (rank3.json), 5 (rank5.json)``."""
    return ", ".join(f"{summary.rank} ({summary.source})" for summary in summaries)

"""Which collective of one rank is which of another, and how far their clocks are apart.

Ranks of one job make the same collectives in the same order, so the how-manyth tells; but each recording begins where it likes. The
steps' numbers tell the shift between two. Where they do not count from the job's beginning, of the shifts that put steps onto steps the one
holds at which the ends agree best: a collective ends for all ranks at one moment. Where some were lost, that moment alone has to tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from diagnose.ranks.summary import RankSummary

# Not every rank waits for every other in these: their ends tell nothing about clocks, and coming late to one may hold up nobody.
ONE_SIDED = ("send_recv", "broadcast", "reduce", "gather", "scatter")
LEAST_ALIKE = 0.9  # of the collectives at a shift: the same kind in the same lane
# Ends of one collective scatter by what the network and the scheduler add (ms where processes share a core). Those of different ones
# scatter as steps do, and some end before others have come: nobody leaves a collective before everybody has come.
MOST_SCATTER = 0.5  # of a step
LEAST_CAUSAL = 0.9  # of the collectives
LEAST_MOMENTS, LEAST_MOMENT_SHARE = 3, 0.5  # collectives that end together by chance are fewer
FURTHEST = 6.0  # scatters from the median: it is not the same collective
LEAST_FURTHEST_NS = 1_000_000
EQUAL_SCATTER_NS = 100_000
SIGMA_OF_MAD = 1.4826  # standard deviation of a normal distribution by its median absolute deviation


@dataclass(frozen=True)
class Aligned:
    """Clocks and collectives of the ranks that could be aligned.

    ``rows``: of each rank's table of collectives, shape (ranks, collectives); a column is one collective. ``offset_ns``, ``error_ns``: how
    far each clock is ahead of the first of these ranks', and how far the ends of collectives scatter about that; both 0 on one machine.
    """

    summaries: tuple[RankSummary, ...]
    rows: np.ndarray
    offset_ns: np.ndarray
    error_ns: np.ndarray
    unmatched: int
    left_out: tuple[RankSummary, ...]

    def column(self, name: str) -> np.ndarray:
        """A column of the tables of collectives, shape (ranks, collectives)."""
        return np.stack([one.collectives[name].to_numpy()[own] for one, own in zip(self.summaries, self.rows, strict=True)])

    def times_ns(self, name: str) -> np.ndarray:
        """Times of the matched collectives on the first rank's clock, from the first arrival on, shape (ranks, collectives)."""
        first = self.column("arrival_ns").min(initial=np.iinfo(np.int64).max)
        return self.column(name) - first - np.round(self.offset_ns).astype(np.int64)[:, None]


@dataclass(frozen=True)
class _Fit:
    """``rows``: for each of the reference's meetings the row of the other rank's table, -1 for none."""

    rows: np.ndarray
    offset_ns: float
    error_ns: float
    scatter_ns: float


def aligned(summaries: Sequence[RankSummary]) -> Aligned:
    """All ranks on one clock, collective by collective; a rank whose collectives do not fit is left out. Needs one summary at least."""
    meetings = [_meetings(one) for one in summaries]
    reference = _usual(meetings)
    own, step_ns = meetings[reference], _step_ns(summaries[reference])
    numbered = all(one.numbered for one in summaries)
    host = summaries[reference].host
    one_clock = [bool(host) and one.host == host for one in summaries]
    fits = [_fit(own, of, step_ns, numbered=numbered, one_clock=same) for of, same in zip(meetings, one_clock, strict=True)]
    fits[reference] = _Fit(own.index.to_numpy(), 0.0, 0.0, 0.0)
    kept = [fit for fit in fits if fit is not None]
    rows = np.stack([fit.rows for fit in kept])
    everywhere = (rows >= 0).all(axis=0) & (len(kept) > 1)
    offset = np.array([fit.offset_ns for fit in kept])
    return Aligned(
        summaries=tuple(one for one, fit in zip(summaries, fits, strict=True) if fit is not None),
        rows=rows[:, everywhere],
        offset_ns=offset - offset[0],
        error_ns=np.array([fit.error_ns for fit in kept]),
        unmatched=int((~everywhere).sum()),
        left_out=tuple(one for one, fit in zip(summaries, fits, strict=True) if fit is None),
    )


def _meetings(summary: RankSummary) -> pd.DataFrame:
    """The collectives in which everybody waits for everybody; the index stays that of the table."""
    table = summary.collectives
    table = table[~table["kind"].isin(ONE_SIDED)]
    return table.assign(label=table["kind"].astype(str) + table["lane"].astype(str))


def _usual(meetings: Sequence[pd.DataFrame]) -> int:
    """The first rank that recorded as many collectives as most ranks: one that lost some is no reference."""
    counts = Counter(len(one) for one in meetings if len(one))
    most = max(counts, key=lambda count: (counts[count], count), default=0)
    return [len(one) for one in meetings].index(most)


def _step_ns(summary: RankSummary) -> float:
    return float((summary.steps["end_ns"] - summary.steps["start_ns"]).median()) if len(summary.steps) else 0.0


def _fit(own: pd.DataFrame, theirs: pd.DataFrame, step_ns: float, *, numbered: bool, one_clock: bool) -> _Fit | None:
    """How the other rank's collectives lie on the reference's; None if they fit nowhere. ``one_clock``: both ran on one machine."""
    shifts = _shifts_by_number(own, theirs) if numbered else _shifts(own, theirs)
    pairs = [pair for shift in shifts if (pair := _shifted(shift, own, theirs)) is not None]
    fits = [fit for mine, others in pairs if (fit := _fit_of(own, mine, others, one_clock=one_clock)) is not None]
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
    return sorted({0, *(other - mine for mine in _firsts(own).values() for other in _firsts(theirs).values())})


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


def _at_one_moment(own: pd.DataFrame, theirs: pd.DataFrame, *, numbered: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The collectives of both ranks that are alike and end at one moment, by the difference of clocks at which most of them do."""
    keys = ["label", "step"] if numbered else ["label"]
    columns = [*keys, "end_ns", "row"]
    pairs = own.assign(row=own.index)[columns].merge(theirs.assign(row=theirs.index)[columns], on=keys, suffixes=("", "_other"))
    pairs = pairs.assign(apart=pairs["end_ns_other"] - pairs["end_ns"]).sort_values("apart", kind="stable")
    apart = pairs["apart"].to_numpy()
    last = np.searchsorted(apart, apart + LEAST_FURTHEST_NS, side="right")
    first = int((last - np.arange(len(apart))).argmax()) if len(apart) else 0
    pairs = pairs.iloc[first : last[first] if len(apart) else 0].drop_duplicates("row").drop_duplicates("row_other")
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
    return ", ".join(f"{one.rank} ({one.source})" for one in summaries)

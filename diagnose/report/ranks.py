"""The section *Ranks* of a report: who holds the others up, what it does instead, all ranks and collectives.

Plain words and cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from statistics import median

from diagnose.document.model import Document, RankRow, Ranks
from diagnose.document.ranks import TOLD_SHARE, median_step_ms, row_of, waited_ms
from diagnose.document.text import UNKNOWN, clean, count, ms, rough, share, significant, size
from diagnose.document.text import prose as markdown_prose
from diagnose.report.blocks import bullets, folded, section, table
from diagnose.report.job_step import JobPicture, job_picture, path_sentence

LATEST, EARLIEST = 12, 4  # ranks shown where there are more
MOST_SAID = 3  # sentences before the picture
MOST_CAUSES = 3
MOST_COLLECTIVES = 12  # rows of the table; a job with many process groups has hundreds
MOST_NUMBERS = 12  # of ranks in a sentence
# times the median rank: a fifth more is a batch a fifth larger that the others have room for
FAR_MORE_MEMORY = 1.2
LEAST_FILLED = 0.1  # of the GPU: with less filled nobody runs out
PROPER = ("Python",)  # titles that keep their capital
MEANINGS = {
    "Late by": "after the median rank, per step",
    "Last in": "share of the steps in which the others wait longest for it",
    "Held up alone": "time per step that all wait for this rank only",
    "Peak memory": "GPU memory that tensors fill at the peak",
}
NAMES = ("Rank", "Host", "Collective", "Group")  # columns of names; all others are of numbers


# ---- sentences


def answer(document: Document) -> list[str]:
    """The section's first sentences: who is late, why, and what that costs."""
    return _said(document)[:MOST_SAID]


def basis(document: Document) -> list[str]:
    """What stands below the picture and the tables: which ranks and collectives the answer rests on."""
    return _said(document)[MOST_SAID:]


def _said(document: Document) -> list[str]:
    """All sentences, those first that say most."""
    ranks = document.ranks
    if not ranks:
        return []
    sentences = [
        *_lateness(ranks, document),
        _late_host(ranks),
        *_gain(ranks, document),
        path_sentence(document, _titles(document)),
        _recorded(ranks),
        _matched(ranks),
        _clocks(ranks),
        _fullest(ranks),
        *ranks.notes,
    ]
    return [sentence for sentence in sentences if sentence]


def _lateness(ranks: Ranks, document: Document) -> list[str]:
    late, waiting_ms, steps = ranks.late_rank, waited_ms(ranks), ranks.steps
    if ranks.pattern == "persistent" and late is not None:
        often = round((row_of(ranks, late).last_share or 0.0) * steps)
        told = (
            f"Rank {late} is last in {often} of {steps} steps: the others wait {ms(waiting_ms)} per step for "
            "it alone."
        )
        return [told, _instead(ranks, document)]
    if ranks.pattern == "rotating":
        return [
            f"The ranks wait {ms(waiting_ms)} per step for the last rank, and each time another rank is "
            f"last: {_lasts(ranks)}."
        ]
    if ranks.pattern == "none":
        return [f"No rank is late: they wait {ms(waiting_ms)} per step for the last rank."]
    if not steps:
        return ["No collective was found on all ranks, so it is not known which rank is late."]
    compared = "the one step compared" if steps == 1 else f"the {count(steps)} steps compared"
    if late is None:
        return [f"No rank is last again and again in {compared}. More steps are needed to find a late rank."]
    found = (
        f"In {compared}, rank {late} was last (the others waited {ms(waiting_ms)} for it alone)."
        if steps == 1
        else f"In {compared}, all waited most for rank {late} ({ms(waiting_ms)} per step for it alone)."
    )
    more = "More steps are needed to tell whether that is always so."
    return [f"{found} {more}", _instead(ranks, document)]


def _instead(ranks: Ranks, document: Document) -> str:
    """What the late rank spends more time in than the others, largest first."""
    more = sorted(
        ((row, extra) for row, extra in ranks.causes_ms.items() if extra > 0),
        key=lambda causes_m: -causes_m[1],
    )
    if ranks.cause is None or not more:
        return "No part of its step before that takes longer than on the others."
    first_ms = more[0][1]
    shown = [(row, extra) for row, extra in more[:MOST_CAUSES] if extra >= 0.1 * first_ms]
    parts = ", ".join(f"{_in_sentence(row, document)} ({ms(extra)})" for row, extra in shown)
    return f"Before it arrives, rank {ranks.late_rank} spends more time than the median rank in: {parts}."


def _late_host(ranks: Ranks) -> str:
    """A machine all of whose ranks, several, come later than all others by what is
    worth a word; empty if there is none.
    """
    by_host: dict[str, list[float]] = {}
    for row in ranks.rows:
        by_host.setdefault(row.host, []).append(row.lateness_ms or 0.0)
    late = max(by_host, key=lambda host: min(by_host[host]))
    others = [value for host, values in by_host.items() if host != late for value in values]
    first_ms = min(by_host[late])
    if (
        not late
        or not others
        or len(by_host[late]) < 2
        or first_ms <= max(others)
        or first_ms < TOLD_SHARE * (median_step_ms(ranks) or math.inf)
    ):
        return ""
    return (
        f"All {len(by_host[late])} ranks on {clean(late)} arrive later than every other rank: look at that "
        "machine first."
    )


def _gain(ranks: Ranks, document: Document) -> list[str]:
    """What all gain if the late rank were as fast as the others; and whose turn it then is."""
    gain_ms, step_ms, late = ranks.gain_ms, median_step_ms(ranks), ranks.late_rank
    if late is None:
        return []
    about = f"This report is about rank {late}: its ledger, its lines, its fixes."
    if not gain_ms or not step_ms or gain_ms >= step_ms or ranks.cause is None:
        return [about]
    after = step_ms - gain_ms
    part, then = (
        _in_sentence(ranks.cause, document),
        f"{rough(after) if after < 100 else count(round(after))} ms",
    )
    alone = ms(row_of(ranks, late).held_up_ms)
    return [
        f"If rank {late} spent no more time in {part} than the others, every step would take about {then} "
        f"instead of {ms(step_ms)}.",
        f"A fix on rank {late} alone gains at most {alone} per step: then another rank is last.",
        about,
    ]


def _recorded(ranks: Ranks) -> str:
    """Which ranks are there."""
    recorded, world = len(ranks.rows), ranks.world_size
    if not ranks.missing:
        return "Both ranks were recorded." if world == 2 else f"All {world} ranks were recorded."
    return f"{recorded} of {world} ranks were recorded; missing: {_numbers(ranks.missing)}."


def _matched(ranks: Ranks) -> str:
    if not ranks.matched:
        return ""
    rest = f", {count(ranks.unmatched)} on some only" if ranks.unmatched else ""
    return (
        f"Collectives found on all of their ranks: {count(ranks.matched)}{rest}; steps compared: "
        f"{count(ranks.steps)}."
    )


def _clocks(ranks: Ranks) -> str:
    """How far the ranks' clocks are apart, and how well that is known; empty where
    they have one clock, or nothing tells.
    """
    offsets = [row.offset_ms for row in ranks.rows if row.offset_ms is not None]
    errors = [row.offset_error_ms for row in ranks.rows if row.offset_error_ms is not None]
    if len(offsets) < 2 or not errors or not max(errors):
        return ""
    apart, error = max(offsets) - min(offsets), max(errors)
    known = (
        f"agree within {ms(error)}"
        if apart <= error
        else f"differ by at most {ms(apart)} (known within {ms(error)})"
    )
    return f"The ranks' clocks {known}, because a collective ends on all ranks at the same time."


def _fullest(ranks: Ranks) -> str:
    """The rank whose GPU is filled far more than that of the median rank; empty if none is,
    or if too little is filled to matter.
    """
    filled = [
        (row.peak_memory_bytes, row.memory_bytes, row.rank)
        for row in ranks.rows
        if row.peak_memory_bytes and row.memory_bytes
    ]
    if len(filled) < 2:
        return ""
    peak, whole, rank = max(filled, key=itemgetter(0))
    usual = median(peak for peak, _, _ in filled)
    if peak < FAR_MORE_MEMORY * usual or peak < LEAST_FILLED * whole:
        return ""
    return (
        f"Rank {rank} needs most memory: {size(peak)} of {size(whole)} at the peak (median rank: "
        f"{size(usual)}). It runs out first and limits the batch size of all ranks."
    )


def _lasts(ranks: Ranks) -> str:
    """The ranks that come last most often."""
    often = [(row.last_share, row.rank) for row in ranks.rows if row.last_share]
    often.sort(key=itemgetter(0), reverse=True)
    return ", ".join(f"rank {rank} in {share(last)} of the steps" for last, rank in often[:MOST_CAUSES])


def _title(row: str, document: Document) -> str:
    """A row of the ledger as people know it."""
    titles = {one.row: one.title for one in document.ledger}
    return clean(titles.get(row, row.replace("_", " ").capitalize()))


def _in_sentence(row: str, document: Document) -> str:
    title = _title(row, document)
    return title if title in PROPER else title.lower()


def _titles(document: Document) -> dict[str, str]:
    """All rows that any rank's ledger has, as they stand in a sentence."""
    ranks = document.ranks.rows if document.ranks else []
    return {row: _in_sentence(row, document) for rank in ranks for row in rank.ledger}


def picture_of_step(document: Document) -> JobPicture | None:
    """The median step of all ranks as a drawing; None without one."""
    return job_picture(document, _titles(document)) if document.ranks else None


def row_titles(document: Document, rows: Sequence[str]) -> list[tuple[str, str]]:
    """Rows with their titles, for a legend."""
    return [(row, _title(row, document)) for row in rows]


def _numbers(ranks: Sequence[int]) -> str:
    rest = len(ranks) - MOST_NUMBERS
    return ", ".join(map(str, ranks[:MOST_NUMBERS])) + (f" and {rest} more" if rest > 0 else "")


# ---- tables: headers and rows of plain cells


def rank_table(document: Document) -> tuple[list[str], list[list[str]]]:
    """The ranks, latest first; of many the latest and the earliest. Columns that say nothing are left out."""
    ranks = document.ranks
    rows = sorted(ranks.rows, key=lambda row: -(row.lateness_ms or 0.0)) if ranks else []
    if len(rows) > LATEST + EARLIEST:
        rows = [*rows[:LATEST], *rows[-EARLIEST:]]
    cause = ranks.cause if ranks else None
    columns = {
        "Rank": [str(row.rank) for row in rows],
        "Host": [clean(row.host) for row in rows],
        "Step": [ms(row.step_ms) for row in rows],
        "Late by": [ms(row.lateness_ms) for row in rows],
        "Last in": [share(row.last_share) for row in rows],
        "Held up alone": [ms(row.held_up_ms) for row in rows],
        **({_title(cause, document): [ms(row.ledger.get(cause, 0.0)) for row in rows]} if cause else {}),
        "Clock ahead": [_clock(row) for row in rows] if ranks and _clocks(ranks) else [],
        "Peak memory": [size(row.peak_memory_bytes) for row in rows],
    }
    return _told(columns)


def rank_table_note(document: Document) -> str:
    """What the table leaves out, and what its columns mean."""
    ranks = document.ranks
    if not ranks:
        return ""
    left_out = len(ranks.rows) - LATEST - EARLIEST
    of_many = (
        f"Left out: {count(left_out)} between the latest {LATEST} and the earliest {EARLIEST} ranks."
        if left_out > 0
        else ""
    )
    headers, _ = rank_table(document)
    return " ".join(
        filter(
            None, [of_many, *(f"*{header}*: {MEANINGS[header]}." for header in headers if header in MEANINGS)]
        )
    )


def collective_table(document: Document) -> tuple[list[str], list[list[str]]]:
    """The collectives found on all their ranks, by kind and process group, those that take longest."""
    collectives = document.ranks.collectives if document.ranks else []
    several = len({collective.lane for collective in collectives}) > 1
    collectives = collectives[:MOST_COLLECTIVES]
    columns = {
        "Collective": [clean(collective.kind).replace("_", "-") for collective in collectives],
        "Group": [clean(collective.lane) if several else "" for collective in collectives],
        "Ranks": [
            count(collective.size) if several and collective.size else "" for collective in collectives
        ],
        "Per step": [count(collective.count_per_step) for collective in collectives],
        "Bytes": [size(collective.bytes_per_step) for collective in collectives],
        "Own time": [ms(collective.ms_per_step) for collective in collectives],
        "Waiting": [ms(collective.waiting_ms_per_step) for collective in collectives],
        "Exposed": [ms(collective.exposed_ms_per_step) for collective in collectives],
        "Bus bandwidth": [_rate(collective.bus_gb_per_s) for collective in collectives],
    }
    return _told(columns)


def _told(columns: dict[str, list[str]]) -> tuple[list[str], list[list[str]]]:
    """Headers and rows, without columns that say nothing."""
    told = {
        header: cells for header, cells in columns.items() if any(cell not in ("", UNKNOWN) for cell in cells)
    }
    return list(told), [list(cells) for cells in zip(*told.values(), strict=True)]


def collective_table_note(document: Document) -> str:
    """What its columns mean; empty without collectives."""
    headers, rows = collective_table(document)
    if not rows or document.ranks is None:
        return ""
    left_out = len(document.ranks.collectives) - len(rows)
    rest = f" {count(left_out)} more kinds and groups take less time." if left_out else ""
    rate = (
        " *Bus bandwidth*: what the slowest link carries meanwhile, as nccl-tests count it."
        if "Bus bandwidth" in headers
        else ""
    )
    exposed = " *Exposed*: what of both no computation hides." if "Exposed" in headers else ""
    return (
        "Per step. *Own time*: from when the last rank has come. *Waiting*: until then, on average over the "
        f"ranks.{exposed}{rate}{rest}"
    )


def _clock(row: RankRow) -> str:
    if row.offset_ms is None or row.offset_error_ms is None:
        return UNKNOWN
    ahead = row.offset_ms if abs(row.offset_ms) >= 0.001 else 0.0
    return f"{'−' if ahead < 0 else ''}{significant(abs(ahead))} ± {ms(row.offset_error_ms)}"


def _rate(gb_per_s: float | None) -> str:
    return UNKNOWN if gb_per_s is None else f"{significant(gb_per_s)} GB/s"


# ---- Markdown


def compared(document: Document) -> str:
    """The section; empty for one rank."""
    return section("Ranks", bullets(answer(document)))


def behind(document: Document, *, collapsible: bool) -> str:
    """Each rank and each kind of collective; empty for one rank."""
    if not document.ranks:
        return ""
    return folded(
        "All ranks",
        _markdown_table(*rank_table(document)),
        rank_table_note(document),
        _markdown_table(*collective_table(document)),
        collective_table_note(document),
        bullets(basis(document)),
        holds="when each comes, what its collectives take",
        collapsible=collapsible,
    )


def _markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(
        [markdown_prose(header) for header in headers],
        [[markdown_prose(cell) for cell in row] for row in rows],
        right=[markdown_prose(header) for header in right(headers)],
    )


def right(headers: Sequence[str]) -> list[str]:
    """The columns of numbers."""
    return [header for header in headers if header not in NAMES]

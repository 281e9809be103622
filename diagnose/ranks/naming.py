"""Whether traces are the ranks of one job, and which rank each is, without reading them whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from diagnose.errors import DiagnoseError
from diagnose.trace.content import Content

HEAD_BYTES = 65_536  # torch writes it before the events
INFO = re.compile(rb'"distributedInfo"\s*:\s*\{')
RANK, WORLD_SIZE = (re.compile(rb'"%s"\s*:\s*(\d+)' % name) for name in (b"rank", b"world_size"))
INFO_BYTES = 400
# rank3, rank-3, worker3, r3, and the number before the suffix: trace_3.json
WORD = re.compile(r"(?:rank|worker|(?<![a-z])r)[-_.]?(\d+)", re.IGNORECASE)
IN_NAME = re.compile(rf"{WORD.pattern}|[-_](\d+)(?=\.[a-z.]*$)", re.IGNORECASE)
MOST_DIGITS = 5  # of a rank; process numbers and times have more


def are_one_job(traces: Sequence[Path]) -> bool:
    """Whether these are ranks of one job: by the rank and the world size that half of them tell,
    else by names alike but for the rank.
    """
    told = [found for trace in traces if (found := told_rank(trace)) is not None]
    if told:
        sizes, ranks = {size for _, size in told}, {rank for rank, _ in told}
        return len(sizes) == 1 and max(sizes) > 1 and len(ranks) > 1 and 2 * len(told) >= len(traces)
    named = {rank_in_name(trace.name) for trace in traces} - {-1}
    alike = len(named) == len(traces) > 1 and len({IN_NAME.sub("", trace.name) for trace in traces}) == 1
    return alike and (named == set(range(len(traces))) or all(WORD.search(trace.name) for trace in traces))


def told_rank(trace: Path) -> tuple[int, int] | None:
    """Rank and world size by the beginning of the file; None if they are not there or it cannot be read."""
    try:
        head = next(iter(Content(trace).blocks()), b"")[:HEAD_BYTES]
    except DiagnoseError:
        return None
    info = INFO.search(head)
    if info is None:
        return None
    within = head[info.end() : info.end() + INFO_BYTES]
    rank, world_size = RANK.search(within), WORLD_SIZE.search(within)
    return (int(rank[1]), int(world_size[1])) if rank and world_size else None


def rank_in_name(name: str) -> int:
    """The rank that a file's name tells, the last number that looks like one; -1 if none does."""
    found = [
        number
        for match in IN_NAME.finditer(name)
        for number in match.groups()
        if number and len(number) <= MOST_DIGITS
    ]
    return int(found[-1]) if found else -1

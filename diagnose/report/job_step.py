"""One step of all ranks of a job: its critical path in words, and the drawing
of who works, waits and meets when.
"""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.document.model import Document, JobStep, Passage, PathPart
from diagnose.document.text import clean, ms, share

MOST_PARTS = 4
LEAST_SHARE = 0.03  # of the step, of a part that is worth a word
# of the drawing, in its own units; the margin holds the ranks' names
WIDTH, LANE, BAR, MARGIN = (1000, 30, 18, 76)
LEAST_WIDTH = 0.4  # of a bar: narrower ones cannot be seen
WORDS = {
    "wait": "waits in the {name} for the last rank",
    "collective": "the {name}, from when the last rank has come",
}


def path_sentence(document: Document, titles: dict[str, str]) -> str:
    """What the median step hangs on; empty where no step of all ranks was found.

    ``titles``: of the ledger's rows, as in a sentence.
    """
    step = _step(document)
    if not step or not step.ms:
        return ""
    told = [part for part in step.path[:MOST_PARTS] if part.ms >= LEAST_SHARE * step.ms]
    rest_ms = step.ms - sum(part.ms for part in told)
    parts = [f"{_part(part, titles)} {ms(part.ms)} ({share(part.ms / step.ms)})" for part in told]
    if rest_ms >= LEAST_SHARE * step.ms:
        parts.append(f"all else {ms(rest_ms)}")
    return (
        f"The critical path of a median step (number {step.number}, {ms(step.ms)} as recorded): "
        f"{', '.join(parts)}."
    )


def _part(part: PathPart, titles: dict[str, str]) -> str:
    if part.rank is None:
        return _collective(part.name)
    return (
        f"rank {part.rank} {titles.get(part.name, part.name.replace('_', ' ')) or 'before its collectives'}"
    )


def _collective(kind: str) -> str:
    return clean(kind).replace("_", "-")


def _step(document: Document) -> JobStep | None:
    return document.ranks.step if document.ranks else None


# ---- the drawing


@dataclass(frozen=True)
class Bar:
    """A rectangle of the drawing.

    ``row``: of the ledger, of work; ``what``: work, wait or collective; ``title``: shown on hovering.
    """

    x: float
    y: float
    width: float
    what: str
    row: str
    title: str


@dataclass(frozen=True)
class JobPicture:
    """The step as it is drawn: a lane a rank, in the units of the SVG. ``path``:
    the critical path as points of a line.

    ``rows``: the ledger's rows that occur, for the legend.
    """

    height: int
    lanes: list[tuple[str, int]]  # name, y of its middle
    bars: list[Bar]
    path: str
    ms: str
    left_out: int
    rows: list[str]


def job_picture(document: Document, titles: dict[str, str]) -> JobPicture | None:
    """The drawing; None where no step of all ranks was found."""
    ranks, step = document.ranks, _step(document)
    if ranks is None or step is None or not step.passages:
        return None
    shown = sorted({passage.rank for passage in step.passages})
    until_ms = max(passage.start_ms + passage.ms for passage in step.passages)
    scale = (WIDTH - MARGIN) / until_ms if until_ms > 0 else 0.0
    middle = {rank: LANE * number + LANE // 2 for number, rank in enumerate(shown)}
    bars = [_bar(passage, middle[passage.rank], scale, titles) for passage in step.passages]
    on_path = sorted(
        (passage for passage in step.passages if passage.on_path), key=lambda passage: passage.start_ms
    )
    points = [
        (_x(at, scale), middle[one.rank]) for one in on_path for at in (one.start_ms, one.start_ms + one.ms)
    ]
    rows = dict.fromkeys(
        one.name
        for one in sorted(step.passages, key=lambda passage: -passage.ms)
        if one.what == "work" and one.name
    )
    return JobPicture(
        height=LANE * len(shown),
        lanes=[(f"rank {rank}", middle[rank]) for rank in shown],
        bars=[bar for bar in bars if bar.width >= LEAST_WIDTH],
        path=" ".join(f"{x},{y}" for x, y in points),
        ms=ms(until_ms),
        left_out=len(ranks.rows) - len(shown),
        rows=list(rows),
    )


def _bar(passage: Passage, middle: int, scale: float, titles: dict[str, str]) -> Bar:
    name = passage.name
    if passage.what == "work":
        doing = f"mostly {titles.get(name, name.replace('_', ' '))}" if name else "on its way"
    else:
        doing = WORDS[passage.what].format(name=_collective(name))
    return Bar(
        x=_x(passage.start_ms, scale),
        y=middle - BAR / 2,
        width=round(passage.ms * scale, 1),
        what=passage.what,
        row=name if passage.what == "work" else "",
        title=f"rank {passage.rank}, {ms(passage.ms)}: {doing}",
    )


def _x(at_ms: float, scale: float) -> float:
    return round(MARGIN + at_ms * scale, 1)

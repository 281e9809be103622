"""A watched run as a drawing: how long steps took over its time, and where that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from diagnose.document import text
from diagnose.document.model.watched import Watched
from diagnose.report.page.strip import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, ticks

_HIGHEST = 1.3  # times the highest level: single peaks may pass the top


@dataclass(frozen=True)
class RunDrawing:
    """In the units of the SVG. ``ticks``: (y, ms); ``changes``: (x, number of the step, ms)."""

    ticks: list[tuple[float, str]]
    mean: str
    typical: str
    waiting: str
    changes: list[tuple[float, str, str]]
    begin: str
    end: str


def run_drawing(watched: Watched) -> RunDrawing | None:
    """None with fewer than two points, or with times that run backwards."""
    curve = watched.curve
    begin_s, end_s = curve.at_s[0], curve.end_s
    if len(curve.at_s) < 2 or sorted(curve.at_s) != curve.at_s or end_s <= curve.at_s[-1]:
        return None
    top = _HIGHEST * max(max(curve.median_ms), *(level.mean_ms for level in watched.levels))

    def across(at_s: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (at_s - begin_s) / (end_s - begin_s), 1)

    def high(value_ms: float) -> float:
        return round(HEIGHT - BOTTOM - min(value_ms, top) / top * (HEIGHT - TOP - BOTTOM), 1)

    def line(values_ms: Sequence[float]) -> str:
        """A staircase: a value holds until the next point."""
        ends = [*curve.at_s[1:], end_s]
        points = zip(curve.at_s, ends, values_ms, strict=True)
        return " ".join(f"{across(at)},{high(ms)} {across(end)},{high(ms)}" for at, end, ms in points)

    return RunDrawing(
        ticks=[(high(time), text.ms(time)) for time in ticks(top)],
        mean=line(curve.mean_ms),
        typical=line(curve.median_ms),
        waiting=line(curve.input_ms),
        changes=[
            (across(after.at_s), text.count(after.first), text.ms(after.mean_ms))
            for _, after in pairwise(watched.levels)
        ],
        begin=f"step {text.count(watched.first)}",
        end=f"step {text.count(watched.first + watched.steps)}, {text.seconds(end_s - begin_s)}",
    )

"""The step-time strip: how long each timed step took, and which of them are outliers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.document import text
from diagnose.verify.statistics import SD_PER_MAD

OUTLIER = 3  # scaled deviations from the median
FEWEST_STEPS = 3  # drawn
FLAT = 0.2  # of the longest step; a series that varies by less is told in words
MOST_DOTS = 300
MOST_MARKS = 100
MOST_TICKS = 4
WIDTH, HEIGHT = 720, 150
LEFT, RIGHT, TOP, BOTTOM = 84, 10, 10, 26  # margins


@dataclass(frozen=True)
class Drawing:
    """In the units of the SVG.

    `ticks` as (y, ms), `outliers` as (number of the step from 1, x, y, ms).
    """

    ticks: list[tuple[float, str]]
    median_y: float
    line: str
    dots: list[tuple[float, float]]
    outliers: list[tuple[int, float, float, str]]


@dataclass(frozen=True)
class Strip:
    """A series in numbers, and as a drawing where that says more."""

    count: int
    median: str
    lowest: str
    highest: str
    outlier_count: int
    beyond: str
    drawing: Drawing | None


def strip(series_ms: Sequence[float]) -> Strip | None:
    """One series of steps, ms; None with fewer than two of them."""
    times = [time for time in series_ms if math.isfinite(time)]
    if len(times) < 2:
        return None
    median, limit = _limits(times)
    far = [index for index, time in enumerate(times) if abs(time - median) > limit]
    says_more = len(times) >= FEWEST_STEPS and max(times) - min(times) > FLAT * max(times)
    return Strip(
        count=len(times),
        median=text.ms(median),
        lowest=text.ms(min(times)),
        highest=text.ms(max(times)),
        outlier_count=len(far),
        beyond=text.ms(limit),
        drawing=_drawing(times, median, far) if says_more else None,
    )


def _drawing(times: Sequence[float], median: float, far: Sequence[int]) -> Drawing:
    top = max(times)
    across = (WIDTH - LEFT - RIGHT) / (len(times) - 1)
    points = [(round(LEFT + index * across, 1), _height(time, top)) for index, time in enumerate(times)]
    marked = sorted(sorted(far, key=lambda index: -abs(times[index] - median))[:MOST_MARKS])
    return Drawing(
        ticks=[(_height(time, top), text.ms(time)) for time in ticks(top)],
        median_y=_height(median, top),
        line=" ".join(f"{x},{y}" for x, y in points),
        dots=points if len(points) <= MOST_DOTS else [],
        outliers=[(index + 1, *points[index], text.ms(times[index])) for index in marked],
    )


def ticks(top: float) -> list[float]:
    """Round numbers from 0 to the top."""
    power = 10 ** math.floor(math.log10(top / MOST_TICKS))
    tick = next(times * power for times in (1, 2, 5, 10) if top / (times * power) <= MOST_TICKS)
    return [number * tick for number in range(int(top / tick) + 1)]


def _limits(times: Sequence[float]) -> tuple[float, float]:
    """The median, and how far from it a step is an outlier, ms.

    Where more than half of the steps are equal, nothing is.
    """
    median = statistics.median(times)
    deviation = statistics.median(abs(time - median) for time in times)
    return median, OUTLIER * SD_PER_MAD * deviation if deviation else math.inf


def _height(time: float, top: float) -> float:
    """From the bottom, which is 0 ms."""
    return round(HEIGHT - BOTTOM - time / top * (HEIGHT - TOP - BOTTOM), 1)

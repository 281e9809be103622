"""The step-time strip: how long each timed step took, as SVG, and which of them are outliers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.document import text
from diagnose.verify.statistics import SD_PER_MAD

OUTLIER = 3  # scaled deviations from the median
MOST_DOTS = 300
MOST_MARKS = 100
WIDTH, HEIGHT, MARGIN = 720, 96, 10


@dataclass(frozen=True)
class Strip:
    """A series as it is drawn:

    `line` and `dots` in the units of the SVG, `outliers` as (number of the step from 1, x, y, ms).
    """

    count: int
    median: str
    highest: str
    median_y: float
    line: str
    dots: list[tuple[float, float]]
    outliers: list[tuple[int, float, float, str]]
    outlier_count: int
    beyond: str


def strip(series_ms: Sequence[float]) -> Strip | None:
    """The drawing of one series of steps, ms; None with fewer than two of them."""
    times = [time for time in series_ms if math.isfinite(time)]
    if len(times) < 2:
        return None
    median, limit = _limits(times)
    top = max(times)
    across = (WIDTH - 2 * MARGIN) / (len(times) - 1)
    points = [(round(MARGIN + index * across, 1), _height(time, top)) for index, time in enumerate(times)]
    far = [index for index, time in enumerate(times) if abs(time - median) > limit]
    marked = sorted(sorted(far, key=lambda index: -abs(times[index] - median))[:MOST_MARKS])
    return Strip(
        count=len(times),
        median=text.ms(median),
        highest=text.ms(top),
        median_y=_height(median, top),
        line=" ".join(f"{x},{y}" for x, y in points),
        dots=points if len(points) <= MOST_DOTS else [],
        outliers=[(index + 1, *points[index], text.ms(times[index])) for index in marked],
        outlier_count=len(far),
        beyond=text.ms(limit),
    )


def _limits(times: Sequence[float]) -> tuple[float, float]:
    """The median, and how far from it a step is an outlier, ms.

    Where more than half of the steps are equal, nothing is.
    """
    median = statistics.median(times)
    deviation = statistics.median(abs(time - median) for time in times)
    return median, OUTLIER * SD_PER_MAD * deviation if deviation else math.inf


def _height(time: float, top: float) -> float:
    """From the bottom, which is 0 ms."""
    return round(HEIGHT - MARGIN - (time / top if top > 0 else 0) * (HEIGHT - 2 * MARGIN), 1)

"""What tensors hold over a step, as a drawing with the peak marked."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.document import text
from diagnose.document.model import MemoryPeak
from diagnose.report.page.strip import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH


@dataclass(frozen=True)
class MemoryDrawing:
    """In the units of the SVG. ``backward``: where it begins and ends, None where there is none."""

    line: str
    peak: tuple[float, float]
    peak_size: str
    backward: tuple[float, float] | None


def memory_drawing(peak: MemoryPeak) -> MemoryDrawing | None:
    """None where no step was seen."""
    curve = peak.curve
    if curve is None or len(curve.bytes) < 2:
        return None
    across = (WIDTH - LEFT - RIGHT) / (len(curve.bytes) - 1)
    most = max(*curve.bytes, 1)

    def point(part: int) -> tuple[float, float]:
        high = (HEIGHT - TOP - BOTTOM) * curve.bytes[part] / most
        return round(LEFT + part * across, 1), round(HEIGHT - BOTTOM - high, 1)

    backward = curve.backward
    return MemoryDrawing(
        line=" ".join("{},{}".format(*point(part)) for part in range(len(curve.bytes))),
        peak=point(curve.peak),
        peak_size=text.size(curve.bytes[curve.peak]),
        backward=(point(backward[0])[0], point(backward[1])[0]) if backward else None,
    )

"""torch's own table of operators, per step, guarded:

`key_averages()` raises on some traces and is slow on large ones.
"""

from __future__ import annotations

from typing import Any

from ..writing import write_json

EVENTS_AT_MOST = 100_000  # 40 to 70 µs each
_TOO_MANY = "torch's key_averages() was skipped: it would have taken too long for so many events."


def write_key_averages(
    profiler: Any, path: str, steps: int, *, cuda: bool, most_events: int = EVENTS_AT_MOST
) -> None:
    """Write `{"rows": […], "note": ""}`, times in ms per step, largest self time first. Raises OSError."""
    rows: list[dict[str, Any]] = []
    note = ""
    try:
        if len(profiler.profiler.kineto_results.events()) > most_events:
            note = _TOO_MANY
        else:
            rows = [
                _row(average, steps, cuda)
                for average in profiler.key_averages()
                if not average.key.startswith("diagnose::")
            ]
    except Exception as error:  # UnicodeDecodeError and others from inside torch
        note = f"torch's key_averages() failed: {error!r}"
    rows.sort(key=lambda row: row["self_cpu_ms"] + (row["self_device_ms"] or 0), reverse=True)
    write_json(path, {"rows": rows, "note": note})


def _row(average: Any, steps: int, cuda: bool) -> dict[str, Any]:
    scale = 1 / 1000 / steps  # µs of the whole recording -> ms per step
    return {
        "name": average.key,
        "calls": average.count / steps,
        "self_cpu_ms": average.self_cpu_time_total * scale,
        "cpu_ms": average.cpu_time_total * scale,
        "self_device_ms": average.self_device_time_total * scale if cuda else None,
    }

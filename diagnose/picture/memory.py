"""Memory step by step."""

from __future__ import annotations

import math
from typing import Any

from diagnose.measure.recording import Recording

SERIES = {
    "allocated_series_bytes": "GPU memory allocated",
    "rss_series_bytes": "Memory of the process (resident)",
}


def memory_series(recording: Recording) -> list[dict[str, Any]]:
    """The picture's ``memory``: of the GPU where it was used, else of the process; of each plain step, or every second, fourth … one."""
    for name, title in SERIES.items():
        values = recording.facts.get(name) or []
        if len(values) > 1:
            every = 2 ** max(0, round(math.log2(max(len(recording.step_ns("plain")), 1) / len(values))))
            return [{"title": title, "x_title": "step", "x": [every * (1 + at) for at in range(len(values))], "bytes": list(values)}]
    return []

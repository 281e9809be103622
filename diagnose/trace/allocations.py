"""The MEMORY table: what PyTorch allocated and freed, where the profiler recorded it (``profile_memory``)."""

from __future__ import annotations

import pandas as pd

from diagnose.trace.columns import table
from diagnose.trace.events import Lane
from diagnose.trace.schema import MEMORY


def memory_table(lane: Lane) -> pd.DataFrame:
    """The table of a lane of memory events; events of the same time stay as they are in the file."""
    values = {
        "time_ns": lane.start,
        "device": lane.take("device"),
        "change_bytes": lane.take("change"),
        "allocated_bytes": lane.take("allocated"),
        "reserved_bytes": lane.take("reserved"),
    }
    return table(MEMORY, values)

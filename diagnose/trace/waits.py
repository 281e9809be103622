"""The WAITS table: what waited for what on the GPU, where the profiler
recorded it (``enable_cuda_sync_events``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from diagnose.trace.clock import INVALID, nanoseconds
from diagnose.trace.columns import categorical, integers, table
from diagnose.trace.decode import Event
from diagnose.trace.events import NO_ARGS, looked_up
from diagnose.trace.nesting import order
from diagnose.trace.quirks import SYNC_KINDS
from diagnose.trace.schema import WAITS


def wait_table(events: Sequence[Event], origin: int, host: pd.DataFrame) -> pd.DataFrame:
    """The table of these events; ``origin`` is the trace's start on its own clock."""
    start, dur = nanoseconds([event.ts for event in events]), nanoseconds([event.dur for event in events])
    by_start = order(start, dur)
    rows = by_start[(start[by_start] != INVALID) & (dur[by_start] >= 0)]
    args = [events[row].args or NO_ARGS for row in rows.tolist()]
    kinds = [*SYNC_KINDS.values(), ""]
    kind_of = [SYNC_KINDS.get(events[row].name or "", "") for row in rows.tolist()]
    runtime = np.flatnonzero(host["correlation"].to_numpy() >= 0)
    correlation = host["correlation"].to_numpy()[runtime]
    values = {
        "start_ns": start[rows] - origin,
        "dur_ns": dur[rows],
        "kind": categorical(np.array([kinds.index(kind) for kind in kind_of], dtype=np.int32), kinds),
        "device": integers([arg.device for arg in args]),
        "stream": integers([arg.stream for arg in args]),
        "on_stream": integers([arg.wait_on_stream for arg in args]),
        "record": looked_up(integers([arg.wait_on_record for arg in args]), correlation, runtime),
        "call": looked_up(integers([arg.correlation for arg in args]), correlation, runtime),
    }
    return table(WAITS, values)

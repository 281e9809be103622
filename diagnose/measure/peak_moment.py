"""When memory is at its peak within a recorded step.

The steps whose memory was looked at (`diagnose.run.child.memory.memory_look`) are not the recorded ones, but
do the same: the operator that made the tensor at the peak is looked for among the recorded ones of its name,
as far into them as it was there.
"""

from __future__ import annotations

import re

import numpy as np

from diagnose.measure.measured import Measured
from diagnose.measure.memory_peak import MadeAtPeak, seen_memory
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_ROWS, Rows


def peak_rows(measured: Measured) -> Rows:
    """Of each complete step on the timeline the operator (a host row) after which most is held; none where
    that is not known, or the steps hold no operator of its name.
    """
    view, look = measured.timeline, seen_memory(measured.recording)
    made = look.peaks[0].made_by if look is not None and look.peaks else None
    return NO_ROWS if view is None or made is None else _like(view, made)


def _like(view: Selection, made: MadeAtPeak) -> Rows:
    named = (view.kind == "op") & view.name_matches(f"^{re.escape(made.operator)}$")
    rows = np.flatnonzero(named & (view.host["backward"].to_numpy() == made.in_backward))
    step = np.searchsorted(view.host_windows[:, 0], view.host["start_ns"].to_numpy()[rows], side="right") - 1
    found = []
    for number, (_, end) in enumerate(view.host_windows.tolist()):
        own = rows[(step == number) & (view.host["start_ns"].to_numpy()[rows] < end)]
        if len(own):
            found.append(own[min(len(own) - 1, int(made.before * len(own)))])
    return np.array(found, np.int64)

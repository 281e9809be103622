"""Headroom: what the step would take less if a part of its account took no time at all, by replay.

An upper bound of what any fix of that part can gain, as no work can be left out altogether: it says where to
look, not what will be gained.
"""

from __future__ import annotations

from diagnose.measure.spenders import Spender
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.replay import Edit


def headroom_ms(spender: Spender, prediction: Prediction) -> float | None:
    """Without all that the spender does, on the host or on the GPU; None where nothing can be replayed, or
    nothing of it is known in the timeline.
    """
    if prediction.missing or not (spender.host or len(spender.device)):
        return None
    left = 1.0 - spender.host_share
    host = [Edit(host=spans, lane=lane, host_ratio=left) for lane, spans in spender.host.items()]
    edits = (*host, Edit(events=spender.device, unblocked=spender.calls))
    return max(0.0, prediction.recorded_ms - prediction.step_ms([Change(edits)]))

"""What another way leaves of the time of some work, and what it saves of a step."""

from __future__ import annotations

from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NOT_RECORDED, Missing


def left_as_tried(measured: Measured, what: str) -> float | Missing:
    """The share of the time of such calls that another way left, as the look at the dataflow tried it."""
    tried = (measured.recording.facts.get("dataflow") or {}).get(what)
    if not tried:
        return NOT_RECORDED
    return min(1.0, sum(line["left_ns"] for line in tried) / max(sum(line["ns"] for line in tried), 1))


def define_gain_share(name: str, meaning: str) -> None:
    """The metric `NAME_gain_share`, of a selector with a metric `NAME_left` of what is left of its time."""

    @metric(f"{name}_gain_share", "share", meaning)
    def gain_share(measured: Measured) -> Value | Missing:
        share, left = measured.needed(f"{name}_share"), measured.metric(f"{name}_left")
        return 0.0 if isinstance(left, Missing) else share * (1 - float(left))

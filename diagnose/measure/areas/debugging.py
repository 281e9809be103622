"""Debugging aids that were left on."""

from __future__ import annotations

from collections.abc import Callable

from diagnose.measure.measured import FactPlace, Measured, fact_metric, fact_selector
from diagnose.measure.missing import NO_FACTS, Missing

fact_metric("anomaly_mode", "yes/no", "Autograd's anomaly detection was on during the steps")
fact_metric("launch_blocking", "yes/no", "`CUDA_LAUNCH_BLOCKING` makes every launch wait for its kernel")
fact_metric("own_profiler_share", "share", "Share of the recording in which a profiler of your code ran")


def _mode(name: str, meaning: str, is_on: Callable[[Measured], object]) -> None:
    """A selector of a mode that is on or off as a whole: no line of its own, and a
    cost that no single recording can tell.
    """

    def places(measured: Measured) -> list[FactPlace] | Missing:
        if not measured.recording.facts:
            return NO_FACTS
        return [FactPlace("", -1, "", 1.0, None)] if is_on(measured) else []

    fact_selector(name, meaning)(places)


_mode(
    "profiler_left_on",
    "a profiler that your code runs",
    lambda measured: measured.recording.facts.get("own_profiler_share"),
)

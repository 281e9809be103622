"""The most a fix can save, from the recorded times alone.

An upper bound, not a prediction: the rest of the step may hide part of it.
"""

from __future__ import annotations

from diagnose.judge.findings import Finding
from diagnose.judge.left import left_of
from diagnose.judge.rules import IN_MS
from diagnose.measure.measured import Measured


def at_most_ms(finding: Finding, measured: Measured) -> float | None:
    """ms per step of the plain run, never negative; None where the rule
    names no step time or nothing fires.
    """
    rule, cost = finding.rule, finding.ms_per_step
    if finding.state != "fires" or rule.saving.scope not in IN_MS or cost is None:
        return None
    if rule.saving.edit == "overlap":
        # never more than the wait, nor than the fetches take without the profiler
        loading_ms = measured.number("loading_ms")
        wait_ms = min(cost, loading_ms) if loading_ms >= 0 else cost
        return min(wait_ms, _overlap_ms(wait_ms, measured))
    if rule.saving.edit == "inline":
        return max(0.0, measured.number("step_ms") - measured.number("loading_on_the_spot_ms"))
    if rule.saving.edit == "none":
        return None
    # What no longer waits, or is launched at once, may be hidden whole, whatever the GPU still does for it;
    # another number format leaves what the GPU's roofline says.
    if rule.saving.edit in ("unblock", "fuse") or rule.saving.formats:
        return cost
    return cost * (1 - left_of(rule.saving, measured, "best"))


def _overlap_ms(wait_ms: float, measured: Measured) -> float:
    """The wait moved to worker processes: the step then takes as long as the slowest of three things.

    The rest of the step; one batch's fetch divided among the workers; all the
    processors' work divided among the cores.
    """
    step_ms, fetch_ms = measured.number("step_ms"), measured.number("fetch_ms")
    workers, cores = measured.number("suggested_workers"), measured.number("available_cores")
    rest_ms = step_ms - wait_ms
    limits = [rest_ms]
    if workers > 0 and fetch_ms > 0:
        fetched_ms, busy = fetch_ms * measured.fetches_per_step, measured.number("fetch_busy_share")
        limits += [fetched_ms / workers, (fetched_ms * (busy if busy >= 0 else 1.0) + rest_ms) / cores]
    return max(0.0, step_ms - max(limits))

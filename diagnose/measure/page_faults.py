"""Page faults of a step: memory pages that the system gives anew, and what it works for them.

What a recording leaves in glibc's heap may hold it open: malloc gives nothing back from then on, and the
steps that are timed have no faults any more that they have without us. A run that is promised enough
steps counts those of a few before anything is recorded (`unrecorded_usage` in facts.json).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diagnose.measure.recording import Recording

FAULTS_AT_LEAST = 2000  # a step, as the run asks for: fewer pages take below a millisecond
_FAR_MORE, _MANY_MORE = 1.5, 2.0
_PAGE_BYTES = 4096  # of the smallest pages


class PageFaults(NamedTuple):
    """Of a step: how many, and ms that the system works for all threads."""

    number: float
    system_ms: float

    @property
    def bytes(self) -> float:
        """That they give the step, at least."""
        return _PAGE_BYTES * self.number

    def are_far_more(self, others: float) -> bool:
        """Than so many, and enough to matter."""
        return self.number >= max(FAULTS_AT_LEAST, _FAR_MORE * others)


def of_plain_steps(recording: Recording) -> PageFaults | None:
    """Those steps aside that have many more faults: they start a process, or load anew. None where that was
    not recorded.
    """
    facts = recording.facts
    if len(facts.get("page_fault_series") or []) < 3:
        return None
    steps = np.diff(recording.memory_steps(len(facts["page_fault_series"])))
    faults, system_ms = np.diff(facts["page_fault_series"]) / steps, 1e3 * np.diff(facts["system_series_s"])
    median = float(np.median(faults))
    usual = faults <= _MANY_MORE * median
    return PageFaults(median, float(system_ms[usual].sum() / steps[usual].sum()))


def kept_away(recording: Recording) -> PageFaults | None:
    """Of a step before anything was recorded, where plain steps have far fewer; None otherwise."""
    before, plain = (recording.facts.get(name) or {} for name in ("unrecorded_usage", "plain_usage"))
    if "page_faults_per_step" not in before or "system_ms_per_step" not in plain:
        return None
    count = max(1.0, before["page_faults_per_step"])
    again = count - max(0.0, before["resident_growth_bytes_per_step"]) / _PAGE_BYTES  # the others it needs
    faults = PageFaults(again, before["system_ms_per_step"] * again / count)
    return faults if faults.are_far_more(plain["page_faults_per_step"]) else None


def kept_away_ms(recording: Recording) -> float:
    """By which plain steps are shorter than those that the script has by itself: what the system works less
    for them, shared among the cores in use. 0 where they are not.
    """
    faults = kept_away(recording)
    if faults is None:
        return 0.0
    plain = recording.facts["plain_usage"]
    return max(0.0, faults.system_ms - plain["system_ms_per_step"]) / max(1.0, plain["cpu_cores_used"])

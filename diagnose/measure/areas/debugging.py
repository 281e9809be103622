"""Debugging aids that were left on."""

from __future__ import annotations

from diagnose.measure.measured import NO_FACTS, Measured, Missing, Value, metric

MODES = {"anomaly_mode": "torch.autograd anomaly detection", "launch_blocking": "CUDA_LAUNCH_BLOCKING=1"}
OWN_PROFILER_SHARE = 0.5  # the script's own profiler counts as left on when it ran in most of the steps; a scheduled one does not


@metric("debug_mode_count", "count", "debugging modes that were on during the steps")
def _debug_mode_count(measured: Measured) -> Value | Missing:
    return NO_FACTS if not measured.recording.facts else len(_debug_modes(measured))


@metric("debug_modes", "", "the debugging modes that were on during the steps, by name")
def _debug_mode_names(measured: Measured) -> Value | Missing:
    return NO_FACTS if not measured.recording.facts else ", ".join(_debug_modes(measured))


def _debug_modes(measured: Measured) -> list[str]:
    facts = measured.recording.facts
    names = [title for fact, title in MODES.items() if facts.get(fact)]
    return names + (["the script's own torch.profiler"] if (facts.get("own_profiler_share") or 0) >= OWN_PROFILER_SHARE else [])

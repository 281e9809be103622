"""Metrics from the facts of a run: what no trace holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from diagnose.measure.measured import NO_STEPS, Measured, Missing, Value, metric
from diagnose.measure.sources import Sources

NO_FACTS = Missing("not in a trace; known only when the script is run", "python -m diagnose train.py")
NO_LOADER = Missing("no torch DataLoader was used")
MODES = {"anomaly_mode": "torch.autograd anomaly detection", "launch_blocking": "CUDA_LAUNCH_BLOCKING=1"}
OWN_PROFILER_SHARE = 0.5  # the script's own profiler counts as left on when it ran in most of the steps; a scheduled one does not


def _fact(name: str) -> Callable[[Measured], Value | Missing]:
    def value(measured: Measured) -> Value | Missing:
        fact = measured.recording.facts.get(name)
        return NO_FACTS if fact is None else fact

    return value


for _name, _unit, _meaning in (
    ("cpu_core_count", "count", "processor cores this process may use"),
    ("thread_count", "count", "threads torch uses for one operator"),
    ("matmul_precision", "", "torch.get_float32_matmul_precision()"),
):
    metric(_name, _unit, _meaning)(_fact(_name))


def _loader(measured: Measured) -> dict[str, Any] | Missing:
    """The loader that feeds the steps: the one with most batches to give."""
    if not measured.recording.facts:
        return NO_FACTS
    loaders = measured.recording.facts.get("loaders") or []
    return max(loaders, key=lambda one: one.get("dataset_length") or 0) if loaders else NO_LOADER


@metric("loader_worker_count", "count", "worker processes of the DataLoader that feeds the steps")
def _loader_worker_count(measured: Measured) -> Value | Missing:
    loader = _loader(measured)
    if not isinstance(loader, Missing):
        return int(loader["num_workers"])
    return _worker_count_from_names(measured) if loader is NO_FACTS else loader


@metric("loader_place", "", "where the script makes that DataLoader")
def _loader_place(measured: Measured) -> Value | Missing:
    loader = _loader(measured)
    if isinstance(loader, Missing):
        return loader
    if not loader.get("file"):
        return Missing("the loader is not made by a line of the script's own")
    return f"{Sources(measured.recording).shown(loader['file'])}:{loader['line']}"


def _worker_count_from_names(measured: Measured) -> Value | Missing:
    """A trace tells a loader without workers by the name of its iterator, and no more than that."""
    view = measured.timeline
    if view is not None and view.name_matches(r"#_SingleProcessDataLoaderIter").any():
        return 0
    return Missing("the number of loader workers is not in a trace", NO_FACTS.option)


@metric("fetch_ms", "ms", "one batch: reading the samples and collating them, wherever that happens; from the plain phase")
def _fetch_ms(measured: Measured) -> Value | Missing:
    for phase in ("plain", "timeline"):
        if (fetch_ms := measured.fetch_ms(phase)) > 0:
            return fetch_ms
    return NO_FACTS if not measured.recording.facts else Missing("no batch was fetched during the recorded steps")


@metric("suggested_workers", "count", "workers that hide the fetch: ceil(fetch ÷ rest of the step) + 1, at most the cores at hand")
def _suggested_workers(measured: Measured) -> Value | Missing:
    needed = (measured.metric("fetch_ms"), measured.metric("step_ms"), measured.metric("input_wait_ms"), measured.metric("cpu_core_count"))
    for value in needed:
        if isinstance(value, Missing):
            return value
    fetch_ms, step_ms, wait_ms, cores = (float(value) for value in needed)  # type: ignore[arg-type]
    compute_ms = max(step_ms - wait_ms, 1e-3)
    work_ms = fetch_ms * measured.fetches_per_step
    return int(max(1, min(math.ceil(work_ms / compute_ms) + 1, cores)))


@metric("missing_workers", "count", "suggested workers less those there are")
def _missing_workers(measured: Measured) -> Value | Missing:
    suggested, there = measured.metric("suggested_workers"), measured.metric("loader_worker_count")
    if isinstance(suggested, Missing) or isinstance(there, Missing):
        return suggested if isinstance(suggested, Missing) else there
    return float(suggested) - float(there)


@metric("trains", "yes/no", "the recorded steps compute gradients and update parameters")
def _trains(measured: Measured) -> Value | Missing:
    clock = measured.recording.clock.get("clock")
    if clock is not None:
        return clock in ("optimizer", "backward")
    view = measured.timeline
    if view is None:
        return NO_STEPS
    return bool(view.host["backward"].any() or view.name_matches(r"^Optimizer\.step#").any())


@metric("grad_forward_share", "share", "of the outermost forwards that ran with gradient recording on")
def _grad_forward_share(measured: Measured) -> Value | Missing:
    forward = measured.recording.facts.get("forward") or {}
    if not forward.get("count"):
        return NO_FACTS if not measured.recording.facts else Missing("no module was called")
    return float(forward["grad_count"]) / float(forward["count"])


@metric("saved_bytes", "bytes", "memory one step's forwards keep for a backward")
def _saved_bytes(measured: Measured) -> Value | Missing:
    saved = (measured.recording.facts.get("forward") or {}).get("saved_bytes")
    return Missing("what the forward keeps for a backward was not recorded", "run without --no-stacks") if saved is None else float(saved)


@metric("conv_bias_before_norm_count", "count", "convolutions with a bias whose output goes straight into a normalisation that removes it")
def _conv_bias_before_norm_count(measured: Measured) -> Value | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    return sum(len(model.get("conv_bias_before_norm") or []) for model in measured.recording.facts.get("models") or [])


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

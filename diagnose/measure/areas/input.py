"""Input: the data loader, what it costs and what it could cost."""

from __future__ import annotations

import math
from typing import Any

from diagnose.measure.ledger import LOADER_NEXT
from diagnose.measure.measured import NO_FACTS, Measured, Missing, Value, metric
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.sources import Sources
from diagnose.measure.view import Rows

NO_LOADER = Missing("no torch DataLoader was used")


@selector("input_wait", "time of the training thread inside the data loader's `__next__`", stake=ledger_row("input_wait"))
def _input_wait(view: Selection) -> Rows:
    marks = view.named((view.kind == "mark") & (view.name == "next") & view.on_training_thread)
    return marks if len(marks) else view.named(view.name_matches(LOADER_NEXT))


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

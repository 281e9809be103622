"""Compilation: what torch.compile had to leave out, and what it compiled again."""

from __future__ import annotations

from typing import Any

import numpy as np

from diagnose.measure.ledger import COMPILATION
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_PLAIN_STEPS, NO_STEPS, Missing, known
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, category_matches
from diagnose.measure.work import in_rows
from diagnose.trace.intervals import intersect, subtract, union

# Calls of compiled graphs. (A *Torch-Compiled Region* is a whole frame, what follows a break included.)
GRAPH_CALL = r"^CompiledFunction$|Call CompiledFxGraph"
# What compiled functions and captured graphs leave in a trace, and kernels that the compiler wrote.
COMPILED = (
    r"^Torch-Compiled Region|^CompiledFunction|Call CompiledFxGraph|^TorchDynamo Cache Lookup"
    r"|^(cuda|hip|cu)GraphLaunch$"
)
COMPILED_KERNEL = r"^triton_(poi|red|per|tem|for)_|^triton__0d1d"
NOT_COMPILED = Missing("torch.compile is not in use")


def _compile_rows(measured: Measured, key: str) -> list[dict[str, Any]] | Missing:
    compiled = measured.fact("compile", NOT_COMPILED)
    return compiled if isinstance(compiled, Missing) else compiled.get(key) or []


@metric("compiled", "yes/no", "torch.compile or CUDA graphs run a part of the steps")
def _compiled(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if measured.recording.facts.get("compile"):
        return True
    if view is None:
        return NO_STEPS
    kernels = category_matches(view.device["name"].array, COMPILED_KERNEL) & view.device_in_steps
    return bool(len(view.named(view.name_matches(COMPILED))) or kernels.any())


def _between_regions(view: Selection, rows: Rows) -> Intervals:
    """Inside each outermost forward, from its first compiled graph to its last, whatever runs in
    neither; with a GPU while that idles.
    """
    forwards = view.host_intervals(view.named(view.marked("forward")))
    regions = view.host_intervals(rows)
    slot = np.searchsorted(forwards[:, 0], regions[:, 0], side="right") - 1
    inside = (
        (slot >= 0) & (regions[:, 0] < forwards[np.maximum(slot, 0), 1])
        if len(forwards)
        else np.zeros(len(regions), bool)
    )
    slot, regions = slot[inside], regions[inside]
    if not len(regions):
        return NO_INTERVALS
    opens = np.concatenate(([True], np.diff(slot) > 0))
    closes = np.concatenate((opens[1:], [True]))
    spans = np.stack([regions[opens, 0], regions[closes, 1]], axis=1)
    between = intersect(subtract(union(spans), regions), view.host_span)
    return in_rows(view, between, "launch_bound", "python", "host_work") if view.has_device else between


@selector("between_graphs", "the gaps between compiled graphs in a forward", attributed=_between_regions)
def _between_graphs(view: Selection) -> Rows:
    return view.named(view.name_matches(GRAPH_CALL) & view.on_training_thread)


def _graph_break_ms(measured: Measured) -> float | None:
    between = measured.metric("between_graphs_ms")
    return None if isinstance(between, Missing) else float(between)


@fact_selector("graph_breaks", "graph breaks of torch.compile and the gaps between the graphs")
def _graph_breaks(measured: Measured) -> list[FactPlace] | Missing:
    breaks = _compile_rows(measured, "graph_breaks")
    if isinstance(breaks, Missing):
        return breaks
    between = _graph_break_ms(measured)
    ms = between / len(breaks) if between is not None and breaks else between
    return [FactPlace(graph_break["file"], graph_break["line"], "", 1.0, ms) for graph_break in breaks]


@metric("graph_break_reason", "", "Most frequent reason for a graph break")
def _graph_break_reason(measured: Measured) -> Value | Missing:
    return _first_reason(_compile_rows(measured, "graph_breaks"))


@selector("compiling", "the compiler on the training thread")
def _compiling(view: Selection) -> Rows:
    return view.named(view.name_matches(COMPILATION) & view.on_training_thread & (view.kind != "runtime"))


@fact_selector("recompilations", "frames that torch.compile compiled again")
def _recompilations(measured: Measured) -> list[FactPlace] | Missing:
    again = _compile_rows(measured, "recompiles")
    if isinstance(again, Missing):
        return again
    compiling = measured.metric("compiling_ms")
    ms = float(compiling) / len(again) if again and not isinstance(compiling, Missing) and compiling else None
    return [FactPlace(one["file"], one["line"], "", float(one["count"]), ms) for one in again]


@metric(
    "recompile_count", "count", "Times that torch.compile compiled a frame again, in the whole run so far"
)
def _recompile_count(measured: Measured) -> Value | Missing:
    return sum(int(one["count"]) for one in known(_compile_rows(measured, "recompiles")))


@metric("recompiles_in_steps_count", "count", "Number of frames compiled while steps were timed")
def _recompiles_in_steps(measured: Measured) -> Value | Missing:
    compiled = measured.fact("compile", NOT_COMPILED)
    if isinstance(compiled, Missing):
        return compiled
    count = compiled.get("recompiles_in_steps")
    return NO_PLAIN_STEPS if count is None else int(count)


@metric("recompile_reason", "", "Most frequent reason for compiling again")
def _recompile_reason(measured: Measured) -> Value | Missing:
    return _first_reason(_compile_rows(measured, "recompiles"))


def _first_reason(rows: list[dict[str, Any]] | Missing) -> Value | Missing:
    if isinstance(rows, Missing):
        return rows
    return str(rows[0]["reason"]) if rows else Missing("torch gave no reason")

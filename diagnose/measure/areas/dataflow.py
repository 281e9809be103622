"""Calls that the look at the dataflow tells of (`diagnose.run.child.dataflow`): values that are computed
again, results that nobody reads, and others that are not needed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NOT_RECORDED, Missing, known
from diagnose.measure.sources import Sources
from diagnose.measure.told_calls import dataflow, parts_of_torch, where_trained, whole_ms

MOST_LINES = 3  # named in a text


@fact_selector("values_again", "calls that are given exactly what an earlier one in the step was given")
def _values_again(measured: Measured) -> list[FactPlace] | Missing:
    """Their backward is that of the lines that compute them, where that is recorded."""
    asked, told = parts_of_torch(measured, "again"), dataflow(measured)
    if isinstance(asked, Missing) or isinstance(told, Missing):
        return asked
    if not all("line_trained_ns" in line for line in told.get("computed_again") or [{}]):
        return asked
    computed = known(parts_of_torch(measured, "computed_again", partial(_used_by_backward, measured)))
    longer = whole_ms(computed) / whole_ms(asked) if whole_ms(asked) else 1.0
    return [replace(place, ms_per_step=(place.ms_per_step or 0.0) * longer) for place in asked]


def _used_by_backward(measured: Measured, line: dict[str, Any]) -> float:
    """Of calls that are made again at a line, as a factor of what is theirs of its backward by their time:
    graphs that no backward uses have none, and of calls for the same those are the ones to spare.
    """
    again = line["trained_ns"] / line["line_trained_ns"] if line.get("line_trained_ns") else 0.0
    for graph in measured.recording.facts.get("graphs") or []:
        if (graph["file"], graph["line"]) == (line["file"], line["line"]) and graph["used_count"] and again:
            unused = 1 - graph["used_count"] / graph["built_count"]
            return max(0.0, again - unused) / (1 - unused) / again
    return 1.0


@metric("values_again_at", "", "Lines that compute them, costliest first")
def _values_again_at(measured: Measured) -> Value | Missing:
    """Up to three, which often are in a function that several others call."""
    lines = known(dataflow(measured)).get("computed_again")
    if not lines:
        return NOT_RECORDED
    shown = Sources(measured.recording).shown
    return ", ".join(f"{shown(line['file'])}:{line['line']}" for line in lines[:MOST_LINES])


@fact_selector("unread_results", "computing numbers that nothing in the step reads")
def _unread_results(measured: Measured) -> list[FactPlace] | Missing:
    return parts_of_torch(measured, "unread")


@fact_selector("replaced_results", "computing what is kept, and replaced before anything reads it")
def _replaced_results(measured: Measured) -> list[FactPlace] | Missing:
    return where_trained(measured, "replaced")


@fact_selector("zeroed_terms", "computing terms that are multiplied by 0, with their backward")
def _zeroed_terms(measured: Measured) -> list[FactPlace] | Missing:
    return where_trained(measured, "zeroed")


@fact_selector("dropped_results", "computing what is neither read nor trained")
def _dropped_results(measured: Measured) -> list[FactPlace] | Missing:
    return where_trained(measured, "dropped")


def constant_calls(measured: Measured) -> list[FactPlace] | Missing:
    """What each step computes anew, though it is the same each time."""
    return where_trained(measured, "constant")


@fact_selector("sample_work", "what steps compute of samples alone, the same whenever a sample comes")
def _sample_work(measured: Measured) -> list[FactPlace] | Missing:
    return where_trained(measured, "of_samples")


@fact_selector("distribution_checks", "checking what torch.distributions is given")
def _distribution_checks(measured: Measured) -> list[FactPlace] | Missing:
    return parts_of_torch(measured, "checks")


@fact_selector("diagonal_covariance", "normal distributions with a matrix of covariances that are all 0")
def _diagonal_covariance(measured: Measured) -> list[FactPlace] | Missing:
    return parts_of_torch(measured, "diagonal")


@fact_selector("weight_penalty", "sums of squares of weights, which are added to the loss")
def _weight_penalty(measured: Measured) -> list[FactPlace] | Missing:
    return where_trained(measured, "penalties")


@fact_selector("dense_kernels", "dense convolutions of which each output channel reads one input channel")
def _dense_kernels(measured: Measured) -> list[FactPlace] | Missing:
    return parts_of_torch(measured, "depthwise")

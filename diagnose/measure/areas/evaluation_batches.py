"""Evaluations that call the model with far fewer samples at a time than the training does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from diagnose.measure.areas.model import NO_FORWARD_MARKS
from diagnose.measure.areas.recurring import CALLS_MODEL, average_with_evaluations_ms, evaluations, looked_at
from diagnose.measure.areas.small_ops import SMALL_NS, dispatch_time
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_PLAIN_STEPS, NO_STEPS, NOT_RECORDED, Missing
from diagnose.measure.recurring import Line, Recurring, batch_elsewhere
from diagnose.measure.view import started_in
from diagnose.measure.work import outermost
from diagnose.trace.intervals import intersect, total

SMALL = 0.5  # of the training's batch


def _in_small_batches(measured: Measured) -> Iterator[tuple[Recurring, float]]:
    """Such evaluations, and after how many steps each comes back."""
    for work, steps in evaluations(measured):
        if work.batch_size is not None and work.batch_size <= SMALL * _batch_in_training(work, measured):
            yield work, steps


def _batch_in_training(work: Recurring, measured: Measured) -> float:
    """What the line that calls the model for the evaluation gives it in training, where it does that, too:
    a module for sequences has the time first. Else what models are mostly given.
    """
    for line, _ in _calls_of_model(work).most_common(1):
        there = batch_elsewhere(measured.recording, line, work.looks)
        if there is not None:
            return there
    return measured.number("training_batch_size")


def _calls_of_model(work: Recurring) -> Counter[Line]:
    """The looks at each line that calls the model."""
    found: Counter[Line] = Counter()
    for stack, count in work.looks.items():
        for line in stack:
            if re.search(CALLS_MODEL, line.callee):
                found[line] += count
                break
    return found


@fact_selector(
    "small_evaluation_batches", "calls of the model in evaluations with batches far smaller than in training"
)
def _small_evaluation_batches(measured: Measured) -> list[FactPlace] | Missing:
    if measured.plain_steps is None:
        return NO_PLAIN_STEPS
    if not looked_at(measured):
        return NOT_RECORDED
    places = []
    for work, steps in _in_small_batches(measured):
        ms_per_look = work.ms_per_occasion / steps / sum(work.looks.values())
        places += [
            FactPlace(line.file, line.line, line.function, 1 / steps, ms_per_look * count)
            for line, count in _calls_of_model(work).most_common()
        ]
    return places


@metric(
    "small_evaluation_batches_average_share",
    "share",
    "Share of the average step taken by calls of the model in evaluations with small batches",
)
def _average_share(measured: Measured) -> Value | Missing:
    return measured.needed("small_evaluation_batches_ms") / average_with_evaluations_ms(measured)


@metric("evaluation_batch_size", "count", "Number of samples that evaluations give the model at once")
def _evaluation_batch_size(measured: Measured) -> Value | Missing:
    """Of the costliest."""
    evaluations_ms = [(work.ms_per_occasion / steps, work) for work, steps in _in_small_batches(measured)]
    if not evaluations_ms:
        return Missing("no evaluation has small batches")
    _, costliest = max(evaluations_ms, key=lambda cost: cost[0])
    return costliest.batch_size or 0


@metric(
    "evaluation_batches_left",
    "ratio",
    "Part of these calls' time that is left in batches as large as the training's",
)
def _evaluation_batches_left(measured: Measured) -> Value | Missing:
    """A call costs what the forward of the training does to dispatch, whatever it is given, and the rest in
    proportion to its samples.
    """
    view = measured.timeline
    if view is None:
        return NO_STEPS
    forward = view.host_intervals(view.named(view.marked("forward") & view.on_training_thread))
    whole_ns = total(forward)
    if not whole_ns:
        return NO_FORWARD_MARKS
    operators = outermost(view, (view.kind == "op") & view.on_training_thread)
    operators = operators[started_in(view.host.iloc[operators], forward)]
    is_large = view.host["dur_ns"].to_numpy()[operators] >= SMALL_NS
    fixed_ns = total(intersect(dispatch_time(view), forward)) + SMALL_NS * int(np.count_nonzero(is_large))
    fixed = min(1.0, fixed_ns / whole_ns)
    part = measured.needed("evaluation_batch_size") / measured.needed("training_batch_size")
    return part / (fixed + (1 - fixed) * part)

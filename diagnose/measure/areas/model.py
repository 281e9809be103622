"""The model: forward and backward, training and inference."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.launches import waiting_for_host
from diagnose.measure.areas.operators import dispatched_work, first_shape, with_backward
from diagnose.measure.kernel_names import BACKWARD_KERNEL, EVALUATION_KERNEL, TRAINING_MODE_KERNEL
from diagnose.measure.ledger import READ_MARKS
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_FACTS, NO_SHAPES, NO_STEPS, ONLY_IN_A_RUN, Missing, known
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Intervals, Rows, category_matches, started_in
from diagnose.measure.work import in_rows, inside, outermost
from diagnose.run.child.steps.step_clock import StepClock
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import union

CALLS_AT_LEAST = 8  # of a model at one line in a step: `forward-per-sample` asks for as many
ARITHMETIC_OP = r"^aten::(add|sub|rsub|mul|div|addcmul|addcdiv|lerp|pow|cat|stack|clamp|where|sqrt|neg)_?$"
DROPOUT_OP = r"^aten::(feature_|alpha_|feature_alpha_)?dropout_?$"
NORM_LEFT = 1 / 3  # 16 channels of 64 × 64 in batches of 32 took 24 ms in training, 8 in evaluation mode
NO_FORWARD = Missing("no module was called")
NO_FORWARD_MARKS = Missing("no call of the model was recorded", in_trace=ONLY_IN_A_RUN)


@selector("forward", "outermost calls of the model")
def _forward(view: Selection) -> Rows:
    return view.named(view.marked("forward"))


@selector("backward", "calls of backward")
def _backward(view: Selection) -> Rows:
    return view.named(view.marked("backward"))


@metric("trains", "yes/no", "The recorded steps compute gradients and update parameters")
def _trains(measured: Measured) -> Value | Missing:
    clock = measured.recording.clock.get("clock")
    if clock in (StepClock.OPTIMIZER, StepClock.BACKWARD):
        return True
    if clock in (StepClock.FORWARD, StepClock.ANSWER, StepClock.NONE):
        return False
    view = measured.timeline
    if view is None:
        return NO_STEPS
    kernels = category_matches(view.device["name"].array, BACKWARD_KERNEL).any()
    return bool(view.host["backward"].any() or view.optimizer_steps.any() or kernels)


def _of_forwards(measured: Measured, key: str) -> float | Missing:
    """A number of facts.json's *forward*."""
    if not measured.recording.facts:
        return NO_FACTS
    forward = measured.recording.facts.get("forward") or {}
    if not forward.get("count"):
        return NO_FORWARD
    value = forward.get(key)
    return (
        Missing(f"the forwards' {key.replace('_', ' ')} was not recorded") if value is None else float(value)
    )


def _share_of_forwards(measured: Measured, key: str) -> Value | Missing:
    return known(_of_forwards(measured, key)) / known(_of_forwards(measured, "count"))


@metric("grad_forward_share", "share", "Share of model calls with gradient tracking on")
def _grad_forward_share(measured: Measured) -> Value | Missing:
    return _share_of_forwards(measured, "grad_count")


@metric("training_forward_share", "share", "Share of model calls in training mode")
def _training_forward_share(measured: Measured) -> Value | Missing:
    """Of a trace by its kernels: those of normalisation by a batch's own statistics, and of dropout."""
    view = measured.timeline
    if measured.recording.facts or view is None:
        return _share_of_forwards(measured, "training_count")
    names = view.device["name"].array
    training, evaluation = (
        np.count_nonzero(category_matches(names, pattern) & view.device_in_steps)
        for pattern in (TRAINING_MODE_KERNEL, EVALUATION_KERNEL)
    )
    return training / (training + evaluation) if training + evaluation else NO_FACTS


@metric("forward_batch_size", "count", "Most frequent first dimension of the model's input")
def _forward_batch_size(measured: Measured) -> Value | Missing:
    return _of_forwards(measured, "batch_size")


@metric("forward_shape_count", "count", "Number of different shapes of the model's input")
def _forward_shape_count(measured: Measured) -> Value | Missing:
    return _of_forwards(measured, "shape_count")


def _in_training(measured: Measured, key: str) -> float | Missing:
    """Of recordings that do not tell training apart, of all calls."""
    told = _of_forwards(measured, f"training_{key}")
    return _of_forwards(measured, key) if isinstance(told, Missing) else told


@metric("training_batch_size", "count", "Most frequent first dimension of what training gives the model")
def _training_batch_size(measured: Measured) -> Value | Missing:
    return _in_training(measured, "batch_size")


@metric("training_shape_count", "count", "Number of different shapes of what training gives the model")
def _training_shape_count(measured: Measured) -> Value | Missing:
    return _in_training(measured, "shape_count")


@metric("forwards_per_shape", "count", "Model calls that were seen for each shape of its input")
def _forwards_per_shape(measured: Measured) -> Value | Missing:
    calls, shapes = (known(_of_forwards(measured, key)) for key in ("count", "shape_count"))
    return calls / max(1.0, shapes)


@metric("forwards_per_backward", "count", "Number of outermost model calls per backward")
def _forwards_per_backward(measured: Measured) -> Value | Missing:
    forwards, backwards = (
        known(_of_forwards(measured, "count")),
        known(_of_forwards(measured, "backward_count")),
    )
    return forwards / backwards if backwards else Missing("no backward was called")


@metric("forwards_in_turn", "count", "Number of outermost model calls for each backward of a step")
def _forwards_in_turn(measured: Measured) -> Value | Missing:
    """All calls of a step that has no backward."""
    forwards, backwards = map(measured.needed, ("forward_count_per_step", "backward_count_per_step"))
    return forwards / max(1.0, backwards)


@metric("saved_bytes", "bytes", "Memory that the forward of one step keeps for the backward")
def _saved_bytes(measured: Measured) -> Value | Missing:
    saved = (measured.recording.facts.get("forward") or {}).get("saved_bytes")
    return (
        Missing("what the forward keeps for the backward was not recorded", in_trace=ONLY_IN_A_RUN)
        if saved is None
        else float(saved)
    )


# ---- many calls of a model where one would do


def _calls(view: Selection, *kinds: str) -> Intervals:
    return view.host_intervals(view.named(view.marked(*kinds)))


@metric("call_ms", "ms", "Time of a model call on the host (upper quartile; calls of losses included)")
def _call_ms(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    forwards = _forward(view)
    if not len(forwards):
        return NO_FORWARD_MARKS
    return measured.plain_ms(
        float(np.quantile(view.host["dur_ns"].to_numpy()[forwards], 0.75)) / 1e6, of_input_wait=False
    )


def _one_after_another(view: Selection) -> Rows:
    """Forwards at lines that call the model for one sample after another, not those of a learner beside its
    actors.
    """
    forwards = _forward(view)
    lines = view.host[["file", "line"]].iloc[forwards].astype({"file": str})
    count = lines.groupby(["file", "line"], sort=False)["line"].transform("size").to_numpy()
    return forwards[count >= CALLS_AT_LEAST * max(view.step_count, 1)]


def _time_one_after_another(view: Selection, rows: Rows) -> Intervals:
    """With the backward: all of it where there are no other forwards, else that of their operators."""
    forwards, calls = _one_after_another(view), _calls(view, "forward", "backward")
    if len(forwards) < len(_forward(view)):
        spans = view.host_intervals(forwards)
        operators = view.named((view.kind == "op") & started_in(view.host, spans))
        calls = union(np.concatenate([spans, view.host_intervals(with_backward(view, operators))]))
    return waiting_for_host(view, calls)


@selector(
    "calls_per_sample",
    "forwards for one sample after another, with their backward",
    attributed=_time_one_after_another,
)
def _calls_per_sample(view: Selection) -> Rows:
    """Forwards after which nothing is read before the next one: an action or a token that
    is read may decide what comes next.
    """
    forwards = _one_after_another(view)
    start, dur = (view.host[column].to_numpy() for column in ("start_ns", "dur_ns"))
    reads = start[view.named(view.marked(*READ_MARKS) & view.on_training_thread)]
    following = np.append(start[forwards[1:]], np.iinfo(np.int64).max)
    ends = np.searchsorted(view.host_windows[:, 1], following, side="right") != np.searchsorted(
        view.host_windows[:, 1], start[forwards], side="right"
    )
    free = np.searchsorted(reads, following) == np.searchsorted(reads, start[forwards] + dur[forwards])
    return forwards[free | ends]


@selector(
    "single_forwards",
    "calls of the model that the host holds up",
    attributed=lambda view, rows: waiting_for_host(view, view.host_intervals(rows)),
)
def _single_forwards(view: Selection) -> Rows:
    return _forward(view)


@metric("forwards_chained", "yes/no", "The input of a model call may depend on the result of the call before")
def _forwards_chained(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    if not view.has_shapes:
        return NO_SHAPES
    forwards = _forward(view)
    if not len(forwards):
        return NO_FORWARD_MARKS
    shapes = np.array([first_shape(text) != () for text in view.host["shapes"].array.categories] + [False])[
        view.host["shapes"].array.codes
    ]
    ops = np.flatnonzero((view.kind == "op") & view.on_training_thread & shapes)
    if not len(ops):
        return NO_SHAPES
    first = ops[np.minimum(np.searchsorted(ops, forwards), len(ops) - 1)]
    given = view.host["shapes"].array.codes[first]
    texts = view.host["shapes"].array.categories
    inputs = {first_shape(texts[code]) for code in set(given.tolist())}
    arithmetic = outermost(view, view.name_matches(ARITHMETIC_OP) & view.on_training_thread)
    arithmetic = arithmetic[~inside(view, arithmetic, view.marked("forward"))]
    alike = sum(first_shape(text) in inputs for text in view.host["shapes"].iloc[arithmetic])
    tokens = view.name_matches(r"^aten::embedding$")[first]
    return bool(2 * alike >= len(forwards) or tokens.mean() >= 0.5)


# ---- inference


def _training_mode_time(view: Selection, rows: Rows) -> Intervals:
    """The operators' work; without host events the kernels that run in training mode only."""
    if len(view.host):
        return dispatched_work(view, rows)
    named = category_matches(view.device["name"].array, TRAINING_MODE_KERNEL) & view.device_in_steps
    return in_rows(view, view.device_intervals(np.flatnonzero(named)), "compute")


@selector(
    "training_mode_work",
    "active dropout and batch normalisation",
    needs="work",
    attributed=_training_mode_time,
)
def _training_mode_work(view: Selection) -> Rows:
    """In evaluation a dropout calls nothing."""
    parent = view.host["parent"].to_numpy()
    dropouts = outermost(view, view.name_matches(DROPOUT_OP))
    dropping = np.intersect1d(dropouts, parent[(view.kind == "op") & (parent >= 0)])
    return distinct(dropping, _batch_norms(view))


@selector("batch_norms", "batch normalisation in the forward", attributed=dispatched_work)
def _batch_norms(view: Selection) -> Rows:
    return outermost(view, view.name_matches(r"^aten::batch_norm$"))


@metric("training_mode_left", "ratio", "Part of this work's time that evaluation mode leaves")
def _training_mode_left(measured: Measured) -> Value | Missing:
    """Nothing of dropout; batch normalisation by statistics that are there. Without host events the kernels
    are mostly normalisations'.
    """
    view = measured.timeline
    if view is not None and not len(view.host):
        return NORM_LEFT
    work_ms = measured.needed("training_mode_work_ms")
    return NORM_LEFT * measured.needed("batch_norms_ms") / work_ms if work_ms else 0.0


@metric(
    "conv_norm_pair_count",
    "count",
    "Number of convolutions followed directly by batch normalisation in evaluation mode",
)
def _conv_norm_pair_count(measured: Measured) -> Value | Missing:
    models = measured.fact("models")
    if isinstance(models, Missing):
        return models
    counts = [model.get("conv_norm_pair_count") for model in models]
    known = [int(count) for count in counts if count is not None]
    return sum(known) if known else Missing("pairs of convolution and normalisation were not recorded")

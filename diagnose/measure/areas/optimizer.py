"""The optimizer: its updates, and how it clears gradients."""

from __future__ import annotations

import re

import numpy as np

from diagnose.measure.areas.kernels import on_gpu
from diagnose.measure.areas.launches import launch_bound
from diagnose.measure.areas.settings import NOT_TRIED, ONLY_NOISE, trial_of, tried_share
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_STEPS, Missing, known
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, started_in
from diagnose.measure.work import in_rows, inside, outermost, work_time
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import intersect, union
from diagnose.trace.quirks import OPTIMIZER_STEP

OPTIMIZER_RANGE = rf"{re.escape(OPTIMIZER_STEP)}(\w+)\.step"
ZERO_GRAD = r"^Optimizer\.zero_grad#"
ZERO_OP = r"^aten::(zero_|_foreach_zero_)$"
PASSES = "add|sub|mul|div|lerp|addcmul|addcdiv|sqrt|reciprocal|maximum|rsqrt|norm|neg"
PASS_OP = rf"^aten::(?:_foreach_)?((?:{PASSES})_?)$"
# https://docs.pytorch.org/docs/stable/optim.html, the column *Default* of the table of
# implementations, torch 2.4 and later
FUSED_ON_CPU = ("Adam", "AdamW", "SGD", "Adagrad")
FUSED_ON_GPU = ("Adam", "AdamW", "SGD", "Adagrad")
# by a fused update that nobody tried, a guess on the cautious side: what is left was 0.12 to 0.7, by the
# number and size of the tensors
LEFT_UNTRIED = 0.55
HAS_FOREACH = (*FUSED_ON_CPU, "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")


def optimizer_spans(view: Selection) -> Intervals:
    return view.host_intervals(view.named(view.optimizer_steps))


@selector(
    "optimizer_launches",
    "runtime calls that launch GPU work from the optimizer's step",
    needs="device",
    attributed=lambda view, rows: intersect(
        view.ledger.rows.get("launch_bound", NO_INTERVALS), optimizer_spans(view)
    ),
)
def _optimizer_launches(view: Selection) -> Rows:
    launches = launch_bound(view)
    return launches[started_in(view.host, optimizer_spans(view))[launches]]


@metric(
    "optimizer_fused_op_count",
    "count",
    "Number of foreach or fused operators in the optimizer's step, in all recorded steps",
)
def _optimizer_fused_op_count(measured: Measured) -> Value | Missing:
    def count(view: Selection) -> Value | Missing:
        return len(
            view.named(
                view.name_matches(r"^aten::_(foreach|fused)_") & started_in(view.host, optimizer_spans(view))
            )
        )

    return on_gpu(measured, count)


def _update_time(view: Selection, rows: Rows) -> Intervals:
    """The ledger's row without a GPU; with one, the update's own kernels and the idle
    time in which the host dispatches them.
    """
    if not view.has_device:
        return view.ledger.rows.get("optimizer", NO_INTERVALS)
    dispatch = in_rows(view, optimizer_spans(view), "launch_bound")
    return union(np.concatenate([work_time(view, rows), dispatch]))


@selector("optimizer_update", "the optimizer's update", attributed=_update_time)
def _optimizer_update(view: Selection) -> Rows:
    return view.once_each(view.optimizer_steps)


@metric("optimizer_class", "", "Class of the optimizer that updates most parameters")
def _optimizer_class(measured: Measured) -> Value | Missing:
    known = measured.recording.facts.get("optimizers")
    if known:
        return str(max(known, key=lambda one: one.get("parameter_count") or 0)["class"])
    view = measured.timeline
    if view is None:
        return NO_STEPS
    rows = view.named(view.name_matches(OPTIMIZER_RANGE))
    found = re.match(OPTIMIZER_RANGE, str(view.name[rows[0]])) if len(rows) else None
    return found[1] if found else Missing("no optimizer stepped")


@metric("optimizer_has_foreach", "yes/no", "torch has a foreach implementation of this optimizer")
def _optimizer_has_foreach(measured: Measured) -> Value | Missing:
    return known(measured.metric("optimizer_class")) in HAS_FOREACH


@metric(
    "optimizer_fusable", "yes/no", "torch has a fused implementation of this optimizer that is not in use"
)
def _optimizer_fusable(measured: Measured) -> Value | Missing:
    name, view = measured.metric("optimizer_class"), measured.timeline
    if isinstance(name, Missing) or view is None:
        return name if isinstance(name, Missing) else NO_STEPS
    fused = view.name_matches(r"^aten::_fused_") & started_in(view.host, optimizer_spans(view))
    return name in (FUSED_ON_GPU if view.has_device else FUSED_ON_CPU) and not len(view.named(fused))


@metric(
    "fused_update_left", "share", "Share of the update's time that a fused one leaves, as tried in this run"
)
def _fused_update_left(measured: Measured) -> Value | Missing:
    return _left(measured, "fused_update")


def _left(measured: Measured, setting: str) -> float | Missing:
    share = tried_share(measured, setting)
    if share is ONLY_NOISE:
        return 1.0
    return share if isinstance(share, Missing) else 1.0 - share


@metric(
    "foreach_update_left",
    "share",
    "Share of the update's time that is left with lists of tensors (foreach), or without them where they are "
    "in use, as tried in this run",
)
def _foreach_update_left(measured: Measured) -> Value | Missing:
    return _left(measured, "foreach_update")


@metric(
    "foreach_update_gain_share",
    "share",
    "Share of the step that the other update saves, as tried in this run",
)
def _foreach_update_gain_share(measured: Measured) -> Value | Missing:
    return measured.needed("optimizer_update_share") * (1.0 - measured.needed("foreach_update_left"))


@metric("foreach_in_use", "yes/no", "The optimizer updates lists of tensors (foreach)")
def _foreach_in_use(measured: Measured) -> Value | Missing:
    trial = trial_of(measured, "foreach_update")
    return NOT_TRIED if trial is None else not trial["value"]


@metric(
    "fused_update_gain_share",
    "share",
    "Share of the step that a fused update saves, as tried in this run; else a cautious guess",
)
def _fused_update_gain_share(measured: Measured) -> Value | Missing:
    left = measured.metric("fused_update_left")
    return measured.needed("optimizer_update_share") * (
        1.0 - (LEFT_UNTRIED if isinstance(left, Missing) else float(left))
    )


@metric(
    "optimizer_pass_count",
    "count",
    "Number of different elementwise operators in the update (each is a pass over parameters, "
    "gradients or state)",
)
def _optimizer_pass_count(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    rows = view.named((view.kind == "op") & started_in(view.host, optimizer_spans(view)))
    found = (
        [re.match(PASS_OP, str(name)) for name in set(view.name[distinct(view.outermost_ops(rows))].tolist())]
        if len(rows)
        else []
    )
    return len({match[1] for match in found if match})


def _zeroing_time(view: Selection, rows: Rows) -> Intervals:
    """Writing the zeros, and the dispatch of that."""
    return union(
        np.concatenate([work_time(view, rows), in_rows(view, view.host_intervals(rows), "launch_bound")])
    )


@selector(
    "gradient_zeroing", "operators that fill gradients with zeros in `zero_grad`", attributed=_zeroing_time
)
def _gradient_zeroing(view: Selection) -> Rows:
    rows = outermost(view, view.name_matches(ZERO_OP))
    return rows[inside(view, rows, view.name_matches(ZERO_GRAD))]

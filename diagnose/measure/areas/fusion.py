"""Fusion: work that one kernel could do and several do."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from diagnose.measure.areas.tried import define_gain_share, left_as_tried
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.sizes import number_counts
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, category_matches, once
from diagnose.measure.work import in_rows, inside, work_time

BATCHED_MATMUL = r"^aten::(bmm|baddbmm)$"
SOFTMAX = r"^aten::_softmax(_backward_data)?$"
LAYER_OP = (
    r"^aten::(mm|addmm|cudnn_convolution|mkldnn_convolution|native_layer_norm|native_batch_norm|embedding)$"
)
# of the values, which many compute between the softmax and the multiplication behind it
DROPS = r"^aten::(bernoulli_?|native_dropout)$"  # a dropout that is active
PROJECTION, PROJECTIONS_AT_MOST = r"^aten::(mm|addmm)$", 2
LINEAR = r"^aten::(linear|mm|addmm)$|\b(Mm|Addmm)Backward0$"
ATTENTION_LEFT = 0.4  # of its time, if fused: the multiplications stay
FUSED_ATTENTION = r"scaled_dot_product|flash_attn|efficient_attention"
# without those that gather and scatter by an index: how they read is what takes their time
POINTWISE_KERNEL = r"(?i)(?<!index_)elementwise_kernel|vectorized_elementwise|unrolled_elementwise"
# what a compiler fuses with them: sums and means (a normalisation has one in the middle), and joining
FUSED_WITH_THEM = r"^(void )?at::native::(\(anonymous namespace\)::)?(reduce_kernel|CatArrayBatchedCopy)"
CHAIN = 5  # so many pointwise kernels on end; two or three (bias, activation, residual) are in every network


# ---- attention


@once
def _attentions(view: Selection) -> tuple[Rows, Rows, Rows]:
    """Softmaxes of written-out attention, and the batched multiplications before and behind each of them."""
    softmax, multiply = view.name_matches(SOFTMAX), view.name_matches(BATCHED_MATMUL)
    steps = view.named((softmax | multiply | view.name_matches(LAYER_OP)) & (view.kind == "op"))
    steps = steps[np.lexsort((steps, view.host["tid"].to_numpy()[steps]))]
    here = np.flatnonzero(softmax[steps])
    if len(steps) < 3 or not len(here):
        return steps[:0], steps[:0], steps[:0]
    backward = view.host["backward"].to_numpy()[steps[here]]
    projects = view.name_matches(PROJECTION)[steps]
    before = steps[_passing(projects, here, -1, backward)]
    behind = steps[_passing(projects, here, 1, ~backward)]
    adjacent = (steps[np.maximum(here - 1, 0)] == before) & (
        steps[np.minimum(here + 1, len(steps) - 1)] == behind
    )
    here = steps[here]
    tid, first, second = view.host["tid"].to_numpy(), *_input_sizes(view.host["shapes"].array)
    same = (tid[before] == tid[here]) & (tid[here] == tid[behind])
    # What the softmax takes is as large as what it gives, and that is one of
    # the two things multiplied behind it.
    fits = (first[here] == first[behind]) | (first[here] == second[behind]) | ((first[here] < 0) & adjacent)
    written_out = ~inside(view, here, view.name_matches(FUSED_ATTENTION))
    several = _several_queries(view.host["shapes"].array)[here]
    found = multiply[before] & multiply[behind] & same & fits & written_out & several
    return here[found], before[found], behind[found]


def _passing(passed: np.ndarray, positions: np.ndarray, direction: int, may_pass: np.ndarray) -> np.ndarray:
    """The positions next to these in that direction, without up to two that are `passed` where one may."""
    found = positions + direction
    for _ in range(PROJECTIONS_AT_MOST):
        inner = np.clip(found, 0, len(passed) - 1)
        found = np.where(may_pass & passed[inner], inner + direction, found)
    return np.clip(found, 0, len(passed) - 1)


def _several_queries(shapes: pd.Categorical) -> np.ndarray:
    """Which events' first input has scores of more than one query, or an unknown shape: of a single one, as
    in a decoder's loop, there is no matrix of scores to keep out of memory.
    """
    sides = [re.findall(r"\d+", text.partition("]")[0]) for text in shapes.categories]
    several = [not one or (len(one) >= 3 and int(one[-2]) > 1) for one in sides]
    return np.array([*several, True])[shapes.codes]


def _input_sizes(shapes: pd.Categorical) -> tuple[np.ndarray, np.ndarray]:
    """How many numbers each event's first and second input have, by their recorded
    shapes; -1 where that is not known.
    """
    sizes = [_two_sizes(text) for text in shapes.categories]
    first, second = np.array([*sizes, (-1, -1)], np.int64)[shapes.codes].T
    return first, second


def _two_sizes(shapes: str) -> tuple[int, int]:
    first, second, *_ = [*number_counts(shapes), -1]
    return first, second


def _attention_time(view: Selection, rows: Rows) -> Intervals:
    """The work from the multiplication before each softmax to the one behind it,
    both included, in forward and backward; without projections in between.
    """
    if not len(rows):  # the backward of a fused call may be written out where its forward is not
        return NO_INTERVALS
    softmaxes, first, last = _attentions(view)
    tid = view.host["tid"].to_numpy()
    ops = np.flatnonzero((view.kind == "op") & view.in_steps)
    covered = [ops[:0]]
    for thread in np.unique(tid[softmaxes]):
        depth = np.zeros(len(view.host) + 1, np.int64)
        here = tid[softmaxes] == thread
        np.add.at(depth, first[here], 1)
        np.add.at(depth, last[here] + 1, -1)
        mine = ops[tid[ops] == thread]
        covered.append(mine[np.cumsum(depth)[mine] > 0])
    between = np.concatenate(covered)
    return work_time(view, between[~inside(view, between, view.name_matches(LINEAR))])


@selector(
    "written_out_attention",
    "attention written out as matrix multiplication, softmax, matrix multiplication",
    attributed=_attention_time,
)
def _written_out_attention(view: Selection) -> Rows:
    """Those of the forward: its lines are the ones to change. On a CPU without those that drop scores: torch
    has no fused kernel for them there (`sdp_utils_cpp.cpp`: `check_for_dropout`).
    """
    softmaxes, _, last = _attentions(view)
    counts = ~view.host["backward"].to_numpy()[softmaxes]
    if not view.has_device:
        drawn = view.named(view.name_matches(DROPS) & (view.kind == "op"))
        counts &= np.searchsorted(drawn, softmaxes) == np.searchsorted(drawn, last)
    return softmaxes[counts]


@metric(
    "written_out_attention_tried",
    "share",
    "Share of its time that fused attention left, as tried in this run",
)
def _written_out_attention_tried(measured: Measured) -> Value | Missing:
    return left_as_tried(measured, "attention")


@metric("written_out_attention_left", "share", "Share of its time that fused attention leaves")
def _written_out_attention_left(measured: Measured) -> Value | Missing:
    """As tried in this run, else as it usually does."""
    tried = measured.metric("written_out_attention_tried")
    return ATTENTION_LEFT if isinstance(tried, Missing) else tried


define_gain_share("written_out_attention", "Share of the step that fused attention saves")


# ---- chains of pointwise kernels


@selector(
    "pointwise_chains",
    "chains of five or more pointwise kernels, with sums and joins between them, outside the optimizer",
    table="device",
    attributed=lambda view, rows: in_rows(view, view.device_intervals(rows), "compute"),
)
def _pointwise_chains(view: Selection) -> Rows:
    device = view.device
    rows = np.flatnonzero(np.asarray(device["kind"] == "kernel") & view.device_in_steps)
    stream, start = device["stream"].to_numpy(), device["start_ns"].to_numpy()
    rows = rows[np.lexsort((start[rows], stream[rows], device["device"].to_numpy()[rows]))]
    own = ~_of_optimizer(view, rows)
    pointwise = category_matches(device["name"].array, POINTWISE_KERNEL)[rows] & own
    fusible = pointwise | (category_matches(device["name"].array, FUSED_WITH_THEM)[rows] & own)
    borders = np.flatnonzero((np.diff(fusible) != 0) | (np.diff(stream[rows]) != 0)) + 1
    run = np.zeros(len(rows), np.int64)
    run[borders] = 1
    run = np.cumsum(run)
    return np.sort(rows[fusible & (np.bincount(run, pointwise)[run] >= CHAIN)]) if len(rows) else rows


def _of_optimizer(view: Selection, rows: Rows) -> np.ndarray:
    """Which of these device events the optimizer's step enqueued."""
    launch = view.device["launch"].to_numpy()[rows]
    return inside(view, launch, view.optimizer_steps)

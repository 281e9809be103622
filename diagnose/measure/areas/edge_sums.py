"""Sums over the edges of a graph: a row picked for each edge, scaled, and added up where the edge ends,
which is a product with a sparse matrix.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from diagnose.measure.areas.operators import Shape, both_ways, input_shapes, shape_of, with_backward
from diagnose.measure.areas.user_code import steps_of
from diagnose.measure.autograd import forward_of
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Rows, once
from diagnose.measure.work import outermost

PICKS = {"aten::index", "aten::index_select"}
SCALES = {"aten::mul"}
ADDS = r"^aten::(index|scatter)_add_?$"
ADDED = 3  # place of the rows that are added, among the inputs of all four
# what may stand between: shapes and zeros
BETWEEN = re.compile(
    r"aten::(unsqueeze|view|reshape|expand|expand_as|select|t|to|_to_copy|detach|contiguous|empty|empty_like"
    r"|zeros|zeros_like|new_zeros|new_empty|fill_|zero_|full|alias|size)"
)
FAR = 24  # operators
NUMBERS_AT_LEAST = 50_000
EDGES_A_NODE = 3.0
# of the time, forward alone and with its backward by edges a node: `python -m benchmarks edge-sums`
LEFT_FORWARD, LEFT_OF_ONE_EDGE, LEFT_AT_LEAST, LEFT_AT_MOST = 0.1, 3.0, 0.15, 0.7


class EdgeSum(NamedTuple):
    rows: tuple[int, ...]  # of the view: the pick, the scaling and the sum
    nodes: int
    edges: int
    numbers: int


@once
def _edge_sums(view: Selection) -> list[EdgeSum]:
    """Those on a CPU over the same edges in every step, with weights that are not trained."""
    adds = view.name_matches(ADDS)
    if view.has_device or not adds.any():
        return []
    ops = outermost(view, (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy())
    learned = _scaled_by_trained(view)
    found = []
    for at in np.flatnonzero(adds[ops]).tolist():
        if (shapes := _summed(view, int(ops[at]))) is not None:
            rows = _picked_and_scaled(view, ops[max(0, at - FAR) : at], shapes)
            if rows and not learned & set(rows):
                (nodes, numbers), (edges, _) = shapes
                found.append(EdgeSum((*rows, int(ops[at])), nodes, edges, numbers))
    return _of_every_step(view, found)


def _summed(view: Selection, row: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Shapes of the sums and of what is added; None where these are no rows of many edges a node."""
    given = [shape_of(shape) for shape in input_shapes(view.host["shapes"].array[row])]
    if len(given) <= ADDED:
        return None
    sums, added = given[0], given[ADDED]
    fits = len(sums) == len(added) == 2 and sums[1] == added[1] > 1
    if not fits or math.prod(added) < NUMBERS_AT_LEAST or added[0] < EDGES_A_NODE * sums[0]:
        return None
    return (sums[0], sums[1]), (added[0], added[1])


def _picked_and_scaled(view: Selection, before: Rows, shapes: tuple[Shape, Shape]) -> list[int]:
    """Of the operators before, those that made the addends: none where that is more than a pick and a
    scaling.
    """
    _, (edges, numbers) = shapes
    found: list[int] = []
    for row in before[::-1].tolist():
        name = str(view.name[row])
        given = [shape_of(shape) for shape in input_shapes(view.host["shapes"].array[row])]
        if name in PICKS and given and len(given[0]) == 2 and given[0][1] == numbers:
            picked = len(given) < 3 or not given[2] or given[2] == (edges,)
            return [row, *found] if picked else []
        if name in SCALES and (edges, numbers) in given and (edges, 1) in given:
            found.append(row)
        elif (edges, numbers) in given and not BETWEEN.fullmatch(name):
            return []
    return []


def _scaled_by_trained(view: Selection) -> set[int]:
    """Products whose backward adds up a gradient for the scale."""
    back = np.flatnonzero((view.kind == "op") & (view.name == "aten::sum") & (forward_of(view) >= 0))
    return set(forward_of(view)[back].tolist())


def _of_every_step(view: Selection, found: list[EdgeSum]) -> list[EdgeSum]:
    """Over as many edges in each: a sample of the graph would need another matrix each time."""
    begins = view.host["start_ns"].to_numpy()
    sizes: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for edge_sum in found:
        step = int(steps_of(view, begins[[edge_sum.rows[0]]])[0])
        sizes[step].add((edge_sum.nodes, edge_sum.edges))
    same = len(sizes) == view.step_count and len({frozenset(of_step) for of_step in sizes.values()}) == 1
    return found if same else []


@selector(
    "edge_sums",
    "sums over the edges of a graph, edge by edge on a CPU, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _edge_sum_rows(view: Selection) -> Rows:
    rows = [row for edge_sum in _edge_sums(view) for row in edge_sum.rows]
    return np.sort(np.array(rows, np.int64)) if rows else NO_ROWS


@metric(
    "edge_sums_left", "share", "Share of the time of these sums that a product with a sparse matrix takes"
)
def _edge_sums_left(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    found = _edge_sums(view)
    if not found:
        return Missing("no sum goes over the edges of a graph")
    took_ns = view.host["dur_ns"].to_numpy()
    left_ns = whole_ns = 0.0
    for edge_sum in found:
        rows = np.array(edge_sum.rows)
        back = with_backward(view, rows)
        ns = float(took_ns[back].sum())
        by_degree = LEFT_OF_ONE_EDGE * edge_sum.nodes / edge_sum.edges
        trained = float(np.clip(by_degree, LEFT_AT_LEAST, LEFT_AT_MOST))
        left_ns += ns * (trained if len(back) > len(rows) else LEFT_FORWARD)
        whole_ns += ns
    return left_ns / whole_ns


@metric("edge_sums_gain_share", "share", "Share of the step that products with a sparse matrix save")
def _edge_sums_gain_share(measured: Measured) -> Value | Missing:
    share = measured.needed("edge_sums_share")
    return share * (1 - measured.needed("edge_sums_left")) if share else 0.0


@metric("edge_sums_size", "", "Nodes and edges of the costliest of these sums")
def _edge_sums_size(measured: Measured) -> Value | Missing:
    view = measured.timeline
    found = _edge_sums(view) if view is not None else []
    if not found:
        return Missing("no sum goes over the edges of a graph")
    largest = max(found, key=lambda edge_sum: edge_sum.edges * edge_sum.numbers)
    return f"{largest.edges:,} edges of {largest.nodes:,} nodes"

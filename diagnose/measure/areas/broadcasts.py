"""Pairs of rows held against each other by broadcasting: a tensor of all pairs, made only to be summed up."""

from __future__ import annotations

import math

import numpy as np

from diagnose.measure.areas.operators import Shape, both_ways, input_shapes, shape_of
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_ROWS, Rows
from diagnose.measure.work import outermost

PAIRS_OP, WITHIN_OP = r"^aten::(sub|mul)$", r"^aten::(pow|square|mul)$"
ALONE_OP = r"^aten::(cosine_similarity|pairwise_distance)$"  # make pairs and sum them up
SUMS_OP = r"^aten::(sum|mean|norm|linalg_vector_norm)$"
NAMED_BY_LIBRARIES = r"^(?!aten::)"
VIEWS = r"^aten::(unsqueeze|squeeze|view|reshape|expand|transpose|permute|t|slice|select|contiguous|detach)$"
TIMES = 8  # as large as what is paired, at least
NUMBERS_AT_LEAST = 2**15
BEHIND = 4  # operators, views aside, within which the pairs are summed up


@selector(
    "summed_pairs",
    "differences or products of all pairs, made by broadcasting and summed up, with their backward",
    needs="shapes",
    attributed=both_ways,
)
def _summed_pairs(view: Selection) -> Rows:
    own = (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy()
    rows = outermost(view, own & ~view.name_matches(NAMED_BY_LIBRARIES))
    rows = rows[~view.name_matches(VIEWS)[rows]]
    makes, sums, goes_on = (view.name_matches(pattern) for pattern in (PAIRS_OP, SUMS_OP, WITHIN_OP))
    shapes = view.host["shapes"].array
    alone = rows[view.name_matches(ALONE_OP)[rows]].tolist()
    found = [row for row in alone if _of_pairs([shape_of(shape) for shape in input_shapes(shapes[row])[:2]])]
    for at in np.flatnonzero(makes[rows]).tolist():
        pairs = _of_pairs([shape_of(shape) for shape in input_shapes(shapes[rows[at]])[:2]])
        for number, row in enumerate(rows[at + 1 : at + 1 + BEHIND].tolist() if pairs else []):
            if _first(shapes[row]) != pairs or not (sums[row] or goes_on[row]):
                break
            if sums[row]:
                found += rows[at : at + 2 + number].tolist()
                break
    return np.unique(np.array(found, np.int64)) if found else NO_ROWS


def _first(text: str) -> Shape:
    return next((shape_of(shape) for shape in input_shapes(text)), ())


def _of_pairs(shapes: list[Shape]) -> Shape:
    """What two shapes are broadcast to, if that is far larger than both; else empty."""
    if len(shapes) < 2 or not all(shapes):
        return ()
    rank = max(map(len, shapes))
    one, other = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    pairs = tuple(map(max, one, other))
    fits = all(
        sizes <= {1, size} for size, sizes in zip(pairs, map(lambda a, b: {a, b}, one, other), strict=True)
    )
    count = math.prod(pairs)
    is_larger = count >= max(NUMBERS_AT_LEAST, TIMES * max(math.prod(one), math.prod(other)))
    return pairs if fits and is_larger else ()

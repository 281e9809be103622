"""Sparse, ragged and embedding-heavy work: many small pieces, of sizes that depend on values."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.operators import both_ways
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Intervals, Rows
from diagnose.measure.work import outermost, work_time
from diagnose.trace.intervals import intersect, union

COALESCE_OP = r"^aten::_coalesce$"  # does the work; `aten::coalesce` of what is coalesced calls nothing
SPLIT_OP = r"^aten::(unsafe_)?(split\w*|chunk|tensor_split|unbind)$"
LOOKUP_OP = r"^aten::(embedding|embedding_bag|_embedding_bag\w*)$"


def _held_up(view: Selection, rows: Rows) -> Intervals:
    """The operators' own time; with a GPU the part of it in which that idles."""
    own = view.host_intervals(rows)
    return intersect(own, view.idle) if view.has_device else own


def _work_and_waits(view: Selection, rows: Rows) -> Intervals:
    return union(np.concatenate([_held_up(view, rows), work_time(view, rows)]))


def _in_forward(view: Selection, pattern: str) -> Rows:
    """The outermost operators of that name on the training thread, without backward, optimizer and loader."""
    return view.of_the_script(outermost(view, view.name_matches(pattern) & view.on_training_thread))


@selector("coalescing", "coalescing sparse tensors", attributed=_work_and_waits)
def _coalescing(view: Selection) -> Rows:
    """Without sparse gradients, which are new in each step: the optimizer has to sum their entries."""
    return _in_forward(view, COALESCE_OP)


@selector("splits", "splitting tensors into pieces (`split`, `unbind`, `chunk` …)", attributed=_held_up)
def _splits(view: Selection) -> Rows:
    return _in_forward(view, SPLIT_OP)


def _lookups_and_gradients(view: Selection, rows: Rows) -> Intervals:
    """On a CPU the lookups' backward, too, which writes the gradients table by table."""
    return _held_up(view, rows) if view.has_device else both_ways(view, rows)


@selector(
    "embedding_lookups",
    "lookups in embedding tables, with their backward on a CPU",
    attributed=_lookups_and_gradients,
)
def _embedding_lookups(view: Selection) -> Rows:
    return _in_forward(view, LOOKUP_OP)

"""Which backward belongs to which operator of the forward.

Autograd numbers its nodes. An operator is recorded with the number of the next node, also if it makes none,
and the backward of a node with the node's own number. So the last operator of a number before its backward is
the one that made the node. Threads number their own, and those that live for one step begin anew in each.
"""

from __future__ import annotations

import numpy as np

from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows, once
from diagnose.measure.work import inside
from diagnose.trace.distinct import distinct
from diagnose.trace.nesting import nearest


@once
def forward_of(view: Selection) -> Rows:
    """For each host event of a backward the operator of the forward that it belongs to; -1 for others."""
    number = view.host["sequence"].to_numpy().astype(np.int64)
    is_numbered, backward = number >= 0, view.host["backward"].to_numpy()
    makers = np.flatnonzero(is_numbered & ~backward)
    makers = makers[np.argsort(number[makers], kind="stable")]
    nodes = np.flatnonzero(is_numbered & backward)
    made_by = np.full(len(number) + 1, -1, np.int32)
    if len(makers):
        # events stand in the order of their starts
        order = number * len(number) + np.arange(len(number))
        before = np.searchsorted(order[makers], order[nodes]) - 1
        is_known = (before >= 0) & (number[makers[before]] == number[nodes])
        made_by[nodes[is_known]] = makers[before[is_known]]
    return made_by[nearest(is_numbered & backward, view.host["parent"].to_numpy(), np.arange(len(number)))]


@once
def operators_with_backward(view: Selection) -> Rows:
    """The operators of the forward whose result a backward goes through."""
    forward = forward_of(view)
    return distinct(forward[forward >= 0])


def is_backward_of(view: Selection, flagged: np.ndarray) -> np.ndarray:
    """Which host events are the backward of operators that are flagged, or lie inside an event that is."""
    makers = operators_with_backward(view)
    is_made = np.zeros(len(view.host) + 1, bool)
    is_made[makers[inside(view, makers, flagged)]] = True
    return is_made[forward_of(view)]

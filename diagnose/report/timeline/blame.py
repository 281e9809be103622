"""Which finding of the plan blames which event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diagnose.judge.rules import Rule
from diagnose.measure.measured import Measured
from diagnose.measure.selection import SELECTORS, Selection
from diagnose.measure.work import device_rows


def blamed(measured: Measured, rules: Sequence[Rule]) -> tuple[np.ndarray, np.ndarray]:
    """For each host row and each device row of the timeline which of the rules blames it,
    the first if several do; -1 if none.

    A host event is blamed with the GPU work that it launches.
    """
    view = measured.timeline
    assert view is not None
    host, device = np.full(len(view.host), -1), np.full(len(view.device), -1)
    for number, rule in reversed(list(enumerate(rules))):
        selector = SELECTORS.get(rule.selector)
        if selector is None or selector.table == "calls":  # those are of the detail phase
            continue
        rows = measured.rows(selector)
        if selector.table == "host":
            host[rows] = number
            device[_launched_by(view, rows)] = number
        else:
            device[rows] = number
    return host, device


def _launched_by(view: Selection, rows: np.ndarray) -> np.ndarray:
    return device_rows(view, view.is_among(rows)) if view.has_device else rows[:0]

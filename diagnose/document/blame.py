"""Which finding of the plan blames which event, and is about which spender."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diagnose.judge.rules import Rule
from diagnose.measure.measured import Measured
from diagnose.measure.selection import SELECTORS, Selection
from diagnose.measure.spenders import MOSTLY, Spender
from diagnose.measure.view import NO_INTERVALS, Intervals
from diagnose.measure.work import device_rows
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import intersect, total


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


class Touched:
    """Which of the plan's rules is about most of what a spender does, by the events of the timeline."""

    def __init__(self, measured: Measured, rules: Sequence[Rule]) -> None:
        view = measured.timeline
        self._rules = rules if view is not None else ()
        if view is None:
            return
        host, self._of_device = blamed(measured, rules)
        self._device_ns = view.device["dur_ns"].to_numpy()
        tid = view.host["tid"].to_numpy()
        self._spans: list[dict[int, Intervals]] = []  # by rule and thread
        for number in range(len(rules)):
            rows = np.flatnonzero(host == number)
            threads = distinct(tid[rows]).tolist()
            self._spans.append({at: view.host_intervals(rows[tid[rows] == at]) for at in threads})

    def rule(self, spender: Spender) -> str | None:
        """The rule's id; None where none is."""
        if not self._rules:
            return None
        whole_ns = sum(map(total, spender.host.values())) + int(self._device_ns[spender.device].sum())
        about = (rule.id for at, rule in enumerate(self._rules) if self._ns(spender, at) > MOSTLY * whole_ns)
        return next(about, None)

    def _ns(self, spender: Spender, number: int) -> int:
        spans = self._spans[number]
        on_host = sum(
            total(intersect(of_it, spans.get(at, NO_INTERVALS))) for at, of_it in spender.host.items()
        )
        on_device = spender.device[self._of_device[spender.device] == number]
        return on_host + int(self._device_ns[on_device].sum())


def _launched_by(view: Selection, rows: np.ndarray) -> np.ndarray:
    return device_rows(view, view.is_among(rows)) if view.has_device else rows[:0]

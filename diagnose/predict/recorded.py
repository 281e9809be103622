"""The graph of recorded steps."""

from __future__ import annotations

import numpy as np

from diagnose.measure.selection import Selection
from diagnose.measure.view import Intervals
from diagnose.predict.device_lanes import Border, DeviceLanes, add_events
from diagnose.predict.graph import Builder, Graph
from diagnose.predict.host_lanes import add_host
from diagnose.predict.waits import waits_of


def host_windows(view: Selection, lanes: DeviceLanes) -> Intervals:
    """The complete steps on the host's clock, ns: a border that is the start of a kernel (steps
    found by repetition) becomes its launch.
    """
    if view.trace.step_source != "repetition" or not len(lanes.order):
        return view.host_windows
    order = np.argsort(lanes.start_ns, kind="stable")
    row = order[np.minimum(np.searchsorted(lanes.start_ns[order], view.windows), len(order) - 1)]
    launched = np.where(
        (lanes.start_ns[row] == view.windows) & (lanes.launched_ns[row] >= 0),
        lanes.launched_ns[row],
        view.windows,
    )
    return launched if (np.diff(launched.reshape(-1)) >= 0).all() else view.windows


def recorded_graph(view: Selection, lanes: DeviceLanes, begin_ns: int, end_ns: int, step_count: int) -> Graph:
    """The graph of the steps between two moments of the host, ns."""
    builder, border = Builder(), Border(lanes, begin_ns, end_ns)
    waits = [
        wait
        for wait in waits_of(view, lanes, begin_ns, end_ns)
        if any(border.like(event) >= 0 for event in wait.events)
    ]
    host = add_host(builder, view, lanes, waits, begin_ns, end_ns)
    events = add_events(builder, view, lanes, border, host.launches)
    builder.edges([host.end], [host.begin], carried=True)
    returns = [
        (events[like], node, wait.return_ns, wait.row, like != event)
        for wait, node in host.returns
        for event in wait.events
        if (like := border.like(event)) >= 0
    ]
    source, target, return_ns, row, carried = np.array(returns, np.int64).reshape(-1, 5).T
    builder.edges(source, target, const_ns=return_ns.astype(float), wait=row, carried=carried > 0)
    left = {host.end: float(begin_ns), **{int(events[like]): at_ns for like, at_ns in border.left().items()}}
    return builder.graph(host.begin, [host.end], left, step_count)

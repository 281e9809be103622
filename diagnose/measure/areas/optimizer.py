"""The optimizer: its updates, and how it clears gradients."""

from __future__ import annotations

from diagnose.measure.areas.kernels import on_gpu
from diagnose.measure.areas.launches import launch_bound
from diagnose.measure.ledger import OPTIMIZER_STEP
from diagnose.measure.measured import Measured, Missing, Value, metric
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_INTERVALS, Rows, started_in
from diagnose.trace.intervals import intersect


@selector(
    "optimizer_launches",
    "runtime calls that launch GPU work from inside the optimizer's step",
    needs="device",
    stake=lambda view, rows: intersect(
        view.ledger.rows.get("launch_bound", NO_INTERVALS), view.host_intervals(view.named(view.name_matches(OPTIMIZER_STEP)))
    ),
)
def _optimizer_launches(view: Selection) -> Rows:
    spans = view.host_intervals(view.named(view.name_matches(OPTIMIZER_STEP)))
    launches = launch_bound(view)
    return launches[started_in(view.host, spans)[launches]]


@metric("optimizer_fused_op_count", "count", "foreach or fused operators inside the optimizer's step, in all recorded steps")
def _optimizer_fused_op_count(measured: Measured) -> Value | Missing:
    return on_gpu(measured, lambda view: len(view.named(view.name_matches(r"^aten::_(foreach|fused)_"))))

"""The tables of operators and kernels."""

from __future__ import annotations

from collections import Counter

import numpy as np

from diagnose.document import model
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.totals import KernelTotal, kernel_totals, operator_totals
from diagnose.predict.retiming import roofline_shares

KNOWN_SHARE = 0.95  # of a row's time; with less of it known, its share of the roofline is not


def operator_rows(measured: Measured) -> list[model.Operator]:
    step_ms = measured.number("step_ms")
    return [
        model.Operator(
            name=row.name,
            self_ms=row.self_ms,
            share=row.self_ms / step_ms,
            calls_per_step=row.calls_per_step,
            mean_ms=row.self_ms / row.calls_per_step,
        )
        for row in operator_totals(measured)
    ]


def kernel_rows(measured: Measured) -> list[model.Kernel]:
    view, step_ms = measured.timeline, measured.number("step_ms")
    return [_kernel(row, view, step_ms) for row in kernel_totals(measured)] if view is not None else []


def _kernel(total: KernelTotal, view: Selection, step_ms: float) -> model.Kernel:
    kind, name, named_format, tensor_cores = total.label
    roofline_share, computed_format = _roofline(view, total) if kind == "kernel" else (None, None)
    return model.Kernel(
        name=name,
        kind=kind,
        ms_per_step=total.ms,
        share=total.ms / step_ms,
        count_per_step=total.count_per_step,
        mean_ms=total.mean_ms,
        number_format=named_format or computed_format,
        tensor_cores=tensor_cores,
        roofline_share=roofline_share,
    )


def _roofline(view: Selection, total: KernelTotal) -> tuple[float | None, str | None]:
    """The row's share of the roofline, and the format of most of its operators; None where not known."""
    shares, formats = roofline_shares(view, total.rows)
    dur_ns = view.device["dur_ns"].to_numpy()[total.rows]
    known = ~np.isnan(shares)
    enough = known.any() and dur_ns[known].sum() >= KNOWN_SHARE * dur_ns.sum() > 0
    share = float(np.average(shares[known], weights=dur_ns[known])) if enough else None
    usual = Counter(filter(None, formats.tolist())).most_common(1)
    return share, usual[0][0] if usual else None

"""The tables of operators and kernels."""

from __future__ import annotations

from collections import Counter

import numpy as np

from diagnose.document import model
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.totals import KernelTotal, kernel_totals, operator_totals
from diagnose.measure.view import NO_ROWS, Rows
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
    if view is None:
        return []
    totals = kernel_totals(measured)
    rows = np.concatenate([NO_ROWS, *(total.rows for total in totals if total.label.kind == "kernel")])
    rooflines = _Rooflines(view, rows)
    return [_kernel(total, rooflines, step_ms) for total in totals]


def _kernel(total: KernelTotal, rooflines: _Rooflines, step_ms: float) -> model.Kernel:
    kind, name, named_format, tensor_cores = total.label
    roofline_share, computed_format = rooflines.of(total.rows) if kind == "kernel" else (None, None)
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


class _Rooflines:
    """Of these rows of the device's table."""

    def __init__(self, view: Selection, rows: Rows) -> None:
        self._dur_ns = view.device["dur_ns"].to_numpy()
        self._shares = np.full(len(view.device), np.nan)
        self._formats = np.full(len(view.device), "", object)
        self._shares[rows], self._formats[rows] = roofline_shares(view, rows)

    def of(self, rows: Rows) -> tuple[float | None, str | None]:
        """The share of the roofline that these reach, and the format of most of their operators; None where
        not known.
        """
        shares, dur_ns = self._shares[rows], self._dur_ns[rows]
        known = ~np.isnan(shares)
        enough = known.any() and dur_ns[known].sum() >= KNOWN_SHARE * dur_ns.sum() > 0
        share = float(np.average(shares[known], weights=dur_ns[known])) if enough else None
        usual = Counter(filter(None, self._formats[rows].tolist())).most_common(1)
        return share, usual[0][0] if usual else None

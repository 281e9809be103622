"""The tables of operators and kernels, as texts that every report can show."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.document.model import Document, Kernel, Operator
from diagnose.document.queries import counted
from diagnose.document.text import UNKNOWN, count, ms, share, short_time

TOP = 10  # rows
HEADING = "Operators and kernels"

_OPERATORS_NOTE = (
    "Self is the host's time in an operator without the operators that it calls, counted on the threads that "
    "train or launch."
)
_TORCH_NOTE = "torch's own table, which has the profiler's cost in it, is in report.json: `key_averages`."
_KERNELS_NOTE = (
    "Time in which several run counts once: as kernels first, then as communication, then as copies. "
    "Mean is how long one takes, whatever runs beside it."
)
_ROOFLINE_NOTE = (
    "Roofline is the least time that the GPU's peaks allow for a kernel's operator ÷ the time it takes."
)
_LIMIT_NOTE = "Limited by is what Nsight Compute measured, in the table that was given beside the trace."


@dataclass(frozen=True)
class Table:
    """The first column holds names of others, to be shown as code, unless not ``named``. ``notes`` are
    sentences.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: tuple[str, ...]
    named: bool = True


def tables(document: Document) -> list[Table]:
    """Those that have rows, the GPU's first."""
    operators, kernels = document.operators[:TOP], document.kernels[:TOP]
    found = [_kernels(kernels, counted("Count", document))] if kernels else []
    if operators:
        calls, with_torch = counted("Calls", document), bool(document.key_averages.rows)
        found.append(_operators(operators, calls, with_torch=with_torch))
    return found


def _operators(operators: list[Operator], calls: str, *, with_torch: bool) -> Table:
    return Table(
        "On the host",
        ("Operator", "Self", "Share", calls, "Mean"),
        [_operator(row) for row in operators],
        (_OPERATORS_NOTE,) + (_TORCH_NOTE,) * with_torch,
    )


def _kernels(kernels: list[Kernel], counts: str) -> Table:
    """Format, roofline and limit have a column where one of them is known."""
    with_format = any(_format(row) != UNKNOWN for row in kernels)
    with_roofline = any(row.roofline_share is not None for row in kernels)
    with_limit = any(row.limited_by for row in kernels)
    columns = ("Kernel, copy or set", "Time", "Share", counts, "Mean")
    return Table(
        "On the GPU",
        columns + ("Format",) * with_format + ("Roofline",) * with_roofline + ("Limited by",) * with_limit,
        [
            _kernel(row)
            + (_format(row),) * with_format
            + (share(row.roofline_share),) * with_roofline
            + (row.limited_by or UNKNOWN,) * with_limit
            for row in kernels
        ],
        (_KERNELS_NOTE,) + (_ROOFLINE_NOTE,) * with_roofline + (_LIMIT_NOTE,) * with_limit,
    )


def _operator(row: Operator) -> tuple[str, ...]:
    return row.name, ms(row.self_ms), share(row.share), count(row.calls_per_step), short_time(row.mean_ms)


def _kernel(row: Kernel) -> tuple[str, ...]:
    return row.name, ms(row.ms_per_step), share(row.share), count(row.count_per_step), short_time(row.mean_ms)


def _format(row: Kernel) -> str:
    """`bf16, tensor cores`."""
    cores = {True: "tensor cores", False: "no tensor cores", None: ""}[row.tensor_cores]
    return ", ".join(filter(None, [row.number_format, cores])) or UNKNOWN

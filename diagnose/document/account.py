"""The account as the result document's keys `account` and `named_share`."""

from __future__ import annotations

import math

from diagnose.document import model
from diagnose.document.blame import Touched
from diagnose.judge.rules import Rule
from diagnose.measure.account import RowAccount
from diagnose.measure.names import Name
from diagnose.measure.sources import Sources
from diagnose.measure.spenders import Spender
from diagnose.predict.headroom import headroom_ms
from diagnose.predict.prediction import Prediction


def account_rows(
    rows: list[RowAccount], prediction: Prediction, sources: Sources, planned: list[Rule]
) -> tuple[list[model.RowAccount], float | None]:
    """The rows that have spenders, and the share of the plain step that has a name; None without a step.
    ``planned``: the rules of the plan.
    """
    measured = prediction.measured
    step_ms, touched = measured.number("step_ms"), Touched(measured, planned)
    step_count = measured.timeline.step_count if measured.timeline else math.nan
    # by name, and which part is its own: of all that it does, in whichever row
    on_host: dict[tuple[Name, float], float | None] = {}

    def headroom(found: Spender) -> float | None:
        if len(found.device):
            return headroom_ms(found, prediction)
        key = found.name, found.host_share
        if key not in on_host:
            on_host[key] = headroom_ms(found, prediction)
        return on_host[key]

    def spender(found: Spender, row: RowAccount) -> model.Spender:
        ms = measured.row_ms(row.row) * found.ns / row.ns
        return model.Spender(
            name=shown(found.name, sources),
            kind=found.name.kind,
            mostly=found.mostly,
            file=sources.shown(found.name.file) if found.name.line >= 0 else None,
            line=found.name.line if found.name.line >= 0 else None,
            ms_per_step=ms,
            share=ms / step_ms,
            count_per_step=None if math.isnan(found.count) else found.count / step_count,
            headroom_ms=headroom(found),
            rule=touched.rule(found),
        )

    shown_rows = [
        model.RowAccount(row=row.row, spenders=[spender(found, row) for found in row.spenders])
        for row in rows
        if row.spenders
    ]
    whole_ms = sum(measured.row_ms(row.row) for row in rows)
    named_ms = sum(measured.row_ms(row.row) * row.named_ns / row.ns for row in rows if row.ns)
    return shown_rows, named_ms / whole_ms if whole_ms else None


def shown(name: Name, sources: Sources) -> str:
    """`train.py:41`, `aten::cat`, `backward of aten::mm`, `after aten::cat`."""
    text = f"{sources.shown(name.file)}:{name.line}" if name.line >= 0 else name.text
    if name.backward:
        text = f"backward of {text}"
    return f"after {text}" if name.kind == "gap" else text

"""The calls that the user's own lines made during the detail phase
(docs/architecture.md, *detail.calls.json*), as a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from diagnose.trace.schema import Trace

_NUMBERS = ("start_ns", "dur_ns", "line")
_TEXTS = {"file": "files", "function": "functions", "callee": "callees"}

NO_CALLS = pd.DataFrame(
    {name: pd.Series(dtype="int64") for name in _NUMBERS}
    | {name: pd.Series(dtype="category") for name in _TEXTS}
)


def call_table(calls: dict[str, Any], trace: Trace) -> pd.DataFrame:
    """The calls of the training thread, by start, enclosing ones first; ns from the trace's
    start. Empty if none were recorded.

    Where that is not told (before 0.2), of the thread whose calls take longest.

    ``callee`` is empty in recordings that do not name it.
    """
    if not calls.get("start_ns"):
        return NO_CALLS
    columns: dict[str, Any] = {name: np.asarray(calls[name], np.int64) for name in _NUMBERS}
    columns["start_ns"] = columns["start_ns"] - trace.origin_ns
    if trace.own_time is not None:
        begin_ns, end_ns = (
            trace.own_time.own(columns["start_ns"] + more_ns) for more_ns in (0, columns["dur_ns"])
        )
        columns |= {"start_ns": begin_ns, "dur_ns": end_ns - begin_ns}
    for name, values in _TEXTS.items():
        codes = calls.get(name, np.zeros(len(columns["line"]), np.int64))
        columns[name] = pd.Categorical.from_codes(
            np.asarray(codes, np.int64), _distinct(calls.get(values, [""]))
        )
    tids, thread = np.unique(np.asarray(calls["tid"], np.int64), return_inverse=True)
    took_ns = np.bincount(thread, weights=columns["dur_ns"], minlength=len(tids))
    # others may do nothing but wait, and take longer
    wanted = np.argmax(np.where(tids == calls.get("training_tid", -1), np.inf, took_ns))
    order = np.lexsort((-columns["dur_ns"], columns["start_ns"]))
    return pd.DataFrame(columns).iloc[order[thread[order] == wanted]].reset_index(drop=True)


def _distinct(names: list[str]) -> pd.Index:
    return pd.Index(names, dtype="object")

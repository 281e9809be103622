"""Where the workers of loaders were while they fetched (`run/child/loading/worker_lines.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

COLUMNS = ["until_ns", "file", "line", "function", "calls", "count"]


def read_worker_lines(path: Path) -> pd.DataFrame:
    """A row a line and what it calls, of the looks before ``until_ns``; ``file`` is empty where only
    libraries were on the stack. No rows where there is no such file. A killed worker can leave half a
    record, which is dropped.
    """
    rows: list[tuple[Any, ...]] = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            told = json.loads(text)
        except ValueError:
            continue
        rows.extend((told["until_ns"], *line) for line in told["lines"])
    return pd.DataFrame(rows, columns=COLUMNS)

"""Every column has a type and a meaning, the tables have them, and the page on them is up to date."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from diagnose.trace.schema import TABLES, empty_table, markdown
from tests.trace.build import event, kernel, launch, read

COLUMNS = [
    (table, name, *column) for table, (_, columns) in TABLES.items() for name, column in columns.items()
]


@pytest.mark.parametrize(("table", "name", "dtype", "unit", "meaning"), COLUMNS)
def test_a_column_has_a_type_a_unit_that_fits_and_a_meaning_in_one_line(
    table: str, name: str, dtype: str, unit: str, meaning: str
) -> None:
    assert str(pd.Series(dtype=dtype).dtype) == dtype
    assert meaning and "\n" not in meaning and "|" not in meaning
    assert (unit == "ns") == name.endswith("_ns")
    assert unit in ("", "ns", "bytes", "row")
    assert dtype == "int32" or unit != "row"


@pytest.mark.parametrize("table", TABLES)
def test_a_trace_has_exactly_these_columns(table: str) -> None:
    trace = read(event("aten::mm", 0), launch(2, 1, 1), kernel("gemm", 5, 5, 1))
    for frame in (getattr(trace, table), empty_table(TABLES[table][1])):
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
            name: c.dtype for name, c in TABLES[table][1].items()
        }


def test_the_page_is_up_to_date() -> None:
    """`make docs` writes it."""
    assert (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8") == markdown()

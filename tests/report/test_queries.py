"""Which line stands for a finding."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from diagnose.document.queries import line_to_change, place

from . import documents


@pytest.mark.parametrize(
    ("lines_ms", "functions", "line"),
    [
        ([3.0, 2.0], "ff", 23),  # a quarter of 10 ms and more
        ([2.0, 1.9, 1.5], "fff", 23),  # 5.4 of 10 ms in one function
        ([2.0, 1.9, 1.5], "fgg", None),
        ([2.0, 1.9], "ff", None),
    ],
)
def test_the_costliest_line_stands_for_its_function_if_that_takes_most(
    lines_ms: list[float], functions: str, line: int | None
) -> None:
    finding = documents.sick().findings[0]
    culprits = [
        replace(finding.culprits[0], file="cells.py", line=23 + number, function=function, ms_per_step=ms)
        for number, (ms, function) in enumerate(zip(lines_ms, functions, strict=True))
    ]
    finding.culprits, finding.ms_per_step, finding.fix.call_sites = culprits, 10.0, []
    found = place(finding)
    assert (found.line if found is not None else None) == line


def test_a_fix_is_told_at_the_one_call_that_it_changes() -> None:
    finding = documents.sick().findings[0]
    blamed = place(finding)
    calls = [{"file": "data.py", "line": line, "source": "loader = DataLoader(data)"} for line in (7, 9)]
    for sites, line in (([], blamed and blamed.line), (calls[:1], 7), (calls, blamed and blamed.line)):
        documents.change(finding.fix, call_sites=sites)
        found = line_to_change(finding)
        assert found is not None and found.line == line

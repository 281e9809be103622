"""Whatever of ours fails, the script prints, returns and ends as without us.

`python -m benchmarks robustness` plants many more faults than these.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..faults.driver import functions, modules
from ..faults.scripts import SCRIPTS

ROOT = Path(__file__).parents[2]
EVERY = 191  # of all 1,500 functions: about eight a script


@pytest.mark.parametrize(
    ("first", "script"),
    [
        pytest.param(number, script, marks=[] if script == "trained" else [pytest.mark.long])
        for number, script in enumerate(SCRIPTS)
    ],
)
def test_faults_of_ours_do_not_reach_the_script(first: int, script: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.faults.driver",
        str(tmp_path / "runs"),
        str(7 * first),
        str(EVERY),
        script,
    ]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row for row in rows if not row["unharmed"]] == []
    assert sum(row["reached"] for row in rows) >= len(rows) // 4  # else nothing is proven


def test_faults_are_planted_everywhere() -> None:
    names = [name for name, _, _ in functions(modules())]
    assert len(names) == len(set(names)) > 350
    assert {
        "clock.Clock._after_step",
        "machine._matmul_precision",
        "phases.Phases.tick",
        "marks.Marks._where",
    } <= set(names)

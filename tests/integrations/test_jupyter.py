"""The magic in a real IPython shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("IPython")
pytestmark = pytest.mark.live

SESSION = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
for cell in CELLS:
    shell.run_cell(cell, store_history=True)
"""
MODEL = """import torch
torch.set_num_threads(1)
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(32, 64)"""
LOOP = """for step in range(100):
    net(x).sum().backward()
    optimizer.step()
    total = sorted(range(500000), reverse=True)[0]
    optimizer.zero_grad()"""


def session(folder: Path, *cells: str) -> str:
    """What a session prints that runs these cells."""
    ran = subprocess.run(
        [sys.executable, "-c", SESSION.replace("CELLS", repr(["%load_ext diagnose", MODEL, *cells]))],
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder / ".ipython")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def test_a_cell_is_recorded_and_its_lines_keep_their_numbers(tmp_path: Path) -> None:
    said = session(tmp_path, f"%%diagnose --steps 2 --out out\n{LOOP}", "print('total', total)")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert f"<diagnose.record: {report['headline']}" in said and "total 499999" in said
    costliest = report["lines"][0]
    assert (costliest["file"], costliest["line"]) == ("cell 3", 5)
    assert costliest["source"].strip().startswith("total = sorted")


@pytest.mark.long
def test_what_the_cell_raises_is_shown_once_and_reported(tmp_path: Path) -> None:
    said = session(tmp_path, f"%%diagnose --steps 2 --out out\n{LOOP}\n1 / 0")
    assert said.count("ZeroDivisionError: division by zero") == 1 and "line 7" in said
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["run"]["ended"] == "crashed" and report["ledger"]


def test_a_wrong_option_is_one_line(tmp_path: Path) -> None:
    said = session(tmp_path, "%%diagnose --steps 0\n1")
    assert "steps must be a whole number from 1 on" in said and "Traceback" not in said
    assert not list(tmp_path.glob("diagnosis*"))

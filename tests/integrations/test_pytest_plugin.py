"""The fixtures, in a pytest of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import time
import torch

def wait(ms):
    time.sleep(ms / 1000)

def test_slower(assert_not_slower):
    assert_not_slower(lambda: wait(12), than=lambda: wait(3), budget_s=60)

def test_not_slower(assert_not_slower):
    assert_not_slower(lambda: wait(3), than=lambda: wait(12), budget_s=60)

def test_step(diagnose_step):
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()

    document = diagnose_step(step, steps=2)
    assert document.steps.phases["timeline"] == 2 and document.headline
"""


@pytest.mark.long
@pytest.mark.live
def test_the_fixtures_are_there_and_say_why_a_test_fails(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert "slower by more than 5%: +" in done.stdout and "instead of" in done.stdout


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    code = "import sys, diagnose.integrations.pytest; print({'torch', 'numpy', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

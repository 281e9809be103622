"""A process that outlives the run is left alone."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diagnose.run.child.launcher import identity, is_gone

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the kernel tells of no processes"
)


def of_an_ended_process() -> dict[str, Any]:
    program = "import json; from diagnose.run.child.launcher import identity; print(json.dumps(identity()))"
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return dict(json.loads(told.stdout))


def test_it_is_there_until_its_process_has_ended() -> None:
    here = identity()
    assert here["host"] == platform.node() and here["pid"] == os.getpid()
    assert not is_gone(here)
    assert is_gone(of_an_ended_process())
    assert is_gone(here | {"started": here["started"] - 1}), "another process has its number"


def test_what_cannot_be_told_is_not_gone() -> None:
    gone = of_an_ended_process()
    assert not is_gone(None)
    assert not is_gone(gone | {"host": "elsewhere"})
    assert not is_gone(gone | {"started": None})


def test_what_it_left_behind_is_not_recorded(tmp_path: Path) -> None:
    """As a job that the script has submitted with its environment."""
    plan = {"folder": str(tmp_path), "launcher": of_an_ended_process()}
    site = ROOT / "diagnose" / "run" / "child" / "site"
    environment = os.environ | {
        "PYTHONPATH": str(site),
        "DIAGNOSE_PLAN": json.dumps(plan),
        "DIAGNOSE_RUN": "1",
    }
    (tmp_path / "torch.py").write_text("")
    ended = subprocess.run(
        [sys.executable, "-c", "import torch"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert {path.name for path in tmp_path.iterdir()} <= {"torch.py", "__pycache__"}

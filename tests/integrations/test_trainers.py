"""Trainers as they are: recorded from outside, and by their callback from inside; what they learn stays."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "scripts"

pytestmark = pytest.mark.live


def trainer(framework: str) -> Path:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    return SCRIPTS / f"with_{framework}.py"


def run(folder: Path, *command: str) -> str:
    """What it prints."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def learned(printed: str) -> str:
    return next(line for line in printed.splitlines() if line.startswith("trained "))


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("accelerate", marks=pytest.mark.long),
        "ignite",
        pytest.param("lightning", marks=pytest.mark.long),
        pytest.param("transformers", marks=pytest.mark.long),
    ],
)
def test_what_a_trainer_learns_is_the_same_recorded_or_not(framework: str, tmp_path: Path) -> None:
    script = str(trainer(framework))
    plain = learned(run(tmp_path, script, "80"))
    from_outside = run(
        tmp_path,
        "-m",
        "diagnose",
        "--quiet",
        "--keep-going",
        "--steps",
        "2",
        "--out",
        "outside",
        script,
        "80",
    )
    assert learned(from_outside) == plain
    from_inside = run(tmp_path, script, "80", "callback")
    assert learned(from_inside) == plain
    assert f"{tmp_path / 'report' / 'report.html'}" in from_inside
    for folder in ("outside", "report"):
        report = json.loads((tmp_path / folder / "report.json").read_text())
        assert report["steps"]["clock"] == "optimizer"
        assert report["steps"]["phases"]["timeline"] == 2 and report["ledger"]


@pytest.mark.parametrize(
    ("framework", "steps"),
    [
        pytest.param("ignite", 6000, marks=pytest.mark.long),
        pytest.param("lightning", 4000, marks=pytest.mark.long),
        pytest.param("transformers", 800, marks=pytest.mark.long),
    ],
)
def test_a_trainer_is_watched_by_its_callback_to_its_end(framework: str, steps: int, tmp_path: Path) -> None:
    script = str(trainer(framework))
    plain = learned(run(tmp_path, script, str(steps)))
    watched = run(tmp_path, script, str(steps), "callback", "watch")
    assert learned(watched) == plain
    assert f"trained {steps} steps" in plain
    told = json.loads((tmp_path / "report" / "report.json").read_text())["watched"]
    assert told["first"] + told["steps"] == pytest.approx(steps, abs=10)
    assert told["steps"] > steps / 3

"""`status` and `snap`: a run that goes on, seen from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from diagnose.commands import main as cli
from diagnose.errors import UsageError
from diagnose.run.child.shared_state import RECORDING, RankSlot, SharedState, Stage
from diagnose.run.live import folder_of


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedState:
    """A run below ./diagnosis that this very process makes."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "diagnosis" / "20261124-040000"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"target": "train.py", "ended": "running"}))
    page = SharedState(str(folder))
    page.set_slot(0, RankSlot(os.getpid(), 0, 0, RECORDING))
    page.stage = Stage("recording the timeline")
    return page


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_run_that_is_recorded_and_one_that_is_watched(
    run: SharedState, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = said(capsys, "status")
    assert code == 0
    assert out == (f"diagnosis/20261124-040000: train.py, process {os.getpid()}: recording the timeline\n")
    run.live = "step 1,200, 10.3 ms a step"
    assert "watching, step 1,200, 10.3 ms a step" in said(capsys, "status")[1]


def test_a_wish_reaches_the_run_only_while_it_is_watched(
    run: SharedState, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, "snap")
    assert code == 2
    assert "is not watched now" in err and "start it with --watch" in err
    assert run.snaps_asked == 0
    run.live = "step 1,200"
    assert said(capsys, "snap", "diagnosis/20261124-040000")[0] == 0
    assert run.snaps_asked == 1


def test_no_run_and_a_run_that_is_over(
    run: SharedState, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "diagnosis" / "20261124-040000"
    (folder / "run.json").write_text(json.dumps({"target": "train.py", "ended": "finished"}))
    assert said(capsys, "status")[1] == "No run below ./diagnosis goes on.\n"
    assert said(capsys, "status", str(folder))[1] == f"{folder}: over, finished\n"
    assert "does not run any more" in said(capsys, "snap", str(folder))[2]
    assert "which run" in said(capsys, "snap")[2]


def test_a_run_whose_processes_were_killed(run: SharedState, capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    run.set_slot(0, RankSlot(int(done.stdout), 0, 0, RECORDING))
    assert said(capsys, "status", "diagnosis/20261124-040000")[1].endswith("its processes are gone\n")


@pytest.mark.parametrize("named", ["nowhere", "2000000000"])
def test_what_is_no_run_is_refused(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "status", named)[0] == 2
    assert said(capsys, "snap", named)[0] == 2


def test_a_process_is_known_by_its_environment(tmp_path: Path) -> None:
    environment = os.environ | {"DIAGNOSE_PLAN": json.dumps({"folder": str(tmp_path)})}
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert folder_of(process.pid) == tmp_path
        process.communicate()
    with pytest.raises(UsageError, match="not recorded"):
        folder_of(process.pid)

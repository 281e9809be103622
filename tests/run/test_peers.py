"""Launchers of one run: one folder, and one of them reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from diagnose.cli import _run_folder
from diagnose.run.peers import Peers, peers_of
from diagnose.run.settings import RunOutcome

STOPPED = RunOutcome("stopped", 0, None, 1.0)


def environment(rank: int, **more: str) -> dict[str, str]:
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": "29500", **more}


def peers(rank: int, **more: str) -> Peers:
    found = peers_of(environment(rank, **more))
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _agreements_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_launcher_alone_has_no_peers() -> None:
    assert peers_of({}) is None
    assert peers_of({"RANK": "0", "WORLD_SIZE": "2"}) is None  # of another launcher than torchrun
    assert peers_of(environment(0) | {"WORLD_SIZE": "1"}) is None


def test_one_chooses_the_folder_and_the_others_wait_for_it(tmp_path: Path) -> None:
    first, second = peers(0), peers(1)
    assert (first.leads, second.leads) == (True, False)
    told: list[Path] = []
    waiting = threading.Thread(target=lambda: told.append(second.agreed()))
    waiting.start()
    first.publish(tmp_path / "out")
    waiting.join(30)
    assert told == [tmp_path / "out"]


def test_what_was_agreed_before_a_restart_does_not_count() -> None:
    assert peers(0).key == peers(1).key
    assert peers(0).key != peers(0, TORCHELASTIC_RESTART_COUNT="1").key
    assert peers(0).key != peers(0, TORCHELASTIC_RUN_ID="other").key


def test_ranks_that_are_started_anew_do_not_write_over_what_they_recorded_before(tmp_path: Path) -> None:
    with _run_folder(tmp_path / "out", peers(0, TORCHELASTIC_RESTART_COUNT="2")) as out:
        assert out == tmp_path / "out-restart2"
        assert peers(1, TORCHELASTIC_RESTART_COUNT="2").agreed() == out


def test_the_last_to_end_reports_and_nothing_of_the_agreement_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first, second = peers(0), peers(1)
    first.publish(out)
    for one in (first, second):
        one.begin(out)
    assert not first.end(out, RunOutcome("crashed", 7, None, 1.0))
    assert second.end(out, STOPPED)
    assert sorted(path.name for path in out.iterdir()) == ["rank0", "rank1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert json.loads((out / "rank0/ended.json").read_text()) == {
        "schema": 1,
        "ended": "crashed",
        "exit_code": 7,
        "signal": None,
        "wall_s": 1.0,
    }


def test_one_that_has_not_begun_is_waited_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = peers(0)
    first.begin(out)
    assert not first.end(out, STOPPED)


def test_one_that_was_killed_is_not_waited_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = peers(0)
    first.begin(out)
    killed = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    (out / ".launchers-0" / "1").write_text(str(killed.pid))
    assert first.end(out, STOPPED)
    killed.wait()


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(STOPPED, 0), (RunOutcome("crashed", 7, None, 1.0), 7), (RunOutcome("killed", None, "SIGKILL", 1.0), 137)],
)
def test_the_others_end_with_the_code_of_their_own_script(outcome: RunOutcome, code: int) -> None:
    assert outcome.as_exit_code == code

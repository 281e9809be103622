"""Which of the launchers of a job is the last, and reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from diagnose.run.job import heartbeat
from diagnose.run.job.folder import JobFolder, common_folder
from diagnose.run.job.heartbeat import begin, close, end, end_record, is_last, is_started_anew, show_sign
from diagnose.run.record import write_record
from diagnose.run.settings import RunOutcome

from .launchers import on_machine, peers

STOPPED = RunOutcome("stopped", 0, None, 1.0)
CRASHED = RunOutcome("crashed", 7, None, 1.0)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def met(*ranks: int, **more: str) -> list[JobFolder]:
    """Launchers of one machine, at work."""
    jobs = [common_folder(peers(rank, **more), Path("out")) for rank in ranks]
    for job in jobs:
        begin(job)
    return jobs


def machines() -> list[JobFolder]:
    """Two machines with a launcher each, at work."""
    jobs = [common_folder(on_machine(node), Path("out")) for node in (0, 1)]
    for job in jobs:
        begin(job)
    return jobs


def test_the_last_to_end_reports_and_nothing_of_the_agreement_stays(tmp_path: Path) -> None:
    first, second = met(0, 1)
    assert not end(first, CRASHED)
    assert end(second, STOPPED)
    assert is_last(second)
    close(second)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["rank0", "rank1", "run.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    left = json.loads((tmp_path / "out/rank0/ended.json").read_text())
    assert left == {
        "schema": 1,
        "ended": "crashed",
        "exit_code": 7,
        "signal": None,
        "wall_s": 1.0,
        "agent": first.peers.agent,
    }


def test_one_that_has_not_begun_is_waited_for() -> None:
    (first,) = met(0)
    assert not end(first, STOPPED)


def test_one_that_was_killed_is_not_waited_for(tmp_path: Path) -> None:
    (first,) = met(0)
    killed = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    (tmp_path / "out/.launchers-0/1").write_text(str(killed.pid))
    assert end(first, STOPPED)
    killed.wait()


def test_of_two_machines_the_last_reports() -> None:
    first, second = machines()
    showing = threading.Event()

    def work() -> None:
        while not showing.wait(0.05):
            os.utime(second.out / ".launchers-1/sign", (now := time.time(), now))

    working = threading.Thread(target=work)
    working.start()
    assert end(first, STOPPED)
    assert not is_last(first)  # the other one shows signs of life
    showing.set()
    working.join()
    assert end(second, STOPPED)
    assert is_last(second)


def test_of_two_machines_that_end_together_one_reports() -> None:
    both = machines()
    assert [end(job, STOPPED) for job in both] == [True, True]
    assert [is_last(job) for job in both] == [True, False]
    close(both[0])
    assert not is_last(both[1])  # and when that is done, neither
    assert not list(both[0].out.glob(".*"))


def test_a_machine_that_is_lost_is_not_waited_for_and_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_SILENCE_S", 0.4)
    first, lost = machines()
    assert end(first, STOPPED)
    assert is_last(first)
    close(first)
    assert [path.name for path in first.out.glob(".*")] == [".launchers-1"]
    assert end(lost, STOPPED)
    assert is_last(lost)
    close(lost)
    assert not list(first.out.glob(".*"))


def test_machines_without_a_common_file_system_report_for_themselves() -> None:
    alone = common_folder(on_machine(1), Path("out"))
    begin(alone)
    assert end(alone, STOPPED)
    began = time.monotonic()
    assert is_last(alone)
    assert time.monotonic() - began < 1


def test_signs_are_given_every_two_seconds() -> None:
    (one,) = met(0)
    sign = one.out / ".launchers-0/sign"
    os.utime(sign, (100.0, 100.0))
    show_sign(one)
    assert (shown := sign.stat().st_mtime) > 1e9
    show_sign(one)
    assert sign.stat().st_mtime == shown


@pytest.mark.parametrize(
    ("ends", "restarts", "anew"),
    [
        ((STOPPED, STOPPED), "1", False),
        ((CRASHED, STOPPED), "1", True),
        ((CRASHED, STOPPED), "0", False),
        ((RunOutcome("killed", None, "SIGKILL", 1.0), STOPPED), "1", True),
        ((RunOutcome("interrupted", 0, None, 1.0), STOPPED), "1", False),
    ],
)
def test_whether_torchrun_will_start_the_ranks_anew(
    ends: tuple[RunOutcome, RunOutcome], restarts: str, anew: bool
) -> None:
    both = met(0, 1, TORCHELASTIC_MAX_RESTARTS=restarts)
    for job, outcome in zip(both, ends, strict=True):
        end(job, outcome)
    assert is_started_anew(both[1]) == anew


def test_a_launcher_that_was_killed_makes_torchrun_start_the_ranks_anew() -> None:
    (one,) = met(0, TORCHELASTIC_MAX_RESTARTS="1")
    end(one, STOPPED)
    assert is_started_anew(one)


def test_the_record_is_ended_by_another_one_if_need_be(tmp_path: Path) -> None:
    for before, after in (("running", "crashed"), ("stopped", "stopped")):
        write_record(tmp_path, {"ended": before})
        end_record(tmp_path, CRASHED, starts_anew=False)
        record = json.loads((tmp_path / "run.json").read_text())
        assert (record["ended"], record["starts_anew"]) == (after, False)

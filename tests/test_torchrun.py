"""`torchrun -m diagnose script`: the ranks record into one folder, one of them reports, and the job ends as it would by itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.run.conftest import assert_no_process_left
from tests.run.running import SCRIPTS

RANKS = str(SCRIPTS / "ranks.py")


def torchrun(folder: Path, *args: str, restarts: int = 0) -> subprocess.Popen[str]:
    """Two ranks on this machine, started in `folder`."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", f"--max-restarts={restarts}", *args]
    paths = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def ended(job: subprocess.Popen[str], folder: Path) -> tuple[int, str, str]:
    stdout, stderr = job.communicate(timeout=180)
    assert_no_process_left(folder)
    assert not list(folder.glob("diagnose-*"))  # what the launchers agreed on
    return job.returncode, stdout, stderr


def phases_of(run: Path, rank: int) -> dict[str, int]:
    phases = json.loads((run / f"rank{rank}" / "steps.json").read_text())["phases"]
    return {phase["name"]: phase["first_tick"] for phase in phases}


def test_one_folder_and_one_report(tmp_path: Path) -> None:
    options = ("-m", "diagnose", "--device", "cpu", "--steps", "4", "--keep-going")
    script = (RANKS, "launched", "2", "plain", "80")
    code, stdout, stderr = ended(torchrun(tmp_path, *options, *script), tmp_path)
    plain_code, plain_stdout, _ = ended(torchrun(tmp_path, *script), tmp_path)
    assert (code, sorted(stdout.splitlines())) == (plain_code, sorted(plain_stdout.splitlines()))
    assert "rank 1 of 2 is 1 here" in stdout
    (run,) = (tmp_path / "diagnosis").iterdir()
    assert sorted(path.name for path in run.iterdir() if path.name.startswith(("rank", ".", "run", "live"))) == [
        "rank0",
        "rank1",
        "run.json",
    ]
    assert phases_of(run, 0) == phases_of(run, 1)
    assert list(phases_of(run, 0)) == ["warmup", "plain", "timeline", "detail"]
    assert json.loads((run / "run.json").read_text())["ended"] == "finished"
    assert stderr.count("diagnose: waiting for the first step") <= 1
    assert stderr.count("diagnose: analysing") == 1
    assert (run / "report.md").exists()


def test_the_script_is_stopped_when_all_is_recorded(tmp_path: Path) -> None:
    job = torchrun(
        tmp_path, "-m", "diagnose", "--device", "cpu", "--steps", "4", "--out", "here", RANKS, "launched", "2", "plain", "100000"
    )
    code, stdout, stderr = ended(job, tmp_path)
    assert (code, len(stdout.splitlines())) == (0, 2)
    assert "Traceback" not in stderr
    assert [json.loads((tmp_path / f"here/rank{rank}/ended.json").read_text())["ended"] for rank in (0, 1)] == ["stopped", "stopped"]
    assert (tmp_path / "here" / "report.json").exists()


@pytest.mark.parametrize(("how", "said"), [("raises", "Rank 1 failed with exit code 1."), ("is-killed", "Rank 1 was killed, by SIGKILL,")])
def test_a_rank_that_is_lost_ends_the_job_and_is_told(tmp_path: Path, how: str, said: str) -> None:
    options = ("--device", "cpu", "--steps", "2", "--plain-steps", "5", "--no-stacks", "--keep-going", "--out", "here")
    code, _, stderr = ended(torchrun(tmp_path, "-m", "diagnose", *options, RANKS, "launched", "2", how, "80"), tmp_path)
    assert code == 1
    assert re.search(r"Root Cause.*\n.*\n.*\n.*\n\s+rank\s+: 1 ", stderr)
    assert ("ValueError: the script's own error" in stderr) == (how == "raises")
    report = json.loads((tmp_path / "here" / "report.json").read_text())
    assert any(note.startswith(said) for note in report["notes"])
    assert "timeline" in phases_of(tmp_path / "here", 0)


def test_ctrl_c(tmp_path: Path) -> None:
    options = ("--device", "cpu", "--plain-steps", "1000000", "--out", "here")
    job = torchrun(tmp_path, "-m", "diagnose", *options, RANKS, "launched", "2", "plain", "1000000")
    deadline = time.monotonic() + 60
    while not all((tmp_path / f"here/rank{rank}/steps.json").exists() for rank in (0, 1)) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(job.pid, signal.SIGINT)
    code, _, _ = ended(job, tmp_path)
    assert code != 0
    for rank in (0, 1):
        assert json.loads((tmp_path / f"here/rank{rank}/ended.json").read_text())["ended"] == "interrupted"
        assert "timeline" in phases_of(tmp_path / "here", rank)
    assert (tmp_path / "here" / "report.json").exists()

"""`torchrun -m diagnose script`: the ranks record into one folder, one of them reports, and
the job ends as it would by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tests.run.conftest import assert_no_process_left
from tests.run.running import SCRIPTS

RANKS = str(SCRIPTS / "ranks.py")
ROOT = Path(__file__).parents[1]


def started(folder: Path, *command: str, **variables: str) -> subprocess.Popen[str]:
    """A command in `folder`, with a process group of its own."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "OMP_NUM_THREADS": "1",
        "TMPDIR": str(folder),
        **variables,
    }
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def torchrun(folder: Path, *args: str, restarts: int = 0) -> subprocess.Popen[str]:
    """Two ranks on this machine, started in `folder`.

    Each start has a store of its own: with the store of an earlier start, ranks can find the addresses that
    its ranks left there, and wait for those, with or without us (torch 2.13).
    """
    options = ("--standalone", "--nproc-per-node=2", f"--max-restarts={restarts}")
    return started(
        folder,
        sys.executable,
        "-m",
        "torch.distributed.run",
        *options,
        *args,
        TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1",
    )


def machines(folders: Sequence[Path], ranks: int, *args: str) -> list[subprocess.Popen[str]]:
    """Two machines with so many ranks each: two agents of torchrun, started in these folders."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        meeting = f"--rdzv-endpoint=localhost:{free.getsockname()[1]}"
    options = (
        "--nnodes=2",
        "--rdzv-backend=c10d",
        "--rdzv-id=a-job",
        meeting,
        f"--nproc-per-node={ranks}",
        "--max-restarts=0",
    )
    return [
        started(folder, sys.executable, "-m", "torch.distributed.run", *options, *args) for folder in folders
    ]


def ended(job: subprocess.Popen[str], folder: Path) -> tuple[int, str, str]:
    stdout, stderr = job.communicate(timeout=180)
    assert_no_process_left(folder)
    assert not list(folder.glob("diagnose-*"))  # what the launchers agreed on
    return job.returncode, stdout, stderr


def wait_for(*files: Path) -> None:
    deadline = time.monotonic() + 120
    while not all(file.exists() for file in files) and time.monotonic() < deadline:
        time.sleep(0.1)


def notes_of(run: Path) -> list[str]:
    return [note["text"] for note in json.loads((run / "report.json").read_text())["notes"]]


def phases_of(run: Path, rank: int) -> dict[str, int]:
    phases = json.loads((run / f"rank{rank}" / "steps.json").read_text())["phases"]
    return {phase["name"]: phase["first_tick"] for phase in phases}


def wait_for_phase(name: str, run: Path, *ranks: int) -> None:
    """Until each of these ranks has written that it recorded it."""
    wait_for(*(run / f"rank{rank}/steps.json" for rank in ranks))
    deadline = time.monotonic() + 120
    while not all(name in phases_of(run, rank) for rank in ranks) and time.monotonic() < deadline:
        time.sleep(0.1)


def test_one_folder_and_one_report(tmp_path: Path) -> None:
    options = ("-m", "diagnose", "--device", "cpu", "--steps", "4", "--keep-going")
    script = (RANKS, "launched", "2", "plain", "80")
    code, stdout, stderr = ended(torchrun(tmp_path, *options, *script), tmp_path)
    plain_code, plain_stdout, _ = ended(torchrun(tmp_path, *script), tmp_path)
    assert (code, sorted(stdout.splitlines())) == (plain_code, sorted(plain_stdout.splitlines()))
    assert "rank 1 of 2 is 1 here" in stdout
    (run,) = (tmp_path / "diagnosis").iterdir()
    assert sorted(
        path.name for path in run.iterdir() if path.name.startswith(("rank", ".", "run", "live"))
    ) == ["rank0", "rank1", "run.json"]
    assert phases_of(run, 0) == phases_of(run, 1)
    assert list(phases_of(run, 0)) == ["warmup", "plain", "parts", "timeline", "detail"]
    assert json.loads((run / "run.json").read_text())["ended"] == "finished"
    assert stderr.count("diagnose: waiting for the first step") <= 1
    assert stderr.count("diagnose: analysing") == 1
    assert (run / "report.md").exists()


@pytest.mark.long
def test_the_script_is_stopped_when_all_is_recorded(tmp_path: Path) -> None:
    job = torchrun(
        tmp_path,
        "-m",
        "diagnose",
        "--device",
        "cpu",
        "--steps",
        "4",
        "--out",
        "here",
        RANKS,
        "launched",
        "2",
        "plain",
        "100000",
    )
    code, stdout, stderr = ended(job, tmp_path)
    assert (code, len(stdout.splitlines())) == (0, 2)
    assert "Traceback" not in stderr
    assert [
        json.loads((tmp_path / f"here/rank{rank}/ended.json").read_text())["ended"] for rank in (0, 1)
    ] == ["stopped", "stopped"]
    assert (tmp_path / "here" / "report.json").exists()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        pytest.param("raises", "Rank 1 failed with exit code 1.", marks=pytest.mark.long),
        pytest.param("is-killed", "Rank 1 was killed, by SIGKILL,", marks=pytest.mark.long),
    ],
)
def test_a_rank_that_is_lost_ends_the_job_and_is_told(tmp_path: Path, how: str, said: str) -> None:
    options = (
        "--device",
        "cpu",
        "--steps",
        "2",
        "--plain-steps",
        "5",
        "--no-stacks",
        "--keep-going",
        "--out",
        "here",
    )
    code, _, stderr = ended(
        torchrun(tmp_path, "-m", "diagnose", *options, RANKS, "launched", "2", how, "80"), tmp_path
    )
    assert code == 1
    assert re.search(r"Root Cause.*\n.*\n.*\n.*\n\s+rank\s+: 1 ", stderr)
    assert ("ValueError: the script's own error" in stderr) == (how == "raises")
    assert any(note.startswith(said) for note in notes_of(tmp_path / "here"))
    assert "timeline" in phases_of(tmp_path / "here", 0)


@pytest.mark.long
def test_ctrl_c(tmp_path: Path) -> None:
    options = ("--device", "cpu", "--plain-steps", "1000000", "--out", "here")
    job = torchrun(tmp_path, "-m", "diagnose", *options, RANKS, "launched", "2", "plain", "1000000")
    wait_for_phase("timeline", tmp_path / "here", 0, 1)
    os.killpg(job.pid, signal.SIGINT)
    code, _, _ = ended(job, tmp_path)
    assert code != 0
    for rank in (0, 1):
        assert json.loads((tmp_path / f"here/rank{rank}/ended.json").read_text())["ended"] == "interrupted"
        assert "timeline" in phases_of(tmp_path / "here", rank)
    assert (tmp_path / "here" / "report.json").exists()


@pytest.mark.long
def test_a_rank_that_torchrun_ends_writes_what_it_records(tmp_path: Path) -> None:
    """Rank 1 fails while rank 0 is busy with itself: torchrun ends rank 0."""
    options = ("--device", "cpu", "--plain-steps", "1000000", "--out", "here")
    code, _, _ = ended(
        torchrun(tmp_path, "-m", "diagnose", *options, RANKS, "launched", "2", "leaves", "40"), tmp_path
    )
    assert code == 1
    end = json.loads((tmp_path / "here/rank0/ended.json").read_text())
    assert (end["ended"], end["exit_code"], end["signal"]) == ("interrupted", None, "SIGTERM")
    assert list(phases_of(tmp_path / "here", 0))[:2] == ["warmup", "plain"]
    assert "Rank 1 failed with exit code 1." in notes_of(tmp_path / "here")


@pytest.mark.long
@pytest.mark.parametrize("out", [("--out", "shared"), pytest.param((), marks=pytest.mark.long)])
def test_machines_record_into_one_folder_and_one_reports(tmp_path: Path, out: tuple[str, ...]) -> None:
    ranks = 2 if out else 1
    options = (
        "-m",
        "diagnose",
        "--device",
        "cpu",
        "--steps",
        "4",
        *out,
        RANKS,
        "launched",
        str(2 * ranks),
        "plain",
        "100000",
    )
    jobs = [ended(job, tmp_path) for job in machines([tmp_path, tmp_path], ranks, *options)]
    assert [code for code, *_ in jobs] == [0, 0]
    assert sum(stderr.count("diagnose: analysing") for *_, stderr in jobs) == 1
    assert not any("Traceback" in stderr for *_, stderr in jobs)
    run = tmp_path / (out[1] if out else "diagnosis/a-job")
    assert [
        path.name for path in run.parent.iterdir() if path.is_dir() and path.name.startswith(run.name)
    ] == [run.name]
    assert sorted(
        path.name for path in run.iterdir() if path.name.startswith(("rank", ".", "run", "live"))
    ) == [*(f"rank{rank}" for rank in range(2 * ranks)), "run.json"]
    assert [phases_of(run, rank) for rank in range(2 * ranks)] == [phases_of(run, 0)] * 2 * ranks
    assert list(phases_of(run, 0)) == ["warmup", "plain", "parts", "timeline", "detail"]
    assert json.loads((run / "report.json").read_text())["ranks"]["missing"] == []


@pytest.mark.long
def test_a_machine_that_is_lost_is_named_and_not_waited_for(tmp_path: Path) -> None:
    options = ("-m", "diagnose", "--device", "cpu", "--plain-steps", "1000000", "--out", "here")
    first, lost = machines([tmp_path, tmp_path], 1, *options, RANKS, "launched", "2", "plain", "1000000")
    wait_for_phase("warmup", tmp_path / "here", 0, 1)
    agent = psutil.Process(lost.pid)
    of_ranks = agent.children(recursive=True)
    # or the other machine's torchrun may hear of the loss, and end its rank, before that fails by itself
    agent.suspend()
    for process in of_ranks:
        process.kill()
    wait_for(tmp_path / "here/rank0/ended.json")
    agent.kill()
    lost.communicate()
    for agreed in tmp_path.glob("diagnose-*"):
        agreed.unlink()  # that of the lost machine lies on it
    code, _, _ = ended(first, tmp_path)
    assert code == 1
    notes = notes_of(tmp_path / "here")
    assert sorted(note.split(" ", 2)[2] for note in notes if note.startswith("Rank ")) == [
        "failed with exit code 1.",
        "was lost: its launcher, or its whole machine, ended without a message.",
    ]
    assert all(
        "plain" in phases_of(tmp_path / "here", rank)
        for rank in (0, 1)
        if f"Rank {rank} failed with exit code 1." in notes
    )


@pytest.mark.long
def test_machines_without_a_common_file_system_report_their_own_ranks(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    options = (
        "-m",
        "diagnose",
        "--device",
        "cpu",
        "--steps",
        "4",
        "--no-stacks",
        "--out",
        "run",
        RANKS,
        "launched",
        "2",
        "plain",
        "100000",
    )
    for job, folder in zip(machines(folders, 1, *options), folders, strict=True):
        code, _, stderr = ended(job, folder)
        assert (code, stderr.count("diagnose: analysing")) == (0, 1)
    runs = {path.name: path.parent for path in tmp_path.glob("*/run/rank*")}
    for rank, other in (("rank0", "1"), ("rank1", "0")):
        assert any(
            note.startswith(f"This folder holds nothing of rank {other}.") for note in notes_of(runs[rank])
        )
    shutil.copytree(runs["rank1"] / "rank1", runs["rank0"] / "rank1")
    joined = subprocess.run(
        [sys.executable, "-m", "diagnose", str(runs["rank0"])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert joined.returncode == 0
    report = json.loads((runs["rank0"] / "report.json").read_text())
    assert [row["rank"] for row in report["ranks"]["rows"]] == [0, 1]
    assert not any("holds nothing of rank" in note for note in notes_of(runs["rank0"]))


@pytest.mark.long
def test_a_start_that_failed_is_kept_and_the_next_one_reported(tmp_path: Path) -> None:
    script = (RANKS, "launched", "2", "fails-first", "60")
    options = ("--device", "cpu", "--plain-steps", "1000", "--no-stacks", "--keep-going", "--out", "here")
    code, stdout, stderr = ended(
        torchrun(tmp_path, "-m", "diagnose", *options, *script, restarts=1), tmp_path
    )
    assert (code, stdout.count(" ends ")) == (0, 2), stderr
    assert stderr.count("diagnose: a rank failed, and all ranks are restarted.") == 1
    assert stderr.count("diagnose: analysing") == 1
    assert all(
        "plain" in phases_of(tmp_path / folder, rank) for folder in ("here", "here-2") for rank in (0, 1)
    )
    assert [(tmp_path / f"here{which}" / "report.json").exists() for which in ("", "-2")] == [False, True]
    assert any(note.startswith("The ranks were restarted, and") for note in notes_of(tmp_path / "here-2"))


@pytest.mark.long
def test_what_a_start_recorded_in_full_is_not_recorded_again(tmp_path: Path) -> None:
    script = (RANKS, "launched", "2", "fails-first", "60")
    options = (
        "--device",
        "cpu",
        "--steps",
        "2",
        "--plain-steps",
        "5",
        "--no-stacks",
        "--keep-going",
        "--out",
        "here",
    )
    code, stdout, stderr = ended(
        torchrun(tmp_path, "-m", "diagnose", *options, *script, restarts=1), tmp_path
    )
    assert (code, stdout.count(" ends ")) == (0, 2), stderr
    assert stderr.count("diagnose: everything was recorded before the ranks were restarted") == 1
    assert [path.name for path in tmp_path.glob("here*")] == ["here"]
    assert any(
        note.startswith("A rank failed after everything was recorded.")
        for note in notes_of(tmp_path / "here")
    )


@pytest.mark.long
def test_accelerate_launch(tmp_path: Path) -> None:
    """Which starts several ranks by torchrun only if it is told that there are GPUs;
    the script says that it wants none.
    """
    pytest.importorskip("accelerate", reason="accelerate is not installed: pip install accelerate")
    launch = (
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--multi_gpu",
        "--num_processes=2",
        "--num_machines=1",
    )
    launch += ("--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0")
    options = ("-m", "diagnose", "--device", "cpu", "--steps", "4", "--keep-going", "--out", "here")
    job = started(
        tmp_path, *launch, *options, str(SCRIPTS / "accelerated.py"), "80", HF_HOME=str(tmp_path / "hf")
    )
    code, stdout, stderr = ended(job, tmp_path)
    assert (code, sorted(stdout.split("\n"))) == (0, ["", "rank 0 of 2 ends", "rank 1 of 2 ends"]), stderr
    assert phases_of(tmp_path / "here", 0) == phases_of(tmp_path / "here", 1)
    assert list(phases_of(tmp_path / "here", 0)) == ["warmup", "plain", "parts", "timeline", "detail"]
    assert stderr.count("diagnose: analysing") == 1
    report = json.loads((tmp_path / "here" / "report.json").read_text())
    assert [row["rank"] for row in report["ranks"]["rows"]] == [0, 1]


@pytest.mark.long
def test_of_watched_ranks_the_one_that_became_slower_is_told_of(tmp_path: Path) -> None:
    script = str(SCRIPTS / "late_rank.py")
    options = ("--watch", "--device", "cpu", "--no-stacks", "--out", "here")
    code, _, stderr = ended(torchrun(tmp_path, "-m", "diagnose", *options, script, "32"), tmp_path)
    assert code == 0, stderr
    told = json.loads((tmp_path / "here" / "report.json").read_text())
    watched = told["watched"]
    assert watched["rank"] == 1
    assert [row["rank"] for row in watched["ranks"]] == [0, 1]
    assert re.fullmatch(r"Steps take .* from step [\d,]+ on: \S*late_rank\.py:1[23]", told["headline"])
    (snap,) = watched["snaps"]
    # of the late rank, too, though another may stand for the job in one of the two recordings
    assert snap["changed"][0].startswith("Python ")
    text = (tmp_path / "here" / "report.md").read_text()
    assert "2 of 2 ranks became slower; rank 1 is told of" in text

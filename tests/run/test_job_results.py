"""What the ranks of a trial left, as one, and what torchrun says of a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diagnose.run.job.results import left_in
from diagnose.run.job.torchrun import (
    LostRank,
    lost_rank,
    printed_by_ranks,
    started_by_torchrun,
    without_launcher,
)
from diagnose.run.settings import Target

TOLD = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-22_00:39:30
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 14335)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 14335
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-22_00:39:30
  host      : localhost
  rank      : 11 (local_rank: 3)
  exitcode  : {code} (pid: 14336) {signal}
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""


def left(**other: Any) -> dict[str, Any]:
    usual = {
        "tick_ns": [0, 5],
        "batch_hashes": ["a", "b"],
        "losses": [1.0],
        "interventions": [{"held": 0, "why_not": "No DataLoader was made there."}],
        "peak_allocated_bytes": None,
        "peak_reserved_bytes": None,
        "peak_resident_bytes": 3,
    }
    return usual | other


def leave(folder: Path, rank: int, what: dict[str, Any]) -> None:
    (folder / f"rank{rank}").mkdir()
    (folder / f"rank{rank}" / "trial.json").write_text(json.dumps(what))


def test_one_rank_is_as_it_is(tmp_path: Path) -> None:
    leave(tmp_path, 0, left())
    assert left_in(tmp_path) == left()


def test_times_are_of_the_first_rank_and_fixes_and_batches_of_all(tmp_path: Path) -> None:
    leave(tmp_path, 10, left(tick_ns=[0, 7], batch_hashes=["e", "f"], losses=[3.0]))
    other = {
        "tick_ns": [0, 6],
        "losses": [2.0],
        "interventions": [{"held": 2, "why_not": ""}],
        "peak_resident_bytes": 9,
    }
    leave(tmp_path, 2, left(batch_hashes=["c", "d", "g"], **other))
    leave(tmp_path, 0, left())
    leave(tmp_path, 3, left(batch_hashes=[]))  # a rank without a loader
    (tmp_path / "rank4").mkdir()  # one that left nothing
    found = left_in(tmp_path)
    assert (found["tick_ns"], found["losses"]) == ([0, 5], [1.0])
    assert found["batch_hashes"] == ["a+c+e", "b+d+f"]
    assert found["interventions"] == [{"held": 2, "why_not": "No DataLoader was made there."}]
    assert (found["peak_resident_bytes"], found["peak_allocated_bytes"]) == (9, None)


def test_no_rank_left_anything(tmp_path: Path) -> None:
    assert left_in(tmp_path)["tick_ns"] == [] and left_in(tmp_path)["losses"] is None


def test_the_first_rank_that_failed_is_the_one_to_name() -> None:
    assert lost_rank(TOLD.format(code="3", signal="")) == LostRank(11, 3, None)
    killed = lost_rank(TOLD.format(code="-9", signal=" (SIGKILL)"))
    assert killed == LostRank(11, None, "SIGKILL")
    assert killed.outcome(2.5).ended == "killed"
    assert lost_rank("Traceback (most recent call last):\nKeyError: 3") is None


def test_what_ranks_printed_ends_with_the_one_that_failed(tmp_path: Path) -> None:
    for rank, text in enumerate(("zero\n", "one\n", "two\n")):
        folder = tmp_path / "id" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_text(text)
        (folder / "stderr.log").write_text(f"error of {text}")
    assert printed_by_ranks(tmp_path) == "zero\nerror of zero\none\nerror of one\ntwo\nerror of two\n"
    assert printed_by_ranks(tmp_path, last=1).endswith("one\nerror of one\n")


def test_the_script_is_torchruns_argument_and_has_its_own(tmp_path: Path) -> None:
    found = started_by_torchrun(Target("train.py", False, ("--nproc-per-node", "7")), 2, tmp_path)
    assert (found.script, found.module) == ("torch.distributed.run", True)
    assert found.args[-3:] == ("train.py", "--nproc-per-node", "7") and "--nproc-per-node=2" in found.args
    assert started_by_torchrun(Target("pkg.train", True, ()), 2, tmp_path).args[-2:] == (
        "--module",
        "pkg.train",
    )


def test_a_new_start_gets_nothing_of_the_old_one() -> None:
    old = {
        "RANK": "1",
        "MASTER_PORT": "2",
        "TORCHELASTIC_RUN_ID": "x",
        "PET_NNODES": "2",
        "OMP_NUM_THREADS": "1",
        "HOME": "/",
    }
    assert without_launcher(old) == {"OMP_NUM_THREADS": "1", "HOME": "/"}

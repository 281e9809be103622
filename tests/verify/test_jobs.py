"""Jobs of several ranks, real ones: a slow rank's fix is predicted and measured,
and what happens to one rank is told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diagnose.commands.recorded_job import job_of, told_by_rank
from diagnose.pipeline import analyse
from diagnose.run.settings import Target
from diagnose.verify.candidates import candidates
from diagnose.verify.deadline import Deadline
from diagnose.verify.paired import Arm, RunFailed, TrialRunner
from diagnose.verify.results import data_differ
from diagnose.verify.store import Store
from diagnose.verify.timing import step_ms
from diagnose.verify.trial import Job, TrialSettings, run_trial
from tests.run.conftest import assert_no_process_left

SCRIPTS = Path(__file__).parent / "scripts"
SCRIPT = SCRIPTS / "job.py"
STARTS = ("torchrun", "spawn")
WAITS = TrialSettings(steps=24, untimed_steps=6, ticks_per_step=1, timeout_s=120)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SCRIPT.read_text().splitlines(), 1) if text in line)


LOADER = {
    "name": "dataloader",
    "arguments": {"num_workers": 1, "persistent_workers": True},
    "sites": [[str(SCRIPT), line_of("loader =")]],
}


def job(kind: str, start: str = "torchrun", ranks: int = 2, **environment: str) -> Job:
    args, by_torchrun = (kind, "400"), start == "torchrun"
    target = Target("job.py", False, args if by_torchrun else (*args, str(ranks)))
    return Job(
        target, str(SCRIPTS), str(SCRIPTS), sys.executable, "cpu", ranks if by_torchrun else 0, environment
    )


def trial(folder: Path, of: Job, *specs: dict[str, Any], **settings: Any) -> dict[str, Any]:
    usual = {"steps": 12, "untimed_steps": 4, "ticks_per_step": 1, "timeout_s": 120}
    left = run_trial(of, specs, TrialSettings(**usual | settings), folder)
    assert_no_process_left(folder)
    return left


def record(run: Path, start: str, kind: str, ranks: int) -> None:
    """As a user does it."""
    torchrun = (
        ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        if start == "torchrun"
        else []
    )
    options = ["--out", str(run), "--device", "cpu", "--quiet", str(SCRIPT), kind, "400"]
    command = [sys.executable, *torchrun, "-m", "diagnose", *options, *([] if torchrun else [str(ranks)])]
    paths = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_threads_of_the_recorded_run_are_those_of_its_trials(tmp_path: Path) -> None:
    """`OMP_NUM_THREADS=1 python -m diagnose …`, and a plain `verify` later."""
    (tmp_path / "train.py").write_text("")
    record = {"target": "train.py", "module": False, "argv": ["train.py"], "cwd": str(tmp_path)}
    variables = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "3", "RANK": "0"}
    job = job_of(record | {"settings": {"device": "cpu"}}, {"environment_variables": variables})
    assert job.environment == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@pytest.mark.long
@pytest.mark.parametrize(("start", "ranks"), [("torchrun", 2), ("spawn", 2)])
def test_what_a_slow_rank_costs_is_predicted_and_measured(tmp_path: Path, start: str, ranks: int) -> None:
    """Rank 1 waits 32 ms for its batch in a step of some 80, and no other rank does: a worker
    fetches it beside the 45 ms of work.
    """
    run = tmp_path / "run"
    record(run, start, "waits", ranks)
    document = analyse(run)
    finding = next(one for one in document.findings if one.rule == "late-rank-input")
    assert finding.state == "fires" and finding.fix.how.startswith("Rank 1 holds the others up by")
    assert document.headline.startswith("2 ranks; rank 1 holds the other up by ")
    assert [site.line for site in finding.fix.call_sites] == [line_of("loader =")]
    assert finding.culprits[0].line == line_of("for step, batch in")
    predicted = finding.saving.predicted_ms
    assert 20 < predicted.best_guess < 36, predicted

    same = job_of(json.loads((run / "run.json").read_text()), told_by_rank(run, "facts.json"))
    assert (same.ranks, same.environment.get("OMP_NUM_THREADS")) == (
        (ranks, "2") if start == "torchrun" else (0, None)
    )
    (fix,) = candidates([finding], Path(document.run.cwd), (), ())
    one_worker = fix.with_number(1).spec  # fewer processes to wait for
    before, after = (
        trial(tmp_path / str(len(specs)), same, *specs, **vars(WAITS)) for specs in ((), (one_worker,))
    )
    assert after["interventions"][0]["held"] == ranks
    saved_ms = float(np.median(step_ms(before, 1)[6:]) - np.median(step_ms(after, 1)[6:]))
    assert 0.6 * predicted.low < saved_ms < 1.4 * predicted.high, (predicted, saved_ms)
    assert not data_differ(before, after) and before["losses"] == after["losses"]


@pytest.mark.long
def test_what_a_trial_of_ranks_leaves(tmp_path: Path) -> None:
    """Items of rank 1 are others in a worker, as they draw random numbers: the
    batches of rank 0 alone would not show it.
    """
    before = trial(tmp_path / "before", job("random", ranks=4, OMP_NUM_THREADS="3"))
    after = trial(tmp_path / "after", job("random", ranks=4), LOADER)
    assert (before["ended"], before["exit_code"], len(before["tick_ns"]), len(before["losses"])) == (
        "stopped",
        0,
        12,
        11,
    )
    assert [len(of_step.split("+")) for of_step in before["batch_hashes"]] == [4] * 4
    assert after["interventions"] == [{"held": 4, "why_not": ""}]
    others = [
        [of_step.split("+")[rank] for of_step in one["batch_hashes"]]
        for one in (before, after)
        for rank in (0, 1, 2, 3)
    ]
    assert [others[rank] == others[4 + rank] for rank in (0, 1, 2, 3)] == [True, False, True, True]
    assert data_differ(before, after)
    said = (tmp_path / "before" / "printed.txt").read_text()
    assert sorted(said.splitlines()) == [f"rank {rank} with OMP_NUM_THREADS=3" for rank in (0, 1, 2, 3)]


@pytest.mark.parametrize(
    ("kind", "start", "said"),
    [
        pytest.param(
            "raises",
            "torchrun",
            "rank 1 ended with exit code 1: ValueError: the script's own error",
            marks=pytest.mark.long,
        ),
        pytest.param("is-killed", "torchrun", "rank 1 was killed by SIGKILL", marks=pytest.mark.long),
        ("raises", "spawn", "ValueError: the script's own error"),
    ],
)
def test_a_rank_that_fails_is_a_failed_run(tmp_path: Path, kind: str, start: str, said: str) -> None:
    bench = TrialRunner(Store(tmp_path), TrialSettings(12, 4, 1, timeout_s=120), lambda label: None)
    with pytest.raises(RunFailed) as failed:
        bench.once(Arm(job(kind, start)), "", Deadline.never())
    assert said in str(failed.value)
    assert_no_process_left(tmp_path)


@pytest.mark.long
def test_ranks_that_hang_are_ended(tmp_path: Path) -> None:
    bench = TrialRunner(Store(tmp_path), TrialSettings(12, 4, 1, timeout_s=15), lambda label: None)
    with pytest.raises(RunFailed, match="without it as well: it took too long and was stopped"):
        bench.once(Arm(job("hangs")), "", Deadline.never())
    assert_no_process_left(tmp_path)


@pytest.mark.long
def test_a_rank_that_is_slow_by_itself_is_for_people_to_mend(tmp_path: Path) -> None:
    run = tmp_path / "run"
    record(run, "spawn", "computes", 2)
    finding = next(one for one in analyse(run).findings if one.rule == "late-rank-host")
    assert finding.state == "fires"
    (fix,) = candidates([finding], SCRIPTS, (), ())
    assert fix.why_not == "needs a manual change; not measured"

"""Real processes: the data of both arms, an arm that fails, and a
verification interrupted and taken up again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from diagnose.document.model import FixResult
from diagnose.report.verification import verdict
from diagnose.run.child.interventions import Intervention
from diagnose.run.child.interventions.base import Sites
from diagnose.run.child.places import Places
from diagnose.run.child.stop import StopRun
from diagnose.run.child.trial import Trial, TrialPlan
from diagnose.run.settings import Target
from diagnose.verify.deadline import Deadline
from diagnose.verify.paired import Arm, RunFailed, TrialRunner
from diagnose.verify.results import data_differ, results
from diagnose.verify.statistics import LOOKS
from diagnose.verify.store import Store
from diagnose.verify.trial import Job, TrialSettings, run_trial

SCRIPTS = Path(__file__).parent / "scripts"
WORKERS = {"name": "dataloader", "arguments": {"num_workers": 2}, "sites": []}


def job(kind: str, steps: int = 400, script: str = "waiting.py") -> Job:
    return Job(Target(script, False, (kind, str(steps))), str(SCRIPTS), str(SCRIPTS), sys.executable, "cpu")


def trial(
    folder: Path, kind: str, *specs: dict[str, Any], seed_batches: bool = False, **of_job: Any
) -> dict[str, Any]:
    return run_trial(job(kind, **of_job), specs, TrialSettings(12, 4, 1, seed_batches, timeout_s=120), folder)


@pytest.mark.long
def test_a_trial_ends_after_its_steps_and_leaves_what_it_saw(tmp_path: Path) -> None:
    left = trial(tmp_path, "quick")
    assert (left["ended"], left["exit_code"], left["clock"]) == ("stopped", 0, "optimizer")
    assert len(left["tick_ns"]) == 12
    assert len(left["batch_hashes"]) == 4 and len(set(left["batch_hashes"])) == 4
    assert left["batch_size"] == 4
    assert len(left["losses"]) == 11  # from the second step on
    # at the last untimed step, halfway through the others, at the end
    assert [tick for tick, _ in left["work"]] == [4, 8, 12]
    assert left["notes"] == []
    assert left["device_ms"] is None and left["peak_resident_bytes"] > 50e6
    assert (tmp_path / "printed.txt").read_text() == ""


def test_the_peak_of_memory_is_the_trial_s_own() -> None:
    """Of a process that a far larger one has started."""
    asks = "from diagnose.run.child.memory.memory import peak_resident_bytes as peak; print(peak())"
    large = (
        f"import subprocess, sys; held = bytearray(1 << 31); subprocess.run([sys.executable, '-c', {asks!r}])"
    )
    printed = subprocess.run([sys.executable, "-c", large], capture_output=True, text=True, check=True).stdout
    assert 20e6 < int(printed) < 1e9


@pytest.mark.long
def test_a_script_that_ends_first_leaves_what_there_was(tmp_path: Path) -> None:
    left = trial(tmp_path, "quick", steps=7)
    assert left["ended"] == "finished" and len(left["tick_ns"]) == 7
    assert (tmp_path / "printed.txt").read_text() == "finished\n"


@pytest.mark.long
def test_a_run_is_longer_by_the_batches_that_were_ready_before_its_first_step(tmp_path: Path) -> None:
    """Two workers have eight ready: nine steps are not timed instead of four, and eight are as before."""
    workers = {"name": "dataloader", "arguments": {"num_workers": 2, "prefetch_factor": 4}, "sites": []}
    left = trial(tmp_path, "quick", workers)
    assert (left["fetched_ahead"], len(left["tick_ns"])) == (8, 17)
    assert [(tick, taken) for tick, taken, _ in left["supply"]] == [(4, 4), (10, 10), (17, 17)]
    assert all(0 <= ready <= 8 for _, _, ready in left["supply"])


def test_a_run_that_is_ended_by_its_time_limit_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is kept: it is not asked to stop at its next step, which may never come."""
    monkeypatch.setattr("diagnose.run.launch._GRACE_AFTER_ASKING_S", 120.0)
    settings = TrialSettings(400, 4, 1, timeout_s=8)
    left = run_trial(job("hangs"), (), settings, tmp_path)
    assert left["ended"] == "timeout" and left["wall_s"] < 60


@pytest.mark.parametrize("code", [0, 1])
def test_a_trial_leaves_no_process_behind(tmp_path: Path, code: int) -> None:
    """Which would disturb the next one, however the script has ended."""
    (tmp_path / "leaves.py").write_text(
        f"import subprocess, sys\nprint(subprocess.Popen(['sleep', '600']).pid)\nsys.exit({code})\n"
    )
    leaving = Job(Target("leaves.py", False, ()), str(tmp_path), str(tmp_path), sys.executable, "cpu")
    left = run_trial(leaving, (), TrialSettings(12, 4, 1, timeout_s=60), tmp_path / "trial")
    assert left["ended"] == ("crashed" if code else "finished")
    pid = int((tmp_path / "trial" / "printed.txt").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.long
def test_what_a_script_does_when_it_is_stopped_it_does_without_the_fix(tmp_path: Path) -> None:
    (tmp_path / "saves.py").write_text(
        "import torch\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "try:\n"
        "    while True:\n"
        "        model(torch.ones(1, 2)).sum().backward()\n"
        "        optimizer.step()\n"
        "finally:\n"
        "    print(torch.get_float32_matmul_precision())\n"
    )
    saving = Job(Target("saves.py", False, ()), str(tmp_path), str(tmp_path), sys.executable, "cpu")
    high = {"name": "backend_flags", "arguments": {"matmul_precision": "high"}, "sites": []}
    left = run_trial(saving, (high,), TrialSettings(12, 4, 1, timeout_s=120), tmp_path / "trial")
    assert left["interventions"] == [{"held": 1, "why_not": ""}]
    assert (tmp_path / "trial" / "printed.txt").read_text() == "highest\n"


def test_a_fix_that_fails_after_a_step_does_not_stop_the_steps(tmp_path: Path) -> None:
    class Failing(Intervention):
        def tick(self, number: int) -> None:
            raise ValueError(f"ours in step {number}")

    places = Places(str(tmp_path), str(tmp_path))
    failing = Failing(Sites((), places))
    ticking = Trial(str(tmp_path), TrialPlan(steps=2, untimed_steps=1), [failing], places)
    ticking.tick("the first step")
    with pytest.raises(StopRun):
        ticking.tick("the second step")
    left = json.loads((tmp_path / "rank0" / "trial.json").read_text())
    assert len(left["tick_ns"]) == 2
    assert left["interventions"] == [
        {"held": 0, "why_not": "It fails after a step: ValueError: ours in step 1"}
    ]


@pytest.mark.long
def test_random_items_differ_between_processes_unless_batches_are_seeded(tmp_path: Path) -> None:
    before, again, after = (
        trial(tmp_path / str(number), "random", *specs) for number, specs in enumerate(((), (), (WORKERS,)))
    )
    assert not data_differ(before, again) and before["losses"] == again["losses"]
    assert data_differ(before, after)
    before, after = (
        trial(tmp_path / f"seeded{len(specs)}", "random", *specs, seed_batches=True)
        for specs in ((), (WORKERS,))
    )
    assert after["interventions"] == [{"held": 1, "why_not": ""}]
    found = results(before, before, after)
    assert not data_differ(before, after) and (found.agreement, found.compared) == ("same", 11)


@pytest.mark.long
def test_a_model_without_a_loss_is_compared_by_what_it_returns(tmp_path: Path) -> None:
    before = trial(tmp_path / "before", "", script="inference.py")
    after = trial(
        tmp_path / "after",
        "",
        {"name": "inference_mode", "arguments": {}, "sites": []},
        script="inference.py",
    )
    assert (before["clock"], before["losses"]) == ("forward", None)
    assert after["interventions"][0]["held"] > 5
    assert len(before["outputs"]) >= 3
    assert results(before, before, after).agreement == "same"


def test_an_arm_that_fails_says_how(tmp_path: Path) -> None:
    bench = TrialRunner(Store(tmp_path), TrialSettings(12, 4, 1, timeout_s=120), lambda label: None)
    with pytest.raises(RunFailed, match="exit code 1: RuntimeError: no workers here"):
        bench.once(Arm(job("fails-in-worker"), (WORKERS,)), "", Deadline.never())


@pytest.mark.long
def test_real_pairs_are_run_with_the_fix_in_hold_and_kept(tmp_path: Path) -> None:
    """What they measured on this machine is not asked: any comparison of four pairs is precise enough."""
    settings, precise_enough = TrialSettings(12, 4, 1, timeout_s=120), 1e6
    arms = Arm(job("quick")), Arm(job("quick"), (WORKERS,))
    bench = TrialRunner(Store(tmp_path), settings, lambda label: None)
    outcome = bench.compare_arms(*arms, precise_enough, Deadline.never(), "")
    assert outcome is not None and outcome.comparison.pairs + outcome.comparison.outliers == LOOKS[0]
    assert [one["interventions"] for one in outcome.before] == [[]] * LOOKS[0]
    assert [one["interventions"] for one in outcome.after] == [[{"held": 1, "why_not": ""}]] * LOOKS[0]

    def never(*_: Any) -> dict[str, Any]:
        raise AssertionError("all of it was kept")

    again = TrialRunner(Store(tmp_path), settings, lambda label: None, never)
    kept = again.compare_arms(*arms, precise_enough, Deadline.never(), "")
    assert kept is not None and kept.comparison == outcome.comparison


@pytest.mark.long
def test_an_interrupted_verification_goes_on_from_there(tmp_path: Path) -> None:
    run = tmp_path / "run"
    recording = [
        sys.executable,
        "-m",
        "diagnose",
        "--out",
        str(run),
        "--steps",
        "2",
        "--no-stacks",
        "waiting.py",
        "slow",
    ]
    assert subprocess.run(recording, cwd=SCRIPTS, capture_output=True).returncode == 0
    # from another folder than the script's, by a relative path
    verify = [
        sys.executable,
        "-m",
        "diagnose",
        "verify",
        "run",
        "--try",
        "dataloader:num_workers=2",
        "--budget",
        "600s",
    ]
    # any four pairs are precise enough: what this machine measured is not asked
    verify += ["--precision", "99%", "--steps", "15"]
    started = subprocess.Popen(
        verify, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    runs = run / "verify" / "runs.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (runs.is_file() and len(runs.read_text().splitlines()) >= 4):
        time.sleep(0.1)
    os.killpg(started.pid, signal.SIGINT)
    said = started.communicate(timeout=60)[1]
    assert started.returncode == 130, said
    kept = runs.read_text().splitlines()
    assert json.loads((run / "verify.json").read_text())["interrupted"] and len(kept) >= 4
    assert "on this folder again to continue" in (run / "report.md").read_text()

    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    proof = json.loads((run / "verify.json").read_text())
    tried = proof["tried"][0]
    assert not proof["interrupted"] and tried["state"] == "measured", tried
    assert tried["results"]["agreement"] == "same"
    lines = runs.read_text().splitlines()
    assert lines[: len(kept)] == kept and proof["runs"] == len(lines) - len(kept)
    for told in (done.stderr, (run / "report.md").read_text()):
        assert verdict(msgspec.convert(tried, FixResult)) in " ".join(
            told.split()
        )  # spaces that hold a number to its unit

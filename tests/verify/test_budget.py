"""The budget of a verification holds, on a clock that only runs move: each run takes 4 s."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from diagnose.document.model import FixResult, Verification
from diagnose.fixes.all import Spec
from diagnose.report.verification import verdict
from diagnose.run.settings import Target
from diagnose.verify.candidates import Candidate
from diagnose.verify.deadline import Deadline
from diagnose.verify.trial import Job, TrialSettings
from diagnose.verify.verification import Verifier, VerifyOptions
from tests.verify.test_verification import DOCUMENT, Machine, fix

SCRIPTS = Path(__file__).parent / "scripts"
RUN_S = 4.0


class TimedMachine(Machine):
    """A run takes `RUN_S`, or the `wall_s` of its fix, and moves the clock; one whose time limit comes first
    is ended by it.
    """

    def __init__(self, **effects: Any) -> None:
        super().__init__(**effects)
        self.now_s = 100.0
        self.wall_s = RUN_S

    def clock(self) -> float:
        return self.now_s

    def __call__(
        self, job: Job, specs: Sequence[Spec], settings: TrialSettings, folder: Path
    ) -> dict[str, Any]:
        trial = super().__call__(job, specs, settings, folder)
        wall_s = max(
            [self.effects.get(spec["name"], {}).get("wall_s", self.wall_s) for spec in specs] or [self.wall_s]
        )
        if settings.timeout_s is not None and wall_s > settings.timeout_s:
            wall_s, trial["ended"] = settings.timeout_s, "timeout"
        self.now_s += wall_s
        return trial | {"wall_s": wall_s}


def proved(
    folder: Path,
    machine: TimedMachine,
    budget_s: float,
    *fixes: Candidate,
    previous: Sequence[FixResult] = (),
    fresh: bool = False,
) -> Verification:
    """What was measured within the budget, which the clock must not have passed."""
    job = Job(Target("train.py", False, ()), str(folder), str(folder), sys.executable, "cpu")
    ends = machine.now_s + budget_s
    verifier = Verifier(
        job,
        DOCUMENT,
        folder,
        VerifyOptions(fresh=fresh),
        Deadline.after(budget_s, machine.clock),
        lambda progress: None,
        lambda proof: None,
        previous,
        machine,
    )
    proof = verifier.prove(fixes)
    assert machine.now_s <= ends
    return proof


def test_a_script_that_outlasts_the_budget_is_ended_and_nothing_else_is_run(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"factor": 0.8})
    proof = proved(tmp_path, machine, 3.0, fix("gc_freeze"), fix("threads", why_not="not allowed"))
    assert len(machine.runs) == 1 and not proof.interrupted
    assert [(one.state, one.verdict) for one in proof.tried] == [("no_time", None), ("not_tried", None)]
    assert verdict(proof.tried[0]) == "not measured: the budget ended before it was tried"


def test_steps_that_alone_outlast_the_budget_are_not_begun(tmp_path: Path) -> None:
    """220 steps of 10 ms are 2.2 s."""
    machine = TimedMachine()
    assert proved(tmp_path, machine, 2.0, fix("gc_freeze")).tried[0].state == "no_time"
    assert machine.runs == []


@pytest.mark.parametrize(
    ("budget_s", "runs", "why"),
    [
        (7.0, 1, "the budget ended before it was tried"),  # the second look at the script itself does not fit
        (11.0, 2, "the budget ended before it was tried"),
        (15.0, 3, "the budget ended before two pairs of runs were made"),
        (19.0, 3, "the budget ended before two pairs of runs were made"),  # half a pair is not begun
        (27.0, 5, "the budget ended before two pairs of runs were made"),
    ],
)
def test_no_run_starts_that_would_end_too_late(tmp_path: Path, budget_s: float, runs: int, why: str) -> None:
    machine = TimedMachine(gc_freeze={"factor": 0.8})
    tried = proved(tmp_path, machine, budget_s, fix("gc_freeze")).tried[0]
    assert (len(machine.runs), tried.state, tried.why) == (runs, "no_time", why)


def test_two_pairs_are_a_measurement(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"factor": 0.8})
    proof = proved(tmp_path, machine, 30.0, fix("gc_freeze"))
    assert (len(machine.runs), proof.tried[0].state) == (7, "measured")
    assert proof.noise is None  # of two runs of each kind it can come out as anything


def test_a_run_that_the_budget_ends_is_no_failure_of_the_fix(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"wall_s": 50.0})
    proof = proved(tmp_path, machine, 30.0, fix("gc_freeze"), fix("zero_grad"))
    assert [one.state for one in proof.tried] == ["no_time", "no_time"]
    assert machine.runs == [[], [], ["gc_freeze"]]


def test_a_run_that_hangs_is_a_failure_of_the_fix(tmp_path: Path) -> None:
    """Ended by its own limit, a minute and five times what the script takes, long before the budget."""
    machine = TimedMachine(gc_freeze={"wall_s": 1e6})
    tried = proved(tmp_path, machine, 1000.0, fix("gc_freeze")).tried[0]
    assert (tried.state, tried.why) == ("failed", "it took too long and was stopped")


def test_seeding_and_the_search_for_a_number_keep_to_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    factors = {"num_workers": dict.fromkeys(range(9), 0.5)}
    effects = {"dataloader": {"other_data": "random", "factor": factors}}
    for budget_s in range(3, 120, 5):
        folder = tmp_path / str(budget_s)
        proof = proved(folder, TimedMachine(**effects), budget_s, fix("dataloader", num_workers=2))
        assert proof.tried[0].state in ("no_time", "measured")
    assert proof.tried[0].state == "measured" and proof.tried[0].curve is not None


def test_the_first_fixes_of_a_plan_get_what_a_comparison_needs(tmp_path: Path) -> None:
    """An equal share for each of five would be too little for any."""
    names = ("gc_freeze", "zero_grad", "compile", "optimizer", "inference_mode")
    machine = TimedMachine(**{name: {"factor": 0.8} for name in names})
    states = [one.state for one in proved(tmp_path, machine, 65.0, *map(fix, names)).tried]
    assert states[:2] == ["measured", "measured"] and states[-1] == "no_time"


def test_the_same_command_goes_on_until_all_is_measured(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"factor": 0.8}, zero_grad={"factor": 0.9})
    fixes = fix("gc_freeze"), fix("zero_grad")
    made = []
    while not made or made[-1]:
        proof = proved(tmp_path, machine, 13.0, *fixes)
        made.append(proof.runs)
    assert [one.verdict for one in proof.tried] == ["faster", "faster"]
    assert proof.together is not None and proof.together.verdict == "faster"
    # the script twice, two checks, and four pairs for each and for both together
    assert sum(made) == len(machine.runs) == 2 + 2 + 3 * 8


def test_what_was_measured_before_stays_where_there_is_no_time(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"factor": 0.8})
    earlier = proved(tmp_path, machine, 600.0, fix("gc_freeze")).tried
    again = proved(tmp_path, machine, 1.0, fix("gc_freeze"), previous=earlier, fresh=True)
    assert earlier[0].verdict == "faster" and again.tried == earlier


def test_what_there_was_no_time_for_before_is_told_anew(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"factor": 0.8})
    earlier = proved(tmp_path, machine, 11.0, fix("gc_freeze")).tried
    again = proved(tmp_path, machine, 11.0, fix("gc_freeze"), previous=earlier).tried
    assert [one.why for one in (*earlier, *again)] == [
        "the budget ended before it was tried",
        "the budget ended before two pairs of runs were made",
    ]


@pytest.mark.live
def test_a_real_verification_ends_within_its_budget(tmp_path: Path) -> None:
    """300 steps take 5 s and more, and the start of each process some: to try the fix would take three runs, two
    of them of the script as it is.

    The bound leaves ten seconds to a slow machine.
    """
    run = tmp_path / "run"
    diagnose = [sys.executable, "-m", "diagnose"]
    recording = [*diagnose, "--out", str(run), "--steps", "2", "--no-stacks", "waiting.py", "slow"]
    assert subprocess.run(recording, cwd=SCRIPTS, capture_output=True).returncode == 0
    began = time.monotonic()
    verify = [*diagnose, "verify", str(run), "--try", "dataloader:num_workers=2"]
    done = subprocess.run(
        [*verify, "--steps", "300", "--budget", "8s"], cwd=tmp_path, capture_output=True, text=True
    )
    took_s = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert took_s < 8 + 10
    assert "not measured: the budget ended before it was tried" in " ".join(done.stderr.split())
    proof = json.loads((run / "verify.json").read_text())
    assert [one["state"] for one in proof["tried"]] == ["no_time"] and proof["runs"] <= 2


def test_only_runs_that_came_to_their_end_are_counted(tmp_path: Path) -> None:
    machine = TimedMachine(gc_freeze={"wall_s": 50.0})
    assert proved(tmp_path, machine, 30.0, fix("gc_freeze")).runs == 2


def test_pairs_after_the_latest_look_wait_for_the_next(tmp_path: Path) -> None:
    """88 s are 22 runs: the script twice, a check, and nine pairs, of which eight are looked at."""
    machine = TimedMachine(noise=0.3, gc_freeze={"factor": 0.9})
    change = proved(tmp_path, machine, 88.0, fix("gc_freeze")).tried[0].change
    assert len(machine.runs) == 2 + 1 + 2 * 9
    assert change is not None and change.pairs + change.outliers == 8


def test_a_fix_with_other_data_costs_the_others_nothing(tmp_path: Path) -> None:
    """The first has ten pairs when the second is tried, whose batches differ: what is left goes on from
    there, with the same settings.
    """
    machine = TimedMachine(
        noise=0.3, gc_freeze={"factor": 0.93}, dataloader={"other_data": "random", "factor": 0.5}
    )
    pairs = []

    def save(proof: Verification) -> None:
        pairs.extend(
            one.change.pairs + one.change.outliers
            for one in proof.tried
            if one.intervention == "gc_freeze" and one.change
        )

    seeded = []

    def run(job: Job, specs: Sequence[Spec], settings: TrialSettings, folder: Path) -> dict[str, Any]:
        seeded.append(settings.seed_batches)
        return machine(job, specs, settings, folder)

    job = Job(Target("train.py", False, ()), str(tmp_path), str(tmp_path), sys.executable, "cpu")
    deadline = Deadline.after(300.0, machine.clock)
    verifier = Verifier(
        job, DOCUMENT, tmp_path, VerifyOptions(), deadline, lambda progress: None, save, (), run
    )
    proof = verifier.prove([fix("gc_freeze"), fix("dataloader")])
    assert pairs == sorted(pairs) and pairs[-1] > pairs[0]
    assert sum(seeded) == 2  # the script as it is, and with the fix: neither is timed
    assert proof.tried[1].results is not None and proof.tried[1].results.agreement == "same"


def test_time_left_goes_to_what_is_not_clear_yet(tmp_path: Path) -> None:
    """Two fixes of six are clear at once; the budget of each would do for a few pairs only."""
    machine = TimedMachine(noise=0.05, gc_freeze={"factor": 0.98}, zero_grad={"factor": 0.5})
    proof = proved(tmp_path, machine, 300.0, fix("gc_freeze"), fix("zero_grad"))
    unclear, clear = (one.change for one in proof.tried)
    assert unclear is not None and clear is not None
    # a third of 300 s would be 12 pairs of 8 s: it was given what the other did not need
    assert clear.pairs + clear.outliers == 4 and unclear.pairs + unclear.outliers > 14
    assert machine.now_s - 100.0 > 250

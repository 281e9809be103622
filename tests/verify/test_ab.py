"""Two sides held against each other: the decision by hand, the sides in a real repository, and many duels of
made-up runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from diagnose.commands.ab import in_words
from diagnose.errors import DiagnoseError, UsageError
from diagnose.fixes.all import Spec
from diagnose.run.settings import Target
from diagnose.verify import ab
from diagnose.verify.ab import Held, decided, held_against, pairs_needed
from diagnose.verify.deadline import Deadline
from diagnose.verify.results import Results
from diagnose.verify.sides import Side, sides
from diagnose.verify.statistics import Comparison
from diagnose.verify.trial import Job, TrialSettings, run_trial

from .test_verification import Machine

LOOP = """
import sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(60):
    loss = model(torch.ones(4, 32)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for _ in range(WORK):
        pass
"""


def compared(change: float, low: float, high: float, noise: float = 0.001, pairs: int = 8) -> Comparison:
    return Comparison(pairs, 0, change, low, high, noise, 10.0, 10.0 * (1 + change), (0.0, 0.0, 0.0))


# ---- the decision


@pytest.mark.parametrize(
    ("found", "tolerance", "decision"),
    [
        (compared(0.03, 0.02, 0.04), 0.0, "slower"),
        (compared(0.03, 0.02, 0.04), 0.02, "unclear"),  # no more than the tolerance is certain
        (compared(0.03, 0.021, 0.04), 0.02, "slower"),
        (compared(0.03, 0.02, 0.04), 0.05, "not_slower"),
        (compared(0.03, 0.02, 0.04, noise=0.05), 0.0, "unclear"),  # as much as chance does
        (compared(0.0, -0.009, 0.009), 0.0, "not_slower"),  # within the one percent that was asked for
        (compared(0.0, -0.02, 0.02), 0.0, "unclear"),
        (compared(-0.05, -0.06, -0.04), 0.0, "not_slower"),
    ],
)
def test_slower_is_what_all_of_the_interval_says(found: Comparison, tolerance: float, decision: str) -> None:
    assert decided(found, tolerance, precision=0.01) == decision


def test_how_many_pairs_an_answer_would_take() -> None:
    # half a width of 2 % has to become 1 %: four times the pairs
    assert pairs_needed(compared(0.03, 0.01, 0.05), bound=0.02) == 32
    assert pairs_needed(compared(0.02, 0.0, 0.04), bound=0.02) == 1000  # it is the tolerance itself


# ---- made-up runs


class Sides(Machine):
    """Runs of two sides; those of the folder or script ``slower`` take ``factor`` times as long."""

    factor, slower = 1.0, "B"

    def __call__(
        self, job: Job, specs: Sequence[Spec], settings: TrialSettings, folder: Path
    ) -> dict[str, Any]:
        trial = super().__call__(job, specs, settings, folder)
        ratio = self.factor if self.slower in (job.cwd, job.target.script) else 1.0
        return trial | {"tick_ns": [round(ratio * ns) for ns in trial["tick_ns"]]}


def side(name: str) -> Side:
    return Side(name, name, Job(Target("train.py", False, ()), name, name, sys.executable))


def held(machine: Machine, folder: Path, seed: int = 0, tolerance: float = 0.0) -> Held:
    machine.random.seed(seed)
    return held_against(
        side("A"),
        side("B"),
        folder,
        precision=0.01,
        tolerance=tolerance,
        deadline=Deadline.never(),
        tell=lambda what: None,
        run=machine,
    )


@pytest.mark.parametrize(("percent", "decision"), [(0, "not_slower"), (4, "slower"), (-6, "not_slower")])
def test_what_is_planted_is_found_and_nothing_else(percent: int, decision: str, tmp_path: Path) -> None:
    """Of forty duels at most one goes wrong."""
    machine = Sides(noise=0.004)
    machine.factor = 1 + percent / 100
    answers = [held(machine, tmp_path / str(seed), seed).decision for seed in range(40)]
    assert answers.count("slower") >= 39 if decision == "slower" else answers.count("slower") <= 1
    assert answers.count(decision) >= 36  # type: ignore[arg-type]


def test_a_duel_goes_on_until_its_own_question_is_decided(tmp_path: Path) -> None:
    """12 % slower where 10 % are allowed: known to ± 3 % that is clear of 0, but not of the tolerance."""
    machine = Sides(noise=0.006)
    machine.factor = 1.12
    answers = [held(machine, tmp_path / str(seed), seed, tolerance=0.1) for seed in range(20)]
    unclear = [one for one in answers if one.decision == "unclear"]
    assert [one.comparison.pairs + one.comparison.outliers for one in unclear] == [32] * len(unclear)
    assert [one.decision for one in answers].count("slower") >= 18


def test_the_bound_of_not_slower_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No difference, by runs of ± 0.4 % each: its interval holds 0, and 2 % were to be told."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        Path(name).write_text("print(1)")
    monkeypatch.setattr(ab, "held_against", partial(held_against, run=Sides(noise=0.004)))
    assert cli.main(["ab", "a.py", "b.py", "--quiet", "--precision", "2%"]) == 0
    assert capsys.readouterr().out.startswith("B is not slower by more than 2.0%.\n")


def test_a_side_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    machine = Sides()
    machine.steps_there = 1
    with pytest.raises(DiagnoseError, match="cannot be run"):
        held(machine, tmp_path)


def test_times_are_rounded_as_everywhere() -> None:
    change = replace(compared(-0.05, -0.06, -0.04), before_ms=12340.0, after_ms=11723.0)
    found = Held(change, None, "faster", "not_slower", 0.01, 0, Results("same", 3, 0.0, 0.01), 40)
    assert "A step takes 12,340 ms in A and 11,723 ms in B" in in_words(found, [side("A"), side("B")], 0.0)


# ---- sides


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.email=a@b.c", "-c", "user.name=somebody")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits of sub/train.py, and data beside it that is in none; the current folder is sub."""
    folder = tmp_path / "repository" / "sub"
    folder.mkdir(parents=True)
    git(tmp_path, "init", "-q", "repository")
    for text in ("print(1)", "print(2)"):
        (folder / "train.py").write_text(text)
        git(folder, "add", "train.py")
        git(folder, "commit", "-qm", text)
    (folder / "train.py").write_text("print(3)")
    (folder / "data").mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_commits_are_checked_out_and_leave_nothing_behind(repository: Path) -> None:
    target = Target("train.py", False, ("--epochs", "1"))
    with sides(["HEAD~1", "."], target, links=["data"]) as (before, after):
        assert (Path(before.job.cwd) / "train.py").read_text() == "print(1)"
        assert (Path(before.job.cwd) / "data").resolve() == repository / "data"
        assert Path(before.job.cwd).name == "sub" and before.what.startswith("commit ")
        assert (Path(after.job.cwd) / "train.py").read_text() == "print(3)"
        assert before.job.target == after.job.target == target
    assert not Path(before.job.cwd).exists()
    listed = subprocess.run(["git", "worktree", "list"], capture_output=True, text=True, check=True).stdout
    assert len(listed.splitlines()) == 1


def test_two_scripts_need_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        Path(name).write_text("print(1)")
    arguments = Target("", False, ("--epochs", "1"))
    with sides(["a.py", "b.py"], arguments, environments=[{}, {"X": "1"}]) as found:
        assert [one.job.target.script for one in found] == ["a.py", "b.py"]
        assert found[1].job == replace(
            found[1].job, target=Target("b.py", False, ("--epochs", "1")), environment={"X": "1"}
        )


@pytest.mark.parametrize(
    ("names", "script", "links", "why"),
    [
        (["HEAD", "nonsense"], "train.py", [], "git rev-parse"),
        (["HEAD", "--exec=x"], "train.py", [], "git rev-parse"),
        (["HEAD", "."], "", [], "no script"),
        (["HEAD", "."], "gone.py", [], "no script"),
        (["HEAD", "."], "train.py", ["gone"], "--link"),
    ],
)
def test_what_is_no_side_is_refused(
    names: list[str], script: str, links: list[str], why: str, repository: Path
) -> None:
    with pytest.raises(UsageError, match=why), sides(names, Target(script, False, ()), links=links):
        pass


@pytest.mark.live
def test_a_commit_runs_from_its_own_folder(repository: Path, tmp_path: Path) -> None:
    Path("train.py").write_text(LOOP.replace("WORK", "1"))
    git(repository, "commit", "-qam", "a loop")
    Path("train.py").write_text("raise SystemExit('not this one')")
    with sides(["HEAD", "HEAD"], Target("train.py", False, ())) as found:
        trial = run_trial(found[0].job, (), TrialSettings(20, 3, 1, timeout_s=120), tmp_path / "trial")
    assert trial["exit_code"] in (0, None) and len(trial["tick_ns"]) >= 20


PACKAGE_LOOP = "import pkg\n" + LOOP.replace("WORK", "1")


@pytest.fixture
def package(repository: Path) -> Path:
    """Two commits in which sub/train.py imports src/pkg, which is not beside it; the folder src."""
    src = repository.parent / "src"
    (src / "pkg").mkdir(parents=True)
    (repository / "train.py").write_text(PACKAGE_LOOP)
    for speed in ("slow", "fast"):
        (src / "pkg" / "__init__.py").write_text(f"SPEED = {speed!r}")
        git(repository, "add", str(src), "train.py")
        git(repository, "commit", "-qm", speed)
    return src


def test_a_checkout_imports_its_own_package_by_an_absolute_path(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{package}:/elsewhere:relative")
    with sides(["HEAD~1", "."], Target("train.py", False, ())) as (before, after):
        own, *rest = before.job.environment["PYTHONPATH"].split(":")
        assert rest == ["/elsewhere", "relative"]
        assert (Path(own) / "pkg" / "__init__.py").read_text() == "SPEED = 'slow'"
        assert after.job.environment == {} and after.job.foreign_folders == ()
        assert str(package.parent) in before.job.foreign_folders


@pytest.mark.live
def test_a_side_that_imports_another_checkouts_code_is_refused(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by an editable install: a path that no variable of the environment shows."""
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "pkg").symlink_to(package / "pkg")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    with (
        sides(["HEAD~1", "HEAD"], Target("train.py", False, ())) as (before, after),
        pytest.raises(DiagnoseError, match="HEAD~1 does not run its own code") as raised,
    ):
        held_against(
            before,
            after,
            tmp_path / "kept",
            precision=0.01,
            tolerance=0.0,
            deadline=Deadline.after(120),
            tell=lambda what: None,
        )
    assert str(package / "pkg" / "__init__.py") in str(raised.value.saw)


def test_the_users_hooks_do_not_run_in_our_checkouts(repository: Path, tmp_path: Path) -> None:
    hook = repository.parent / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook_ran\n")
    hook.chmod(0o755)
    with sides(["HEAD", "."], Target("train.py", False, ())):
        assert not (tmp_path / "hook_ran").exists()


def test_a_checkout_that_cannot_be_removed_leaves_the_error_and_the_others(repository: Path) -> None:
    target = Target("train.py", False, ())
    with pytest.raises(KeyError, match="what went wrong"), sides(["HEAD~1", "HEAD"], target) as found:
        git(repository, "worktree", "remove", "--force", str(Path(found[0].job.cwd).parent))
        raise KeyError("what went wrong")
    listed = subprocess.run(["git", "worktree", "list"], capture_output=True, text=True, check=True).stdout
    assert len(listed.splitlines()) == 1


@pytest.mark.parametrize(("percent", "code", "said"), [(8, 4, "B is slower."), (-8, 0, "B is faster.")])
def test_the_command_says_what_was_found(
    percent: int,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        Path(name).write_text("print(1)")
    machine = Sides(noise=0.001)
    machine.factor, machine.slower = 1 + percent / 100, "b.py"
    monkeypatch.setattr(ab, "held_against", partial(held_against, run=machine))
    assert cli.main(["ab", "a.py", "b.py", "--quiet"]) == code
    told = capsys.readouterr().out
    assert told.startswith(said) and "losses the same to the bit" in told and "B is `b.py`." in told
    assert cli.main(["ab", "a.py", "b.py", "--quiet", "--json", "--", "--epochs", "1"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["comparison"]["change"] == pytest.approx(percent / 100, abs=0.01)
    assert document["b"] == {"name": "b.py", "what": "`b.py`"}

"""The script sees the interpreter, its input and its own profiler as under plain Python."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target

from .running import SCRIPTS, Recorded

Run = Callable[..., Recorded]


def test_standard_input_is_the_scripts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "input").open("w+") as file:
        file.write("a line\n")
        file.flush()
        before = os.dup(0)
        os.lseek(file.fileno(), 0, io.SEEK_SET)
        os.dup2(file.fileno(), 0)
        try:
            outcome = launch(
                Target(str(SCRIPTS / "ending.py"), False, ("stdin", "3")), Settings(), tmp_path / "run"
            )
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert outcome.ended == "finished"
    assert capfd.readouterr().out.endswith("read a line\n")


@pytest.mark.long
def test_a_module_with_relative_imports(run_script: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SCRIPTS)
    run = run_script("package.main", "--flag", "1", module=True)
    assert run.outcome.ended == "stopped"
    assert run.stdout == "__main__ package ['--flag', '1'] 2\n"
    assert run.steps_in("detail") == 1


def test_the_interpreter_looks_as_without_us(run_script: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own = SCRIPTS / "own"
    monkeypatch.setenv("PYTHONPATH", str(own / "site"))
    plain = subprocess.run(
        [sys.executable, str(own / "main.py"), "x"], capture_output=True, text=True, check=True
    )
    run = run_script("own/main", "x")
    assert run.outcome.ended == "stopped"
    assert json.loads(run.stdout) == json.loads(plain.stdout)
    assert json.loads(run.stdout)["name"] == "mine"
    assert json.loads(run.stdout)["sitecustomize"] == str(own / "site" / "sitecustomize.py")
    calls = run.json("rank0/detail.calls.json")
    assert str(own / "trainer.py") in calls["files"]


def test_an_own_profiler_that_is_always_on_keeps_its_results(run_script: Run) -> None:
    run = run_script("own_profiler", "always", keep_going=True)
    assert run.outcome.ended == "finished"
    assert run.stdout == "True\ndone\n"
    assert run.facts["own_profiler_share"] == 1.0
    assert [phase["name"] for phase in run.steps["phases"]] == ["warmup", "plain", "parts"]
    assert any("own profiler" in note for note in run.steps["notes"])


@pytest.mark.long
def test_an_own_profiler_on_a_schedule_is_inert_while_ours_records(run_script: Run, tmp_path: Path) -> None:
    run = run_script("own_profiler", "scheduled", str(tmp_path / "theirs.json"), keep_going=True)
    assert (run.outcome.ended, run.outcome.exit_code) == ("finished", 0)
    assert run.stdout == "done\n"
    assert run.steps_in("timeline") == 4
    assert 0 < run.facts["own_profiler_share"] < 1
    assert any("was disabled while ours recorded" in note for note in run.steps["notes"])
    assert json.loads((tmp_path / "theirs.json").read_text())["traceEvents"]  # the last one is recorded again


def test_nothing_warns_that_does_not_warn_without_us(run_script: Run) -> None:
    """Torch's profiler reads the gradients of parameters, and warns of those that can have none."""
    run = run_script("not_leaves")
    assert run.steps_in("detail") > 0
    assert "Warning" not in run.stderr


def test_a_script_that_goes_on_computes_what_it_does_without_us(run_script: Run) -> None:
    """No copies of its models are called: they share what is no part of a model."""
    plain = subprocess.run(
        [sys.executable, str(SCRIPTS / "counts_itself.py")], capture_output=True, text=True, check=True
    )
    run = run_script("counts_itself", keep_going=True)
    assert run.outcome.ended == "finished"
    assert run.stdout == plain.stdout and run.stdout.startswith("500 ")
    assert run.facts["dataflow"] is not None  # it was looked at all the same

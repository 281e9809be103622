"""Whatever goes wrong on our side, the script is seen to its end, and what came of it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diagnose.run.launch import launch
from diagnose.run.settings import RunOutcome, Settings, Target
from diagnose.run.stage import Stage
from diagnose.run.tree import processes_of

ROOT = Path(__file__).parents[2]
LASTS = "import time\ntime.sleep(1)\nprint('to its end')\n"


def launched(folder: Path, program: str, **options: Any) -> RunOutcome:
    (folder / "script.py").write_text(program)
    target = Target(str(folder / "script.py"), False, ())
    return launch(target, Settings(device="cpu"), folder / "run", **options)


@pytest.mark.live
@pytest.mark.parametrize("closed", [True, False], ids=["closed-pipe", "full-disk"])
def test_nobody_has_to_read_what_we_say(tmp_path: Path, closed: bool) -> None:
    (tmp_path / "script.py").write_text(LASTS)
    reading, writing = os.pipe()
    os.close(reading)
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "diagnose", "--out", "run", "--device", "cpu", "script.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=writing if closed else full,
            text=True,
            check=False,
        )
    os.close(writing)
    assert run.stdout == "to its end\n"
    assert json.loads((tmp_path / "run/run.json").read_text())["ended"] == "finished"
    assert (tmp_path / "run/report.html").exists()
    assert run.returncode == 1  # nothing was recorded


@pytest.mark.live
def test_progress_that_fails_leaves_the_script_as_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(stage: Stage) -> None:
        raise OSError("the terminal is gone")

    assert launched(tmp_path, LASTS, progress=fails).ended == "finished"
    assert capfd.readouterr().out == "to its end\n"


@pytest.mark.live
@pytest.mark.parametrize("fails", ["diagnose.run.launch.Stages", "diagnose.run.launch.GpuState.start"])
def test_a_script_that_cannot_be_watched_is_waited_for(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("a defect of ours")

    monkeypatch.setattr(fails, broken)
    (tmp_path / "script.py").write_text(LASTS)
    with pytest.raises(RuntimeError, match="a defect of ours"):
        launch(Target(str(tmp_path / "script.py"), False, ()), Settings(), tmp_path / "run")
    assert capfd.readouterr().out == "to its end\n"


@pytest.mark.live
@pytest.mark.parametrize(("number", "name"), [(10, "SIGUSR1"), (36, "SIG36")])
def test_any_signal_that_ends_the_script_is_told(tmp_path: Path, number: int, name: str) -> None:
    """Those for real time have no name in Python."""
    outcome = launched(tmp_path, f"import os\nos.kill(os.getpid(), {number})\n")
    assert (outcome.ended, outcome.signal, outcome.as_exit_code) == ("killed", name, 128 + number)


@pytest.mark.live
def test_a_process_that_got_the_number_of_the_script_afterwards_is_none_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr("diagnose.run.launch.processes_of", lambda *given: asked.append(given) or [])
    launched(tmp_path, "import os\nos.kill(os.getpid(), 9)\n")
    assert [len(given) for given in asked] == [1]


def test_without_a_root_the_mark_alone_tells_who_belongs_to_a_run() -> None:
    assert processes_of("no such run") == []
    assert os.getpid() in {process.pid for process in processes_of("no such run", os.getpid())}

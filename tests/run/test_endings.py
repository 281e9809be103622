"""However the script ends, its exit is its own, what was recorded stays, and no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.errors import ScriptFailed, UsageError
from diagnose.pipeline import analyse
from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target

from .running import SCRIPTS, Recorded

Run = Callable[..., Recorded]


def test_a_bare_except_cannot_swallow_the_stop(run_script: Run) -> None:
    run = run_script("ending", "swallow", "100000")
    assert run.outcome.ended == "stopped"
    assert run.steps_in("detail") == 1


@pytest.mark.parametrize(
    ("how", "ended", "code"),
    [
        ("os-exit", "crashed", 5),
        ("raise", "crashed", 1),
        pytest.param("sigkill", "killed", None, marks=pytest.mark.long),
    ],
)
def test_the_exit_is_the_scripts_own(run_script: Run, how: str, ended: str, code: int | None) -> None:
    run = run_script("ending", how, "18")
    assert (run.outcome.ended, run.outcome.exit_code) == (ended, code)
    assert run.json("run.json")["ended"] == ended
    assert run.json("run.json")["exit_code"] == code
    if how == "sigkill":
        assert run.outcome.signal == "SIGKILL"
        # only the phase in progress is lost
        assert "warmup" in [phase["name"] for phase in run.steps["phases"]]
    else:
        assert run.steps_in("timeline") >= 1
    if how == "os-exit":
        assert run.stdout.endswith("unflushed")
    if how == "raise":
        assert run.stderr.startswith("Traceback (most recent call last):\n")
        assert run.stderr.endswith("ValueError: the script's own error\n")
        assert "diagnose" not in run.stderr


def test_sigterm_of_a_child_is_its_own_and_afterwards_all_is_as_it_was(run_script: Run) -> None:
    run = run_script("forks", keep_going=True)
    assert (run.outcome.ended, run.stderr) == ("finished", "")
    assert run.stdout == "the child ended by 15\nSIGTERM is left to SIG_DFL\n"
    assert run.steps_in("detail") == 1


BEFORE_A_TIME_OUT_S = (6.0, 30.0)  # on a busy machine the first may be over before the script begins


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnose.run.launch._GRACE_AFTER_ASKING_S", 0.5)


@pytest.mark.usefixtures("impatient")
def test_a_time_out_ends_a_script_that_never_ticks(run_script: Run) -> None:
    for timeout_s in BEFORE_A_TIME_OUT_S:
        run = run_script("hang", timeout_s=timeout_s)
        if run.stdout:
            break
    assert run.outcome.ended == "timeout"
    assert (run.stdout, run.stderr) == ("2.0\n", "")
    assert run.json("run.json")["torch_imported"] is True
    assert analyse(run.folder).headline.startswith("No step was seen in ")


@pytest.mark.parametrize(
    ("how", "signal_"),
    [
        pytest.param("atexit", "SIGTERM", marks=pytest.mark.long),
        pytest.param("thread", "SIGTERM", marks=pytest.mark.long),
        pytest.param("workers", "SIGTERM", marks=pytest.mark.long),
        ("ignores", "SIGKILL"),
    ],
)
def test_a_script_that_goes_on_when_it_is_stopped_is_ended_without_a_word(
    how: str, signal_: str, run_script: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by SIGINT, which would be a KeyboardInterrupt in its `finally` and atexit functions."""
    monkeypatch.setattr("diagnose.run.launch._GRACE_AFTER_DONE_S", 1.0)
    run = run_script("lingers", how, steps=1, stacks=False)
    assert (run.outcome.ended, run.outcome.signal, run.outcome.as_exit_code) == ("stopped", signal_, 0)
    assert run.stderr == ""
    assert run.steps_in("timeline") == 1


@pytest.mark.usefixtures("impatient")
def test_a_time_out_lets_a_recording_be_written_where_no_line_of_python_is_reached(run_script: Run) -> None:
    for timeout_s in BEFORE_A_TIME_OUT_S:
        run = run_script("signals", "waits", steps=100000, timeout_s=timeout_s)
        if "ticking" in run.stdout:
            break
    assert (run.outcome.ended, run.outcome.signal, run.stderr) == ("timeout", "SIGTERM", "")
    assert "warmup" in [phase["name"] for phase in run.steps["phases"]]


def test_a_script_without_torch_runs_unharmed(run_script: Run) -> None:
    run = run_script("no_torch", "--a", "b c")
    assert (run.outcome.ended, run.outcome.exit_code) == ("finished", 0)
    assert run.stdout == "hello --a b c\n"
    assert run.stderr == ""
    assert run.json("run.json")["torch_imported"] is False
    assert analyse(run.folder).headline.endswith(
        "no_torch.py never imported torch, so there was nothing to record"
    )


def test_a_script_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no script .*nowhere\.py"):
        launch(Target("nowhere.py", False, ()), Settings(), tmp_path / "run")
    with pytest.raises(UsageError, match=r"no module json\.nowhere"):
        launch(Target("json.nowhere", True, ()), Settings(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_syntax_error_is_the_scripts_failure(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("x = 1\nif x\n    pass\n")
    with pytest.raises(ScriptFailed, match=r"broken\.py:2") as failure:
        launch(Target(str(script), False, ()), Settings(), tmp_path / "run")
    assert "SyntaxError: expected ':'" in failure.value.saw


@pytest.mark.live
def test_a_gpu_is_asked_for_and_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(UsageError, match="no GPU"):
        launch(
            Target(str(SCRIPTS / "ending.py"), False, ("normally", "3")),
            Settings(device="cuda"),
            tmp_path / "run",
        )


DRIVER = """
import sys
from pathlib import Path
from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target
script, folder, *args = sys.argv[1:]
print("ended", launch(Target(script, False, tuple(args)), Settings(steps=100000), Path(folder)).ended, flush=True)
assert "torch" not in sys.modules
"""


def _driven(folder: Path, *args: str) -> subprocess.Popen[str]:
    """A whole `launch` in a process group of its own, as a terminal would have
    it, at the moment the script ticks.
    """
    command = [sys.executable, "-c", DRIVER, str(SCRIPTS / "signals.py"), str(folder), *args]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])),
    }
    driver = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    assert driver.stdout is not None
    assert [driver.stdout.readline() for _ in range(2)] == ["ready\n", "ticking\n"]
    return driver


@pytest.mark.usefixtures("no_process_left")
@pytest.mark.parametrize(
    ("to_group", "number", "arguments", "shows"),
    [
        (True, signal.SIGINT, (), "interrupted\nended interrupted\n"),
        pytest.param(False, signal.SIGINT, (), "ended interrupted\n", marks=pytest.mark.long),
        (True, signal.SIGINT, ("saves-first", "slow"), "saved\nended interrupted\n"),
        (False, signal.SIGTERM, (), "ended interrupted\n"),
        pytest.param(False, signal.SIGTERM, ("stuck",), "ended interrupted\n", marks=pytest.mark.long),
        pytest.param(False, signal.SIGTERM, ("waits",), "ended interrupted\n", marks=pytest.mark.long),
        pytest.param(
            False,
            signal.SIGTERM,
            ("handles",),
            "its own handler\nended interrupted\n",
            marks=pytest.mark.long,
        ),
        pytest.param(
            False,
            signal.SIGTERM,
            ("handles-late",),
            "its own handler\nended interrupted\n",
            marks=pytest.mark.long,
        ),
    ],
    ids=[
        "ctrl-c",
        "sigint-to-parent",
        "ctrl-c-handled",
        "sigterm",
        "sigterm-stuck",
        "sigterm-outside-python",
        "sigterm-handled",
        "sigterm-handled-late",
    ],
)
def test_signals(tmp_path: Path, to_group: bool, number: int, arguments: tuple[str, ...], shows: str) -> None:
    driver = _driven(tmp_path / "run", *arguments)
    time.sleep(0.3)
    if to_group:
        os.killpg(driver.pid, number)
    else:
        driver.send_signal(number)
    stdout, stderr = driver.communicate(timeout=30)
    assert driver.returncode == 0
    assert stdout == shows
    assert ("KeyboardInterrupt" in stderr) == (shows[:12] == "interrupted\n")
    steps = json.loads((tmp_path / "run/rank0/steps.json").read_text())
    assert any(phase["name"] == "timeline" for phase in steps["phases"])

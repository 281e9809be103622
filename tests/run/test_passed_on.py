"""A signal that somebody sends to us does to the script what it would do without us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("no_process_left")]
ROOT = Path(__file__).parents[2]

LAUNCHER = """
import sys
from pathlib import Path
from diagnose.run import launch
from diagnose.run.job.peers import outlive_the_script
from diagnose.run.settings import Settings, Target
launch._GRACE_AFTER_SIGTERM_S = 0.2
if "one-of-a-job" in sys.argv:
    outlive_the_script()
settings = Settings(device="cpu", timeout_s=20, watch="watched" in sys.argv)
outcome = launch.launch(Target(sys.argv[1], False, ()), settings, Path(sys.argv[2]))
print(outcome.ended, outcome.exit_code, outcome.signal, flush=True)
"""

WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(2)\nprint('end', flush=True)\n"
TO_BE_PASSED_ON = [signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]


def started(
    folder: Path, program: str, *args: str, ignores: signal.Signals | None = None, **variables: str
) -> subprocess.Popen[str]:
    """A launcher that leads a process group, as from a terminal or torchrun; its script is ready."""
    (folder / "script.py").write_text(program)
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(folder / "script.py"), str(folder / "run"), *args],
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=ignores and (lambda: signal.signal(ignores, signal.SIG_IGN)),
    )
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    return launcher


def said(launcher: subprocess.Popen[str]) -> list[str]:
    stdout, stderr = launcher.communicate(timeout=30)
    assert stderr == ""
    return stdout.splitlines()


def handles(number: signal.Signals) -> str:
    return f"""
import signal, time
def handler(number, frame):
    print("it came", flush=True)
    time.sleep(0.5)
    print("saved", flush=True)
signal.signal({int(number)}, handler)
{WAITS}"""


@pytest.mark.parametrize("number", TO_BE_PASSED_ON)
def test_a_script_without_a_handler_dies_of_it(number: signal.Signals, tmp_path: Path) -> None:
    launcher = started(tmp_path, WAITS)
    launcher.send_signal(number)
    assert said(launcher) == [f"killed None {number.name}"]


@pytest.mark.parametrize("number", TO_BE_PASSED_ON)
def test_a_script_that_handles_it_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    launcher = started(tmp_path, handles(number))
    launcher.send_signal(number)
    assert said(launcher) == ["it came", "saved", "end", "finished 0 None"]


def test_a_script_may_take_its_time_to_save(tmp_path: Path) -> None:
    """Whoever sent SIGTERM knows how long that may last, and ends it after that."""
    launcher = started(tmp_path, handles(signal.SIGTERM))
    launcher.send_signal(signal.SIGTERM)
    assert said(launcher) == ["it came", "saved", "end", "interrupted 0 None"]


def test_what_torchrun_sends_to_launcher_and_script_comes_once(tmp_path: Path) -> None:
    launcher = started(tmp_path, handles(signal.SIGTERM), TORCHELASTIC_RUN_ID="none")
    os.killpg(launcher.pid, signal.SIGTERM)
    assert said(launcher) == ["it came", "saved", "end", "interrupted 0 None"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_what_is_ignored_is_ignored(number: signal.Signals, tmp_path: Path) -> None:
    """As a shell script has it for Ctrl-C of what it starts with `&`, nohup for SIGHUP, `trap ''` for any."""
    launcher = started(tmp_path, WAITS, "one-of-a-job", ignores=number)
    os.killpg(launcher.pid, number)
    assert said(launcher) == ["end", "finished 0 None"]


def test_a_job_that_outlives_its_script_ignores_nothing_on_its_behalf(tmp_path: Path) -> None:
    launcher = started(tmp_path, WAITS, "one-of-a-job")
    launcher.send_signal(signal.SIGTERM)
    assert said(launcher) == ["interrupted None SIGTERM"]


@pytest.mark.parametrize("is_handled", [True, False])
def test_a_watched_script_is_passed_what_asks_for_a_recording_only_if_it_takes_it(
    is_handled: bool, tmp_path: Path
) -> None:
    launcher = started(tmp_path, handles(signal.SIGUSR1) if is_handled else WAITS, "watched")
    launcher.send_signal(signal.SIGUSR1)
    assert said(launcher) == [*(["it came", "saved"] if is_handled else []), "end", "finished 0 None"]

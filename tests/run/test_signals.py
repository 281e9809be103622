"""Signals and ends of the process that are the script's, in small programs without torch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ran(program: str, code: int = 0) -> str:
    """What it prints, into a pipe."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=buffered, check=False)
    assert (ended.stderr, ended.returncode) == ("", code)
    return ended.stdout


def test_a_script_may_wait_for_all_other_threads() -> None:
    program = """
import signal, threading
from diagnose.run.child.sigterm import Termination
Termination(lambda: None).install()
print(signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL, len(threading.enumerate()))
"""
    assert ran(program) == "True 1\n"


@pytest.mark.parametrize(
    ("name", "ours"),
    [("SIGTERM", "sigterm import Termination"), ("SIGUSR1", "watching.snap_signal import SnapSignal")],
)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel tells of no handlers")
def test_a_handler_that_python_does_not_know_of_stays(name: str, ours: str) -> None:
    """`faulthandler` writes the traceback, and the process then dies of the signal."""
    program = f"""
import faulthandler, os, signal, sys
from diagnose.run.child.{ours} as Ours
faulthandler.register(signal.{name}, file=sys.stdout, chain=True)
Ours(lambda *_: print("ours", flush=True)).install()
os.kill(os.getpid(), signal.{name})
"""
    assert "most recent call first" in ran(program, -getattr(signal, name))


@pytest.mark.skipif(not hasattr(signal, "SIGCHLD"), reason="no fork")
def test_a_forked_child_that_leaves_at_once_prints_nothing_of_its_parents() -> None:
    program = """
import os
from diagnose.run.child.exit_hooks import call_at_every_end
call_at_every_end(lambda: None)
print("once")
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
"""
    assert ran(program) == "once\n"

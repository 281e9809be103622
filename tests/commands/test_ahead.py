"""What a report needs is imported while the script starts."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from diagnose.commands import ahead

PROGRAM = """
import sys, time
from diagnose.commands.ahead import AFTER_S, MODULES, imported_ahead
with imported_ahead():
    time.sleep({} * AFTER_S)
print(*[module for module in MODULES if module in sys.modules])
"""


def imported_after(parts: float) -> list[str]:
    """By a run of so many times the delay."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(parts)], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def test_everything_is_there_when_the_run_has_ended() -> None:
    assert imported_after(1.5) == list(ahead.MODULES)


def test_a_run_that_ends_at_once_waits_for_nothing() -> None:
    assert imported_after(0) == []


def test_what_cannot_be_imported_is_no_error_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ahead, "MODULES", ("no_such_module", "json"))
    monkeypatch.setattr(ahead, "AFTER_S", 0)
    before = threading.active_count()
    with ahead.imported_ahead():
        time.sleep(0.1)
    assert capfd.readouterr() == ("", "") and threading.active_count() == before

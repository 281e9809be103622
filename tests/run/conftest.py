"""Fixtures that record the scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target

from .running import SCRIPTS, Recorded, processes_of


@pytest.fixture
def no_process_left(tmp_path: Path) -> Iterator[None]:
    yield
    deadline = time.monotonic() + 5  # a resource tracker of the script's own needs a moment
    while (left := processes_of(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


@pytest.fixture
def run_script(tmp_path: Path, capfd: pytest.CaptureFixture[str], no_process_left: None) -> Callable[..., Recorded]:
    """`run_script(name, *args, module=False, steps=4, …)` records one of the scripts."""

    def run(name: str, *args: str, module: bool = False, steps: int = 4, **settings: Any) -> Recorded:
        target = Target(name if module else str(SCRIPTS / f"{name}.py"), module, args)
        folder = tmp_path / "run"
        capfd.readouterr()
        outcome = launch(target, Settings(steps=steps, **settings), folder)
        printed = capfd.readouterr()
        return Recorded(outcome, folder, printed.out, printed.err)

    return run

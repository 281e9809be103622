"""Fixtures that record the scripts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from diagnose.run.child.patching import Patches
from diagnose.run.launch import launch
from diagnose.run.settings import Settings, Target

from .running import SCRIPTS, Recorded, captured_descriptors, processes_of


def assert_no_process_left(folder: Path) -> None:
    deadline = time.monotonic() + 5  # a resource tracker of the script's own needs a moment
    while (left := processes_of(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine take any time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def no_process_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert_no_process_left(tmp_path)


@pytest.fixture(scope="session")
def recordings() -> dict[object, Recorded]:
    """What has been recorded: the same run serves several tests."""
    return {}


@pytest.fixture
def run_script(
    recordings: dict[object, Recorded], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Recorded]:
    """`run_script(name, *args, module=False, steps=4, …)` records one of the scripts, and
    sees that no process of it is left.
    """

    def run(name: str, *args: str, module: bool = False, steps: int = 4, **settings: Any) -> Recorded:
        key = (name, args, module, steps, tuple(settings.items()), os.getcwd(), os.environ.get("PYTHONPATH"))
        if key not in recordings:
            folder = tmp_path_factory.mktemp("recorded")
            target = Target(name if module else str(SCRIPTS / f"{name}.py"), module, args)
            with captured_descriptors(folder) as (stdout, stderr):
                outcome = launch(target, Settings(steps=steps, **settings), folder / "run")
            assert_no_process_left(folder)
            recordings[key] = Recorded(outcome, folder / "run", stdout.read_text(), stderr.read_text())
        return recordings[key]

    return run


@pytest.fixture(autouse=True)
def nothing_stays_replaced() -> Iterator[None]:
    """What a test leaves replaced, later ones of its process would run into. Without `monkeypatch`, which
    would be undone after what tests themselves undo.
    """
    made: list[Patches] = []
    original = Patches.__init__

    def __init__(patches: Patches) -> None:
        original(patches)
        made.append(patches)

    Patches.__init__ = __init__  # type: ignore[method-assign]
    yield
    Patches.__init__ = original  # type: ignore[method-assign]
    assert not any(made)

"""Trials with one thread, where other programs hold the cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from diagnose.run.child.facts.modes import Modes
from diagnose.run.child.one_core import alone_on_a_core
from diagnose.run.child.places import Places


@pytest.mark.parametrize(("load", "count"), [(1_000_000.0, 1), (0.0, 3)])
def test_threads_are_changed_on_a_busy_machine_and_nobody_is_taken_to_have_set_them(
    load: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    folder = str(Path(__file__).parent)
    modes = Modes(Places(folder, folder))
    modes.install()
    try:
        with alone_on_a_core():
            assert torch.get_num_threads() == count
        assert torch.get_num_threads() == 3 and not modes.has_switched("threads")
    finally:
        modes.remove()
        torch.set_num_threads(before)

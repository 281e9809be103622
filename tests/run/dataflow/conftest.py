"""For all looks at the dataflow."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def trials_with_one_thread(one_thread: None) -> None:
    """Many looks time what they see."""


@pytest.fixture(autouse=True)
def no_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the steps here may take as long as nobody waits for."""
    monkeypatch.setattr("diagnose.run.child.dataflow.dataflow._LONG_NS", 10**12)

"""For all trials of modules."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def trials_with_one_thread(one_thread: None) -> None:
    """Each is timed."""

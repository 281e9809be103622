"""The script's own profilers, beside ours and without it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import torch
from torch.autograd.profiler import emit_itt

from diagnose.run.child.recording.other_profilers import OtherProfilers


@pytest.fixture
def others() -> Iterator[OtherProfilers]:
    others = OtherProfilers(contextlib.nullcontext)
    others.install()
    yield others
    others.remove()


def test_names_for_another_tool_are_left_out_while_ours_records(others: OtherProfilers) -> None:
    """Torch refuses two profilers in one thread."""
    with torch.profiler.profile() as ours:
        others.ours_started(ours.profiler)
        with emit_itt() as emitting:
            torch.ones(3) + 1
        assert isinstance(emitting, emit_itt) and others.silenced == 1
        others.ours_stops()
    assert any(event.name == "aten::add" for event in ours.events())


def test_without_ours_they_are_there_and_noticed(others: OtherProfilers) -> None:
    assert not others.active
    with emit_itt():
        assert others.active and torch.autograd._profiler_enabled()
    assert not others.active and others.silenced == 0
    with emit_itt(enabled=False):
        assert not others.active

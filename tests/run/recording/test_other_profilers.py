"""The script's own profilers, beside ours and without it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

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


def test_what_could_not_record_has_one_event_that_says_so(others: OtherProfilers, tmp_path: Path) -> None:
    """Of no event scripts take the longest in vain: an error that is ours."""
    with torch.profiler.profile() as ours:
        others.ours_started(ours.profiler)
        with torch.profiler.profile(with_stack=True, record_shapes=True) as theirs:
            torch.ones(3) + 1
        others.ours_stops()
    longest = max(theirs.key_averages(), key=lambda event: event.self_cpu_time_total)
    assert "not recorded" in longest.key and longest.self_cpu_time_total == 1
    assert theirs.events()[0].name == longest.key
    assert theirs.profiler.self_cpu_time_total == 1
    assert longest.key[:20] in theirs.key_averages().table(sort_by="self_cpu_time_total")
    assert longest.key in str(theirs.key_averages(group_by_input_shape=True, group_by_stack_n=3))
    theirs.export_chrome_trace(str(tmp_path / "trace.json"))
    assert [event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]] == [
        longest.key
    ]


def test_without_ours_they_are_there_and_noticed(others: OtherProfilers) -> None:
    assert not others.active
    with emit_itt():
        assert others.active and torch.autograd._profiler_enabled()
    assert not others.active and others.silenced == 0
    with emit_itt(enabled=False):
        assert not others.active

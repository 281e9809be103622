"""The look at the dataflow does no harm, and ends in time."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch.overrides import _get_current_function_mode

from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places
from tests.run.dataflow.looking import HERE, looking, seen


def test_slow_steps_are_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnose.run.child.dataflow.dataflow._LONG_NS", 0)
    flow = Dataflow(Places(str(HERE), str(HERE)))
    assert flow.begin()
    assert [flow.step(), flow.step()] == [False, True]
    assert flow.facts is not None and flow.facts["unread"] == []


def test_errors_are_those_of_the_call_itself() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        seen(lambda: torch.mm(torch.zeros(2, 3), torch.zeros(2, 3)))


def test_a_mode_of_the_scripts_own_stays_on_top() -> None:
    flow = Dataflow(Places(str(HERE), str(HERE)))
    flow.begin()
    with torch.device("cpu"):
        assert [flow.step() for _ in range(6)] == [False] * 5 + [True]
        assert torch.zeros(2).sum() == 0  # ours is still there and does nothing
        assert not flow.facts["at_once"]
    flow.end()
    assert torch.overrides._get_current_function_mode() is None


def test_a_step_that_ends_inside_a_block_with_a_mode_is_left_alone() -> None:
    """Its end takes the topmost mode off, whosever that is."""
    flow = Dataflow(Places(str(HERE), str(HERE)))
    with torch.device("meta"):
        begun = flow.begin()
    assert torch.empty(1).device.type == "cpu" and not begun


def test_a_default_device_is_no_such_block() -> None:
    torch.set_default_device("cpu")
    try:
        flow = Dataflow(Places(str(HERE), str(HERE)))
        assert flow.begin()
        flow.end()
    finally:
        torch.set_default_device(None)
    assert _get_current_function_mode() is None


def test_a_call_that_is_over_holds_nothing_until_the_end_of_the_step() -> None:
    gone = []

    def forgets() -> None:
        class Held:
            pass

        held = Held()
        gone.append(weakref.ref(held))
        torch.rand(3) + 1

    def step() -> None:
        forgets()
        torch.rand(3) + 1  # the next call of torch
        gone.append(gone[0]())

    seen(step)
    assert gone[1] is None


def test_of_a_step_of_too_many_calls_the_first_ones_are_told_beside_the_time_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And nothing that the others may have read."""
    monkeypatch.setattr("diagnose.run.child.dataflow.dataflow._CALLS_AT_MOST", 3)
    network, rows = torch.nn.GRU(16, 8, batch_first=True, bidirectional=True), torch.rand(4, 30, 16)

    def step() -> None:
        outputs = network(rows)[0]
        torch.relu(outputs[:, -1])
        for _ in range(20):
            outputs.sum()

    flow = looking()
    step()
    assert flow.step() and flow.facts is not None
    assert flow.facts["calls_ns"] >= 20 * 10_000
    assert flow.facts["one_end"] == [] and "unread" not in flow.facts

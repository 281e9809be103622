"""What the look tries between the script's calls leaves these as they are."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from diagnose.run.child import guard
from tests.run.dataflow.looking import seen


def test_trials_within_a_checkpoint_are_no_part_of_it() -> None:
    """What they would save for their own backward is not there when the checkpoint computes its part again."""
    block = nn.Sequential(nn.Conv1d(8, 8, 3), nn.Tanh())
    signals = torch.randn(2, 8, 32)

    def step() -> None:
        checkpoint(block, signals, use_reentrant=False).sum().backward()

    step()
    expected = [parameter.grad.clone() for parameter in block.parameters() if parameter.grad is not None]
    block.zero_grad()
    assert len(seen(step)["signal_layout"]) == 1 and guard.notes() == []
    block.zero_grad()
    step()
    for parameter, gradient in zip(block.parameters(), expected, strict=True):
        assert parameter.grad is not None and torch.equal(parameter.grad, gradient)


def test_the_scripts_hooks_on_saved_tensors_see_none_of_ours() -> None:
    layer, signals, packed = nn.Conv1d(8, 8, 3), torch.randn(2, 8, 32), []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tensor)
        return tensor

    def step() -> None:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            layer(signals).sum().backward()

    step()
    alone = len(packed)
    assert len(seen(step)["signal_layout"]) == 1
    assert len(packed) == 2 * alone


@pytest.fixture(autouse=True)
def no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})

"""Which lines make what is trained on."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from tests.run.dataflow.looking import seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def generated(policy: nn.Module, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        chosen = policy(tokens).argmax(-1, keepdim=True)
    return torch.cat([tokens, chosen.float()], dim=1)


def test_a_rollout_is_trained_on_and_an_evaluation_is_not() -> None:
    policy, kept = nn.Linear(8, 8), torch.zeros(4, 8)

    def step() -> None:
        rollout = generated(policy, torch.rand(4, 8))
        kept[:] = generated(policy, torch.rand(4, 8))[:, 1:]
        shown = generated(policy, torch.rand(4, 8))
        loss = policy(rollout[:, 1:]).sum() + policy(kept).sum()
        loss.backward()
        float(shown.sum())

    told = {LINES[place["line"] - 1].strip() for place in seen(step)["trained_on"]}
    assert "rollout = generated(policy, torch.rand(4, 8))" in told
    assert "chosen = policy(tokens).argmax(-1, keepdim=True)" in told
    assert "shown = generated(policy, torch.rand(4, 8))" not in told

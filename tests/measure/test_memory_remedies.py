"""What would lower the peak, held against the peak when it is done."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from diagnose.measure.memory_peak import MemoryLook
from diagnose.measure.memory_remedies import Remedy, checkpointing, remedies
from tests.memory_looks import looked_at


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self, width: int, count: int, checkpointed: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(count))
        self.checkpointed = checkpointed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False) if number < self.checkpointed else block(x)
        return x


def _look(
    *,
    batch: int,
    blocks: int = 8,
    checkpointed: int = 0,
    fused: bool = False,
    zero_first: bool = False,
    half: bool = False,
    state: bool = True,
) -> MemoryLook:
    torch.manual_seed(0)
    net = Net(64, blocks, checkpointed)
    optimizer = (
        torch.optim.Adam(net.parameters(), fused=fused)
        if state
        else torch.optim.SGD(net.parameters(), lr=1e-3)
    )

    def step() -> None:
        x = torch.randn(batch, 64)
        if zero_first:
            optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = net(x).square().mean()
        if not zero_first:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return looked_at(step)


def seen(**how: Any) -> tuple[int, dict[str, Remedy]]:
    """The peak of tensors, and the remedies by name: of those of one name the one that frees most."""
    of_net = _look(**how)
    return of_net.peaks[0].tensors, {one.name: one for one in reversed(remedies(of_net, "cpu"))}


def test_checkpoints_of_blocks() -> None:
    _, found = seen(batch=2048)
    peak, _ = seen(batch=2048, checkpointed=8)
    assert found["checkpoint"].what == "blocks.0 … (8 blocks)" and found["checkpoint"].forwards == 1
    assert found["checkpoint"].peak_bytes == pytest.approx(peak, rel=0.1)


@pytest.mark.long
def test_checkpoints_of_half_the_blocks() -> None:
    """Alike in size, the first four are as good as any."""
    look = _look(batch=2048)
    (half,) = [one for one in remedies(look, "cpu") if one.what == "blocks.0 … (4 of 8 blocks)"]
    peak, _ = seen(batch=2048, checkpointed=4)
    assert half.peak_bytes == pytest.approx(peak, rel=0.1)
    assert half.forwards == 0.5


def test_the_fewest_blocks_for_a_limit() -> None:
    """What a count of blocks needs is that count's peak, and a byte less needs one block more."""
    found = checkpointing(_look(batch=2048), "cpu")
    assert sorted(found.blocks) == [f"blocks.{number}" for number in range(8)]
    as_it_is, all_of_them = found.peak_bytes(0), found.peak_bytes(8)
    assert found.fewest(as_it_is) == 0
    assert found.fewest(found.peak_bytes(3)) == 3 and found.fewest(found.peak_bytes(3) - 1) == 4
    assert found.fewest(all_of_them - 1) is None
    kept = (
        2048 * (4 * 64) * 4 * 1
    )  # of a block: the relu's output; what it is given belongs to the one before
    assert [found.bytes_of(block) for block in found.blocks] == pytest.approx([kept] * 8, rel=0.3)


def test_a_fused_optimizer() -> None:
    _, found = seen(batch=8, blocks=1)
    peak, _ = seen(batch=8, blocks=1, fused=True)
    assert found["fused"].peak_bytes == pytest.approx(peak, rel=0.1)


def test_gradients_cleared_before_the_forward() -> None:
    _, found = seen(batch=256, state=False)
    peak, _ = seen(batch=256, state=False, zero_first=True)
    assert found["zero_grad_first"].peak_bytes == pytest.approx(peak, rel=0.05)
    _, without = seen(batch=256, state=False, zero_first=True)
    assert "zero_grad_first" not in without


def test_autocast() -> None:
    _, found = seen(batch=2048)
    peak, _ = seen(batch=2048, half=True)
    assert found["autocast"].peak_bytes == pytest.approx(peak, rel=0.25)


def test_nothing_is_offered_that_frees_little() -> None:
    _, found = seen(batch=8, fused=True, zero_first=True)
    assert set(found) == {"eight_bits"}


def test_of_memory_that_ran_out_nothing_can_be_replayed() -> None:
    look = _look(batch=256)
    look.ran_out = True
    assert remedies(look, "cpu") == []

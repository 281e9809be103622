"""1-D convolutions, tried as images of height 1 with the channels last."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.products import signal_layout
from diagnose.run.child.products.convolution import convolution_of
from diagnose.run.child.products.signal_layout import left_with_channels_last
from tests.run.dataflow.looking import seen, text_of


def network(layers: int, **options: Any) -> nn.Sequential:
    return nn.Sequential(*(nn.Conv1d(32, 32, 3, padding="same", **options) for _ in range(layers)))


def layouts(net: nn.Module, signals: Tensor) -> list[dict[str, Any]]:
    def step() -> None:
        net(signals).sum().backward()

    step()
    return seen(step)["signal_layout"]


def test_a_network_of_several_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the layout gains is another on each processor: 0.5 to 0.85 was left here, and all of it elsewhere."""
    monkeypatch.setattr(signal_layout, "share_left", lambda *ways, is_trained: 0.6)
    (told,) = layouts(network(4, dilation=2), torch.rand(16, 32, 256))
    assert (text_of(told), told["call_count"]) == ("net(signals).sum().backward()", 4)
    assert told["left_ns"] == pytest.approx(0.6 * told["ns"])


def test_layers_of_each_dilation_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the layout gains depends on it: of those with none 0.98 may be left, of others 0.5. Five layers of
    three kinds: 1, 1, 2, 4, 4.
    """
    shares = iter([0.9, 0.5, 0.1])
    monkeypatch.setattr(signal_layout, "share_left", lambda *ways, is_trained: next(shares))
    net = nn.Sequential(*(nn.Conv1d(8, 8, 3, padding="same", dilation=d) for d in (1, 1, 2, 4, 4)))
    (told,) = layouts(net, torch.rand(2, 8, 64, requires_grad=True))
    assert told["call_count"] == 5
    assert told["left_ns"] == pytest.approx((0.9 * 2 + 0.5 + 0.1 * 2) / 5 * told["ns"])


@pytest.mark.parametrize(("net", "channels"), [(network(4, groups=4), 32), (nn.Conv1d(1, 32, 3), 1)])
def test_groups_or_one_channel_are_left_alone(net: nn.Module, channels: int) -> None:
    assert layouts(net, torch.rand(4, channels, 64)) == []


@pytest.mark.parametrize("padding", [2, "same", "valid"])
@pytest.mark.parametrize("bias", [True, False])
def test_both_ways_give_the_same(padding: Any, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[Tensor] = []

    def shares(*ways: Any, is_trained: bool) -> float:
        results.extend(way(*given) for way, given in ways)
        return 0.5

    monkeypatch.setattr(signal_layout, "share_left", shares)
    signal, kernel, biases = torch.rand(2, 3, 20), torch.rand(4, 3, 5), torch.rand(4) if bias else None
    convolution = convolution_of("conv1d", (signal, kernel, biases), {"padding": padding, "dilation": 2})
    assert convolution is not None
    assert left_with_channels_last(convolution, 1, is_trained=False) == 0.5
    torch.testing.assert_close(results[1].squeeze(2), results[0])

"""What a forward without gradients takes of the training's, whose graph the backward follows.

    python -m benchmarks forward-alone

ms of the shortest of several timings each, by threads, on the CPU. An evaluation's model is in evaluation
mode, as it would be: torch then has a faster path for transformer encoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.two_ways import Case, compare

ROWS = 32


def models() -> Iterator[tuple[str, nn.Module, Tensor]]:
    """Each with a batch."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    yield "transformer encoder", nn.TransformerEncoder(layer, 3), torch.randn(ROWS, 64, 128)
    perceptron = [nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    yield "perceptron", nn.Sequential(*perceptron), torch.randn(256, 512)
    blocks = [
        module
        for channels in (3, 32, 32)
        for module in (nn.Conv2d(channels, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
    ]
    yield "convolutions", nn.Sequential(*blocks), torch.randn(ROWS, 3, 32, 32)
    yield "LSTM", nn.LSTM(64, 128, batch_first=True), torch.randn(ROWS, 50, 64)


def trained(model: nn.Module, batch: Tensor) -> None:
    """With a graph for gradients, without the backward."""
    model.train()(batch)


def evaluated(model: nn.Module, batch: Tensor) -> None:
    model.eval()
    with torch.no_grad():
        model(batch)


def cases() -> Iterator[Case]:
    for name, model, batch in models():
        yield Case((name,), partial(trained, model, batch), partial(evaluated, model, batch))


def main(arguments: Sequence[str]) -> int:
    return compare("forward-alone", __doc__, arguments, ["", "training ms", "evaluation ms"], cases)

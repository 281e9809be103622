"""Memory of other batch sizes, from looks at two: by hand, and held against looks at more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from diagnose.errors import DiagnoseError
from diagnose.measure.memory_peak import MemoryLook as Seen
from diagnose.predict.batch_size import BatchModel, Sized
from tests.memory_looks import looked_at


def by_hand(batch: int, *more: list[int]) -> Sized:
    """Two steps that each make 100 + 8 a sample and 20 a sample, and then let both go; 1,000 were there, and
    4 a sample of the step before, which go when the first is made.
    """
    steps = [
        [100 + 8 * batch, 0, 3, 1, 0],
        [20 * batch, 1, 4, 2, 0],
        [100 + 8 * batch, 6, 8, 1, 0],
        [20 * batch, 7, 9, 2, 0],
    ]
    told = {
        "devices": ["cpu"],
        "origins": [{"part": part} for part in ("parameters", "forward", "backward", "before")],
        "storages": [[1000, -1, -1, 0, 0], [4 * batch, -1, 2, 3, 0], *steps, *more],
        "step_ends": [5, 10],
    }
    return Sized(batch, Seen(told))


@pytest.mark.parametrize("batch", [1, 4, 8, 16, 100])
def test_the_peak_by_hand(batch: int) -> None:
    model = BatchModel(by_hand(16), by_hand(8), "cpu")
    assert model.peak_bytes(batch) == 1000 + 100 + 32 * batch
    assert by_hand(batch).memory.peaks[0].tensors == 1000 + 100 + 32 * batch


def test_the_largest_that_fits() -> None:
    model = BatchModel(by_hand(16), by_hand(8), "cpu")
    assert model.largest(1100 + 32 * 50) == 50 and model.largest(1100 + 32 * 50 - 1) == 49
    assert model.largest(1131) is None
    assert model.is_far(65) and not model.is_far(64) and not model.is_far(2) and model.is_far(1)


def test_other_tensors_are_refused() -> None:
    with pytest.raises(DiagnoseError, match="make other tensors"):
        BatchModel(by_hand(16), by_hand(8, [4, 5, -1, 1, 0]), "cpu")
    with pytest.raises(DiagnoseError, match="two batch sizes"):
        BatchModel(by_hand(16), by_hand(16), "cpu")


class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> Any:
        return self.out(self.lstm(x)[0][:, -1])


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(100, 512), nn.ReLU(), nn.Linear(512, 10)), (100,)),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(3600, 10),
        ),
        (3, 32, 32),
    ),
    "lstm": (Last, (20, 32)),
    "transformer": (
        lambda: nn.Sequential(
            nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), nn.Flatten(), nn.Linear(640, 10)
        ),
        (20, 32),
    ),
}


def seen(name: str, batch: int) -> Sized:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        x, y = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return Sized(batch, looked_at(step))


@pytest.mark.parametrize(
    "name", ["cnn", *(pytest.param(name, marks=pytest.mark.long) for name in ("transformer", "mlp", "lstm"))]
)
def test_four_batch_sizes_of_four_models(name: str) -> None:
    model = BatchModel(seen(name, 16), seen(name, 8), "cpu")
    for batch in (12, 24, 64, 128):
        (measured,) = seen(name, batch).memory.peaks
        assert model.peak_bytes(batch) == pytest.approx(measured.tensors, rel=0.03)

"""Three small scripts, of classes that do not take it kindly to be looked at. Each returns what must be the same without us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Hostile:
    """Raises what no `getattr` with a default expects, for every attribute it does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # torch itself asks for these
            raise AttributeError(name)
        raise RuntimeError(f"{type(self).__name__} does not like to be asked for {name}")


class Items(Hostile, Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((8,), float(index))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(24, 1))

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise RuntimeError(f"no {name}") from None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x[:, None, :])  # type: ignore[no-any-return]


def trained() -> list[float]:
    """Two epochs, the second with validation, and a scalar read in every step."""
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)
    loader = DataLoader(Items(), batch_size=4, shuffle=True)
    losses = []
    for _ in range(2):
        for x in loader:
            optimizer.zero_grad(set_to_none=False)
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def adversarial() -> list[float]:
    """Two optimizers in turn, anomaly detection, a scaler, a tensor that is moved again and again."""
    torch.manual_seed(0)
    models = [nn.Linear(8, 8), nn.Linear(8, 1)]
    optimizers = [torch.optim.Adam(model.parameters()) for model in models]
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    kept, losses = torch.ones(8), []
    for (x,) in DataLoader(TensorDataset(torch.randn(120, 8)), batch_size=3):
        for optimizer in optimizers:
            loss = (models[1](models[0](x)) * kept.double().float()).square().mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(float(loss.detach()))
    return losses


def inferred() -> list[float]:
    """Forwards only."""
    torch.manual_seed(0)
    model = Net().eval()
    with torch.no_grad():
        return [float(model(torch.full((4, 8), float(number))).sum()) for number in range(40)]


SCRIPTS: dict[str, Callable[[], list[float]]] = {
    "trained": trained,
    "adversarial": adversarial,
    "inferred": inferred,
}

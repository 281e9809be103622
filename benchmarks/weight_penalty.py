"""What a penalty on the weights takes in the loss, beside the optimizer's weight decay.

    python -m benchmarks weight-penalty

ms of the shortest of several timings of a whole step (forward, backward, Adam) each, by threads, model and
batch size, on the CPU: `loss + 1e-4 * sum(p.square().sum() for p in model.parameters())`, and
`Adam(…, weight_decay=2e-4)`. `none` is a step without any penalty, in place of the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from benchmarks.two_ways import Case, compare

LAYERS = (64, 256, 1024)  # wide
TABLES, ROWS, WIDTH = 26, 2_000, 8


class Tables(nn.Module):
    """Many small tables, of which a batch reads little."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(ROWS, WIDTH) for _ in range(TABLES))
        self.out = nn.Linear(TABLES * WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        rows = [table(column) for table, column in zip(self.tables, x.T, strict=True)]
        out: Tensor = self.out(torch.cat(rows, -1))
        return out


def layered(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
    )


def step_of(model: nn.Module, x: Tensor, decay: float, penalty: float) -> Callable[[], object]:
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=decay)

    def step() -> None:
        loss = model(x).square().mean()
        if penalty:
            loss = loss + penalty * sum(weight.square().sum() for weight in model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def cases() -> Iterator[Case]:
    models = [(f"3 layers of {width}", layered(width), torch.randn(512, width)) for width in LAYERS]
    models.append((f"{TABLES} tables", Tables(), torch.randint(ROWS, (512, TABLES))))
    for name, model, inputs in models:
        for rows in (32, 512):
            in_loss = step_of(model, inputs[:rows], 0.0, 1e-4)
            for fix, decay in (("weight decay", 2e-4), ("none", 0.0)):
                yield Case((name, rows, fix), in_loss, step_of(model, inputs[:rows], decay, 0.0))


def main(arguments: Sequence[str]) -> int:
    columns = ("model", "rows", "second", "in the loss ms", "second ms")
    return compare("weight-penalty", __doc__, arguments, columns, cases)

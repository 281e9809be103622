"""What the tests of fixes in a run share: a model, a training loop, a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from diagnose.fixes.all import for_child
from diagnose.run.child.interventions import Intervention
from tests.run.running import SCRIPTS

ROOT = str(Path(__file__).parents[3])
Apply = Callable[..., Intervention]


def here() -> int:
    """The line after the one that calls."""
    frame = sys._getframe(1)
    return frame.f_lineno + 1


class Net(nn.Module):
    """A linear layer of a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(inputs)))


def losses(
    model: Callable[[], nn.Module] = Net,
    make: Callable[..., torch.optim.Optimizer] = torch.optim.SGD,
    steps: int = 5,
    after_backward: Callable[[nn.Module], object] = lambda model: None,
    **arguments: Any,
) -> list[float]:
    """Of a small training loop that is always the same."""
    torch.manual_seed(0)
    net = model()
    optimizer = make(net.parameters(), lr=0.1, **arguments)
    found = []
    for _ in range(steps):
        inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
        loss = F.mse_loss(net(inputs), targets)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        after_backward(net)
        optimizer.step()
        found.append(loss.item())
    return found


def run_fresh(
    script: str, *specs: dict[str, Any], environment: dict[str, str | None] | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The script's output, and (held, why_not) of each intervention, of a process of its own."""
    code = f"""
import json, runpy, sys
import torch
from diagnose.run.child.interventions import build
from diagnose.run.child.places import Places
from tests.run.running import SCRIPTS
found = build(json.loads(sys.argv[1]), Places({str(SCRIPTS)!r}, {str(SCRIPTS)!r}))
for each in found:
    each.install()
runpy.run_path({str(SCRIPTS / "interventions" / script)!r}) if {script!r} else None
print(json.dumps([[each.held, each.why_not] for each in found]))
"""
    variables = {**os.environ, "PYTHONPATH": ROOT, **(environment or {})}
    clean = {name: value for name, value in variables.items() if value is not None}
    command = [sys.executable, "-c", code, json.dumps([for_child(spec) for spec in specs])]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=clean)
    assert run.stderr == ""
    *output, told = run.stdout.splitlines()
    return "\n".join(output), json.loads(told)


def told(intervention: Intervention) -> tuple[int, str]:
    return intervention.held, intervention.why_not


class OnGpu(torch.Tensor):
    """One that says so."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.layouts: list[bool] = []

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        self.layouts.append(pictures.is_contiguous(memory_format=torch.channels_last))
        return self.norm(self.conv(pictures))


def with_statistics(model: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for _ in range(3):
        model(torch.randn(8, 3, 8, 8) * 3 + 1)
    return model.eval()

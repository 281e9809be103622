"""The fixture that puts a fix into this process, and takes it out again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from diagnose.fixes.all import for_child
from diagnose.run.child.interventions import Intervention, build
from diagnose.run.child.places import Places

from .trying import Apply

OWNERS = [
    *(
        nn.Module,
        nn.parallel.DistributedDataParallel,
        DataLoader,
        torch.utils.data.dataloader._MultiProcessingDataLoaderIter,
        torch.Tensor,
    ),
    *(
        torch.optim.Optimizer,
        torch.optim.Adam,
        torch.optim.AdamW,
        torch.optim.SGD,
        torch.optim.RMSprop,
        torch.amp.GradScaler,
    ),
    *(
        torch,
        torch.autograd,
        torch.autocast,
        torch.autograd.profiler.profile,
        torch.backends.cuda,
        torch.backends.ContextProp,
    ),
    *(nn.utils, nn.utils.clip_grad, type(os.environ)),
]
NAMES = {
    *(
        "__call__",
        "__init__",
        "_reset",
        "to",
        "cuda",
        "zero_grad",
        "backward",
        "grad",
        "step",
        "compile",
        "set_anomaly_enabled",
    ),
    *(
        "set_num_threads",
        "set_float32_matmul_precision",
        "__set__",
        "__setitem__",
        "enable_flash_sdp",
        "clip_grad_norm_",
        "_start_trace",
    ),
}


def attributes() -> dict[tuple[str, str], Any]:
    found = {(repr(owner), name): vars(owner)[name] for owner in OWNERS for name in NAMES & set(vars(owner))}
    found.pop((repr(nn.Module), "__init__"))  # torch's compiler replaces it
    return found


@pytest.fixture
def apply(request: pytest.FixtureRequest) -> Iterator[Apply]:
    """`apply(name, *lines, **arguments)` installs one, for these lines of this file only."""
    installed: list[Intervention] = []
    folder = str(request.path.parent)
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        make([nn.Parameter(torch.ones(1))])  # torch wraps `step` of each class once
    before = attributes()

    def install(name: str, *lines: int, **arguments: Any) -> Intervention:
        spec = {"name": name, "arguments": arguments, "sites": [[str(request.path), line] for line in lines]}
        (intervention,) = build([for_child(spec)], Places(folder, folder))
        intervention.install()
        installed.append(intervention)
        return intervention

    yield install
    for intervention in reversed(installed):
        intervention.remove()
    assert [name for name, value in attributes().items() if value is not before[name]] == []


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script has put one to use."""
    monkeypatch.setattr("diagnose.run.child.interventions.flags.kind_in_use", lambda: "cuda")


@pytest.fixture
def flags() -> Iterator[None]:
    before = torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()
    yield
    assert (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()) == before


@pytest.fixture
def compiler() -> Iterator[Any]:
    """Other tests are told that nothing is compiled."""
    import torch._dynamo

    yield torch._dynamo
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()

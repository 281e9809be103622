"""What models that are called under autocast take without it, on a copy of theirs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.trials import copies
from diagnose.run.child.trials.autocast_look import AutocastLook
from tests.run.trials.looking import looking_at

FORMATS: list[torch.dtype] = []


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        FORMATS.append(y.dtype)
        return y


def told_of(model: nn.Module, *, enabled: bool, dtype: torch.dtype = torch.bfloat16) -> list[dict[str, Any]]:
    look = looking_at(AutocastLook, model)
    assert look.begin()
    for _ in range(2):
        with torch.autocast("cpu", dtype=dtype, enabled=enabled):
            loss = model(torch.randn(8, 16)).sum()
        loss.backward()
    FORMATS.clear()
    assert look.step()
    look.end()
    assert look.facts is not None
    return look.facts


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_copy_is_called_in_both_formats(dtype: torch.dtype) -> None:
    (told,) = told_of(Model(), enabled=True, dtype=dtype)
    assert told["call_count"] == 2 and told["function"] == "told_of"
    assert len(told["as_is_ms"]) == len(told["changed_ms"]) >= 5
    assert set(FORMATS) == {dtype, torch.float32}
    assert FORMATS.count(dtype) == FORMATS.count(torch.float32)


def test_without_autocast_nothing_is_tried() -> None:
    assert told_of(Model(), enabled=False) == [] and not FORMATS


def test_a_large_model_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()  # 68 numbers of 4 bytes
    monkeypatch.setattr(copies, "_BYTES_AT_MOST", 271)
    assert not looking_at(AutocastLook, model).begin()
    monkeypatch.setattr(copies, "_BYTES_AT_MOST", 272)
    look = looking_at(AutocastLook, model)
    assert look.begin()
    look.end()


def test_the_script_goes_on_as_if_nothing_had_been() -> None:
    model = Model()
    look, random = looking_at(AutocastLook, model), torch.get_rng_state()
    assert look.begin()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.ones(8, 16)).sum().backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    look.step()
    assert look.facts and torch.equal(torch.get_rng_state(), random)
    assert not torch.is_autocast_enabled("cpu")
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert parameter.grad is not None and torch.equal(parameter.grad, gradient)

"""What models of 64-bit floats take in 32 bits, on a copy of theirs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from diagnose.run.child.trials.precision_look import PrecisionLook
from tests.run.trials.looking import looking_at

FORMATS: list[torch.dtype] = []


class Model(nn.Module):
    """A weight of one's own stands beside the layer's: a plain attribute where `is_part` is false."""

    def __init__(self, *, is_part: bool = True) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16).double()
        own = torch.eye(16, dtype=torch.float64)
        self.own = nn.Parameter(own) if is_part else own

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x) @ self.own
        FORMATS.append(y.dtype)
        return y


def told_of(model: nn.Module, x: Tensor) -> list[dict[str, Any]]:
    look = looking_at(PrecisionLook, model)
    assert look.begin()
    for _ in range(2):
        model(x).sum().backward()
    FORMATS.clear()
    assert look.step()
    look.end()
    assert look.facts is not None
    return look.facts


def test_a_copy_is_called_in_both_formats_and_the_model_stays() -> None:
    model, random = Model(), torch.get_rng_state()
    (told,) = told_of(model, torch.ones(8, 16, dtype=torch.float64))
    assert told["call_count"] == 2 and told["function"] == "told_of"
    assert len(told["as_is_ms"]) == len(told["changed_ms"]) >= 5
    assert set(FORMATS) == {torch.float64, torch.float32}
    assert FORMATS.count(torch.float64) == FORMATS.count(torch.float32)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}
    assert torch.get_default_dtype() == torch.float32 and torch.equal(torch.get_rng_state(), random)


def test_a_model_that_holds_other_doubles_is_not_told() -> None:
    assert told_of(Model(is_part=False), torch.ones(8, 16, dtype=torch.float64)) == []


def test_a_model_of_32_bits_is_not_looked_at() -> None:
    assert not looking_at(PrecisionLook, nn.Linear(16, 16)).begin()

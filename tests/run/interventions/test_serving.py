"""Models that only answer, in another form: it holds where the answers stay, and else the model itself answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from .trying import Apply, told


def answers(model: nn.Module, calls: int, shape: tuple[int, ...] = (4, 64)) -> list[Any]:
    torch.manual_seed(1)
    with torch.no_grad():
        return [model(torch.randn(shape)) for _ in range(calls)]


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).eval()


@pytest.mark.parametrize(
    ("name", "tolerance"), [("quantize", 0.05), ("torchscript", 1e-5), ("onnxruntime", 1e-5)]
)
def test_another_form_answers_from_the_fifth_call_on(name: str, tolerance: float, apply: Apply) -> None:
    if name == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = layers()
    own = answers(model, 7)
    other_form = apply(name)
    its = answers(model, 7)
    assert told(other_form) == (3, "")  # two are left alone, two are answered by both
    assert all(torch.equal(mine, other) for mine, other in zip(own[:4], its[:4], strict=True))
    for mine, other in zip(own[4:], its[4:], strict=True):
        assert torch.allclose(mine, other, atol=tolerance * mine.abs().max().item())
    assert isinstance(model[0], nn.Linear)  # the model itself stays as it is


def test_other_shapes_are_answered_by_the_model(apply: Apply) -> None:
    model = layers()
    script = apply("torchscript")
    answers(model, 5)
    assert script.held == 1
    answers(model, 3, (2, 64))
    assert script.held == 1


def test_a_model_that_goes_another_way_each_time(apply: Apply) -> None:
    """Tracing keeps the way of one call; the next shows it."""

    class Alternating(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.calls = nn.Linear(64, 8), 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return self.linear(x) * (2 if self.calls % 2 else -1)

    script = apply("torchscript")
    answers(Alternating().eval(), 6)
    assert (script.held, script.why_not) == (
        0,
        "Its answers are off by more than 1% of their largest number.",
    )


def test_what_has_nothing_to_quantize(apply: Apply) -> None:
    quantized = apply("quantize")
    answers(nn.Sequential(nn.Conv1d(4, 4, 3)).eval(), 4)
    assert (quantized.held, "no linear" in quantized.why_not) == (0, True)


def test_training_ends_it(apply: Apply) -> None:
    model = layers()
    script = apply("torchscript")
    answers(model, 6)
    torch.optim.SGD(model.parameters(), lr=0.1)
    assert told(script) == (0, "The script makes an optimizer: it trains.")
    plain = layers()
    assert torch.equal(answers(model, 1)[0], answers(plain, 1)[0])


@dataclass
class Answer:
    scores: torch.Tensor


class Answering(nn.Module):
    """Returns a dataclass, and refuses one of its calls."""

    def __init__(self, refused: int = 0) -> None:
        super().__init__()
        self.linear, self.refused, self.calls = nn.Linear(64, 8), refused, 0

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        if self.calls == self.refused:
            raise ValueError("the script's own")
        return Answer(self.linear(x))


def test_answers_in_a_dataclass_are_held_against_each_other(apply: Apply, monkeypatch: Any) -> None:
    quantized = apply("quantize")
    monkeypatch.setattr(quantized, "tolerance", 1e-9)
    answers(Answering().eval(), 5)
    assert (quantized.held, "are off by more" in quantized.why_not) == (0, True)


def test_answers_in_which_nothing_is_found_are_not_taken_for_alike(apply: Apply) -> None:
    class Silent(Answering):
        def forward(self, x: torch.Tensor) -> None:
            self.linear(x)

    quantized = apply("quantize")
    answers(Silent().eval(), 6)
    assert quantized.held == 0


def test_what_the_script_raises_reaches_it_and_its_call_is_made_once(apply: Apply) -> None:
    """The fourth call is answered by both."""
    model = Answering(refused=4).eval()
    apply("quantize")
    answers(model, 3)
    with pytest.raises(ValueError, match="own"):
        answers(model, 1)
    assert model.calls == 4


def test_the_model_s_own_answers_ask_for_gradients_as_they_did(apply: Apply) -> None:
    model = layers()
    script = apply("torchscript")
    shapes = (4, 4, 4, 4, 5)  # the third is traced, the fifth is of another shape
    assert all(model(torch.randn(rows, 64)).requires_grad for rows in shapes)
    assert script.why_not or script.held == 0

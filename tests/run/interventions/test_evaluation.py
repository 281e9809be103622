"""Inference mode, and norms folded into convolutions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from .trying import Apply, Net, Pictures, losses, told, with_statistics


def test_models_are_called_in_inference_mode(apply: Apply) -> None:
    torch.manual_seed(0)
    model, inputs = Net().eval(), torch.randn(2, 4)
    plain = model(inputs)
    inferring = apply("inference_mode")
    results = [model(inputs) for _ in range(5)]
    assert [result.is_inference() for result in results] == [False, False, True, True, True]
    assert all(torch.equal(result, plain) for result in results)
    assert told(inferring) == (3, "")


def test_a_backward_or_an_optimizer_ends_inference_mode(apply: Apply) -> None:
    model, inputs = Net(), torch.randn(2, 4)
    inferring = apply("inference_mode")
    for _ in range(3):
        model(inputs).sum()
    assert inferring.held == 1
    nn.Linear(1, 1).weight.sum().backward()
    assert told(inferring) == (0, "The script calls backward.")
    assert model(inputs).requires_grad
    again = apply("inference_mode")
    assert losses(steps=1)
    assert told(again) == (0, "The script makes an optimizer: it trains.")


def test_what_asks_for_its_gradient_is_given_one(apply: Apply) -> None:
    model, inputs = Net(), torch.randn(2, 4, requires_grad=True)
    inferring = apply("inference_mode")
    for _ in range(4):
        assert model(inputs).requires_grad
    assert (inferring.held, "gradient" in inferring.why_not) == (0, True)


class Residual(nn.Module):
    """The output of the convolution goes to the norm and elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        convolved = self.conv(pictures)
        return convolved + self.norm(convolved)


def test_norms_are_folded_at_the_second_call_in_evaluation(apply: Apply) -> None:
    model: Any = with_statistics(nn.Sequential(Pictures(), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)))
    pictures, before = torch.randn(2, 3, 8, 8), dict(model.named_modules())
    plain = model(pictures)
    folding = apply("fold_conv_norm")
    model.train()(pictures)
    model.load_state_dict(with_statistics(model).state_dict())
    plain = model(pictures)
    assert folding.held == 0
    assert torch.allclose(model(pictures), plain, atol=1e-5)
    assert told(folding) == (2, "")
    assert isinstance(model[0].norm, nn.Identity)
    assert torch.allclose(model(pictures), plain, atol=1e-5)
    model.train()(pictures)
    assert dict(model.named_modules()) == before
    assert told(folding) == (0, "The model goes back to training.")


def test_a_norm_whose_convolution_is_needed_elsewhere_stays(apply: Apply) -> None:
    model: Any = with_statistics(Residual())
    pictures = torch.randn(2, 3, 8, 8)
    plain = model(pictures)
    folding = apply("fold_conv_norm")
    assert all(torch.equal(model(pictures), plain) for _ in range(3))
    assert isinstance(model.norm, nn.BatchNorm2d)
    assert (folding.held, "goes elsewhere" in folding.why_not) == (0, True)


def test_an_optimizer_brings_folded_norms_back(apply: Apply) -> None:
    model: Any = with_statistics(Pictures())
    folding = apply("fold_conv_norm")
    for _ in range(2):
        model(torch.randn(2, 3, 8, 8))
    assert isinstance(model.norm, nn.Identity)
    torch.optim.SGD(model.parameters(), lr=0.1)
    assert isinstance(model.norm, nn.BatchNorm2d)
    assert folding.held == 0


@pytest.mark.parametrize(
    "computed", [nn.utils.weight_norm, nn.utils.spectral_norm, nn.utils.parametrizations.weight_norm]
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_convolution_whose_weight_is_computed_is_not_folded(apply: Apply, computed: Any) -> None:
    model: Any = with_statistics(nn.Sequential(computed(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4)))
    pictures = torch.randn(2, 3, 8, 8)
    plain, before = model(pictures), dict(model.named_modules())
    folding = apply("fold_conv_norm")
    assert all(torch.equal(model(pictures), plain) for _ in range(4))
    assert dict(model.named_modules()) == before
    assert (folding.held, "computed for each call" in folding.why_not) == (0, True)


def test_a_model_that_reads_its_norm_s_weight_works_on(apply: Apply) -> None:
    class Reading(Pictures):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return super().forward(pictures) * self.norm.weight.mean()

    model: Any = with_statistics(Reading())
    pictures = torch.randn(2, 3, 8, 8)
    plain = model(pictures)
    folding = apply("fold_conv_norm")
    assert all(torch.equal(model(pictures), plain) for _ in range(4))
    assert isinstance(model.norm, nn.BatchNorm2d)
    assert (folding.held, "does not work with its norms folded" in folding.why_not) == (0, True)

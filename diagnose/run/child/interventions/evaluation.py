"""For scripts that only evaluate: an optimizer or a backward ends these."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from .base import Sites
from .forwards import ForwardIntervention

_PATIENCE = 2  # calls of a model that are left alone: a backward may follow them


class EvaluationIntervention(ForwardIntervention):
    """Acts around the model until the script shows that it trains."""

    def install(self) -> None:
        super().install()
        makes_optimizer, calls_backward = (
            "The script makes an optimizer: it trains.",
            "The script calls backward.",
        )
        self.patches.replace(Optimizer, "__init__", self._ending(Optimizer.__init__, makes_optimizer))
        for name in ("backward", "grad"):
            self.patches.replace(
                torch.autograd, name, self._ending(getattr(torch.autograd, name), calls_backward)
            )

    def _ending(self, original: Callable[..., Any], why: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            self.refuse(why)
            return original(*args, **kwargs)

        return call


class InferenceMode(EvaluationIntervention):
    """Models are called under torch.inference_mode()."""

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._seen = 0

    def forward(
        self, module: nn.Module, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._seen += 1
        if torch.is_inference_mode_enabled():
            self.pass_over("It is already so.")
        elif any(
            isinstance(value, torch.Tensor) and value.requires_grad for value in (*args, *kwargs.values())
        ):
            self.pass_over("The model is given a tensor that asks for its gradient.")
        elif self._seen > _PATIENCE:
            self.count += 1
            with torch.inference_mode():
                return run(*args, **kwargs)
        return run(*args, **kwargs)

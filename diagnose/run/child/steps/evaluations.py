"""How often an optimizer evaluates the model within one of its steps.

Most do it once, if they are given a closure at all; SAM twice. LBFGS does it some twenty times, each with
other parameters: then an evaluation is what repeats, and a script may make very few steps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from ..guard import guarded

_MANY = 8  # in one step; fewer are a step of usual length


class Evaluations:
    """Is told of every outermost backward pass, and of every end of an optimizer's step."""

    def __init__(self) -> None:
        self.many = False  # an optimizer's step has made many
        self._hook: Any = None
        self._parameter: torch.Tensor | None = None  # of the optimizer whose step is open
        self._version = -1
        self._count = 0

    def install(self) -> None:
        self._hook = register_optimizer_step_pre_hook(self._step_begins)

    def remove(self) -> None:
        """Not while an optimizer's step begins."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        self._parameter = None

    @guarded("counting an optimizer's evaluations")
    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self._version, self._count = -1, 0
        try:
            self._parameter = next(
                param for group in optimizer.param_groups for param in group["params"] if param.requires_grad
            )
        except Exception:  # none, or an optimizer that keeps them in a form of its own
            self._parameter = None

    def step_ended(self) -> None:
        self._parameter = None

    def is_new(self) -> bool:
        """Whether the backward pass that has just ended is the first since the optimizer changed
        its parameters; any outside its steps.
        """
        parameter = self._parameter
        if parameter is None:
            return True
        try:
            before, self._version = self._version, parameter._version
        except RuntimeError:  # a tensor that counts no changes
            return True
        if before == self._version:
            return False
        self._count += 1
        self.many = self.many or self._count >= _MANY
        return True

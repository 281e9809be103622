"""What a script does with a GradScaler, done for it: half precision cannot hold small
gradients unless the loss is scaled.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import Optimizer

from ..inspection import in_backward
from ..patching import Patches


class _Ours(GradScaler):
    """To be told from the script's own."""


class LossScaling:
    """`backward` scales, and takes the scale out again of the gradients: the script, which may read, clip or
    add to them, sees its own. `step` is left out where they overflowed. A new scale comes with the next
    backward.
    """

    def __init__(self, refuse: Callable[[str], None]) -> None:
        self._refuse = refuse
        self._patches = Patches()
        self._scaler: _Ours | None = None  # until the first model is called: only then is the device known
        self._optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self._wrapped: set[type] = set()
        self._inside_step = False
        # by id, since the last update of the scale
        self._unscaled: set[int] = set()
        self._stepped: set[int] = set()

    def install(self) -> None:
        self._patches.replace(torch.autograd, "backward", self._scaling(torch.autograd.backward))
        self._patches.replace(Optimizer, "__init__", self._noticing_optimizer(Optimizer.__init__))
        self._patches.replace(GradScaler, "__init__", self._noticing_scaler(GradScaler.__init__))

    def remove(self) -> None:
        self.give_up()
        self._patches.restore()

    def begin(self, device: str) -> None:
        """The first forward in half precision has come."""
        if self._scaler is None:
            self._scaler = _Ours(device)

    def give_up(self) -> None:
        """No more scaling."""
        self._scaler = None

    def _scaling(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            scaler = self._scaler
            if scaler is None or in_backward():
                return original(tensors, *args, **kwargs)
            if self._stepped:
                scaler.update()
                self._stepped.clear()
                self._unscaled.clear()
            scaled, optimizers = scaler.scale(tensors), list(self._optimizers)
            for optimizer in optimizers:
                self._scale_again(scaler, optimizer)
            try:
                return original(scaled, *args, **kwargs)
            finally:
                for optimizer in optimizers:
                    self._unscale(scaler, optimizer)

        return backward

    def _scale_again(self, scaler: GradScaler, optimizer: Optimizer) -> None:
        """What is there already, to which the next backward adds."""
        gradients = [parameter.grad for parameter in _parameters(optimizer) if parameter.grad is not None]
        for device in {gradient.device for gradient in gradients}:
            scale = scaler.scale(torch.ones((), device=device))
            on_device = [gradient for gradient in gradients if gradient.device == device]
            with torch.no_grad():
                torch._foreach_mul_(on_device, scale)
        if id(optimizer) in self._unscaled:
            self._unscaled.discard(id(optimizer))
            scaler._per_optimizer_states.pop(id(optimizer), None)  # as which it may be unscaled once more

    def _noticing_optimizer(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(optimizer: Any, /, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._optimizers.add(optimizer)
            cls = type(optimizer)
            if cls not in self._wrapped:  # torch has put its own wrapper around the class's step by now
                self._wrapped.add(cls)
                self._patches.replace(cls, "step", self._stepping(cls.step))

        return __init__

    def _stepping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def step(optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
            if self._inside_step:
                return original(optimizer, *args, **kwargs)
            if any(
                value is not None for value in (*args, *kwargs.values())
            ):  # the first may come before the first forward
                self._refuse("An optimizer is given a closure, which a GradScaler cannot handle.")
            if self._scaler is None or id(optimizer) not in self._unscaled - self._stepped:
                return original(optimizer, *args, **kwargs)
            self._stepped.add(id(optimizer))
            self._inside_step = True
            try:
                return self._scaler.step(optimizer)
            finally:
                self._inside_step = False

        return step

    def _noticing_scaler(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(scaler: Any, *args: Any, **kwargs: Any) -> None:
            original(scaler, *args, **kwargs)
            if not isinstance(scaler, _Ours) and scaler.is_enabled():
                self._refuse("The script scales its losses already.")

        return __init__

    def _unscale(self, scaler: GradScaler, optimizer: Optimizer) -> None:
        if all(parameter.grad is None for parameter in _parameters(optimizer)):
            return
        with contextlib.suppress(Exception):  # gradients of kinds that cannot be unscaled
            scaler.unscale_(optimizer)
            self._unscaled.add(id(optimizer))


def _parameters(optimizer: Optimizer) -> Iterable[torch.Tensor]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])

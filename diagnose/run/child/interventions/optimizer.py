"""How the optimizers compute their step, and how gradients are reset."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from .base import Intervention, Sites
from .constructors import ConstructorIntervention


class ZeroGrad(Intervention):
    """`zero_grad(set_to_none=False)` sets to None all the same."""

    idle = "No call of zero_grad wrote zeros there."

    def install(self) -> None:
        for owner in (Optimizer, torch.nn.Module):
            self.patches.replace(owner, "zero_grad", self._to_none(owner.zero_grad))

    def _to_none(self, original: Callable[..., None]) -> Callable[..., None]:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(original)
        def zero_grad(owner: Any, /, *args: Any, **kwargs: Any) -> None:
            to_none = kwargs.get("set_to_none", args[0] if args else True)
            if to_none or is_compiling() or not self.sites.include(sys._getframe(1)):
                return original(owner, *args, **kwargs)
            self.count += 1
            return original(owner)

        return zero_grad


class OptimizerArguments(ConstructorIntervention):
    """`fused=True`, `foreach=True` or `foreach=False` for those of torch's optimizers that can."""

    idle = "No optimizer was made there."

    def __init__(self, sites: Sites, *, fused: bool = False, foreach: bool | None = None) -> None:
        self._how = "fused" if fused else "foreach"
        listed = {} if foreach is None else {"foreach": foreach}
        super().__init__(sites, {"fused": True} if fused else listed)
        self._made: weakref.WeakKeyDictionary[Optimizer, dict[str, Any]] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        for cls in _torch_optimizers():
            if self._how in inspect.signature(cls.__init__).parameters:
                self.patches.replace(cls, "__init__", self.rewriting(cls.__init__))
        self.patches.replace(Optimizer, "__init__", self._noticing(Optimizer.__init__))

    def remove(self) -> None:
        """Also from the groups, which are part of a state that is saved."""
        for optimizer, own in self._made.items():
            for group in optimizer.param_groups:
                group.update(own)
        super().remove()

    def reusable(self, arguments: dict[str, Any]) -> dict[str, Any]:
        parameters = arguments["params"]  # often an iterator; torch writes its defaults into the groups
        if isinstance(parameters, torch.Tensor):
            return {}
        return {"params": [_group(each) if isinstance(each, dict) else each for each in parameters]}

    def replacements(self, instance: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments.get("differentiable"):
            self.pass_over(f"A differentiable {type(instance).__name__} can be neither fused nor foreach.")
            return {}
        if self._how == "fused":
            other = {"foreach": None} if arguments.get("foreach") else {}
            changes = self.differing(arguments, self.wanted)
            return changes | other if changes else {}
        if arguments.get("fused"):
            self.pass_over("The optimizer is fused, which does more than foreach.")
            return {}
        if arguments["foreach"] is None and all(tensor.is_cuda for tensor in _tensors(arguments["params"])):
            self.pass_over("Nothing to change: on a GPU torch uses foreach by default.")
            return {}
        return self.differing(arguments, self.wanted)

    def constructed(self, instance: Any, replaced: dict[str, Any], own: dict[str, Any]) -> None:
        self._made[instance] = own
        if self._how == "fused":
            self._look_before_first_step(instance)

    def _look_before_first_step(self, optimizer: Optimizer) -> None:
        """Some of what a fused step cannot do shows only with the first gradients."""

        def look(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
            # torch is iterating over the hooks, so this one can be replaced but not taken out
            optimizer._optimizer_step_pre_hooks[handle.id] = _no_hook
            tensors = [tensor for group in optimizer.param_groups for tensor in group["params"]]
            if all(
                tensor.is_floating_point() and not (tensor.grad is not None and tensor.grad.is_sparse)
                for tensor in tensors
            ):
                return
            for group in optimizer.param_groups:
                group["fused"] = False
            optimizer._step_supports_amp_scaling = False  # type: ignore[attr-defined]
            self.count -= 1
            self.pass_over(
                f"A fused {type(optimizer).__name__} cannot handle sparse gradients or complex parameters."
            )

        handle = optimizer.register_step_pre_hook(look)

    def _noticing(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(optimizer: Any, /, *args: Any, **kwargs: Any) -> None:
            if not self.constructing and self.sites.include(sys._getframe(1)):
                self.pass_over(f"{type(optimizer).__name__} has no {self._how} implementation.")
            original(optimizer, *args, **kwargs)

        return __init__


def _torch_optimizers() -> list[type[Optimizer]]:
    found = [
        value
        for value in vars(torch.optim).values()
        if isinstance(value, type) and issubclass(value, Optimizer)
    ]
    return [cls for cls in found if cls is not Optimizer and "__init__" in vars(cls)]


def _group(group: dict[str, Any]) -> dict[str, Any]:
    parameters = group["params"]
    return group | {"params": parameters if isinstance(parameters, torch.Tensor) else list(parameters)}


def _tensors(parameters: Any) -> Iterator[torch.Tensor]:
    """Of every form that torch takes: tensors, groups, pairs with a name."""
    for each in [parameters] if isinstance(parameters, torch.Tensor) else parameters:
        if isinstance(each, dict):
            yield from _tensors(each["params"])
        else:
            yield each[1] if isinstance(each, tuple) else each


def _no_hook(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    return None

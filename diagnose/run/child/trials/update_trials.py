"""Tries other implementations of the update, of optimizers whose parameters lie on the processor: the fused
one, and where torch has none, lists of tensors (foreach) instead of a loop, or the loop instead of lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from .. import accelerator
from ..guard import guarded
from ..patching import Patches

_FUSED_ON_CPU = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad)


_WITH_LISTS = tuple(
    getattr(torch.optim, name)
    for name in ("Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")
    if hasattr(torch.optim, name)
)
_LISTED_BYTES_AT_MOST = 1 << 30  # lists of tensors are computed beside the parameters


class _Update:
    """The optimizers that step, with another implementation: another order of the same sums. Set for the
    length of an update whose gradients fit: between steps the script may save its optimizer.

    Its clock counts what updates take, and nothing else of a step: that varies by more than they gain.
    """

    name = ""

    def __init__(
        self, optimizers: Callable[[], Iterable[Optimizer]], place_for: Callable[[str], tuple[Any, str]]
    ) -> None:
        self._optimizers, self._place_for = optimizers, place_for
        self._groups: list[dict[str, Any]] = []
        self._as_they_are: list[tuple[dict[str, Any], dict[str, Any]]] = []  # groups with what they have set
        self._tried: dict[str, bool] = {}
        self._changed = False
        self._patches = Patches()
        self._hook: Any = None
        self._ns = 0
        self._began_ns: int | None = None

    def clock(self) -> int:
        return self._ns

    def value(self) -> bool | None:
        raise NotImplementedError

    def _groups_of(self, classes: tuple[type[Optimizer], ...]) -> list[dict[str, Any]]:
        """Those of the optimizers that step; one derived from these may read its groups otherwise."""
        return [
            group
            for optimizer in self._optimizers()
            if type(optimizer) in classes
            for group in optimizer.param_groups
            if _is_usual(group) and self.fits(optimizer, group)
        ]

    def fits(self, optimizer: Optimizer, group: dict[str, Any]) -> bool:
        """Whether these gradients may be updated so: those of another step may be others."""
        trained = [parameter for parameter in group["params"] if parameter.grad is not None]
        return bool(trained) and all(
            _is_plain(parameter, optimizer.state.get(parameter, {})) for parameter in trained
        )

    def begin(self) -> None:
        self._hook = register_optimizer_step_pre_hook(self._update_begins)
        owner, name = self._place_for("step_ended")
        self._patches.replace(owner, name, self._update_ended)

    def change(self) -> None:
        self._changed = True

    def change_back(self) -> None:
        self._changed = False

    def end(self) -> None:
        self._put_back()
        self._patches.restore()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    @guarded("timing the optimizer's update")
    def _update_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._put_back()  # after an update that failed
        has_closure = any(given is not None for given in (*args[1:], *kwargs.values()))
        if self._changed and not has_closure:  # which computes the gradients
            for group in optimizer.param_groups:
                if any(group is known for known in self._groups) and self.fits(optimizer, group):
                    self._as_they_are.append((group, {name: group[name] for name in self._tried}))
                    group.update(self._tried)
        self._began_ns = perf_counter_ns()

    def _put_back(self) -> None:
        while self._as_they_are:
            group, as_it_is = self._as_they_are.pop()
            group.update(as_it_is)

    @guarded("timing the optimizer's update")
    def _update_ended(self) -> None:
        """Called by the step clock, before the step ends for it."""
        if self._began_ns is not None:
            self._ns += perf_counter_ns() - self._began_ns
            self._began_ns = None
        self._put_back()


class FusedUpdate(_Update):
    """With ``fused=True``."""

    name = "fused_update"

    def value(self) -> bool | None:
        """Only with torch of 2.4 and later, which has it for processors."""
        if accelerator.devices() or not hasattr(torch, "_fused_adagrad_"):
            return None
        self._groups = self._groups_of(_FUSED_ON_CPU)
        self._tried = {"fused": True, "foreach": False}
        return True if self._groups else None

    def fits(self, optimizer: Optimizer, group: dict[str, Any]) -> bool:
        return super().fits(optimizer, group) and _is_laid_out_alike(group)


class ForeachUpdate(_Update):
    """Where torch has no fused one: with ``foreach=True``, or without it where it is set."""

    name = "foreach_update"

    def value(self) -> bool | None:
        self._groups = [] if accelerator.devices() else self._groups_of(_WITH_LISTS)
        in_use = {bool(group["foreach"]) for group in self._groups}
        bytes_ = sum(parameter.nbytes for group in self._groups for parameter in group["params"])
        if len(in_use) != 1 or bytes_ > _LISTED_BYTES_AT_MOST:
            return None
        self._tried = {"foreach": not in_use.pop()}
        return self._tried["foreach"]


def _is_usual(group: dict[str, Any]) -> bool:
    """Whether torch takes this group in another way now as from the beginning."""
    return not (group.get("fused") or group.get("differentiable") or group.get("capturable"))


def _is_laid_out_alike(group: dict[str, Any]) -> bool:
    """Parameters and gradients: a fused update goes through their memory."""
    return all(
        parameter.grad is None or (parameter.is_contiguous() and parameter.grad.is_contiguous())
        for parameter in group["params"]
    )


def _is_plain(parameter: torch.Tensor, state: dict[str, Any]) -> bool:
    gradient, count = parameter.grad, state.get("step")
    assert gradient is not None
    return (
        parameter.device.type == "cpu"
        and parameter.dtype in (torch.float32, torch.float64)
        and gradient.layout == torch.strided
        and (count is None or (isinstance(count, torch.Tensor) and count.dtype == torch.float32))
    )

"""torch.compile for a model that is not compiled."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..inspection import compiler_in_use
from .base import Sites
from .forwards import ForwardIntervention, ScriptCall

_LENGTH = 200  # of what is told of an error; torch's go on for pages


class Compile(ForwardIntervention):
    """Calls `torch.compile(model)` in place of each model, from the first call on.

    Not `Module.compile`, which passes over a model that is an nn.Sequential: its forward is torch's own code.
    """

    def __init__(self, sites: Sites, *, mode: str | None = None, backend: str = "inductor") -> None:
        super().__init__(sites)
        self._mode, self._backend = mode, backend
        self._compiled: weakref.WeakKeyDictionary[nn.Module, Callable[..., Any]] = weakref.WeakKeyDictionary()
        # the step clock, which comes later, puts another one in its place that ends steps elsewhere
        self._torch_compile = torch.compile

    def forward(
        self, module: nn.Module, run: ScriptCall, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._compiled and not self._compile(module):
            return run(*args, **kwargs)
        try:
            return run.by(self._compiled[module], *args, **kwargs)
        except Exception as error:
            if not _from_compiler(error):
                raise
            self.refuse(f"The model cannot be compiled: {_in_short(error)}")
            return run(*args, **kwargs)

    def _compile(self, module: nn.Module) -> bool:
        if (compiler_in_use() and not self._compiled) or any(map(_is_compiled, module.modules())):
            self.refuse("The script compiles already.")
            return False
        try:
            self._compiled[module] = self._torch_compile(module, mode=self._mode, backend=self._backend)
        except Exception as error:  # a mode, a backend or a Python that it does not know
            self.refuse(f"torch.compile refuses it: {_in_short(error)}")
            return False
        self.count += 1
        return True


def _is_compiled(module: nn.Module) -> bool:
    return hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None


def _from_compiler(error: Exception) -> bool:
    exceptions: Any = sys.modules.get("torch._dynamo.exc")
    return exceptions is not None and isinstance(error, exceptions.TorchDynamoException)


def _in_short(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:_LENGTH]

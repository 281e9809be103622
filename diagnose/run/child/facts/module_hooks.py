"""The script's own functions that its models call before or after a layer's forward."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import nn
from torch.nn.modules import module as of_all_modules

from ..places import Places


def module_hooks(models: Iterable[nn.Module], places: Places) -> list[dict[str, Any]]:
    """Each function once, with the lines that it is written on."""
    codes = dict.fromkeys(code for hook in _hooks(models) if (code := _code_of(hook)) is not None)
    return [
        {
            "file": file,
            "line": code.co_firstlineno,
            "last_line": max(line for *_, line in code.co_lines() if line is not None),
            "function": code.co_name,
        }
        for code in codes
        if (file := places.user_file(code.co_filename))
    ]


def _hooks(models: Iterable[nn.Module]) -> Iterator[Any]:
    yield from of_all_modules._global_forward_hooks.values()
    yield from of_all_modules._global_forward_pre_hooks.values()
    for model in models:
        for part in model.modules():
            yield from part._forward_hooks.values()
            yield from part._forward_pre_hooks.values()


def _code_of(hook: Any) -> CodeType | None:
    """Of a function, a method, a partial one, or an object that can be called."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    if not isinstance(hook, (FunctionType, MethodType)):
        hook = type(hook).__call__
    function = hook.__func__ if isinstance(hook, MethodType) else hook
    return function.__code__ if isinstance(function, FunctionType) else None

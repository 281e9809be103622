"""Wrappers around a tensor's methods, beside tensors and modes that override these.

Of a tensor whose class has a `__torch_function__`, or while a mode is on, torch tells that of what stands in
the method's place: that would be the wrapper, which no list of the script's holds. So it is told of the
method itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch.overrides import handle_torch_function, has_torch_function


def told_of(original: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """What a wrapper calls; of several around each other the innermost one sees to it."""
    if has_torch_function(args) and not getattr(original, "is_ours", False):
        return partial(handle_torch_function, original, args)
    return original


def ours(wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a wrapper."""
    wrapper.is_ours = True  # type: ignore[attr-defined]
    return wrapper

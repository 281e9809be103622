"""Tensors that are others under a name of their own: `torch.autograd.Variable(tensor)`, as scripts from
before torch 0.4 write it. No mode sees that call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.autograd import Variable

from ..guard import attempt
from ..patching import Patches


def tell_of_variables(patches: Patches, tell: Callable[[Tensor, Tensor], None]) -> None:
    """Of each tensor and what `Variable` makes of it, until the patches are restored."""
    kind = type(Variable)
    original = kind.__call__

    def __call__(variable: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(variable, *args, **kwargs)
        if args and isinstance(args[0], Tensor):
            attempt("looking at variables", lambda: tell(args[0], made), None)
        return made

    patches.replace(kind, "__call__", __call__)

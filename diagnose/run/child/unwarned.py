"""Calls of ours that may warn, without a word to the script's user."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from typing import Any, cast


@contextlib.contextmanager
def unwarned() -> Iterator[None]:
    """No warning is given, and none becomes an error. `warnings.catch_warnings` would make Python forget
    which it has shown: the script's own would come again.
    """
    filters = cast("list[Any]", warnings.filters)
    of_the_script = filters[:]
    filters[:] = [("ignore", None, Warning, None, 0)]
    try:
        yield
    finally:
        filters[:] = of_the_script


def no_warnings_of_ours() -> None:
    """Where we call for the script, torch warns of a line of ours, which helps nobody: elsewhere it warns
    of the script's. A profiler with stacks reads the gradients of a module's parameters as it is called, also
    of those that have none. To be said before the script begins, for Python then forgets what it has shown.
    """
    warnings.filterwarnings("ignore", module=re.escape(__package__) + r"\.")
    no_gradient = r"The \.grad attribute of a Tensor that is not a leaf"
    warnings.filterwarnings("ignore", no_gradient, UserWarning, r"torch\.nn\.modules\.module")

"""Python's cyclic garbage collector, at rest while tables and documents are made: they hold hardly any
cycles, and each of its rounds would look at all of them and at every module.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Also a decorator. Leaves it as it was."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

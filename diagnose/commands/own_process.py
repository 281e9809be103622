"""What only a process of our own may do to itself, before anything is read."""

from __future__ import annotations

from diagnose.commands.pandas_alone import import_pandas_alone
from diagnose.trace.freed import large_blocks_apart


def prepare() -> None:
    """Import less, and keep no memory that is free."""
    import_pandas_alone()
    large_blocks_apart()

"""Pages are made from templates in one way: everything is escaped, and a name that is not there is an error.

Templates are compiled once per installation, as Python does with modules.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.report import html

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment

KEPT = Path(__file__).parent / "__pycache__"
_HERE = Path(__file__).parent


@functools.cache
def environment(folder: str = ".") -> Environment:
    """For the templates in a folder beside this file. jinja2 is imported where a page is made, not before."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(_HERE / folder)
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=None if sys.dont_write_bytecode else _kept(KEPT),
    )
    made.filters |= {
        "prose": html.prose,
        "code": html.code,
        "block": html.block,
        "held": html.held,
        "reference": html.reference,
    }
    return made


def _kept(folder: Path) -> BytecodeCache | None:
    """Compiled templates in that folder; None where it cannot be written: others may have installed it."""
    import jinja2

    class Kept(jinja2.FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            with contextlib.suppress(OSError):
                super().dump_bytecode(bucket)

    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
    return Kept(str(folder), f"%s.jinja-{jinja2.__version__}") if folder.is_dir() else None

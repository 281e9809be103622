"""Pages are made from templates in one way: everything is escaped, and a
name that is not there is an error.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.report import html

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent


@functools.cache
def environment(folder: str = ".") -> Environment:
    """For the templates in a folder beside this file. jinja2 is imported where a page is made, not before."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(_HERE / folder)
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "prose": html.prose,
        "code": html.code,
        "block": html.block,
        "held": html.held,
        "reference": html.reference,
    }
    return made

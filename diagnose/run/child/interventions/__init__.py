"""Fixes that are put into the user's process before the script starts.

`diagnose verify` runs the script as it is with one of them, and measures. Which there are, and the class
of each, is in `diagnose/fixes/all.py`.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from ..places import Places
from .base import Intervention, Sites

__all__ = ["Intervention", "build"]


def build(specs: list[dict[str, Any]], places: Places) -> list[Intervention]:
    """One intervention for each {"class", "arguments", "sites"}; the class with its module here:
    `loader:LoaderArguments`. Raises ImportError or AttributeError for an unknown class, TypeError for an
    unknown argument.

    Patches lie on top of each other: remove the interventions in the reverse order of their installation.
    """
    return [
        resolve_name(f"{__name__}.{spec['class']}")(
            Sites(spec.get("sites", ()), places), **spec.get("arguments", {})
        )
        for spec in specs
    ]

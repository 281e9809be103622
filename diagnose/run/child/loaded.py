"""Which shared libraries the process has; no torch."""

from __future__ import annotations

import re


def is_loaded(library: str) -> bool:
    """Whether it has one of that name."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return re.search(rf"/lib{library}[-._]", maps.read()) is not None
    except OSError:
        return False

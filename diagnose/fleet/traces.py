"""Which traces a fleet has: a folder with all below it, or a pattern, on this machine or wherever fsspec reads."""

from __future__ import annotations

import os
from pathlib import Path

import fsspec  # type: ignore[import-untyped]

from diagnose.errors import UsageError
from diagnose.trace.source import TRACE_SUFFIXES, Source, is_url, shown

_PATTERN = frozenset("*?[")


def fleet_traces(target: str) -> dict[str, Source]:
    """The traces at `target` by their names, which are paths below the folder that holds them all; sorted.

    Raises UsageError if there is none, or if they cannot be listed.
    """
    try:
        files, path = fsspec.core.url_to_fs(target)
        found = files.glob(path) if _PATTERN & set(path) else files.find(path) if files.isdir(path) else []
    except Exception as error:  # the packages behind fsspec raise errors of their own
        raise UsageError(f"{shown(target)} cannot be listed", saw=str(error) or type(error).__name__, do="check the address") from error
    paths = sorted(one for one in found if one.endswith(TRACE_SUFFIXES))
    if not paths:
        saw = f"{len(found)} other files" if found else "nothing there"
        raise UsageError(f"no traces at {shown(target)}", saw=saw, do=f"name a folder or a pattern of {', '.join(TRACE_SUFFIXES)} files")
    root = os.path.commonpath([os.path.dirname(one) for one in paths])
    return {os.path.relpath(one, root): files.unstrip_protocol(one) if is_url(target) else Path(one) for one in paths}

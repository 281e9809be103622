"""Sentences about a run of several ranks: how they ended, which of them are missing, and
whether all were started more than once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any


def about_ranks(run: Mapping[str, Any], folders: Mapping[int, Path]) -> list[str]:
    """For the report. ``run``: run.json; ``folders``: those of the ranks that there are."""
    ends = {rank: _end(folder) for rank, folder in folders.items()}
    return [
        *_starts(run),
        *_missing(run, ends),
        *(sentence for rank, end in ends.items() if (sentence := _ending(rank, end))),
    ]


def _starts(run: Mapping[str, Any]) -> Iterator[str]:
    if before := run.get("before"):
        yield (
            "The ranks were restarted, and this report covers what came after. Recorded before: "
            f"{', '.join(before)}."
        )
    if run.get("starts_anew"):
        yield (
            "A rank failed after everything was recorded. The ranks were restarted and ran on without "
            "recording."
        )


def _missing(run: Mapping[str, Any], ends: Mapping[int, Any]) -> Iterator[str]:
    """Where each rank had a launcher of its own, there is a folder for each, with how it ended."""
    launchers = run.get("launchers", 1)
    if launchers < 2 or run.get("ended") == "running":
        return
    if absent := [rank for rank in range(launchers) if rank not in ends]:
        yield (
            f"This folder holds nothing of rank {_names(absent)}. If machines share no file system, each has "
            "its own ranks: copy the folders rank0, rank1 … of all of them beside one run.json. Then run "
            "`python -m diagnose` on that folder."
        )
    if lost := [rank for rank, end in ends.items() if end is None]:
        yield f"Rank {_names(lost)} was lost: its launcher, or its whole machine, ended without a message."


def _ending(rank: int, end: Mapping[str, Any] | None) -> str | None:
    how = (end or {}).get("ended")
    if end and how == "killed" and end.get("signal") == "SIGTERM":
        return f"Rank {rank} was ended by SIGTERM."
    if end and how == "killed":
        by = f", by {end['signal']}," if end.get("signal") else ""
        return f"Rank {rank} was killed{by} before it could write what it was recording."
    return f"Rank {rank} failed with exit code {end.get('exit_code')}." if end and how == "crashed" else None


def _end(folder: Path) -> dict[str, Any] | None:
    """What ended.json says; None if there is none."""
    with contextlib.suppress(OSError, ValueError):
        end = json.loads((folder / "ended.json").read_text(encoding="utf-8"))
        return end if isinstance(end, dict) else None
    return None


def _names(ranks: list[int]) -> str:
    """0-3, 8."""
    runs = [[rank for _, rank in run] for _, run in groupby(enumerate(ranks), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

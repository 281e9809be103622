"""Which ranks a fleet has: traces and rank folders of our own runs, below a folder or
by a pattern, wherever fsspec reads.
"""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]

from diagnose.errors import UsageError
from diagnose.ranks.load import RankSource
from diagnose.trace.formats import TRACE_SUFFIXES
from diagnose.trace.source import is_url, shown

RUN, STEPS = "run.json", "steps.json"  # what tells a run folder and a rank's folder in it
ENDED = "ended.json"  # how a rank ended
OF_RUN = (RUN, "verify.json")  # files of a run folder that each of its ranks' analyses reads
_PATTERN = frozenset("*?[")
_OF_RANK = re.compile(r"(.*/rank(\d+))/.*", re.DOTALL)


def fleet_ranks(target: str) -> list[RankSource]:
    """The ranks at `target`, sorted by their names, which are paths below the folder that holds them all.

    A trace is a rank. So is a folder ``rank<k>`` of a run that `diagnose` recorded; nothing else of a run
    folder counts. Raises UsageError if there is none, or if they cannot be listed.
    """
    try:
        files, path = fsspec.core.url_to_fs(target)
        found = _files_at(files, path)
    except ImportError as error:
        raise UsageError(
            f"{shown(target)} cannot be listed",
            saw=str(error),
            do="install the fsspec package of that protocol",
        ) from error
    except Exception as error:  # the packages behind fsspec raise errors of their own
        raise UsageError(
            f"{shown(target)} cannot be listed",
            saw=str(error) or type(error).__name__,
            do="check the address",
        ) from error
    folders, traces = _sorted_out(found)
    if not folders and not traces:
        saw = f"{len(found)} other files" if found else "nothing there"
        do = f"name a folder or a pattern of {', '.join(TRACE_SUFFIXES)} files, or of run folders"
        raise UsageError(f"no traces at {shown(target)}", saw=saw, do=do)
    root = os.path.commonpath([os.path.dirname(folder) for folder in (*folders, *traces)])

    def source(of: str) -> str | Path:
        return files.unstrip_protocol(of) if is_url(target) else Path(of)

    ranks = [
        RankSource(source(posixpath.dirname(one)), os.path.relpath(one, root), rank)
        for one, rank in folders.items()
    ]
    return sorted(
        [*ranks, *(RankSource(source(trace), os.path.relpath(trace, root)) for trace in traces)],
        key=lambda rank: rank.name,
    )


def _files_at(files: Any, path: str) -> list[str]:
    """All files below a folder, or those that a pattern matches and all below the folders that it matches."""
    if not _PATTERN & set(path):
        return sorted(files.find(path)) if files.isdir(path) else []
    matched = files.glob(path, detail=True)
    below = {file for one, info in matched.items() if info["type"] == "directory" for file in files.find(one)}
    return sorted(below | {one for one, info in matched.items() if info["type"] != "directory"})


def _sorted_out(found: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """The folders of ranks with their numbers, and the lone traces: those in no run folder and in no
    rank's.
    """
    runs = {posixpath.dirname(one) for one in found if posixpath.basename(one) == RUN}
    runs = {run for run in runs if not _is_below(run, runs)}  # a run folder keeps runs of its own
    told = {posixpath.dirname(one) for one in found if posixpath.basename(one) == STEPS}
    folders = {}
    for one in found:
        match = _OF_RANK.fullmatch(one)
        run = posixpath.dirname(match[1]) if match else ""
        if match and (run in runs or (match[1] in told and not _is_below(match[1], runs))):
            folders[match[1]] = int(match[2])
    inside = runs | folders.keys()
    return folders, [one for one in found if one.endswith(TRACE_SUFFIXES) and not _is_below(one, inside)]


def _is_below(path: str, folders: set[str]) -> bool:
    while (above := posixpath.dirname(path)) != path:
        path = above
        if path in folders:
            return True
    return False


@contextmanager
def at_hand(rank: RankSource, *, endings: bool = False) -> Iterator[RankSource]:
    """The rank where its recording can be read. A trace is where it lies; a rank's folder at a
    URL is fetched, and gone afterwards.

    ``endings``: with what tells how the other ranks ended.
    """
    if rank.rank is None or not is_url(rank.source):
        yield rank
        return
    files, run = fsspec.core.url_to_fs(rank.source)
    with tempfile.TemporaryDirectory() as folder:
        wanted = [one for name in OF_RUN if files.exists(one := f"{run}/{name}")]
        wanted += files.glob(f"{run}/rank*/{ENDED}") if endings else []
        for one in [*wanted, *files.find(f"{run}/rank{rank.rank}")]:
            here = Path(folder) / os.path.relpath(one, run)
            here.parent.mkdir(parents=True, exist_ok=True)
            files.get_file(one, str(here))
        yield replace(rank, source=Path(folder))


def trace_bytes(rank: RankSource) -> int:
    """The rank's trace, or traces, as they lie in files."""
    files, path = fsspec.core.url_to_fs(str(rank.source))
    if rank.rank is None:
        return int(files.size(path))
    sizes = files.find(f"{path}/rank{rank.rank}", detail=True)
    return sum(
        int(of["size"])
        for one, of in sizes.items()
        if one.endswith(tuple(f".pt.trace{suffix}" for suffix in TRACE_SUFFIXES))
    )

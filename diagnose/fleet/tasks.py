"""What workers do. A trace is read, reduced and forgotten on one worker: only summaries and the report travel."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fsspec  # type: ignore[import-untyped]

from diagnose.analyse import Analysis
from diagnose.errors import DiagnoseError
from diagnose.measure.job import Job
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.ranks.job import job_of
from diagnose.ranks.summary import RankSummary, summary_of, write_summary
from diagnose.trace.source import Source

SHOWN_ERRORS = 5


@dataclass(frozen=True)
class Reading:
    """What became of one trace. ``error``: why it is left out, else empty; bytes as they lie in files; ``seconds`` of its task."""

    name: str
    error: str = ""
    trace_bytes: int = 0
    summary_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Ranks:
    """Some ranks of the job: the summaries of those that could be read, and what became of each trace."""

    summaries: tuple[RankSummary, ...]
    readings: tuple[Reading, ...]


def reduced(name: str, source: Source, summaries: str, reading: Mapping[str, Any]) -> Ranks:
    """One rank: its trace is reduced to a summary, which is also written into the folder `summaries` (a path or a URL).

    ``reading``: options of `read_trace`. A trace that fails, in whatever way, costs its rank only.
    """
    began = time.perf_counter()
    try:
        summary = summary_of(Measured(load_recording(source, **reading)), source=name)
        sizes = _size(source), _written(summary, f"{summaries.rstrip('/')}/{quote(name, safe='')}.parquet")
    except DiagnoseError as error:
        return unread(name, error.what + (f" ({error.saw})" if error.saw else ""))
    except Exception as error:
        return unread(name, f"{type(error).__name__}: {error}")
    return Ranks((summary,), (Reading(name, "", *sizes, time.perf_counter() - began),))


def unread(name: str, error: str) -> Ranks:
    """No rank, and why."""
    return Ranks((), (Reading(name, error),))


def _size(source: Source) -> int:
    files, path = fsspec.core.url_to_fs(str(source))
    return int(files.size(path))


def _written(summary: RankSummary, where: str) -> int:
    """Bytes of the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.parquet"
        write_summary(summary, path)
        files, there = fsspec.core.url_to_fs(where)
        files.put(str(path), there)
        return path.stat().st_size


def merged(parts: Sequence[Ranks]) -> Ranks:
    """The ranks of all parts, in their order."""
    return Ranks(tuple(one for part in parts for one in part.summaries), tuple(one for part in parts for one in part.readings))


def job_and_readings(ranks: Ranks) -> tuple[Job, tuple[Reading, ...]]:
    """The job that the ranks make, whose notes say which traces are not in it. Raises DiagnoseError if none could be read."""
    failed = [one for one in ranks.readings if one.error]
    if not ranks.summaries:
        raise DiagnoseError("none of the traces could be read", saw=f"{failed[0].name}: {failed[0].error}")
    job = job_of(ranks.summaries)
    return replace(job, notes=(*job.notes, *_notes(failed, len(ranks.readings)))), ranks.readings


def _notes(failed: Sequence[Reading], count: int) -> list[str]:
    if not failed:
        return []
    more = [f"and {len(failed) - SHOWN_ERRORS} more"] if len(failed) > SHOWN_ERRORS else []
    named = "; ".join([*(f"{one.name}: {one.error}" for one in failed[:SHOWN_ERRORS]), *more])
    return [f"{len(failed)} of {count} traces could not be read and are left out: {named}"]


def analysed(source: Source, job: Job, reading: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The result document and the picture of one rank, as a part of its job. Raises as `analysis_of` does."""
    analysis = Analysis(Measured(load_recording(source, **reading), job=job))
    return analysis.document, analysis.picture

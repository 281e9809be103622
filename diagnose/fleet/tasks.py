"""What workers do. A rank is read, reduced and forgotten on one worker:
only summaries and the report travel.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import fsspec  # type: ignore[import-untyped]

from diagnose.document.model import Document
from diagnose.errors import DiagnoseError
from diagnose.fleet.recordings import at_hand, trace_bytes
from diagnose.measure.job import Job
from diagnose.measure.measured import Measured
from diagnose.pipeline import Analysis
from diagnose.ranks.job import job_of
from diagnose.ranks.load import RankSource
from diagnose.ranks.summary import RankSummary, read_summary, summary_of, write_summary

SHOWN_ERRORS = 5
# of a worker's memory: the rest is Python with its libraries, and what the worker holds of other ranks
READING_SHARE = 0.75


@dataclass(frozen=True)
class Reading:
    """What became of one rank. ``error``: why it is left out, else empty; ``unwritten``: why
    its summary is in no file, else empty.

    Bytes as they lie in files; ``seconds`` of its task.
    """

    name: str
    error: str = ""
    unwritten: str = ""
    trace_bytes: int = 0
    summary_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Ranks:
    """Some ranks of the job: the summaries of those that could be read, as the bytes of
    their files, and what became of each.
    """

    summaries: tuple[bytes, ...]
    readings: tuple[Reading, ...]


def reduced(rank: RankSource, summaries: str, reading: Mapping[str, Any]) -> Ranks:
    """One rank: its recording is reduced to a summary, which is also written into the
    folder `summaries` (a path or a URL).

    ``reading``: options of `read_trace`. A recording that fails, in whatever way, costs its rank only; a
    summary that cannot be written costs nothing, for it travels as well.
    """
    began = time.perf_counter()
    try:
        size = trace_bytes(rank)
        with at_hand(rank) as here:
            packed = packed_summary(
                summary_of(Measured(here.recording(**_limited(reading))), rank=rank.rank, source=rank.name)
            )
    except DiagnoseError as error:
        return unread(rank.name, error.what + (f" ({error.saw})" if error.saw else ""))
    except Exception as error:
        return unread(rank.name, f"{type(error).__name__}: {error}")
    unwritten = _why_unwritten(packed, f"{summaries.rstrip('/')}/{quote(rank.name, safe='')}.parquet")
    return Ranks(
        (packed,), (Reading(rank.name, "", unwritten, size, len(packed), time.perf_counter() - began),)
    )


def unread(name: str, error: str) -> Ranks:
    """No rank, and why."""
    return Ranks((), (Reading(name, error),))


def packed_summary(summary: RankSummary) -> bytes:
    """As it lies in a file. Raises DiagnoseError without pyarrow."""
    file = io.BytesIO()
    write_summary(summary, file)
    return file.getvalue()


def _limited(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading; a worker with a limit of its own may take no
    more, for beyond that Dask ends it.
    """
    from distributed import get_worker

    try:
        of_worker = get_worker().memory_manager.memory_limit
    except ValueError:  # this is no worker
        of_worker = None
    limits = [reading.get("memory_limit"), of_worker and int(READING_SHARE * of_worker)]
    return {**reading, "memory_limit": min((limit for limit in limits if limit), default=None)}


def _why_unwritten(packed: bytes, where: str) -> str:
    """Write a summary; why it cannot be written, else empty."""
    try:
        files, there = fsspec.core.url_to_fs(where)
        files.pipe_file(there, packed)
    except Exception as error:  # the packages behind fsspec raise errors of their own
        return f"{type(error).__name__}: {error}"
    return ""


def merged(parts: Sequence[Ranks]) -> Ranks:
    """The ranks of all parts, in their order."""
    return Ranks(
        tuple(summary for part in parts for summary in part.summaries),
        tuple(reading for part in parts for reading in part.readings),
    )


def job_and_readings(ranks: Ranks) -> tuple[Job, tuple[Reading, ...]]:
    """The job that the ranks make, whose notes say which are not in it.

    Raises DiagnoseError if none could be read.
    """
    if not ranks.summaries:
        first = ranks.readings[0]
        raise DiagnoseError("none of the ranks could be read", saw=f"{first.name}: {first.error}")
    job = job_of(read_summary(io.BytesIO(packed)) for packed in ranks.summaries)
    return replace(job, notes=(*job.notes, *_notes(ranks.readings))), ranks.readings


def _notes(readings: Sequence[Reading]) -> list[str]:
    failed = [(reading.name, reading.error) for reading in readings if reading.error]
    unwritten = [(reading.name, reading.unwritten) for reading in readings if reading.unwritten]
    said = (
        ("could not be read and are left out", failed),
        ("have no summary in a file, as it could not be written; this report needs none", unwritten),
    )
    return [f"{len(what)} of {len(readings)} ranks {told}: {_named(what)}" for told, what in said if what]


def _named(errors: Sequence[tuple[str, str]]) -> str:
    more = [f"and {len(errors) - SHOWN_ERRORS} more"] if len(errors) > SHOWN_ERRORS else []
    return "; ".join([*(f"{name}: {error}" for name, error in errors[:SHOWN_ERRORS]), *more])


def analysed(rank: RankSource, job: Job, reading: Mapping[str, Any]) -> tuple[Document, dict[str, Any]]:
    """The result document and the picture of one rank, as a part of its job. Raises as `analysis_of` does."""
    with at_hand(rank, endings=True) as here:
        analysis = Analysis(Measured(here.recording(**_limited(reading)), job=job))
        return analysis.document, analysis.picture

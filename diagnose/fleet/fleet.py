"""A fleet's analysis: every rank reduced on some worker, a tree of merges, then the
rank that the report is about in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diagnose.document.model import Document
from diagnose.errors import DiagnoseError
from diagnose.fleet.tasks import Reading, analysed, job_and_readings, merged, reduced, unread
from diagnose.measure.job import Job
from diagnose.ranks.load import RankSource

if TYPE_CHECKING:
    from distributed import Client, Future

# of a merge: 10,000 ranks are four levels, and no merge but the last holds more than a part of them
FAN_IN = 16


@dataclass(frozen=True)
class Fleet:
    """``document`` and ``picture``: of the rank that ``job.representative`` names;
    ``readings``: a row a rank that was given.
    """

    job: Job
    readings: tuple[Reading, ...]
    document: Document
    picture: dict[str, Any]


def analyse_fleet(
    client: Client,
    ranks: Sequence[RankSource],
    summaries: str,
    reading: Mapping[str, Any],
    tell: Callable[[int], None] = lambda done: None,
) -> Fleet:
    """Analyse the ranks of one job, which have different names, on the cluster.

    ``summaries``: the folder or URL that workers write the ranks' summaries into; ``reading``: options
    of `read_trace`; ``tell`` is called with the number of ranks done. One that cannot be read is left
    out, as is one that workers die of; a worker's lost work is done again by another. Raises
    DiagnoseError if none could be read.
    """
    job, readings = job_of_futures(client, _reduced(client, ranks, summaries, reading, tell))
    chosen = job.state(job.representative).source
    one = next(rank for rank in ranks if rank.name == chosen)
    document, picture = _result(client.submit(analysed, one, job, reading, pure=False))
    return Fleet(job, readings, document, picture)


def job_of_futures(client: Client, parts: Sequence[Any]) -> tuple[Job, tuple[Reading, ...]]:
    """The job that all ranks make, by a tree of merges on the workers; ``parts``: futures of
    `Ranks`, or such. Raises DiagnoseError.
    """
    while len(parts) > 1:
        parts = [
            client.submit(merged, parts[first : first + FAN_IN], pure=False)
            for first in range(0, len(parts), FAN_IN)
        ]
    job, readings = _result(client.submit(job_and_readings, parts[0], pure=False))
    return job, readings


def _reduced(
    client: Client,
    ranks: Sequence[RankSource],
    summaries: str,
    reading: Mapping[str, Any],
    tell: Callable[[int], None],
) -> list[Any]:
    """A future of each rank; in place of one that no worker could reduce, why."""
    from distributed import as_completed

    how: dict[str, Any] = {"summaries": summaries, "reading": reading, "pure": False}
    futures = client.map(reduced, ranks, **how)
    for done, _ in enumerate(as_completed(futures), 1):
        tell(done)
    return [
        future if future.status == "finished" else _alone(client, rank, future, how)
        for rank, future in zip(ranks, futures, strict=True)
    ]


def _alone(client: Client, rank: RankSource, failed: Future, how: Mapping[str, Any]) -> Any:
    """A rank whose workers died, once more and by itself: it may only have waited, time and
    again, behind one that workers die of.
    """
    from distributed import KilledWorker, wait

    if isinstance(failed.exception(), KilledWorker):
        failed = client.submit(reduced, rank, **how)
        wait(failed)
    if failed.status == "finished":
        return failed
    error = failed.exception()
    if isinstance(error, KilledWorker):
        return unread(
            rank.name,
            "workers died of it, each time it was tried: their logs tell why, and most often it is memory",
        )
    return unread(rank.name, f"{type(error).__name__}: {error}")


def _result(future: Future) -> Any:
    """Raises DiagnoseError also for what Dask itself failed of."""
    try:
        return future.result()
    except DiagnoseError:
        raise
    except Exception as error:
        raise DiagnoseError("the cluster could not finish", saw=f"{type(error).__name__}: {error}") from error

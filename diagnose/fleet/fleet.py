"""A fleet's analysis: every trace reduced on some worker, a tree of merges, then the rank that the report is about in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diagnose.errors import DiagnoseError
from diagnose.fleet.tasks import Reading, analysed, job_and_readings, merged, reduced, unread
from diagnose.measure.job import Job
from diagnose.trace.source import Source

if TYPE_CHECKING:
    from distributed import Client, Future

FAN_IN = 16  # of a merge: 10,000 ranks are four levels, and no merge but the last holds more than a part of them


@dataclass(frozen=True)
class Fleet:
    """``document`` and ``picture``: of the rank that ``job.representative`` names; ``readings``: a row a trace."""

    job: Job
    readings: tuple[Reading, ...]
    document: dict[str, Any]
    picture: dict[str, Any]


def analyse_fleet(
    client: Client,
    traces: Mapping[str, Source],
    summaries: str,
    reading: Mapping[str, Any],
    tell: Callable[[int], None] = lambda done: None,
) -> Fleet:
    """Analyse the traces of one job, by their names, on the cluster.

    ``summaries``: the folder or URL that workers write the ranks' summaries into; ``reading``: options of `read_trace`; ``tell`` is called
    with the number of traces done. A trace that cannot be read is left out, as is one that workers die of; a worker's lost work is done
    again by another. Raises DiagnoseError if no trace could be read.
    """
    ranks = _reduced(client, traces, summaries, reading, tell)
    job, readings = _result(client.submit(job_and_readings, _merged(client, ranks), pure=False))
    source = traces[job.state(job.representative).source]
    document, picture = _result(client.submit(analysed, source, job, reading, pure=False))
    return Fleet(job, readings, document, picture)


def _reduced(
    client: Client, traces: Mapping[str, Source], summaries: str, reading: Mapping[str, Any], tell: Callable[[int], None]
) -> list[Any]:
    """A future of each trace's ranks; in place of one whose workers died, time and again, what is known of it."""
    from distributed import as_completed

    names = list(traces)
    futures = client.map(reduced, names, [traces[name] for name in names], summaries=summaries, reading=reading, pure=False)
    for done, _ in enumerate(as_completed(futures), 1):
        tell(done)
    return [
        unread(name, f"workers died of it: {one.exception()}") if one.status == "error" else one
        for name, one in zip(names, futures, strict=True)
    ]


def _merged(client: Client, ranks: Sequence[Any]) -> Any:
    """All ranks in one, merged on the workers."""
    while len(ranks) > 1:
        ranks = [client.submit(merged, ranks[first : first + FAN_IN], pure=False) for first in range(0, len(ranks), FAN_IN)]
    return ranks[0]


def _result(future: Future) -> Any:
    """Raises DiagnoseError also for what Dask itself failed of."""
    try:
        return future.result()
    except DiagnoseError:
        raise
    except Exception as error:
        raise DiagnoseError("the cluster could not finish", saw=f"{type(error).__name__}: {error}") from error

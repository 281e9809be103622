"""The ranks of one job where they lie: which there are, and their recordings reduced to one `Job`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diagnose.errors import DiagnoseError
from diagnose.measure.job import Job
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import Recording, load_recording, rank_folders
from diagnose.ranks.job import job_of
from diagnose.ranks.summary import RankSummary, summary_of
from diagnose.trace.source import Source, is_url, shown


@dataclass(frozen=True)
class RankSource:
    """One rank's recording: a trace, or a folder ``rank<k>`` of a run folder."""

    source: Source
    name: str
    rank: int | None = None  # None where the recording or its name has to tell

    def recording(self, **reading: Any) -> Recording:
        """Raises as `load_recording` does."""
        return load_recording(self.source, rank=self.rank, **reading)


def rank_sources(source: Source | Sequence[Source]) -> list[RankSource]:
    """The ranks of a run folder, or of traces that are one job; a lone trace is one."""
    if not isinstance(source, (str, Path)):
        return [RankSource(one, Path(shown(one)).name) for one in source]
    if not is_url(source) and Path(source).is_dir():
        return [RankSource(source, folder.name, rank) for rank, folder in rank_folders(Path(source)).items()]
    return [RankSource(source, shown(source))]


def read_job(ranks: Sequence[RankSource], **reading: Any) -> tuple[Job, RankSource]:
    """The job, and the rank whose report stands for it. A rank that cannot be read
    costs only itself, and a note says so.

    One recording is held at a time. Raises DiagnoseError if none can be read.
    """
    summaries: list[RankSummary] = []
    notes = []
    for rank in ranks:
        try:
            summaries.append(
                summary_of(Measured(rank.recording(**reading)), rank=rank.rank, source=rank.name)
            )
        except DiagnoseError as error:
            notes.append(f"{rank.name} could not be read and is left out: {error.what}")
    job = job_of(summaries)
    chosen = job.state(job.representative).source
    return replace(job, notes=(*job.notes, *notes)), next(rank for rank in ranks if rank.name == chosen)


def measured_rank(source: Source | Sequence[Source], **reading: Any) -> tuple[Measured, Source]:
    """What was recorded of a run, a trace, or the traces of one job, and where it lies; of
    several ranks, the one that counts.

    Raises as `load_recording` and `read_job` do.
    """
    ranks = rank_sources(source)
    if len(ranks) > 1:
        job, chosen = read_job(ranks, **reading)
        return Measured(chosen.recording(**reading), job), chosen.source
    lone = source if isinstance(source, (str, Path)) else source[0]
    return Measured(load_recording(lone, **reading)), lone

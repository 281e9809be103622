"""What a fleet costs a rank, for few ranks and for many,
and whether the late rank is found.

    python -m benchmarks fleet FOLDER_OF_RANK_TRACES
    python -m benchmarks fleet FOLDER_OF_RANK_TRACES --ranks 10000 [--collectives 100]

The ranks are synthetic: made from a real job's (`PATTERN` in the folder) by shifting and stretching times,
one of them planted to wait longer for its batches. Each size is analysed on a cluster of its own on this
machine: two workers of one thread. With `--ranks` no traces are made and read but the ranks' summaries alone,
as workers would reduce them: what it costs to compare so many ranks with each other.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.options import parser
from benchmarks.rank_set import STEPS, simulated, template, write_set
from benchmarks.rank_summaries import RankSummaries, RankTimes, made_summary
from benchmarks.trace import peak_mb
from diagnose.document.model import Document
from diagnose.fleet.cluster import cluster
from diagnose.fleet.fleet import analyse_fleet, job_of_futures
from diagnose.fleet.recordings import fleet_ranks
from diagnose.fleet.tasks import Ranks, Reading, analysed, packed_summary
from diagnose.measure.job import Job
from diagnose.pipeline import with_commands, write_files
from diagnose.ranks.load import RankSource
from diagnose.ranks.summary import RankSummary

PATTERN = "param-dlrm-r*.json.gz"
SIZES = (8, 64, 256)
WORKERS = 2
PLANTED, PLANTED_MS = 135, 4.0  # modulo the number of ranks: a copy of real rank 7, which waited for nobody


@dataclass(frozen=True)
class Row:
    ranks: int
    seconds: float  # of all: reading, merging, the report
    task_s: float  # of a rank's own task, median
    cpu_s: float  # of all workers
    peaks_mb: tuple[float, ...]  # of each worker
    summary_bytes: int
    trace_bytes: int
    inflated_bytes: int
    job: Job
    document: Document


def measured(paths: Sequence[Path], ranks: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        traces, summaries = Path(folder) / "traces", Path(folder) / "summaries"
        summaries.mkdir()
        write_set(paths, traces, ranks, PLANTED % ranks, 1000 * PLANTED_MS)
        with cluster(workers=WORKERS) as client:
            client.run(_imported)
            began, before_s = time.perf_counter(), sum(client.run(time.process_time).values())
            fleet = analyse_fleet(client, fleet_ranks(str(traces)), str(summaries), {})
            seconds, cpu_s = (
                time.perf_counter() - began,
                sum(client.run(time.process_time).values()) - before_s,
            )
            peaks_mb = tuple(client.run(peak_mb).values())
        inflated = sum(map(_inflated_bytes, traces.iterdir()))
    of = fleet.readings
    task_s = sorted(one.seconds for one in of)[len(of) // 2]
    summary_bytes, trace_bytes = sum(one.summary_bytes for one in of), sum(one.trace_bytes for one in of)
    return Row(
        ranks,
        seconds,
        task_s,
        cpu_s,
        peaks_mb,
        summary_bytes,
        trace_bytes,
        inflated,
        fleet.job,
        fleet.document,
    )


def _imported() -> None:
    """Once a worker, whatever the ranks."""
    import diagnose.fleet.tasks  # noqa: F401


def _inflated_bytes(path: Path) -> int:
    """By the last four bytes of a gzip file."""
    return int.from_bytes(path.read_bytes()[-4:], "little")


def _lines(paths: Sequence[Path]) -> Iterator[str]:
    templates = [template(path) for path in paths]
    late = f"rank {PLANTED} (modulo the ranks) waits {PLANTED_MS} ms longer for each batch"
    yield f"synthetic ranks: {STEPS} steps each, from {len(paths)} real ones; {late}"
    yield (
        "s a rank: all of it, by the ranks; s a task: reading and reducing one trace, median; CPU: of all "
        "workers; MB: the peak of each"
    )
    yield (
        "ranks   s in all   s a rank   s a task   CPU s a rank   MB a worker   summaries ÷ traces inflated "
        "(packed)"
    )
    for ranks in SIZES:
        row = measured(paths, ranks)
        late_rank = PLANTED % ranks
        with_it, without = (
            simulated(templates, ranks, late_rank, late_us).step_ms for late_us in (1000 * PLANTED_MS, 0)
        )
        cost = (
            f"{row.ranks:5} {row.seconds:10.1f} {row.seconds / ranks:10.3f} {row.task_s:10.3f} "
            f"{row.cpu_s / ranks:14.3f}"
        )
        small = f"{row.summary_bytes / row.inflated_bytes:14.2%} ({row.summary_bytes / row.trace_bytes:.1%})"
        yield f"{cost} {_peaks(row.peaks_mb):>13} {small}"
        sizes = (row.inflated_bytes, row.trace_bytes, row.summary_bytes)
        inflated, packed, summary = (f"{size / ranks / 1000:,.1f} kB" for size in sizes)
        yield f"        a rank:  trace {inflated} inflated, {packed} packed; summary {summary}"
        yield (
            f"        planted: rank {late_rank}, input_wait, costs {with_it - without:.2f} ms a step of "
            f"{with_it:.2f} ms"
        )
        yield f"        found:   {_found(row.job, row.document)}"


def _peaks(peaks_mb: Sequence[float]) -> str:
    return ", ".join(f"{one:.0f}" for one in sorted(peaks_mb))


def _found(job: Job, document: Document | None = None) -> str:
    if job.late_rank is None:
        return f"no late rank ({job.pattern})"
    alone_ms = job.state(job.late_rank).held_up_ms
    told = (
        f"rank {job.late_rank}, {job.cause} {job.cause_ms or 0:+.2f} ms, {job.pattern}; all wait "
        f"{alone_ms:.2f} ms a step for it alone"
    )
    if document is None:
        return f"{told}; all gain {job.gain_ms or 0:.2f} ms"
    finding = next(
        (
            finding
            for finding in document.findings
            if finding.rule.startswith("late-rank") and finding.state == "fires"
        ),
        None,
    )
    saving = finding.saving.predicted_ms if finding else None
    return (
        f"{told}; {finding.rule}, predicted to save {saving.best_guess:.2f} ms"
        if finding and saving
        else told
    )


# ---- summaries alone


def _summary_lines(paths: Sequence[Path], ranks: int, collectives: int) -> Iterator[str]:
    late = PLANTED % ranks
    made = RankSummaries(paths, ranks, collectives, late, 1000 * PLANTED_MS)
    yield (
        f"synthetic summaries: {ranks:,} ranks, {STEPS} steps of {made.collectives} collectives, from "
        f"{len(paths)} real ranks"
    )
    with cluster(workers=WORKERS) as client:
        client.run(_imported)
        real = client.scatter(made.real, broadcast=True)
        numbers = range(ranks)
        parts = client.map(
            reduced_already,
            numbers,
            [made.times(rank) for rank in numbers],
            ranks=ranks,
            real=real,
            pure=False,
        )
        client.gather(
            [
                client.submit(len, client.submit(_sizes, parts[first : first + 100]))
                for first in range(0, ranks, 100)
            ]
        )
        before_mb, before_s = (
            tuple(client.run(peak_mb).values()),
            sum(client.run(time.process_time).values()),
        )
        began = time.perf_counter()
        job, readings = job_of_futures(client, parts)
        compared_s, cpu_s = (
            time.perf_counter() - began,
            sum(client.run(time.process_time).values()) - before_s,
        )
        chosen = RankSource(paths[job.representative % len(paths)], job.state(job.representative).source)
        document, picture = client.submit(analysed, chosen, job, {}, pure=False).result()
        peaks_mb = tuple(client.run(peak_mb).values())
    packed = sum(reading.summary_bytes for reading in readings)
    yield f"summaries: {packed / 1e6:,.0f} MB as files, {packed / ranks / 1000:.1f} kB a rank"
    yield f"merging and comparing: {compared_s:.0f} s, {cpu_s:.0f} s of CPU"
    yield f"peak of each worker: {_peaks(peaks_mb)} MB, of which before {_peaks(before_mb)} MB"
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        write_files(with_commands(document, Path(folder), Path(folder)), picture, Path(folder), Path(folder))
        sizes = ", ".join(
            f"{name} {(Path(folder) / name).stat().st_size / 1e6:.1f} MB"
            for name in ("report.json", "report.html")
        )
        yield (
            f"report: {sizes}, written in {time.perf_counter() - began:.0f} s; this process peaked at "
            f"{peak_mb():.0f} MB"
        )
    yield (
        f"planted: rank {late}, input_wait {made.late_us / 1000:+.2f} ms, costs {made.cost_ms():.2f} ms a "
        "step"
    )
    yield f"found:   {_found(job)}"


def reduced_already(rank: int, times: RankTimes, ranks: int, real: Sequence[RankSummary]) -> Ranks:
    """In place of `diagnose.fleet.tasks.reduced`."""
    packed = packed_summary(made_summary(rank, ranks, real[rank % len(real)], times))
    return Ranks((packed,), (Reading(f"rank{rank:05}.json.gz", summary_bytes=len(packed)),))


def _sizes(parts: Sequence[Ranks]) -> list[int]:
    return [len(part.summaries[0]) for part in parts]


def _machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{platform.machine()}, {psutil.cpu_count()} cores, {memory:.0f} GiB, Python "
        f"{platform.python_version()}, {WORKERS} workers"
    )


def main(arguments: Sequence[str]) -> None:
    options = parser("fleet", __doc__)
    options.add_argument("folder", type=Path, help=f"where {PATTERN} are the traces of one job's ranks")
    options.add_argument("--ranks", type=int, help="compare so many ranks, by summaries alone")
    options.add_argument(
        "--collectives",
        type=int,
        default=1,
        help="with --ranks: of a step, at least (default: as in the traces)",
    )
    asked = options.parse_args(arguments)
    paths = sorted(asked.folder.glob(PATTERN))
    if not paths:
        raise SystemExit(f"no {PATTERN} in {asked.folder}")
    print(_machine(), flush=True)
    for line in _summary_lines(paths, asked.ranks, asked.collectives) if asked.ranks else _lines(paths):
        print(line, flush=True)

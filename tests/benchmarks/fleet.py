"""What a fleet costs a rank, for few ranks and for many (`make bench-fleet TRACES=folder`), and whether the late rank is found.

python -m tests.benchmarks.fleet FOLDER_OF_RANK_TRACES

The ranks are synthetic: made from a real job's (`PATTERN` in the folder) by shifting and stretching times, one of them planted to wait
longer for its batches. Each size is analysed on a cluster of its own on this machine: two workers of one thread.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.fleet.cluster import cluster
from diagnose.fleet.fleet import Fleet, analyse_fleet
from diagnose.fleet.traces import fleet_traces
from tests.fleet.rank_set import STEPS, simulated, template, write_set

PATTERN = "param-dlrm-r*.json.gz"
SIZES = (8, 64, 256)
WORKERS = 2
PLANTED, PLANTED_MS = 135, 4.0  # modulo the number of ranks: a copy of real rank 7, which waited for nobody


@dataclass(frozen=True)
class Row:
    ranks: int
    seconds: float  # of all: reading, merging, the report
    task_s: float  # of a rank's own task, median
    peak_mb: float  # of the worker that took most
    summary_bytes: int
    trace_bytes: int
    inflated_bytes: int
    fleet: Fleet


def measured(paths: Sequence[Path], ranks: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        traces, summaries = Path(folder) / "traces", Path(folder) / "summaries"
        summaries.mkdir()
        write_set(paths, traces, ranks, PLANTED % ranks, 1000 * PLANTED_MS)
        with cluster(workers=WORKERS) as client:
            client.run(_imported)
            began = time.perf_counter()
            fleet = analyse_fleet(client, fleet_traces(str(traces)), str(summaries), {})
            seconds = time.perf_counter() - began
            peak_mb = max(client.run(_peak_mb).values())
        inflated = sum(map(_inflated_bytes, traces.iterdir()))
    of = fleet.readings
    task_s = sorted(one.seconds for one in of)[len(of) // 2]
    return Row(ranks, seconds, task_s, peak_mb, sum(one.summary_bytes for one in of), sum(one.trace_bytes for one in of), inflated, fleet)


def _imported() -> None:
    """Once a worker, whatever the ranks."""
    import diagnose.fleet.tasks  # noqa: F401


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _inflated_bytes(path: Path) -> int:
    """By the last four bytes of a gzip file."""
    return int.from_bytes(path.read_bytes()[-4:], "little")


def _lines(paths: Sequence[Path]) -> Iterator[str]:
    templates = [template(path) for path in paths]
    late = f"rank {PLANTED} (modulo the ranks) waits {PLANTED_MS} ms longer for each batch"
    yield f"synthetic ranks: {STEPS} steps each, from {len(paths)} real ones; {late}"
    yield "s a rank: all of it, by the ranks; s a task: reading and reducing one trace, median; MB: the peak of the worker that took most"
    yield "ranks   s in all   s a rank   s a task     MB   summaries ÷ traces inflated (packed)"
    for ranks in SIZES:
        row = measured(paths, ranks)
        late_rank = PLANTED % ranks
        with_it, without = (simulated(templates, ranks, late_rank, late_us).step_ms for late_us in (1000 * PLANTED_MS, 0))
        cost = f"{row.ranks:5} {row.seconds:10.1f} {row.seconds / ranks:10.3f} {row.task_s:10.3f} {row.peak_mb:6.0f}"
        yield f"{cost} {row.summary_bytes / row.inflated_bytes:14.2%} ({row.summary_bytes / row.trace_bytes:.1%})"
        yield f"        planted: rank {late_rank}, input_wait, costs {with_it - without:.2f} ms a step of {with_it:.2f} ms"
        yield f"        found:   {_found(row.fleet)}"


def _found(fleet: Fleet) -> str:
    job = fleet.job
    if job.late_rank is None:
        return f"no late rank ({job.pattern})"
    alone_ms = job.state(job.late_rank).held_up_ms
    told = f"rank {job.late_rank}, {job.cause} {job.cause_ms or 0:+.2f} ms, {job.pattern}; all wait {alone_ms:.2f} ms a step for it alone"
    finding = next((one for one in fleet.document["findings"] if one["rule"].startswith("late-rank") and one["state"] == "fires"), None)
    saving = finding["saving"]["predicted_ms"] if finding else None
    return f"{told}; {finding['rule']}, predicted to save {saving['best_guess']:.2f} ms" if finding and saving else told


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    paths = sorted(folder.glob(PATTERN)) if folder else []
    if not paths:
        raise SystemExit(f"usage: python -m tests.benchmarks.fleet FOLDER, where {PATTERN} are the traces of one job's ranks")
    for line in _lines(paths):
        print(line, flush=True)


if __name__ == "__main__":
    main()

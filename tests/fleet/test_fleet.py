"""A fleet on small Dask clusters: what is found is what all summaries at once tell, whatever happens to traces and workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diagnose.errors import DiagnoseError
from diagnose.fleet import fleet as fleet_module
from diagnose.fleet.cluster import cluster
from diagnose.fleet.fleet import Fleet, analyse_fleet
from diagnose.fleet.tasks import merged, reduced
from diagnose.fleet.traces import fleet_traces
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.ranks.job import job_of
from diagnose.ranks.summary import read_summary, summary_of
from tests.fleet.rank_files import LATE_US, write_ranks

distributed = pytest.importorskip("distributed", reason="a fleet needs Dask: pip install 'torch-diagnose[dask]'")
pytest.importorskip("pyarrow", reason="summaries need pyarrow: pip install 'torch-diagnose[dask]'")
COUNT, LATE = 12, 7


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers that are threads of this process: quick, and enough where nobody is killed."""
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with distributed.LocalCluster(**workers, dashboard_address="127.0.0.1:0") as local, distributed.Client(local) as client:
        yield client


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    write_ranks(tmp_path / "ranks", COUNT, LATE)
    return tmp_path / "ranks"


def analysed(client: Any, ranks: Path, tell: Any = lambda done: None) -> Fleet:
    summaries = ranks.parent / "summaries"
    summaries.mkdir(exist_ok=True)
    return analyse_fleet(client, fleet_traces(str(ranks)), str(summaries), {}, tell)


def all_at_once(ranks: Path) -> Any:
    return job_of(summary_of(Measured(load_recording(path)), source=path.name) for path in sorted(ranks.iterdir()))


def test_the_late_rank_and_what_it_waited_for_are_found(client: Any, ranks: Path) -> None:
    job = analysed(client, ranks).job
    assert (job.late_rank, job.pattern, job.cause) == (LATE, "persistent", "input_wait")
    assert job.held_up_ms == pytest.approx(LATE_US / 1000, rel=0.01)


@pytest.mark.parametrize("fan_in", [2, 5, 16])
def test_merging_in_a_tree_is_the_same_as_all_at_once(client: Any, ranks: Path, fan_in: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "FAN_IN", fan_in)
    assert repr(analysed(client, ranks).job) == repr(all_at_once(ranks))  # as text, where nan is nan


def test_merges_are_associative(ranks: Path, tmp_path: Path) -> None:
    parts = [reduced(path.name, path, str(tmp_path), {}) for path in sorted(ranks.iterdir())[:3]]
    first, second, third = parts
    left, right = merged([merged([first, second]), third]), merged([first, merged([second, third])])
    assert [one.source for one in left.summaries] == [one.source for one in right.summaries] == ["rank0.json", "rank1.json", "rank10.json"]
    assert left.readings == right.readings


def test_the_report_is_about_the_late_rank_as_part_of_its_job(client: Any, ranks: Path) -> None:
    fleet = analysed(client, ranks)
    assert fleet.document["run"]["target"] == f"rank{LATE}.json"
    assert fleet.document["ranks"]["representative"] == LATE
    assert fleet.picture["versions"]


def test_each_summary_lies_in_a_parquet_file(client: Any, ranks: Path) -> None:
    fleet = analysed(client, ranks)
    files = sorted((ranks.parent / "summaries").iterdir())
    assert [path.name for path in files] == sorted(f"rank{rank}.json.parquet" for rank in range(COUNT))
    assert sum(path.stat().st_size for path in files) == sum(one.summary_bytes for one in fleet.readings)
    assert sorted(read_summary(path).rank for path in files) == list(range(COUNT))


def test_a_bad_trace_costs_its_rank_only(client: Any, ranks: Path) -> None:
    (ranks / "rank3.json").write_text("{")
    (ranks / "rank5.json").unlink()
    (ranks / "rank5.json").symlink_to(ranks / "nowhere")
    fleet = analysed(client, ranks)
    assert fleet.job.late_rank == LATE and fleet.job.missing == (3, 5)
    assert [one.name for one in fleet.readings if one.error] == ["rank3.json", "rank5.json"]
    assert any(note.startswith("2 of 12 traces could not be read and are left out: rank3.json: ") for note in fleet.job.notes)


def test_a_fleet_of_bad_traces_is_an_error_that_shows_one(client: Any, ranks: Path) -> None:
    for path in ranks.iterdir():
        path.write_text("{")
    with pytest.raises(DiagnoseError, match="none of the traces could be read"):
        analysed(client, ranks)


def test_progress_counts_every_trace_once(client: Any, ranks: Path) -> None:
    told: list[int] = []
    analysed(client, ranks, told.append)
    assert told == list(range(1, COUNT + 1))


def test_a_worker_killed_in_the_middle_loses_nothing(ranks: Path) -> None:
    with cluster(workers=2) as client:
        victim = next(iter(client.run(os.getpid).values()))

        def kill(done: int) -> None:
            if done == COUNT // 2:
                os.kill(victim, signal.SIGKILL)

        job = analysed(client, ranks, kill).job
        assert victim not in client.run(os.getpid).values()
    assert repr(job) == repr(all_at_once(ranks))


def test_a_trace_that_workers_die_of_costs_its_rank_only(client: Any, ranks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly(name: str, *given: Any, **options: Any) -> Any:
        if name == "rank3.json":
            raise distributed.scheduler.KilledWorker(name, None, 3)  # what Dask says of a task after three workers
        return reduced(name, *given, **options)

    monkeypatch.setattr(fleet_module, "reduced", deadly)
    fleet = analysed(client, ranks)
    assert fleet.job.late_rank == LATE and fleet.job.missing == (3,)
    assert [one.name for one in fleet.readings if one.error.startswith("workers died of it")] == ["rank3.json"]

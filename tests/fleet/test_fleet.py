"""A fleet on small Dask clusters: what is found is what all summaries at once tell,
whatever happens to traces and workers.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from diagnose.errors import DiagnoseError
from diagnose.fleet import fleet as fleet_module
from diagnose.fleet.cluster import cluster
from diagnose.fleet.fleet import Fleet, analyse_fleet
from diagnose.fleet.recordings import fleet_ranks
from diagnose.fleet.tasks import READING_SHARE, _limited, merged, reduced
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.pipeline import analysis_of
from diagnose.ranks.job import job_of
from diagnose.ranks.load import RankSource
from diagnose.ranks.summary import read_summary, summary_of
from tests.fleet.rank_files import LATE_US, reduced_and_noted, write_ranks, write_run

distributed = pytest.importorskip(
    "distributed", reason="a fleet needs Dask: pip install 'torch-diagnose[dask]'"
)
pytest.importorskip("pyarrow", reason="summaries need pyarrow: pip install 'torch-diagnose[dask]'")
COUNT, LATE = 12, 7


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers that are threads of this process: quick, and enough where nobody is killed."""
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(**workers, dashboard_address="127.0.0.1:0") as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    write_ranks(tmp_path / "ranks", COUNT, LATE)
    return tmp_path / "ranks"


def analysed(client: Any, ranks: Path, tell: Any = lambda done: None) -> Fleet:
    summaries = ranks.parent / "summaries"
    summaries.mkdir(exist_ok=True)
    return analyse_fleet(client, fleet_ranks(str(ranks)), str(summaries), {}, tell)


def all_at_once(ranks: Path) -> Any:
    return job_of(
        summary_of(Measured(load_recording(path)), source=path.name) for path in sorted(ranks.iterdir())
    )


def test_the_late_rank_and_what_it_waited_for_are_found(client: Any, ranks: Path) -> None:
    job = analysed(client, ranks).job
    assert (job.late_rank, job.pattern, job.cause) == (LATE, "persistent", "input_wait")
    assert job.held_up_ms == pytest.approx(LATE_US / 1000, rel=0.01)


@pytest.mark.parametrize(
    "fan_in", [pytest.param(2, marks=pytest.mark.long), 5, pytest.param(16, marks=pytest.mark.long)]
)
def test_merging_in_a_tree_is_the_same_as_all_at_once(
    client: Any, ranks: Path, fan_in: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "FAN_IN", fan_in)
    assert repr(analysed(client, ranks).job) == repr(all_at_once(ranks))  # as text, where nan is nan


def test_merges_are_associative(ranks: Path, tmp_path: Path) -> None:
    parts = [reduced(RankSource(path, path.name), str(tmp_path), {}) for path in sorted(ranks.iterdir())[:3]]
    first, second, third = parts
    left, right = merged([merged([first, second]), third]), merged([first, merged([second, third])])
    assert left == right
    assert [read_summary(io.BytesIO(one)).source for one in left.summaries] == [
        "rank0.json",
        "rank1.json",
        "rank10.json",
    ]


def test_the_report_is_about_the_late_rank_as_part_of_its_job(client: Any, ranks: Path) -> None:
    fleet = analysed(client, ranks)
    assert fleet.document.run.target == f"rank{LATE}.json"
    assert fleet.document.ranks.representative == LATE
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
    assert any(
        note.startswith("2 of 12 ranks could not be read and are left out: rank3.json: ")
        for note in fleet.job.notes
    )


def test_a_fleet_of_bad_traces_is_an_error_that_shows_one(client: Any, ranks: Path) -> None:
    for path in ranks.iterdir():
        path.write_text("{")
    with pytest.raises(DiagnoseError, match="none of the ranks could be read"):
        analysed(client, ranks)


def test_progress_counts_every_trace_once(client: Any, ranks: Path) -> None:
    told: list[int] = []
    analysed(client, ranks, told.append)
    assert told == list(range(1, COUNT + 1))


def test_a_worker_killed_in_the_middle_loses_nothing(
    ranks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had done and still held is done again by others."""
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setattr(fleet_module, "reduced", partial(reduced_and_noted, notes))
    lost: list[str] = []

    def done_by(pid: int) -> list[str]:
        return [path.stem for path in notes.iterdir() if path.suffix == f".{pid}"]

    with cluster(workers=2) as client:
        pids = list(client.run(os.getpid).values())

        def kill(done: int) -> None:
            if done == COUNT // 2:
                victim = max(pids, key=lambda pid: len(done_by(pid)))
                os.kill(victim, signal.SIGKILL)
                lost.extend([str(victim), *done_by(victim)])

        job = analysed(client, ranks, kill).job
        victim, *names = lost
        assert int(victim) not in client.run(os.getpid).values()
    assert names
    assert {name for name in names if len(list(notes.glob(f"{name}.*"))) > 1} == set(names)
    assert repr(job) == repr(all_at_once(ranks))


def test_what_workers_die_of_costs_its_rank_only(
    client: Any, ranks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 5 waits on the same worker behind rank 3, which workers die of:

    Dask gives both up, and rank 5 is tried once more, alone.
    """

    def deadly(rank: RankSource, **how: Any) -> Any:
        behind = tmp_path / "behind"
        if rank.name == "rank3.json" or (rank.name == "rank5.json" and not behind.exists()):
            if rank.name == "rank5.json":
                behind.touch()
            # as Dask says after three workers
            raise distributed.KilledWorker(rank.name, SimpleNamespace(address="tcp://"), 3)
        return reduced(rank, **how)

    monkeypatch.setattr(fleet_module, "reduced", deadly)
    fleet = analysed(client, ranks)
    assert (tmp_path / "behind").exists()
    assert fleet.job.late_rank == LATE and fleet.job.missing == (3,)
    assert [one.name for one in fleet.readings if one.error.startswith("workers died of it")] == [
        "rank3.json"
    ]


def test_a_summary_that_cannot_be_written_costs_nothing_but_a_note(client: Any, ranks: Path) -> None:
    fleet = analyse_fleet(client, fleet_ranks(str(ranks)), str(ranks / "nowhere"), {})
    assert fleet.job.late_rank == LATE and not fleet.job.missing
    assert any(note.startswith("12 of 12 ranks have no summary in a file") for note in fleet.job.notes)


@pytest.mark.parametrize("protocol", ["", "file://"])
def test_a_run_folder_gives_the_report_that_it_gives_without_a_fleet(
    client: Any, tmp_path: Path, protocol: str
) -> None:
    """With plain steps and facts; at a URL too, from which each worker fetches one rank's folder."""
    run = write_run(tmp_path / "run", 4, late=2)
    (tmp_path / "summaries").mkdir()
    fleet = analyse_fleet(client, fleet_ranks(f"{protocol}{run}"), str(tmp_path / "summaries"), {})
    assert fleet.document == analysis_of(run).document
    assert (fleet.job.late_rank, fleet.document.run.target) == (2, "train.py")
    assert fleet.document.steps.plain_ms.median == pytest.approx(9.0)


def test_the_run_folders_of_several_machines_are_one_job(client: Any, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "node0", 4, late=2, ranks=range(2))
    write_run(tmp_path / "runs" / "node1", 4, late=2, ranks=range(2, 4))
    job = analyse_fleet(client, fleet_ranks(f"{tmp_path}/runs/node*"), str(tmp_path), {}).job
    assert [(one.rank, one.source) for one in job.ranks] == [
        (0, "node0/rank0"),
        (1, "node0/rank1"),
        (2, "node1/rank2"),
        (3, "node1/rank3"),
    ]
    assert job.late_rank == 2


def test_reading_takes_no_more_memory_than_dask_lets_the_worker(client: Any) -> None:
    """So that a trace that needs more is refused in words, and ends no worker."""
    of_worker = next(iter(client.scheduler_info()["workers"].values()))["memory_limit"]
    for given, expected in (
        (None, int(READING_SHARE * of_worker)),
        (10**6, 10**6),
        (10**15, int(READING_SHARE * of_worker)),
    ):
        assert client.submit(_limited, {"memory_limit": given, "trusted": True}).result() == {
            "memory_limit": expected,
            "trusted": True,
        }
    assert _limited({"memory_limit": 10**6}) == {"memory_limit": 10**6}  # outside of any worker

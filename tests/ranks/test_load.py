"""Several ranks become one report."""

import gzip
import json

import pytest

from diagnose.commands.main import main
from diagnose.errors import DiagnoseError
from diagnose.measure.recording import load_recording, rank_folders
from diagnose.pipeline import analysis_of, report
from tests.ranks.jobs import write_trace


@pytest.fixture
def traces(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(4):
        write_trace(folder / f"rank{rank}.json.gz", rank, late_ms=30 if rank == 2 else 0)
    return folder


def test_the_traces_of_a_job_are_the_report_of_the_rank_that_holds_the_others_up(traces):
    analysis = analysis_of(sorted(traces.iterdir()))
    document = analysis.document
    ranks = document.ranks
    assert (ranks.representative, ranks.late_rank, ranks.pattern, ranks.cause) == (
        2,
        2,
        "persistent",
        "input_wait",
    )
    assert document.run.target == "rank2.json.gz"
    assert analysis.source == traces / "rank2.json.gz"
    assert {row.row: row.ms_per_step for row in document.ledger}["input_wait"] == pytest.approx(35)


def test_a_trace_that_cannot_be_read_costs_its_rank_only(traces):
    (traces / "rank1.json.gz").write_bytes(
        gzip.compress(b'{"distributedInfo": {"rank": 1, "world_size": 4}, "traceEvents": 3}')
    )
    ranks = analysis_of(sorted(traces.iterdir())).document.ranks
    assert (ranks.recorded, ranks.missing, ranks.late_rank) == ([0, 2, 3], [1], 2)
    assert [
        note for note in ranks.notes if note.startswith("rank1.json.gz could not be read and is left out: ")
    ]


def test_if_none_can_be_read_that_is_an_error(tmp_path):
    for name in ("rank0.json", "rank1.json"):
        (tmp_path / name).write_text("[]")
    with pytest.raises(DiagnoseError, match="no rank"):
        analysis_of(sorted(tmp_path.iterdir()))


def test_a_folder_of_a_job_s_traces_gives_one_report(traces, tmp_path):
    assert main(["--quiet", "--out", str(tmp_path / "out"), str(traces)]) == 0
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["ranks"]["recorded"] == [0, 1, 2, 3]
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir() and path.name != "tb"]


def test_a_run_folder_of_several_ranks_is_one_job(tmp_path):
    """The ranks come from the folders' names; the second is the late one."""
    (tmp_path / "run.json").write_text(
        json.dumps({"target": "train.py", "ended": "finished", "exit_code": 0})
    )
    for rank in range(2):
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        write_trace(folder / "timeline.pt.trace.json.gz", rank, late_ms=30 * rank, world_size=2)
        phases = [
            {
                "name": "timeline",
                "first_tick": 0,
                "tick_ns": [0, 100_000_000],
                "trace": "timeline.pt.trace.json.gz",
            }
        ]
        (folder / "steps.json").write_text(json.dumps({"clock": "optimizer", "phases": phases}))
    document = report(tmp_path, tmp_path)
    assert document.ranks.late_rank == 1
    assert (tmp_path / "tb" / "timeline" / "rank0.pt.trace.json.gz").samefile(
        tmp_path / "rank1" / "timeline.pt.trace.json.gz"
    )
    analysis = analysis_of(tmp_path)
    ranks = analysis.document.ranks
    assert (ranks.late_rank, [row.source for row in ranks.rows]) == (1, ["rank0", "rank1"])
    assert analysis.document.run.target == "train.py"
    assert analysis.source == tmp_path
    assert list(rank_folders(tmp_path)) == [0, 1]
    assert load_recording(tmp_path).timeline.info["distributedInfo"]["rank"] == 0
    assert load_recording(tmp_path, rank=1).timeline.info["distributedInfo"]["rank"] == 1


def test_tensorboard_gets_the_trace_of_the_rank_that_the_report_is_about(traces, tmp_path):
    report(sorted(traces.iterdir()), tmp_path / "out")
    assert (tmp_path / "out" / "tb" / "trace" / "rank0.pt.trace.json.gz").samefile(traces / "rank2.json.gz")


def test_a_lone_trace_has_no_ranks(traces):
    assert analysis_of(traces / "rank0.json.gz").document.ranks is None

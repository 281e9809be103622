"""`python -m diagnose whatif` as a user types it, on a bundled recording."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from diagnose.commands import main as cli
from diagnose.commands import whatif
from diagnose.report.whatif import print_whatif
from tests.ranks.jobs import write_trace

ROOT = Path(__file__).parents[2]
RUN = str(ROOT / "sample_traces" / "host-reads" / "sick")
EMPTY = str(ROOT / "sample_traces" / "own-profiler" / "sick")  # no complete step was recorded


def answered(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert cli.main(["whatif", RUN, *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_user_reads_the_step_now_and_then() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "diagnose",
            "whatif",
            RUN,
            "--remove",
            "host_reads",
            "--shrink",
            "forward=0.5",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[1].startswith("  host_reads is gone (")
    assert lines[2].startswith("  forward takes 50 % of its time (")
    assert lines[4].startswith("A step takes ") and lines[4].endswith(" less.")
    table = {line[:22].strip(): line[22:].split() for line in lines[7:-2]}
    assert table["Reading tensor values"][2:4] == ["0", "ms"]
    assert "The step" in table
    assert "off the recording" in lines[-1]


@pytest.mark.parametrize(
    "argv",
    [
        ["--batch", "8", "--remove", "host_reads"],
        ["--fits", "1G", "--workers", "2"],
        ["--argument=--batch-size", "--remove", "python"],
    ],
)
def test_other_batch_sizes_are_asked_by_themselves(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["whatif", RUN, *argv]) == 2
    assert "--batch" in capsys.readouterr().err


@pytest.mark.parametrize("others", [["--batch", "8"], ["--remove", "host_reads"]])
def test_checkpoints_are_asked_for_by_themselves(
    others: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["whatif", RUN, "--checkpoint", "1G", *others]) == 2
    assert "--checkpoint" in capsys.readouterr().err


def test_a_run_whose_memory_was_not_seen_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["whatif", RUN, "--checkpoint", "1G"]) == 1
    assert "Memory was not looked at" in capsys.readouterr().err


def test_the_document_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    document = answered(capsys, "--remove", "host_reads", "python")
    rows = {row["row"]: row for row in document["ledger"]}
    assert sum(row["ms"] for row in rows.values()) == pytest.approx(document["step_ms"])
    assert sum(row["ms_then"] for row in rows.values()) == pytest.approx(document["step_ms_then"])
    gone_ms = rows["host_reads"]["ms"] + rows["python"]["ms"]
    assert (
        document["saved_ms"]
        == pytest.approx(gone_ms)
        == pytest.approx(document["step_ms"] - document["step_ms_then"])
    )
    assert [(one["change"], one["name"]) for one in document["asked"]] == [
        ("remove", "host_reads"),
        ("remove", "python"),
    ]
    assert document["step_ms_range"] is None


def test_the_fix_of_a_rule_comes_with_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    document = answered(capsys, "--remove", "host-read-cost")
    best, worst = document["step_ms_range"]
    assert document["asked"][0]["is_fix"]
    assert best <= document["step_ms_then"] <= worst < document["step_ms"]
    assert cli.main(["whatif", RUN, "--remove", "host-read-cost"]) == 0
    assert "depending on how well these fixes work" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ([], 2, "RUN_OR_TRACE is missing"),
        (["--remove", "python", RUN], 2, "it comes before the changes"),
        ([RUN], 2, "at least one change"),
        ([RUN, "--remove", "host_raeds"], 2, "did you mean host_reads"),
        ([RUN, "--shrink", "python"], 2, "'python' is no name and a ratio from 0 to 1"),
        ([RUN, "--shrink", "python=1.5"], 2, "from 0 to 1"),
        ([RUN, "--workers", "0"], 2, "not a positive number"),
        ([RUN, "--oops"], 2, "whatif --help"),
        ([RUN, "--unblock", "python"], 1, "no GPU in this recording"),
        ([EMPTY, "--remove", "python"], 1, "no complete step was recorded"),
        ([RUN + ".py", "--remove", "python"], 2, "is no run folder and no trace"),
        (["nosuch", "--remove", "python"], 2, "there is no nosuch"),
        (["metrics", "--remove", "python"], 2, "there is no metrics"),
        (
            [str(ROOT / "sample_traces" / "host-reads" / "sick" / "rank0"), "--remove", "python"],
            2,
            "is JSON, but no trace",
        ),
    ],
)
def test_what_cannot_be_answered_is_one_clear_message(
    argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["whatif", *argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err and "Traceback" not in err


def test_a_pattern_may_hold_an_equals_sign() -> None:
    given = whatif.parser().parse_args(["run", "--scale-kernels", "gemm<M=64>=0.5", "conv=0"])
    assert given.scale_kernels == [("gemm<M=64>", 0.5), ("conv", 0.0)]


def test_options_may_be_repeated() -> None:
    given = whatif.parser().parse_args(["run", "--remove", "a", "b", "--remove", "c"])
    assert given.remove == ["a", "b", "c"]
    assert whatif.parser().parse_args(["run"]).remove == []


def test_help_names_the_exit_codes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "diagnose", "whatif", "--help"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0
    assert "exit codes: 0 answered" in done.stdout


# ---- words


def said(**changed: object) -> str:
    document = {
        "target": "run",
        "asked": [],
        "recorded_step_ms": 10.0,
        "step_ms": 10.0,
        "step_ms_then": 7.5,
        "step_ms_range": None,
        "saved_share": 0.25,
        "self_replay_error": 0.004,
        "replayed_steps": 3,
        "step_count": 3,
        "ledger": [
            {"title": "Python", "ms": 10.0, "ms_then": 7.5},
            {"title": "Copies", "ms": 0.001, "ms_then": 0.001},
        ],
    }
    console = Console(record=True, width=200, color_system=None, file=io.StringIO())
    print_whatif({**document, **changed}, console)
    return console.export_text()


def test_the_step_and_its_rows() -> None:
    text = said()
    assert "A step takes 7.50 ms instead of 10.0 ms, 2.50 ms (25 %) less." in text
    assert "Python                     10.0 ms     7.50 ms     −2.50 ms" in text
    assert "Copies" not in text  # too little to show
    assert "replaying the recorded steps; replayed unchanged, a step ends 0.4 % off the recording." in text


def test_a_step_that_takes_as_long_as_before() -> None:
    assert "A step still takes 10.0 ms: other work takes that long all the same." in said(
        step_ms_then=10.0, saved_share=0.0
    )


RANKS = sorted((ROOT.parent / "shared" / "traces").glob("param-dlrm-r[0-7].json.gz"))


@pytest.mark.skipif(len(RANKS) != 8, reason="no traces of others here")
def test_a_folder_with_a_trace_for_each_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # All eight wait for their hosts: faster collectives shorten no step of the job, though five
    # ranks by themselves look as if they did.
    for trace in RANKS:
        (tmp_path / trace.name).symlink_to(trace)
    assert cli.main(["whatif", str(tmp_path), "--scale-kernels", "nccl=0.5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["step_ms_then"] == pytest.approx(document["step_ms"], rel=0.02)
    assert sum(rank["step_ms"] - rank["step_ms_then"] > 0.5 for rank in document["ranks"]) == 5
    assert cli.main(["whatif", str(tmp_path), "--remove", "launch_bound"]) == 0
    assert "8 ranks replayed together: A step takes" in capsys.readouterr().out


def test_traces_without_collectives_are_no_ranks_of_a_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, case in (("a", "host-reads"), ("b", "sleep")):
        trace = ROOT / "sample_traces" / case / "sick" / "rank0" / "timeline.pt.trace.json.gz"
        (tmp_path / f"{name}.pt.trace.json.gz").symlink_to(trace)
    assert cli.main(["whatif", str(tmp_path), "--remove", "python"]) == 1
    assert "the ranks cannot be replayed together" in capsys.readouterr().err


def test_a_host_that_ran_ahead() -> None:
    assert "The recorded steps took 4.00 ms only: the host ran ahead, and the GPU could not keep up." in said(
        recorded_step_ms=4.0
    )
    assert "ran ahead" not in said(recorded_step_ms=9.9)


def test_some_of_the_steps() -> None:
    text = said(replayed_steps=1, step_count=6)
    assert (
        "replaying 1 of the 6 recorded steps" in text
        and "What only the other steps take stays as it is." in text
    )
    assert "replaying the recorded step;" in said(replayed_steps=1, step_count=1)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"change": "remove", "name": "python"}, "python is gone (2.50 ms of a step now)"),
        (
            {"change": "remove", "name": "host-reads", "is_fix": True},
            "the fix of host-reads is made (it finds 2.50 ms of a step now)",
        ),
        (
            {"change": "shrink", "name": "python", "ratio": 0.5},
            "python takes 50 % of its time (2.50 ms of a step now)",
        ),
        (
            {"change": "unblock", "name": "host_sync"},
            "host_sync is no longer waited for (2.50 ms of a step now)",
        ),
        (
            {"change": "workers", "workers": 4},
            "4 worker processes load the batches (2.50 ms of a step wait for them now)",
        ),
        (
            {"change": "workers", "workers": 1},
            "1 worker process loads the batches (2.50 ms of a step wait for it now)",
        ),
        (
            {"change": "scale_kernels", "name": "a\x1b[1m", "ratio": 0.1},
            "kernels named like a\ufffd[1m take 10 % of their time (2.50 ms of a step now)",
        ),
    ],
)
def test_each_question_in_words(asked: dict[str, Any], line: str) -> None:
    whole = {"name": None, "ratio": None, "workers": None, "is_fix": False, "ms": 2.5, **asked}
    assert f"  {line}\n" in said(asked=[whole])


def test_of_several_ranks_in_a_run_it_asks_the_one_that_holds_the_others_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text(
        json.dumps({"target": "train.py", "ended": "finished", "exit_code": 0})
    )
    for rank in range(2):
        (tmp_path / f"rank{rank}").mkdir()
        write_trace(
            tmp_path / f"rank{rank}" / "timeline.pt.trace.json.gz", rank, late_ms=30 * rank, world_size=2
        )
        phases = [
            {
                "name": "timeline",
                "first_tick": 0,
                "tick_ns": [0, 100_000_000],
                "trace": "timeline.pt.trace.json.gz",
            }
        ]
        (tmp_path / f"rank{rank}" / "steps.json").write_text(
            json.dumps({"clock": "optimizer", "phases": phases})
        )
    assert cli.main(["whatif", str(tmp_path), "--remove", "input_wait", "--json"]) == 0
    rows = {row["row"]: row for row in json.loads(capsys.readouterr().out)["ledger"]}
    assert rows["input_wait"]["ms"] == pytest.approx(35)  # 5 as on rank 0, and 30

"""The command line: what belongs to whom, what a target is, exit codes, and what is imported."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from diagnose import pipeline
from diagnose import pipeline as analysis
from diagnose.commands import main as cli
from diagnose.commands import targets
from diagnose.commands import verify as verifying
from diagnose.commands.table import COMMANDS
from diagnose.document.stored import to_json
from diagnose.errors import DiagnoseError, TraceUnreadable, UsageError
from diagnose.report import terminal
from diagnose.run import launch as launching
from diagnose.run.settings import RunOutcome, Settings, Target
from diagnose.run.stage import Stage
from tests.report import documents

ROOT = Path(__file__).parents[2]


# ---- what belongs to whom


def started(folder: Path) -> dict[str, Any]:
    """What run.json says of how a run was started."""
    return {
        "target": "train.py",
        "module": False,
        "argv": ["train.py"],
        "cwd": str(folder),
        "settings": {"device": "cpu"},
    }


def test_everything_after_the_script_is_the_scripts() -> None:
    options = cli.parse(["--steps", "3", "train.py", "--epochs", "3", "--out", "x", "--help", "-m"])
    assert (options.steps, options.target, options.args) == (
        3,
        "train.py",
        ["--epochs", "3", "--out", "x", "--help", "-m"],
    )
    assert options.out is None


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [("8G", 8 * 2**30), ("500m", 500 * 2**20), ("1.5KiB", 1536), ("2TB", 2 * 2**40), ("123", 123), ("7B", 7)],
)
def test_a_size_is_in_binary_units(given: str, bytes_: int) -> None:
    assert cli.parse(["--memory-limit", given, "trace.json"]).memory_limit == bytes_


@pytest.mark.parametrize("given", ["", "0", "-1", "8X", "G", "1e9", "8 G", "nan", "0.0K", "9" * 999])
def test_what_is_no_size_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--memory-limit", given, "trace.json"]) == 2
    assert "is no size such as 8G" in capsys.readouterr().err


def test_everything_after_the_module_is_the_modules() -> None:
    options = cli.parse(["--no-stacks", "-m", "pkg.mod", "--x", "--steps=9"])
    assert (options.module, options.target, options.args, options.stacks) == (
        True,
        "pkg.mod",
        ["--x", "--steps=9"],
        False,
    )


def test_an_option_may_be_joined_to_its_value_and_a_double_dash_ends_the_options() -> None:
    options = cli.parse(["--steps=3", "--", "--odd.py", "--x"])
    assert (options.steps, options.target, options.args) == (3, "--odd.py", ["--x"])


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--stpes", "3", "train.py"], "did you mean --steps?"),
        (["--steps", "0", "train.py"], "not a positive number"),
        (["--timeout", "nan", "train.py"], "not a positive number"),
        (["--device", "tpu", "train.py"], "invalid choice"),
        (["--fail-on", "severe", "train.py"], "invalid choice"),
        (["--steps"], "expected one argument"),
        ([], "TARGET is missing"),
    ],
)
def test_a_wrong_command_line_is_explained_in_one_message(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err and "Traceback" not in err


# ---- what the target is

FILES: dict[str, bytes] = {
    "train.py": b"print(1)",
    "train": b"#!/usr/bin/env python\nprint(1)",
    "empty.json": b"",
    "trace.json": b"{}",
    "trace.json.gz": gzip.compress(b"{}"),
    "trace.json.zst": b"\x28\xb5\x2f\xfd",
    "nameless-gz": gzip.compress(b"{}"),
    "nameless-json": b'  \n{"traceEvents": []}',
    "nameless-binary": b"\x01\x02\0",
    "run/run.json": b"{}",
    "traces/a.json.gz": b"",
    "package/__main__.py": b"",
    "rules": b"print(1)",
}


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("train.py", "script"),
        ("./rules", "script"),
        ("train", "script"),
        ("package", "script"),
        ("empty.json", "trace"),
        ("trace.json", "trace"),
        ("trace.json.gz", "trace"),
        ("trace.json.zst", "trace"),
        ("nameless-gz", "trace"),
        ("nameless-json", "trace"),
        ("nameless-binary", "trace"),
        ("s3://bucket/x", "trace"),
        ("run", "run"),
        ("traces", "traces"),
    ],
)
def test_the_kind_of_a_target(target: str, kind: str, work_folder: Path) -> None:
    for name, content in FILES.items():
        (work_folder / name).parent.mkdir(exist_ok=True)
        (work_folder / name).write_bytes(content)
    assert targets.kind_of(target) == kind
    assert targets.kind_of(target, module=True) == "module"


def test_what_is_no_target_is_said_with_the_nearest_name(work_folder: Path) -> None:
    (work_folder / "train.py").write_text("")
    (work_folder / "nothing").mkdir()
    with pytest.raises(UsageError, match="did you mean train") as missing:
        targets.kind_of("trian.py")
    assert "there is no trian.py" in missing.value.what
    with pytest.raises(UsageError, match="no traces in this folder"):
        targets.kind_of("nothing")


# ---- what is done, with recorder and analysis replaced


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `launch` was called with; set `ended` to choose how the run ends."""
    calls: dict[str, Any] = {"ended": "stopped"}

    def launch(
        target: Target, settings: Settings, out: Path, progress: Callable[[Stage], None], peers: object
    ) -> RunOutcome:
        calls.update(target=target, settings=settings, out=out)
        if "fails" in calls:
            raise calls["fails"]
        (out / "run.json").write_text("{}")
        if calls.get("recorded"):
            (out / "rank0").mkdir()
            (out / "rank0" / "steps.json").write_text("{}")
        progress(Stage("timing plain steps"))
        return RunOutcome(calls["ended"], 0, None, 1.0)

    monkeypatch.setattr(launching, "launch", launch)
    return calls


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The result document by file name, `*` for all others; an exception is raised.

    `reading`: the options it was given last.
    """
    answers: dict[str, Any] = {"*": documents.sick()}

    def report(
        source: Path, out: Path, tell: Callable[[Any], None], beside: object, **reading: object
    ) -> dict[str, Any]:
        answers["reading"] = reading
        answer = answers.get(source.name, answers["*"])
        if isinstance(answer, Exception):
            raise answer
        tell(answer)
        out.mkdir(exist_ok=True)
        (out / "report.json").write_text(to_json(answer), encoding="utf-8", errors="replace")
        return answer

    monkeypatch.setattr(pipeline, "report", report)
    return answers


@pytest.fixture
def script(work_folder: Path) -> str:
    (work_folder / "train.py").write_text("print(1)")
    return "train.py"


def test_a_script_is_recorded_and_reported(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--steps", "4", "--no-stacks", "--timeout", "9", script, "--epochs", "3"]) == 0
    assert launched["target"] == Target("train.py", False, ("--epochs", "3"))
    assert launched["settings"] == Settings(steps=4, stacks=False, timeout_s=9.0)
    assert launched["out"].parent == Path("diagnosis")
    assert {"run.json", "report.json"} == {path.name for path in launched["out"].iterdir()}
    out, err = capsys.readouterr()
    assert out == ""
    assert "diagnose: timing plain steps" in err and "report.html" in err


@pytest.mark.parametrize(
    ("ended", "code"),
    [("stopped", 0), ("finished", 0), ("timeout", 0), ("crashed", 3), ("killed", 3), ("interrupted", 130)],
)
def test_exit_codes_follow_the_script(
    ended: str, code: int, script: str, launched: dict[str, Any], analysed: dict[str, Any]
) -> None:
    launched["ended"] = ended
    assert cli.main(["--out", "out", script]) == code
    assert Path("out/report.json").exists()


@pytest.mark.parametrize(
    ("ended", "code"),
    [("stopped", 1), ("finished", 1), ("timeout", 1), ("crashed", 3), ("killed", 3), ("interrupted", 130)],
)
@pytest.mark.parametrize("phases", [{}, {"warmup": 2}])
def test_a_report_without_a_measurement_is_no_success(
    ended: str,
    code: int,
    phases: dict[str, int],
    script: str,
    launched: dict[str, Any],
    analysed: dict[str, Any],
) -> None:
    launched["ended"], analysed["*"] = ended, documents.without_a_step()
    analysed["*"].run.ended = ended
    analysed["*"].steps.phases = phases
    assert cli.main(["--out", "out", "--verify", script]) == code
    assert Path("out/report.json").exists()


def test_quiet_says_why_nothing_was_recorded(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    analysed["*"] = documents.without_a_step()
    analysed["*"].headline = "train.py never imported torch, so there was nothing to record"
    assert cli.main(["--quiet", "--json", script]) == 1
    out, err = capsys.readouterr()
    assert err == "diagnose: train.py never imported torch, so there was nothing to record\n"
    assert json.loads(out) == documents.as_read(analysed["*"])


def test_a_crash_with_nothing_to_analyse_is_still_the_scripts_failure(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    launched["ended"], analysed["*"] = "crashed", DiagnoseError("nothing was recorded")
    assert cli.main([script]) == 3
    assert "nothing was recorded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("severity", "worst", "code"), [("high", "medium", 0), ("medium", "medium", 4), ("low", "high", 4)]
)
def test_fail_on_looks_at_the_plan(
    severity: str, worst: str, code: int, script: str, launched: dict[str, Any], analysed: dict[str, Any]
) -> None:
    analysed["*"].findings[0].severity = worst
    assert cli.main(["--fail-on", severity, "--out", "out", script]) == code


def test_a_healthy_run_never_fails(script: str, launched: dict[str, Any], analysed: dict[str, Any]) -> None:
    analysed["*"] = documents.healthy()
    assert cli.main(["--fail-on", "low", script]) == 0


def test_json_is_the_document_and_nothing_else(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--json", "--out", "out", script]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(Path("out/report.json").read_text())
    assert printed == documents.as_read(analysed["*"])


@pytest.mark.parametrize("name", ["plain", "\ud800"])
def test_what_is_printed_for_programs_begins_on_a_line_of_its_own(
    name: str,
    script: str,
    launched: dict[str, Any],
    analysed: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    analysed["*"].notes = [documents.note(name)]
    assert cli.main(["--json", script]) == 0
    out = capsys.readouterr().out
    assert out.startswith("\n{") and out.endswith("}\n") and len(out.splitlines()) == 2


def test_github_gets_annotations_that_fail_where_the_job_does(
    script: str,
    launched: dict[str, Any],
    analysed: dict[str, Any],
    work_folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    analysed["*"].run.cwd = str(work_folder)
    assert cli.main(["--format", "github", script]) == 0
    assert capsys.readouterr().out.startswith(
        "\n::warning file=train.py,line=41,title=Load batches in worker processes::Input loading without workers"
    )
    assert cli.main(["--format", "github", "--fail-on", "high", script]) == 4
    assert capsys.readouterr().out.startswith("\n::error file=train.py,line=41,")


def test_sarif_is_one_log_for_all_traces_of_a_folder(
    work_folder: Path, analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (work_folder / "traces").mkdir()
    for name in ("a.json", "b.json"):
        (work_folder / "traces" / name).write_text("")
    assert cli.main(["--format", "sarif", "traces"]) == 0
    log = json.loads(capsys.readouterr().out)
    assert [len(run["results"]) for run in log["runs"]] == [1, 1]
    assert cli.main(["--format", "github", "traces"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("given", [[], ["--json"], ["--format", "sarif"]])
def test_quiet_says_nothing_but_what_programs_read(
    given: list[str],
    script: str,
    launched: dict[str, Any],
    analysed: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["--quiet", *given, "--fail-on", "high", script]) == 4
    out, err = capsys.readouterr()
    assert err == "" and bool(out) == bool(given)


def test_quiet_keeps_errors(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    analysed["*"] = DiagnoseError("nothing was recorded")
    assert cli.main(["--quiet", script]) == 1
    assert capsys.readouterr().err == "diagnose: nothing was recorded\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--json", "--format", "sarif", "train.py"], "--json and --format sarif are two things"),
        (["--format", "xml", "train.py"], "invalid choice"),
        (["--format", "github", "whatif", "run"], "whatif has no --format github"),
        (["--format", "sarif", "compare", "a", "b"], "compare has no --format sarif"),
    ],
)
def test_a_format_that_does_not_fit_is_refused(
    argv: list[str], said: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def verifiable(
    work_folder: Path, analysed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A run folder whose plan has nothing that could be tried."""
    (work_folder / "run").mkdir()
    (work_folder / "run" / "run.json").write_text(json.dumps(started(work_folder)))
    document = analysed["*"]
    document.run.cwd = str(work_folder)
    document.findings[0].fix.arguments = {}
    monkeypatch.setattr(analysis, "analyse", lambda source, **limits: document)
    return document


@pytest.mark.parametrize(
    "argv", [["--format", "github", "verify", "run"], ["verify", "run", "--format", "github"]]
)
def test_verify_has_the_same_formats(
    argv: list[str], verifiable: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 0
    out, err = capsys.readouterr()
    assert out.startswith("::warning file=train.py,line=41,")
    assert "there is no fix to try" in err
    assert cli.main([*argv, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_with_verify_only_the_verified_document_is_printed(
    script: str,
    launched: dict[str, Any],
    analysed: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(verifying, "verify", lambda run, options, **how: given.append(options) or 4)
    assert cli.main(["--verify", "--json", "--quiet", "--fail-on", "high", "--budget", "90s", script]) == 4
    assert capsys.readouterr().out == ""
    (options,) = given
    assert (options.format, options.quiet, options.fail_on, options.budget) == ("json", True, "high", 90.0)

    def fails(run: Path, options: Any, **how: Any) -> int:
        raise DiagnoseError("The script could not be run again")

    monkeypatch.setattr(verifying, "verify", fails)
    assert cli.main(["--verify", "--json", script]) == 1
    assert json.loads(capsys.readouterr().out)["schema"] == 2  # then the one that there is


def test_nothing_is_ever_overwritten(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "strftime", lambda *given: "now")
    names = []
    for _ in range(3):
        assert cli.main([script]) == 0
        names.append(launched["out"].name)
    assert names == ["now", "now-2", "now-3"]
    assert cli.main(["--out", "diagnosis/now", script]) == 2
    Path("ready").mkdir()
    assert cli.main(["--out", "ready", script]) == 0


def test_a_run_folder_is_analysed_again_in_place(work_folder: Path, analysed: dict[str, Any]) -> None:
    (work_folder / "run").mkdir()
    (work_folder / "run" / "run.json").write_text("{}")
    assert cli.main(["run"]) == 0
    assert (work_folder / "run" / "report.json").exists()
    assert cli.main(["--out", "elsewhere", "run"]) == 0
    assert (work_folder / "elsewhere" / "report.json").exists()


def test_a_bad_trace_in_a_folder_costs_only_itself(
    work_folder: Path, analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (work_folder / "traces").mkdir()
    for name in ("a.pt.trace.json.gz", "a.json", "bad.json"):
        (work_folder / "traces" / name).write_text("")
    analysed["bad.json"] = TraceUnreadable("bad.json is empty")
    assert cli.main(["--out", "out", "--json", "traces"]) == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["a", "a-2"]
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "bad.json is empty" in err and "diagnose: analysing bad.json, 3 of 3 …" in err


def test_a_folder_of_nothing_but_bad_traces_is_an_error(
    work_folder: Path, analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (work_folder / "traces").mkdir()
    (work_folder / "traces" / "bad.json").write_text("")
    analysed["*"] = TraceUnreadable("bad.json is empty")
    assert cli.main(["--out", "out", "traces"]) == 2
    assert "none of the traces" in capsys.readouterr().err
    assert not Path("out").exists()


def test_recording_options_are_refused_for_what_is_already_recorded(
    work_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work_folder / "trace.json").write_text("{}")
    assert cli.main(["--steps", "3", "trace.json"]) == 2
    assert "--steps would change nothing" in capsys.readouterr().err
    assert cli.main(["trace.json", "--epochs", "3"]) == 2
    assert "already recorded and takes no arguments: --epochs 3" in capsys.readouterr().err
    assert cli.main(["trace.json", "--steps", "3"]) == 2
    assert "--steps would change nothing" in capsys.readouterr().err


def test_behind_a_trace_options_are_ours(
    work_folder: Path, analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (work_folder / "trace.json").write_text("{}")
    assert cli.main(["--quiet", "trace.json", "--out", "there", "--json"]) == 0
    assert Path("there").is_dir()
    assert json.loads(capsys.readouterr().out)["schema"] == 2


def test_our_own_failure_is_one_clear_line(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    analysed["*"] = KeyError("surprise")
    assert cli.main([script]) == 1
    err = capsys.readouterr().err
    assert "diagnose failed: KeyError" in err and "--debug" in err and "Traceback" not in err
    assert cli.main(["--debug", script]) == 1
    assert "Traceback" in capsys.readouterr().err


# ---- how traces are read


def trace(count: int = 3) -> bytes:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 8}
        for i in range(count)
    ]
    return gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())


def test_limits_reach_the_reader_after_a_recording_too(
    script: str, launched: dict[str, Any], analysed: dict[str, Any]
) -> None:
    assert cli.main(["--memory-limit", "2G", "--no-size-limit", script]) == 0
    assert (analysed["reading"]["memory_limit"], analysed["reading"]["trusted"]) == (2**31, True)
    assert cli.main([script]) == 0
    assert (analysed["reading"]["memory_limit"], analysed["reading"]["trusted"]) == (None, False)


def test_a_trace_above_the_memory_limit_is_refused_alone_in_a_folder_and_noted_in_a_run(
    work_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rank = work_folder / "run" / "rank0"
    rank.mkdir(parents=True)
    (work_folder / "run" / "run.json").write_text("{}")
    (rank / "steps.json").write_text(
        '{"phases": [{"name": "timeline", "first_tick": 0, "tick_ns": [0, 1], "trace": "t.json.gz"}]}'
    )
    (rank / "t.json.gz").write_bytes(trace())
    assert cli.main(["--memory-limit", "1K", str(rank / "t.json.gz")]) == 2
    assert "Raise the limit with --memory-limit" in capsys.readouterr().err
    assert cli.main(["--memory-limit", "1K", str(rank)]) == 2
    assert "none of the traces" in capsys.readouterr().err
    assert cli.main(["--memory-limit", "1K", "run"]) == 0
    assert "needs more memory than the limit" in (work_folder / "run" / "report.md").read_text(
        encoding="utf-8"
    )
    assert cli.main(["--memory-limit", "1G", str(rank / "t.json.gz")]) == 0


@pytest.mark.parametrize("is_heard", [True, False])
def test_the_summary_comes_before_the_files_which_come_whoever_hears_it(
    is_heard: bool, work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there_when_told: list[set[str]] = []

    def print_summary(document: Any, out: Path, console: Any) -> None:
        there_when_told.append({path.name for path in out.iterdir()})
        if not is_heard:
            raise BrokenPipeError

    monkeypatch.setattr(terminal, "print_summary", print_summary)
    (work_folder / "t.json.gz").write_bytes(trace())
    cli.main(["--out", "out", "t.json.gz"])
    assert there_when_told == [set()]
    assert {"report.html", "report.md", "report.json", "tb"} <= {path.name for path in Path("out").iterdir()}


def test_a_run_folder_whose_trace_is_gone_still_gets_a_report(work_folder: Path) -> None:
    (work_folder / "run" / "rank0").mkdir(parents=True)
    (work_folder / "run" / "run.json").write_text("{}")
    steps = '{"phases": [{"name": "timeline", "first_tick": 0, "tick_ns": [0, 1], "trace": "gone.json.gz"}]}'
    (work_folder / "run" / "rank0" / "steps.json").write_text(steps)
    assert cli.main(["run"]) == 0
    assert "timeline trace could not be read" in (work_folder / "run" / "report.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_a_trace_at_a_url_is_read_copied_and_shown_without_secrets(
    kept: str, work_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "memory://cli/t.json.gz" if kept == "memory" else f"file://{work_folder}/t.json.gz"
    written = trace()  # gzip keeps the time: another one may differ
    with fsspec.open(url, "wb") as file:
        file.write(written)
    assert cli.main(["--out", "out", url]) == 0
    assert json.loads(Path("out/report.json").read_text())["run"]["target"] == url
    assert (work_folder / "out" / "tb" / "trace" / "rank0.pt.trace.json.gz").read_bytes() == written
    assert cli.main(["--steps", "3", "s3://me:secret@bucket/t.json?sig=secret"]) == 2
    assert "secret" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "said"),
    [("memory://no/such.json", "Cannot read memory://no/such.json."), ("nosuch://x", "Protocol not known")],
)
def test_a_url_that_leads_nowhere_is_one_clear_error(
    url: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([url]) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err
    assert not Path("diagnosis").exists()


# ---- rules and metrics


def test_rules_and_metrics_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules"]) == 0
    assert "input-wait-no-workers" in capsys.readouterr().out
    assert cli.main(["rules", "input-wait-no-workers"]) == 0
    page = capsys.readouterr().out
    assert "loading_share: at least 5.0 %" in page and "num_workers" in page
    assert cli.main(["metrics"]) == 0
    assert "input_wait_share" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["rules", "input-wait-no-worker"], "did you mean input-wait-no-workers?"),
        (["metrics", "x"], "./metrics"),
    ],
)
def test_an_unknown_rule_is_said_with_the_nearest(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    assert said in capsys.readouterr().err


# ---- as a process


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    """`python -m diagnose`, and afterwards on stderr what was imported beside the standard library and us."""
    script = (
        "import atexit, runpy, sys\n"
        "before = set(sys.modules)\n"  # a .pth file of the environment may import something
        "def ours(): return {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "atexit.register(lambda: print('imported:', *sorted(ours() - sys.stdlib_module_names - {'diagnose'}), "
        "file=sys.stderr))\n"
        "runpy.run_module('diagnose', run_name='__main__', alter_sys=True)"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *argv],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--help"], 0),
        *(([command, "--help"], 0) for command in COMMANDS),
        (["--version"], 0),
        (["--oops"], 2),
        (["rules", "--oops"], 2),
        (["missing.py"], 2),
        ([], 2),
    ],
)
def test_what_needs_no_analysis_imports_only_the_standard_library(argv: list[str], code: int) -> None:
    done = run(*argv)
    assert done.returncode == code
    assert done.stderr.splitlines()[-1].strip() == "imported:"


def test_a_new_rule_is_begun_where_the_rules_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules").mkdir()
    monkeypatch.setattr("diagnose.judge.rules.rules_folder", lambda: tmp_path / "rules")
    assert cli.main(["rules", "new", "pickling-in-loop"]) == 0
    assert sorted(path.name for path in (tmp_path / "rules").iterdir()) == [
        "pickling-in-loop.cases.toml",
        "pickling-in-loop.toml",
    ]
    assert "fill in every TODO" in capsys.readouterr().out


def test_an_installed_package_takes_no_new_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("diagnose.judge.rules.rules_folder", lambda: tmp_path / "_rules")
    assert cli.main(["rules", "new", "pickling-in-loop"]) == 2
    assert "CONTRIBUTING.md" in capsys.readouterr().err


def test_listing_rules_does_not_import_torch() -> None:
    done = run("rules")
    assert done.returncode == 0
    assert "torch" not in done.stderr


def test_help_is_short_and_shows_examples() -> None:
    text = run("--help").stdout
    assert len(text.splitlines()) <= 45
    assert text.count("python -m diagnose ") >= 5


def test_a_closed_pipe_is_no_failure() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "diagnose", "metrics"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
    )
    os.close(writing)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"in_process": True}, "a block that recorded itself"),
        ({"launchers": 4, "launchers_here": 2}, "on several machines"),
    ],
)
def test_what_cannot_be_started_again_is_not_verified(
    told: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {
        "target": "train.py",
        "module": False,
        "argv": ["train.py"],
        "cwd": str(tmp_path),
        "settings": {},
    }
    (tmp_path / "run.json").write_text(json.dumps({**record, **told}))
    assert cli.main(["verify", str(tmp_path)]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{", '{"cwd": "/"}', '{"target": 3}', "\x00"])
def test_a_run_that_is_damaged_is_not_verified(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text(content)
    assert cli.main(["verify", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "run.json is damaged" in said and "run the script again" in said


# ---- a full disk, a folder that may not be written to

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("error", "saw"),
    [
        (FULL, "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "out/report.html"), "Permission denied"),
        (OSError(errno.EROFS, "Read-only file system", "out/report.md"), "Read-only file system"),
    ],
)
def test_a_report_that_cannot_be_written_leaves_what_was_recorded(
    error: OSError,
    saw: str,
    script: str,
    launched: dict[str, Any],
    analysed: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    launched["recorded"] = True
    analysed["*"] = error
    assert cli.main(["--quiet", "--out", "out", script]) == 1
    assert capsys.readouterr().err == (
        f"diagnose: out cannot be written to\n  saw: {saw}\n"
        "  do:  what was recorded is kept; write its report elsewhere: python -m diagnose --out FOLDER out\n"
    )
    assert Path("out/run.json").exists()


def test_where_nothing_was_recorded_there_is_nothing_to_report_elsewhere(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    launched["fails"] = FULL
    assert cli.main(["--quiet", "--out", "out", script]) == 1
    assert capsys.readouterr().err.endswith("  do:  make room there, or name another folder: --out\n")


def test_an_error_that_has_nothing_to_do_with_writing_is_not_called_so(
    script: str, launched: dict[str, Any], analysed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    analysed["*"] = PermissionError(errno.EACCES, "Permission denied", "/etc/shadow")
    assert cli.main(["--quiet", "--out", "out", script]) == 1
    assert "cannot be written to" not in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_output_that_finds_no_room_is_said_in_one_message() -> None:
    command = [sys.executable, "-m", "diagnose", "metrics"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert ended.returncode == 1
    assert ended.stderr == (
        "diagnose: [Errno 28] No space left on device\n  do:  make room where the output goes\n"
    )


def test_verify_on_a_full_disk_goes_on_where_it_was(
    verifiable: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: object, **options: object) -> None:
        raise FULL

    monkeypatch.setattr(verifying, "job_of", lambda record, facts: None)
    monkeypatch.setattr("diagnose.verify.verification.Verifier.prove", full)
    assert cli.main(["verify", "run", "--try", "gc_freeze", "--quiet"]) == 1
    assert "run the same command again: it goes on where it was" in capsys.readouterr().err


def test_a_fresh_verification_does_not_read_the_one_before(
    verifiable: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (Path("run") / "verify.json").write_text('{"step_ms": "damaged"')
    there: list[bool] = []

    def analyse(source: Path, **limits: Any) -> Any:
        there.append((source / "verify.json").exists())
        return verifiable

    monkeypatch.setattr(analysis, "analyse", analyse)
    assert cli.main(["verify", "run", "--fresh", "--quiet"]) == 0
    assert there == [False]

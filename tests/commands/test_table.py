"""What holds for every command: it is in the table, in the help, and takes the common options or refuses them."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pytest

from diagnose.commands import main as cli
from diagnose.commands import report, targets
from diagnose.commands.options import Parser
from diagnose.commands.table import COMMANDS, command

FOLDER = Path(cli.__file__).parent
PARSERS = [report.parser(), *(command(name).parser() for name in COMMANDS)]
SHARED = {
    "--debug": ("debug", True, []),
    "--quiet": ("quiet", True, []),
    "--out": ("out", Path("folder"), ["folder"]),
    "--memory-limit": ("memory_limit", 8 * 2**30, ["8G"]),
}
REFUSED = {
    ("verify", "--out"): "the run's own folder",
    ("compare", "--out"): "> FILE",
    ("whatif", "--out"): "> FILE",
    ("ab", "--out"): "> FILE",
    ("ab", "--memory-limit"): "reads no trace",
    ("memory", "--out"): "> FILE",
    ("mcp", "--out"): "leave the option out",
    ("mcp", "--memory-limit"): "leave the option out",
    **{(name, "--out"): "> FILE" for name in ("rules", "metrics", "accuracy", "status", "snap")},
    **{
        (name, "--memory-limit"): "reads no trace"
        for name in ("rules", "metrics", "accuracy", "status", "snap")
    },
}


def test_a_file_with_options_is_a_command_of_the_table() -> None:
    with_options = {path.stem for path in FOLDER.glob("*.py") if "\ndef parser()" in path.read_text("utf-8")}
    assert with_options == {*COMMANDS, "report"}
    assert all(callable(command(name).run) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_script_of_that_name_is_still_a_script(name: str, work_folder: Path) -> None:
    (work_folder / name).write_text("print(1)")
    assert cli.parse([name]).command is command(name)
    assert cli.parse(["-m", name]).command is cli.parse([f"./{name}"]).command is report
    assert (targets.kind_of(f"./{name}"), targets.kind_of(name, module=True)) == ("script", "module")


# ---- the options that are common


@pytest.mark.parametrize("first", [True, False], ids=["before the name", "after the name"])
@pytest.mark.parametrize("flag", SHARED)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_common_option_works_or_is_refused_in_words(
    name: str, flag: str, first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    attribute, value, values = SHARED[flag]
    argv = [flag, *values, name] if first else [name, flag, *values]
    if why := REFUSED.get((name, flag)):
        assert cli.main(argv) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith(f"diagnose: {name} has no {flag}\n  do:  ") and why in err
    else:
        options = cli.parse(argv)
        assert (options.command, getattr(options, attribute)) == (command(name), value)


@pytest.mark.parametrize("flag", SHARED)
def test_the_common_options_work_for_a_script_too(flag: str) -> None:
    attribute, value, values = SHARED[flag]
    assert getattr(cli.parse([flag, *values, "train.py"]), attribute) == value


@pytest.mark.parametrize("argv", [["--debug"], []])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_failure_of_ours_shows_its_traceback_where_the_message_says_so(
    name: str, argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(options: argparse.Namespace) -> int:
        raise KeyError("surprise")

    monkeypatch.setattr(command(name), "run", fails)
    assert cli.main([name, *argv]) == 1
    err = capsys.readouterr().err
    assert "run again with --debug" in err and ("Traceback" in err) == bool(argv)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_only_scripts_have_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--plain-steps", "3", name]) == 2
    err = capsys.readouterr().err
    assert "unrecognized arguments: --plain-steps=3" in err and "did you mean --help" not in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["accuracy", "folder", "--debug", "--oops"], "a script called accuracy is ./accuracy"),
        (["accuracy", "folder", "other"], "unrecognized arguments: other"),
        (["accuracy", "folder", "--debug"], "no verified fix below folder"),
        (["compare", "--quite"], "did you mean --quiet?"),
        (["rules", "new"], "name the rule"),
        (["--json", "rules"], "unrecognized arguments: --json"),
    ],
)
def test_wrong_usage_says_what_to_do(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err


# ---- names


@pytest.mark.parametrize(("typed", "meant"), [("verfy", "verify"), ("compar", "compare"), ("rule", "rules")])
def test_a_mistyped_command_is_recognised(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([typed, "run"]) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_a_file_of_the_mistyped_name_is_a_script(work_folder: Path) -> None:
    (work_folder / "verfy").write_text("print(1)")
    assert cli.parse(["verfy"]).command is report
    assert targets.kind_of("verfy", commands=COMMANDS) == "script"


@pytest.mark.parametrize("argv", [["./verfy"], ["compare", "verfy", "x"]])
def test_no_command_is_meant_where_only_a_file_can_be(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    assert "did you mean" not in capsys.readouterr().err


# ---- help


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.command or "report")
def test_help_fits_its_width(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    text = parser.format_help()
    assert [line for line in text.splitlines() if len(line) > 110] == []
    assert "exit codes: 0 " in text and parser.format_usage().startswith("usage: python -m diagnose ")


def test_help_lists_the_commands_with_a_line_each() -> None:
    lines = report.parser().format_help().splitlines()
    for name, summary in COMMANDS.items():
        assert sum(line.split() == [name, *summary.split()] for line in lines) == 1


# ---- limits on what is read


@pytest.mark.parametrize(
    "argv", [["compare", "t.json.gz", "t.json.gz"], ["whatif", "t.json.gz", "--remove", "python"]]
)
def test_a_trace_above_the_memory_limit_is_refused(
    argv: list[str], work_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = Path(__file__).parents[2] / "sample_traces" / "host-reads" / "sick" / "rank0"
    shutil.copyfile(sample / "timeline.pt.trace.json.gz", work_folder / "t.json.gz")
    assert cli.main([*argv, "--memory-limit", "1K"]) == 2
    assert "Raise the limit with --memory-limit" in capsys.readouterr().err

"""A command that is given no run takes the newest below ./diagnosis, and says which."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from diagnose.commands import verify as verifying
from diagnose.commands.newest import newest_runs

SAMPLES = Path(__file__).parents[2] / "sample_traces" / "host-reads"
WHATIF = ["whatif", "--remove", "python"]


def run_at(name: str, minute: int, twin: str = "sick", **record: Any) -> Path:
    """A recorded run in ./diagnosis that was started at this minute."""
    run = Path("diagnosis") / name
    shutil.copytree(SAMPLES / twin, run)
    kept = json.loads((run / "run.json").read_text())
    kept |= {"started_at": f"2026-11-21T16:{minute:02}:00+00:00"} | record
    (run / "run.json").write_text(json.dumps(kept))
    return run


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The runs that `verify` was asked for."""
    runs: list[Path] = []
    monkeypatch.setattr(verifying, "verify", lambda run, options, **how: runs.append(run) or 0)
    return runs


def test_the_newest_is_the_one_that_was_started_last() -> None:
    late, early = run_at("a", 30), run_at("z", 10)
    os.utime(early / "run.json")  # a copy, or a second look: no new run
    assert newest_runs() == [late, early]


def test_runs_of_one_second_are_told_by_their_files() -> None:
    runs = [run_at(name, 10) for name in ("now", "now-10", "now-2")]
    for when, run in enumerate(runs):
        os.utime(run / "run.json", (when, when))
    assert newest_runs() == runs[::-1]


def test_what_is_no_finished_run_is_left_out() -> None:
    run_at("going", 30, ended="running")
    for name, content in {"list": "[]", "damaged": "{", "binary": "\0"}.items():
        (Path("diagnosis") / name).mkdir()
        (Path("diagnosis") / name / "run.json").write_text(content)
    (Path("diagnosis") / "trace").mkdir()
    assert newest_runs() == []


def test_verify_takes_the_newest_run_and_says_which(
    verified: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run_at("a", 10)
    newest = run_at("b", 20)
    assert cli.main(["verify"]) == 0
    assert verified == [newest.resolve()]
    assert capsys.readouterr().err == "diagnose: the newest run is diagnosis/b\n"
    assert cli.main(["verify", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_whatif_takes_the_newest_run_and_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    run_at("a", 10)
    run_at("b", 20, "healthy")
    assert cli.main([*WHATIF, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["target"] == "diagnosis/b"
    assert err == "diagnose: the newest run is diagnosis/b\n"


def test_whatif_takes_no_target_for_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    run_at("a", 10)
    assert cli.main([*WHATIF, "diagnosis/a"]) == 2
    assert "it comes before the changes" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["verify"], WHATIF])
def test_without_a_run_the_error_says_how_to_get_one(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    err = capsys.readouterr().err
    assert (
        "is missing, and there is no run below ./diagnosis" in err
        and "python -m diagnose YOUR_SCRIPT.py" in err
    )


# ---- compare


def compared(*argv: str, capsys: pytest.CaptureFixture[str]) -> tuple[tuple[str, str], str]:
    """The names of A and B, and what is said on stderr."""
    assert cli.main(["compare", *argv, "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    return (document["a"]["name"], document["b"]["name"]), err


def test_compare_takes_the_two_newest_the_older_first(capsys: pytest.CaptureFixture[str]) -> None:
    run_at("c", 10)
    run_at("a", 20)
    run_at("b", 30, "healthy")
    pair, err = compared(capsys=capsys)
    assert pair == ("diagnosis/a", "diagnosis/b")
    assert err == "diagnose: A is diagnosis/a, B is diagnosis/b, the newest run\n"


def test_compare_holds_the_newest_against_the_one_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run_at("a", 10)
    run_at("b", 20, "healthy")
    assert compared("diagnosis/a", capsys=capsys)[0] == ("diagnosis/a", "diagnosis/b")
    assert compared(str(SAMPLES / "sick"), "--quiet", capsys=capsys) == (
        (str(SAMPLES / "sick"), "diagnosis/b"),
        "",
    )


@pytest.mark.parametrize("named", ["diagnosis/b", "diagnosis/b/report.json"])
def test_a_run_is_not_compared_with_itself_by_mistake(named: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_at("a", 10)
    run_at("b", 20)
    assert cli.main(["compare", named]) == 2
    assert "is the newest run itself" in capsys.readouterr().err


@pytest.mark.parametrize(("count", "said"), [(0, "there is none"), (1, "there is one")])
def test_compare_needs_two(count: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(count):
        run_at(str(number), number)
    assert cli.main(["compare"]) == 2
    assert f"compare needs two runs, and below ./diagnosis {said}" in capsys.readouterr().err

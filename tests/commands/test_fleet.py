"""`python -m diagnose fleet` as a user types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from diagnose.commands import fleet as fleeting
from diagnose.commands.main import main
from diagnose.errors import EXIT_OK, EXIT_USAGE
from tests.fleet.rank_files import write_ranks


def test_a_folder_of_ranks_becomes_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="a fleet needs Dask: pip install 'torch-diagnose[dask]'")
    pytest.importorskip("pyarrow", reason="summaries need pyarrow: pip install 'torch-diagnose[dask]'")
    write_ranks(tmp_path / "ranks", 4, late=2)
    (tmp_path / "ranks" / "rank3.json").write_text("{")
    out = tmp_path / "out"
    assert main(["fleet", str(tmp_path / "ranks"), "--out", str(out), "--workers", "2", "--json"]) == EXIT_OK
    said = capsys.readouterr()
    assert json.loads(said.out)["ranks"]["late_rank"] == 2
    assert said.err.startswith("diagnose: reading 4 ranks on 2 workers … http://127.0.0.1:")
    assert "rank3.json" in (out / "report.md").read_text(encoding="utf-8")
    assert {path.name for path in out.iterdir()} == {
        "brief.json",
        "brief.md",
        "picture.json.gz",
        "report.html",
        "report.json",
        "report.md",
        "summaries",
        "tb",
    }
    assert len(list((out / "summaries").iterdir())) == 3
    assert not list(out.rglob("*.trace.json*"))  # no trace leaves its worker


def test_without_dask_the_error_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_ranks(tmp_path / "ranks", 2, late=1)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["fleet", str(tmp_path / "ranks"), "--out", str(tmp_path / "out")]) == EXIT_USAGE
    assert "pip install 'torch-diagnose[dask]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_summaries_need_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="a fleet needs Dask: pip install 'torch-diagnose[dask]'")
    write_ranks(tmp_path / "ranks", 2, late=1)
    (tmp_path / "taken").touch()
    where = ["--workers", "1", "--out", str(tmp_path / "out"), "--summaries", str(tmp_path / "taken" / "x")]
    assert main(["fleet", str(tmp_path / "ranks"), *where]) == EXIT_USAGE
    assert "--summaries WHERE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "TRACES is missing"),
        (
            ["ranks", "--scheduler", "tcp://host:1", "--workers", "2"],
            "--scheduler and --workers are two things",
        ),
        (["ranks", "--workers", "0"], "--workers"),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", *argv]) == EXIT_USAGE
    assert said in capsys.readouterr().err


def test_progress_is_told_every_few_seconds_with_the_time_left() -> None:
    now = [0.0]
    said: list[tuple[str, str]] = []
    tell = fleeting._told(lambda *what: said.append(what), 100, lambda: now[0])
    for done in range(1, 101):
        now[0] += 1.0
        tell(done)
    assert said[0] == ("5 of 100 ranks read", "about 2 min left")
    assert len(said) == 20  # every 5 s, and what follows
    assert said[-1] == ("comparing 100 ranks", "")

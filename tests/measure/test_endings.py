"""What a report says about ranks that ended badly, or are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.measure.endings import about_ranks

STOPPED = {"ended": "stopped", "exit_code": 0, "signal": None}


def said(tmp_path: Path, ends: dict[int, dict[str, Any] | None], **run: Any) -> list[str]:
    folders = {rank: tmp_path / f"rank{rank}" for rank in ends}
    for rank, end in ends.items():
        folders[rank].mkdir()
        if end is not None:
            (folders[rank] / "ended.json").write_text(json.dumps(end))
    return about_ranks({"ended": "stopped", **run}, folders)


def test_nothing_is_said_of_ranks_that_end_well(tmp_path: Path) -> None:
    assert said(tmp_path, {0: STOPPED, 1: STOPPED}, launchers=2, before=[], starts_anew=False) == []


def test_ranks_without_launchers_of_their_own_say_nothing_of_their_end(tmp_path: Path) -> None:
    assert said(tmp_path, {0: None, 1: None}, launchers=1) == []
    assert about_ranks({}, {0: tmp_path}) == []


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        ({"ended": "crashed", "exit_code": 3}, "Rank 1 failed with exit code 3."),
        ({"ended": "killed", "signal": "SIGTERM"}, "Rank 1 was ended by SIGTERM."),
        (
            {"ended": "killed", "signal": "SIGKILL"},
            "Rank 1 was killed, by SIGKILL, before it could write what it was recording.",
        ),
        (
            {"ended": "killed", "signal": None},
            "Rank 1 was killed before it could write what it was recording.",
        ),
        (None, "Rank 1 was lost: its launcher, or its whole machine, ended without a message."),
    ],
)
def test_a_rank_that_ends_badly(tmp_path: Path, end: dict[str, Any] | None, sentence: str) -> None:
    assert said(tmp_path, {0: STOPPED, 1: end}, launchers=2) == [sentence]


def test_ranks_that_are_not_there(tmp_path: Path) -> None:
    (sentence,) = said(tmp_path, {0: STOPPED, 5: STOPPED}, launchers=8)
    assert sentence.startswith(
        "This folder holds nothing of rank 1-4, 6-7. If machines share no file system,"
    )


def test_while_the_job_runs_nobody_is_missing(tmp_path: Path) -> None:
    assert said(tmp_path, {0: None}, launchers=2, ended="running") == []


def test_starts(tmp_path: Path) -> None:
    first, second = said(tmp_path, {}, before=["/job/out"], starts_anew=True)
    assert first.startswith("The ranks were restarted, and") and "/job/out" in first
    assert second.startswith("A rank failed after everything was recorded.")

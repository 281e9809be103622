"""`--watch`: the script's own end, and what was written on the way there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnose.pipeline import report
from diagnose.run.live import look_at
from diagnose.watched.log import WatchLog, read_log
from tests.run.running import Recorded


def log_of(run: Recorded) -> WatchLog:
    log = read_log(run.folder / "rank0", 0)
    assert log is not None
    return log


@pytest.mark.long
@pytest.mark.live
def test_a_run_is_watched_to_its_own_end_and_recorded_again_when_asked(run_script) -> None:  # type: ignore[no-untyped-def]
    run = run_script("watched", "asks", "16", watch=True, stacks=False)
    assert run.outcome.ended == "finished"
    assert run.outcome.exit_code == 0
    log = log_of(run)
    recorded = run.steps["tick_count"]
    assert log.windows[0].first >= recorded
    assert log.steps > 100
    (snap,) = log.snaps
    assert snap.reason == "asked for"
    assert (run.folder / "snap-1" / "rank0" / "timeline.pt.trace.json.gz").is_file()
    assert not (run.folder / "snap-1" / "live").exists()
    assert look_at(run.folder) is None
    document = report(run.folder, run.folder)
    assert document.watched is not None
    assert document.watched.steps == log.steps
    assert json.loads((run.folder / "snap-1" / "report.json").read_text())["headline"]
    assert "## The whole run" in (run.folder / "report.md").read_text()


@pytest.mark.live
def test_what_was_watched_is_there_after_a_kill(run_script) -> None:  # type: ignore[no-untyped-def]
    run = run_script("watched", "dies", "10", watch=True, stacks=False)
    assert run.outcome.ended == "killed"
    log = log_of(run)
    assert log.steps > 50
    assert not log.damaged
    last = log.windows[-1]
    assert last.first + last.steps > run.steps["tick_count"]


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    from diagnose.errors import UsageError

    with pytest.raises(UsageError, match="no run folder"):
        look_at(tmp_path)

"""A full disk, or one that we may not write to: the script runs on, what was recorded is kept, and one message
says what to do.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from diagnose.pipeline import analyse
from diagnose.run.child.recording.recorder import Recording
from diagnose.run.child.shared_state import SharedState
from diagnose.run.child.steps.ticks import TickLog
from diagnose.run.child.writing import STOPPED_BY_FULL_DISK, is_full

from .running import Recorded

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full(*args: object, **kwargs: object) -> None:
    raise FULL


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """As on a disk with so little room, for each file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("page", [SharedState, TickLog])
def test_memory_that_is_a_file_is_refused_at_once(
    page: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the first word written to it would end the process by SIGBUS."""
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="No space left"):
        page(str(tmp_path))


@pytest.mark.parametrize("says_so", [True, False])
def test_a_trace_that_finds_no_room_leaves_its_room_to_the_rest(tmp_path: Path, *, says_so: bool) -> None:
    class Profiler:
        def export_chrome_trace(self, path: str) -> None:
            Path(f"{path}.tmp").write_text("half a trace")  # torch writes there first, and says nothing
            if says_so:
                raise FULL

    recording = Recording.__new__(Recording)
    recording.profiler = Profiler()  # type: ignore[assignment]
    (tmp_path / "steps.json").write_text("{}")
    with pytest.raises(OSError, match="No space left") as raised:
        recording.export(str(tmp_path / "timeline.pt.trace.json.gz"))
    assert is_full(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["steps.json"]


@pytest.mark.long
def test_what_was_recorded_before_the_disk_was_full_is_reported(run_script: Callable[..., Recorded]) -> None:
    with files_at_most(100_000):  # a page of ticks has room, a trace has none
        run = run_script("plain", timeout_s=100.0)
    assert run.outcome.ended in ("stopped", "finished") and "Traceback" not in run.stderr
    document = analyse(run.folder)
    assert STOPPED_BY_FULL_DISK in [note.text for note in document.notes]
    assert document.badge == "disk full"
    assert document.doubt == f"{STOPPED_BY_FULL_DISK} Make room, or record into another folder: `--out`."


def test_a_run_whose_end_finds_no_room_is_still_an_outcome(
    monkeypatch: pytest.MonkeyPatch, run_script: Callable[..., Recorded]
) -> None:
    from diagnose.run import launch

    written = launch.write_record

    def last_one_fails(folder: Path, record: dict[str, Any]) -> None:
        if record["ended"] != "running":
            raise FULL
        written(folder, record)

    monkeypatch.setattr(launch, "write_record", last_one_fails)
    run = run_script("plain", timeout_s=99.0)
    assert run.outcome.ended == "stopped"
    assert analyse(run.folder).badge == "still running"  # as far as the folder knows

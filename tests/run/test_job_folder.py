"""Launchers of one job come to one folder, and never to that of another job."""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from diagnose.errors import UsageError
from diagnose.run.job import heartbeat
from diagnose.run.job.folder import JobFolder, common_folder, recorded_before
from diagnose.run.job.heartbeat import begin, close, end, is_last
from diagnose.run.job.peers import Peers
from diagnose.run.settings import RunOutcome

from .launchers import on_machine, peers

CRASHED = RunOutcome("crashed", 1, None, 1.0)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def recorded(job: JobFolder, *, complete: bool = False) -> None:
    """A start of the job that goes on until its rank fails, having recorded everything or not."""
    begin(job)
    rank = job.out / f"rank{job.peers.rank}"
    rank.mkdir(exist_ok=True)
    (rank / "steps.json").write_text(json.dumps({"complete": complete}))
    if end(job, CRASHED) and is_last(job):
        close(job)


def both(first: Peers, second: Peers, wanted: Path | None = None) -> tuple[JobFolder, JobFolder]:
    return common_folder(first, wanted), common_folder(second, wanted)


def again(one: Peers) -> Peers:
    """Started anew by the same torchrun."""
    return replace(one, restart=one.restart + 1, start=one.start + "again")


def test_one_chooses_the_folder_and_the_others_wait_for_it(tmp_path: Path) -> None:
    told: list[JobFolder] = []
    waiting = threading.Thread(target=lambda: told.append(common_folder(peers(1), None)))
    waiting.start()
    first = common_folder(peers(0), tmp_path / "out")
    waiting.join(30)
    assert (first.out, first.keeps_record) == (tmp_path / "out", True)
    assert [(one.out, one.keeps_record) for one in told] == [(tmp_path / "out", False)]


@pytest.mark.skipif(sys.platform == "darwin", reason="its names of files are UTF-8")
def test_a_folders_name_need_not_be_utf_8(tmp_path: Path) -> None:
    first, second = both(peers(0), peers(1), tmp_path / os.fsdecode(b"r\xe9sultats"))
    assert first.out == second.out and os.fsencode(second.out.name) == b"r\xe9sultats"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("wanted", [None, Path("shared")])
def test_machines_come_to_the_same_folder_whichever_is_first(
    tmp_path: Path, order: tuple[int, int], wanted: Path | None
) -> None:
    first, second = both(*(on_machine(node) for node in order), wanted=wanted)
    assert first.out == second.out == tmp_path / (wanted or "diagnosis/node7-29500")
    assert (first.keeps_record, second.keeps_record) == (True, False)
    assert first.before == second.before == ()


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert [one.out for one in both(on_machine(0), on_machine(1), Path("out"))] == [tmp_path / "out"] * 2


@pytest.mark.parametrize(
    "occupied", [{"notes.txt": "mine"}, {"run.json": "{}"}, {"run.json": '{"job": "other"}'}]
)
def test_a_folder_that_is_not_the_jobs_is_refused(tmp_path: Path, occupied: dict[str, str]) -> None:
    (tmp_path / "out").mkdir()
    for name, text in occupied.items():
        (tmp_path / "out" / name).write_text(text)
    for one in (peers(0), on_machine(0)):
        with pytest.raises(UsageError, match="not an empty folder"):
            common_folder(one, Path("out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == list(occupied)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be created"):
        common_folder(peers(0), Path("file/out"))


def test_ranks_that_are_started_anew_do_not_write_over_what_they_recorded_before(tmp_path: Path) -> None:
    one = replace(peers(0), local_count=1)
    recorded(common_folder(one, Path("out")))
    second = common_folder(again(one), Path("out"))
    assert (second.out, second.before) == (tmp_path / "out-2", (str(tmp_path / "out"),))
    recorded(second)
    third = common_folder(again(again(one)), Path("out"))
    assert (third.out, third.before) == (tmp_path / "out-3", (str(tmp_path / "out"), str(tmp_path / "out-2")))


def test_machines_that_are_started_anew_come_to_the_next_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the torchrun of the machine whose rank has failed counts it as a restart."""
    monkeypatch.setattr(heartbeat, "_SILENCE_S", 1.0)  # the second machine is waited for that long
    machines = on_machine(0), on_machine(1)
    for job in both(*machines, Path("out")):
        recorded(job)
    second = both(machines[1], again(machines[0]), Path("out"))
    assert [one.out for one in second] == [tmp_path / "out-2"] * 2
    assert [one.before for one in second] == [(str(tmp_path / "out"),)] * 2


def test_another_job_by_the_same_name_is_no_start_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "_SILENCE_S", 1.0)
    for job in both(on_machine(0), on_machine(1)):
        recorded(job)
    tomorrow = both(*(replace(on_machine(node), agent="vm 9 9.9") for node in (0, 1)))
    assert [(one.out, one.before) for one in tomorrow] == [(tmp_path / "diagnosis/node7-29500-2", ())] * 2


def test_what_was_recorded_in_full_is_not_recorded_again(tmp_path: Path) -> None:
    ranks = peers(0), peers(1)
    for complete in ((False, False), (True, False), (True, True)):
        wanted = common_folder(ranks[0], tmp_path / "-".join(map(str, complete))).out
        jobs = [JobFolder(one, wanted) for one in ranks]
        for job in jobs:
            begin(job)
        for job, is_complete in zip(jobs, complete, strict=True):
            recorded(job, complete=is_complete)
        assert recorded_before(again(ranks[1]), wanted) == (wanted if all(complete) else None)
    assert recorded_before(ranks[1], wanted) is None  # not started anew
    assert recorded_before(replace(again(ranks[1]), job="other"), wanted) is None

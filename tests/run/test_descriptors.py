"""Files of ours that stay open, in a script that closes what it has not opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagnose.run.child.descriptors import close_ours, is_ours, open_ours
from diagnose.run.child.watching.windows import WatchFile


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "results.csv"


def taken_over(descriptor: int, path: Path) -> int:
    """The script closes the descriptor, and a file of its own gets its number."""
    os.close(descriptor)
    opened = os.open(path, os.O_WRONLY | os.O_CREAT)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
    return descriptor


def test_ours_is_closed_and_another_file_is_not(tmp_path: Path, theirs: Path) -> None:
    ours = open_ours(str(tmp_path / "ours"), os.O_WRONLY | os.O_CREAT)
    assert is_ours(ours)
    close_ours(ours)
    assert not is_ours(ours)
    again = open_ours(str(tmp_path / "ours"), os.O_WRONLY)
    taken_over(again, theirs)
    assert not is_ours(again)
    close_ours(again)
    assert os.write(again, b"1,2\n") == 4
    os.close(again)


def test_nothing_is_written_into_another_file(tmp_path: Path, theirs: Path) -> None:
    watched = WatchFile(str(tmp_path))
    watched.add("window", {"steps": 1})
    descriptor = taken_over(watched._descriptor, theirs)
    watched.add("window", {"steps": 2})
    watched.close()
    os.close(descriptor)
    assert theirs.read_text() == "" and (tmp_path / "watch.jsonl").read_text() == '{"window": {"steps": 1}}\n'

"""Which files a fleet's address names."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from diagnose.errors import UsageError
from diagnose.fleet.traces import fleet_traces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/r0.json", "a/r1.json.gz", "b/r2.json.zst", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_a_folder_is_all_traces_below_it(folder: Path) -> None:
    assert fleet_traces(str(folder)) == {name: folder / name for name in ("a/r0.json", "a/r1.json.gz", "b/r2.json.zst")}


def test_names_are_paths_below_the_folder_that_holds_all_traces(folder: Path) -> None:
    assert fleet_traces(str(folder / "a")) == {"r0.json": folder / "a/r0.json", "r1.json.gz": folder / "a/r1.json.gz"}


def test_a_pattern_chooses(folder: Path) -> None:
    assert list(fleet_traces(f"{folder}/*/r[02].*")) == ["a/r0.json", "b/r2.json.zst"]


def test_a_url_lists_urls() -> None:
    files = fsspec.filesystem("memory")
    for name in ("r0.json", "r1.json"):
        files.pipe(f"/job/{name}", b"{}")
    assert fleet_traces("memory://job") == {name: f"memory:///job/{name}" for name in ("r0.json", "r1.json")}


@pytest.mark.parametrize(("target", "saw"), [("b/*.txt", "1 other files"), ("c", "nothing there")])
def test_no_traces_is_an_error_that_says_what_is_there(folder: Path, target: str, saw: str) -> None:
    with pytest.raises(UsageError, match="no traces at") as error:
        fleet_traces(f"{folder}/{target}")
    assert error.value.saw == saw


def test_an_address_that_cannot_be_listed_shows_no_secret() -> None:
    with pytest.raises(UsageError) as error:
        fleet_traces("nowhere://me:secret@host/job?token=secret")
    assert "secret" not in str(error.value)

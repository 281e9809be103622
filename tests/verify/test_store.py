"""Runs on disk outlive whatever ends the verification."""

import sys
from pathlib import Path

import pytest

from diagnose.errors import DiagnoseError
from diagnose.verify.store import Store, alone_in


def test_runs_come_back_in_their_order(tmp_path: Path) -> None:
    store = Store(tmp_path / "verify")
    for number in range(3):
        store.add("one" if number != 1 else "other", f"A{number}", {"number": number})
    again = Store(tmp_path / "verify").runs("one")
    assert {place: run["number"] for place, run in again.items()} == {"A0": 0, "A2": 2}


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("one", "A0", {"number": 0})
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write('{"key": "one", "num')
    again = Store(tmp_path)
    assert list(again.runs("one")) == ["A0"]
    again.add("one", "B0", {"number": 1})  # on a line of its own
    assert list(Store(tmp_path).runs("one")) == ["A0", "B0"]


def test_of_two_runs_in_one_place_the_later_counts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(2):
        store.add("one", "A3", {"number": number})
    assert Store(tmp_path).runs("one")["A3"]["number"] == 1


def test_fresh_forgets(tmp_path: Path) -> None:
    Store(tmp_path).add("one", "A0", {})
    assert Store(tmp_path, fresh=True).runs("one") == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")
def test_two_verifications_do_not_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "verify"
    with (
        alone_in(folder),
        pytest.raises(DiagnoseError, match="run is being verified already"),
        alone_in(folder),
    ):
        pass
    with alone_in(folder):
        pass

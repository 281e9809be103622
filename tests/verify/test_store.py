"""Runs on disk outlive whatever ends the verification."""

from pathlib import Path

from diagnose.verify.store import Store


def test_runs_come_back_in_their_order(tmp_path: Path) -> None:
    store = Store(tmp_path / "verify")
    for number in range(3):
        store.add("one" if number != 1 else "other", {"number": number})
    assert [run["number"] for run in Store(tmp_path / "verify").runs("one")] == [0, 2]


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("one", {"number": 0})
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write('{"key": "one", "num')
    assert [run["number"] for run in Store(tmp_path).runs("one")] == [0]


def test_fresh_forgets(tmp_path: Path) -> None:
    Store(tmp_path).add("one", {})
    assert Store(tmp_path, fresh=True).runs("one") == []

"""TOML files are parsed once per installation, and always again when they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge import parsed
from diagnose.judge.parsed import parsed_files


@pytest.fixture(autouse=True)
def _bytecode_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)


@pytest.fixture
def texts_parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those that tomllib was given."""
    seen: list[str] = []
    plain = parsed.tomllib.loads

    def loads(text: str) -> dict[str, Any]:
        seen.append(text)
        return plain(text)

    monkeypatch.setattr(parsed, "_parsed", loads)
    return seen


def test_what_was_kept_holds_for_its_text_only(tmp_path: Path, texts_parsed: list[str]) -> None:
    one, other, kept = tmp_path / "one.toml", tmp_path / "other.toml", tmp_path / "cache" / "kept.json"
    one.write_text("value = 1.0")
    other.write_text("list = [1, true]")
    expected = {one: {"value": 1.0}, other: {"list": [1, True]}}
    assert parsed_files([one, other], kept) == parsed_files([one, other], kept) == expected
    assert isinstance(parsed_files([one], kept)[one]["value"], float)
    assert texts_parsed == ["value = 1.0", "list = [1, true]"]
    one.write_text("value = 2")
    assert parsed_files([one, other], kept)[one] == {"value": 2}
    assert texts_parsed[2:] == ["value = 2"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1}'])
def test_a_damaged_copy_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    one, kept = tmp_path / "one.toml", tmp_path / "kept.json"
    one.write_text("value = 1")
    kept.write_bytes(content)
    assert parsed_files([one], kept) == {one: {"value": 1}}


def test_a_place_that_cannot_be_written_to_is_left_alone(tmp_path: Path) -> None:
    one = tmp_path / "one.toml"
    one.write_text("value = 1")
    assert parsed_files([one], one / "kept.json") == {one: {"value": 1}}


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("value = ")
    with pytest.raises(DiagnoseError, match=r"bad\.toml is not valid TOML"):
        parsed_files([tmp_path / "bad.toml"])

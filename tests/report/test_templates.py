"""Templates are compiled once per installation, and again when they change."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from diagnose.report import templates


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The templates that jinja2 compiled; what came of them is kept in `tmp_path`/kept."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    monkeypatch.setattr(templates, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(templates, "_HERE", tmp_path)
    seen: list[str] = []
    plain = jinja2.Environment.compile

    def compile_(
        environment: jinja2.Environment, source: str, name: str, *rest: object, **more: object
    ) -> object:
        seen.append(name)
        return plain(environment, source, name, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(jinja2.Environment, "compile", compile_)
    return seen


def rendered() -> str:
    """In a process of its own, as far as jinja2 knows."""
    return templates.environment.__wrapped__().get_template("one.html").render(name="<b>")


def test_a_template_is_compiled_once(compiled: list[str], tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text("{{ name }}!")
    assert [rendered(), rendered()] == ["&lt;b&gt;!"] * 2
    assert compiled == ["one.html"]
    (tmp_path / "one.html").write_text("{{ name }}?")
    assert rendered() == "&lt;b&gt;?"
    assert compiled == ["one.html"] * 2


def test_where_nothing_can_be_kept_it_is_compiled_each_time(compiled: list[str], tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text("{{ name }}!")
    (tmp_path / "kept").write_text("a file")
    assert [rendered(), rendered()] == ["&lt;b&gt;!"] * 2
    assert compiled == ["one.html"] * 2


@pytest.mark.parametrize("content", [b"", b"j2", b"\0" * 100])
def test_a_damaged_copy_is_as_good_as_none(compiled: list[str], tmp_path: Path, content: bytes) -> None:
    (tmp_path / "one.html").write_text("{{ name }}!")
    rendered()
    for kept in (tmp_path / "kept").iterdir():
        kept.write_bytes(content)
    assert rendered() == "&lt;b&gt;!"
    assert compiled == ["one.html"] * 2

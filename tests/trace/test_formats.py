"""A format is told by a file's first bytes, and its module is imported only then."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from diagnose.trace import formats
from diagnose.trace.content import Content
from diagnose.trace.formats import FORMATS, TRACE_SUFFIXES, Format
from diagnose.trace.memory import Memory
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from tests.trace.build import encoded, event


def test_another_format_is_a_module_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of one operator a line: name, start and duration in µs."""

    def read(content: Content, blocks: Iterator[bytes], memory: Memory, calls: Path | None) -> Trace:
        rows = [line.split() for line in b"".join(blocks).decode().splitlines()[1:]]
        events = [event(name, float(start), float(took)) for name, start, took in rows]
        return read_trace(io.BytesIO(encoded(*events)))

    monkeypatch.setitem(sys.modules, "lines_of_text", SimpleNamespace(read=read))
    text = Format("a text of operators", rb"#ops\n", ".ops", "lines_of_text")
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, text))
    trace = read_trace(io.BytesIO(b"#ops\naten::mm 10 5\naten::add 20 2\n"))
    assert list(trace.host["name"]) == ["aten::mm", "aten::add"]
    assert list(read_trace(io.BytesIO(encoded(event("aten::mul", 1, 1)))).host["name"]) == ["aten::mul"]


def test_suffixes_are_those_of_the_formats_packed_or_not() -> None:
    packings = ("", ".gz", ".zst")
    assert (
        tuple(f"{name}{packing}" for name in (".xplane.pb", ".json", ".sqlite") for packing in packings)
        == TRACE_SUFFIXES
    )


def test_to_know_the_formats_costs_nothing() -> None:
    code = "import sys, diagnose.trace.formats; sys.exit(any(name in sys.modules for name in ('pandas', 'msgspec')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

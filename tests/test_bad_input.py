"""Bad input ends in one clear message and the right exit code, as a user of the command sees it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.errors import TraceUnreadable


def nothing(path: Path) -> Path:
    return path / "missing.py"


def syntax_error(path: Path) -> Path:
    return written(path / "broken.py", b"def f(:\n")


def empty_file(path: Path) -> Path:
    return written(path / "empty.json", b"")


def json_that_is_no_trace(path: Path) -> Path:
    return written(path / "other.json", b'{"name": "something else"}')


def no_json(path: Path) -> Path:
    return written(path / "trace.json", b"\x7fELF" + bytes(range(256)))


def gzip_bomb(path: Path) -> Path:
    bomb = path / "bomb.json.gz"
    with gzip.open(bomb, "wb", compresslevel=6) as file:
        file.write(b'{"traceEvents":[')
        for _ in range(24):
            file.write(b" " * (1 << 24))
    return bomb


def folder_without_traces(path: Path) -> Path:
    (path / "folder").mkdir()
    written(path / "folder" / "notes.txt", b"nothing here")
    return path / "folder"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def diagnose(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "diagnose", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=path)


@pytest.mark.parametrize(
    ("make", "exit_code", "message"),
    [
        (nothing, 2, "there is no"),
        (syntax_error, 3, "broken.py:1 is not valid Python"),
        (empty_file, 2, "is empty"),
        (json_that_is_no_trace, 2, "is JSON, but no trace"),
        (no_json, 2, "is no JSON trace"),
        (gzip_bomb, 2, "inflates like no recording does"),
        (folder_without_traces, 2, "no traces in this folder"),
    ],
)
def test_one_message_and_the_right_exit_code(
    make: Callable[[Path], Path], exit_code: int, message: str, tmp_path: Path
) -> None:
    target = make(tmp_path)
    done = diagnose(tmp_path, str(target))
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert message in done.stderr
    # a slow machine says that it is still reading
    assert done.stderr.count("diagnose: ") - done.stderr.count("diagnose: reading ") == 1
    assert "\nTraceback" not in done.stderr
    assert not (tmp_path / "diagnosis").exists()


def test_a_trace_cut_off_in_the_middle_still_gives_a_report(tmp_path: Path) -> None:
    events = [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": "aten::mm",
            "pid": 1,
            "tid": 1,
            "ts": 10 * i,
            "dur": 8,
            "args": {"External id": i},
        }
        for i in range(1000)
    ]
    whole = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    written(tmp_path / "cut.json", whole[: len(whole) // 2])
    done = diagnose(tmp_path, "--out", "out", "cut.json")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "cut off" in report or "lost" in report


def test_an_error_hands_no_escape_sequence_to_the_terminal() -> None:
    """A category of a foreign trace would set the window's title (fuzz seed 20261122, mutant 1680)."""
    error = TraceUnreadable("it is no trace\x1b]0;owned\x07", saw="a\u202eb", do="first\nthen")
    assert str(error) == "it is no trace\ufffd]0;owned\ufffd\n  saw: a\ufffdb\n  do:  first\nthen"

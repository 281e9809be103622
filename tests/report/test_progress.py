"""What is going on is told in whole lines where a script owns the terminal, and as a bar where it is ours."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from diagnose.report import progress as progresses
from diagnose.report.progress import (
    Progress,
    ReadingBar,
    ReadingLines,
    RecordingProgress,
    reading_progress,
    verify_progress,
)
from diagnose.run.stage import Stage
from diagnose.trace.content import Content
from diagnose.verify.verification import VerifyProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ticking(*moments: float) -> Callable[[], float]:
    clock: Iterator[float] = iter(moments)
    return lambda: next(clock)


def test_lines_are_whole_and_only_a_terminal_is_told_to_erase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        progress = Progress(stream)
        progress("timing plain steps")
        progress("")
    assert pipe.getvalue() == "diagnose: timing plain steps …\n"
    assert terminal.getvalue() == "\r\x1b[Kdiagnose: timing plain steps …\n"
    monkeypatch.setenv("TERM", "dumb")
    dumb = Terminal()
    Progress(dumb)("timing plain steps")
    assert dumb.getvalue() == pipe.getvalue()


def test_quiet_says_nothing() -> None:
    stream = io.StringIO()
    Progress(stream, quiet=True)("timing plain steps")
    assert stream.getvalue() == ""


# ---- recording


def test_a_phase_is_told_when_it_begins_and_every_five_seconds_as_long_as_steps_are_made() -> None:
    stream = io.StringIO()
    said = RecordingProgress(Progress(stream), ticking(0, 1, 2, 6.9, 7.0, 12.0, 13.0, 17.9, 19.1, 99.0))
    for stage in (
        Stage(""),
        Stage("warming up"),
        Stage("timing plain steps", 0, 20, 12.2),
        Stage("timing plain steps", 8, 20, 8.0),  # 4.9 s after the line before
        Stage("timing plain steps", 9, 20, 7.4),
        Stage("timing plain steps", 9, 20, 7.4),  # no step since
        Stage("timing plain steps", 19, 20, 0.4),
        Stage("timing plain steps", 20, 20, 0.0),  # 4.9 s after
        Stage("recorded; the script runs on"),
        Stage("recorded; the script runs on"),
    ):
        said(stage)
    assert stream.getvalue().splitlines() == [
        "diagnose: waiting for the first step …",
        "diagnose: warming up …",
        "diagnose: timing plain steps … 20 steps, about 12 s",
        "diagnose: timing plain steps … step 9 of 20, about 7 s left",
        "diagnose: timing plain steps … step 19 of 20, less than 1 s left",
        "diagnose: recorded; the script runs on …",
    ]


def test_what_nobody_knows_is_left_out() -> None:
    stream = io.StringIO()
    said = RecordingProgress(Progress(stream), ticking(0, 6, 7))
    said(Stage("warming up"))
    said(Stage("warming up", 12))
    said(Stage("recording source lines", 0, 1))
    assert stream.getvalue().splitlines() == [
        "diagnose: warming up …",
        "diagnose: warming up … step 12",
        "diagnose: recording source lines … 1 step",
    ]


# ---- reading


def test_reading_is_told_after_two_seconds_and_every_two_seconds() -> None:
    stream = io.StringIO()
    reading = ReadingLines(Progress(stream), ticking(10.0, 11.9, 12.0, 13.9, 14.5, 20.0, 21.9, 22.0))
    big, other = Content("far/big\x1b.json.gz"), Content("s3://me:pw@bucket/other.json?sig=1")
    for share in (0.01, 0.2, 0.4, 0.6, 0.75):
        big.share = share
        reading(big)
    other.read_bytes = 3 * 2**20  # of an unknown size
    for _ in range(3):
        reading(other)
    assert stream.getvalue().splitlines() == [
        "diagnose: reading big\N{REPLACEMENT CHARACTER}.json.gz … 40 %, about 3 s left",  # 2 s for 40 %
        "diagnose: reading big\N{REPLACEMENT CHARACTER}.json.gz … 75 %, about 2 s left",  # 4.5 s for 75 %
        "diagnose: reading other.json … 3.00 MiB",
    ]


def terminal() -> Console:
    return Console(file=Terminal(), force_terminal=True, width=80, color_system=None)


def test_a_bar_shows_from_two_seconds_on_and_goes_when_the_file_is_read() -> None:
    console = terminal()
    reading = ReadingBar(console, ticking(0.0, 1.0, 2.0, 3.0))
    content = Content("a/[red]trace.json.gz")
    for share in (0.1, 0.2):
        content.share = share
        reading(content)
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]
    for share in (0.4, 0.5, 1.0):
        content.share = share
        reading(content)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "diagnose: reading [red]trace.json.gz" in shown
    assert "40 %, about 3 s left" in shown and "50 %, about 3 s left" in shown and "100 %" not in shown
    assert shown.endswith("\x1b[1A\x1b[2K")  # the line is erased
    reading.close()
    assert console.file.getvalue() == shown  # type: ignore[attr-defined]


def test_without_a_terminal_reading_is_told_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progresses, "stderr_console", lambda **given: Console(file=io.StringIO()))
    with reading_progress() as reading:
        assert isinstance(reading, ReadingLines)
    monkeypatch.setattr(progresses, "stderr_console", lambda **given: terminal())
    with reading_progress() as reading:
        assert isinstance(reading, ReadingBar)


# ---- verify

GOING = VerifyProgress("Load ahead: pair 3, with the fix", 14, 2, 3, 480.0, 600.0)


def test_a_verification_tells_each_run_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with verify_progress() as tell:
        tell(GOING)
        tell(VerifyProgress("the script as it is", 1, 0, 3, 0.0, 600.0))
    assert capsys.readouterr().err.splitlines() == [
        "diagnose: Load ahead: pair 3, with the fix … run 14, fix 2 of 3, at most 8 min left",
        "diagnose: the script as it is … run 1, its time is used up",
    ]
    with verify_progress(quiet=True) as tell:
        tell(GOING)
    assert capsys.readouterr().err == ""


def test_a_verification_has_a_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    console = terminal()
    monkeypatch.setattr(progresses, "stderr_console", lambda **given: console)
    with verify_progress() as tell:
        tell(GOING)
        deadline = time.monotonic() + 30
        while "run 14" not in console.file.getvalue() and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.05)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Load ahead: pair 3, with the fix" in shown and "run 14, fix 2 of 3, at most 8 min left" in shown
    assert shown.endswith("\x1b[1A\x1b[2K\x1b[1A\x1b[2K")  # both lines are erased

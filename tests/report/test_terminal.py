"""The summary fits a small terminal, and nothing in it commands the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from diagnose.report.terminal import Progress, ReadingProgress, print_headline, print_summary
from diagnose.trace.content import Content

from . import documents
from .documents import HOSTILE_NAMES, Document


def summary(document: Document, width: int = 80) -> str:
    stream = io.StringIO()
    print_summary(document, Path("diagnosis/run"), Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def test_the_summary_says_what_where_how_much_and_what_next() -> None:
    shown = summary(documents.sick())
    for part in (
        "The training thread waits",
        "Input wait",
        "train.py:41",
        "saves 2.9–4.1 ms a step, 24–33 %",
        "step then 8.7 ms",
        "diagnosis/run/report.md",
    ):
        assert part in shown
    assert "tensorboard --logdir diagnosis/run/tb" in shown
    assert "python -m diagnose train.py --epochs 3" in shown


def test_a_plan_of_two_says_what_both_gain() -> None:
    shown = summary(documents.two_fixes())
    assert (
        "2. Use autocast\n   saves nothing by itself · with those above 6.2 ms, step then 6.1 ms ·\n   low confidence, preview rule\n"
        in shown
    )
    assert (
        "With everything on the host fixed, a step cannot be faster than 5.10 ms on this\nGPU; it now takes 12.3 ms, 2.4 times that."
        in shown
    )


def test_without_a_prediction_it_says_why_and_what_the_finding_costs() -> None:
    shown = summary(documents.unpredicted(), width=200)
    assert (
        "! Savings cannot be predicted here, for replaying the recorded steps misses them by 62 %. Only what each finding costs is told."
        in shown
    )
    assert "   costs 4.10 ms a step, 33 % · preview rule\n" in shown
    assert "at most" not in shown and "saves" not in shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_number_is_parted_from_its_unit(width: int) -> None:
    for make in (documents.sick, documents.two_fixes, documents.some_steps, documents.unpredicted):
        lines = summary(make(), width=width).splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("ms", "%"))]


def test_a_long_plan_still_fits_24_lines() -> None:
    document = documents.sick()
    document["findings"] = [documents.finding(f"rule-{number}", at_most_ms=1.0, share=0.1) for number in range(9)]
    document["plan"] = [documents.plan_row(f"rule-{number}", "Mend it", None, 1.0, 0.1, "medium") for number in range(9)]
    shown = summary(document)
    assert len(shown.splitlines()) <= 24
    assert "6 more in the report" in shown


def test_what_makes_the_numbers_doubtful_is_told_once_and_in_one_sentence() -> None:
    document = documents.sick()
    ahead = "The host runs ahead of the GPU: it leaves each of these steps after 0.1 ms, and the GPU takes 0.5 ms. So a step is longer."
    noise = "The plain steps differ so much that savings below 12 % of the step cannot be told from noise: close other programs."
    document["notes"] = ["timeline: 2 events without an end", f"timeline: {ahead}", f"detail: {ahead}", noise]
    shown = summary(document, width=300)
    assert shown.count("! The host runs ahead") == 1 and "the GPU takes 0.5 ms.\n" in shown
    assert f"! {noise}" in shown
    assert "without an end" not in shown
    document["verdict"] = "Measure again: the plain steps differ so much that savings below 12 % of the step cannot be told from noise."
    assert "! The plain steps differ" not in summary(document, width=300)


@pytest.mark.parametrize("make", [documents.healthy, documents.crashed, documents.empty])
def test_every_kind_of_document_has_a_summary(make: object) -> None:
    document = make()  # type: ignore[operator]
    assert document["verdict"] in summary(document, width=200)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_cannot_command_the_terminal(name: str) -> None:
    shown = summary(documents.hostile(name))
    assert not {letter for letter in shown if ord(letter) < 32 and letter != "\n"}
    assert "\u202e" not in shown


def test_one_of_many_traces_gets_two_lines() -> None:
    stream = io.StringIO()
    print_headline(documents.sick(), Path("out/a"), Console(file=stream, width=80, color_system=None))
    first, second = stream.getvalue().splitlines()
    assert first.startswith("train.py: 33 % of each step is at stake")
    assert second == "  out/a/report.md"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_writes_whole_lines_and_erases_only_in_a_terminal() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        progress = Progress(stream)
        progress("timing plain steps")
        progress("")
    assert pipe.getvalue() == "diagnose: timing plain steps …\n"
    assert terminal.getvalue() == "\r\x1b[Kdiagnose: timing plain steps …\n"


def test_reading_is_told_after_two_seconds_and_every_two_seconds() -> None:
    stream, clock = io.StringIO(), iter([10.0, 11.9, 12.0, 13.9, 14.5, 20.0, 21.9, 22.0])
    reading = ReadingProgress(Progress(stream), lambda: next(clock))
    big, other = Content("far/big\x1b.json.gz"), Content("s3://me:pw@bucket/other.json?sig=1")
    for share in (0.01, 0.2, 0.43, 0.6, 0.75):
        big.share = share
        reading(big)
    other.read_bytes = 3 * 2**20  # of an unknown size
    for _ in range(3):
        reading(other)
    assert stream.getvalue().splitlines() == [
        "diagnose: reading big\N{REPLACEMENT CHARACTER}.json.gz … 43 %",
        "diagnose: reading big\N{REPLACEMENT CHARACTER}.json.gz … 75 %",
        "diagnose: reading other.json … 3.00 MiB",
    ]

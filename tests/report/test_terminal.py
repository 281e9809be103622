"""The summary fits a small terminal, and nothing in it commands the terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from diagnose.report.terminal import HEIGHT, print_headline, print_summary, print_verification
from diagnose.trace.notes import GPU_UNRECORDED, NOISY_STEPS

from . import documents
from .documents import HOSTILE_NAMES, Document, change, changed, note


def summary(document: Document, width: int = 80) -> str:
    stream = io.StringIO()
    print_summary(document, Path("diagnosis/run"), Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def test_the_summary_says_what_where_how_much_and_what_next() -> None:
    shown = summary(documents.sick())
    for part in (
        "The DataLoader has no workers",
        "Input wait",
        "train.py:41",
        "saves 2.9–4.1 ms a step, 24–33 %",
        "step then 8.7 ms",
        "diagnosis/run/report.html",
    ):
        assert part in shown
    assert "tensorboard --logdir diagnosis/run\n" in shown
    assert "python -m diagnose train.py --epochs 3" in shown


def test_a_plan_of_two_says_what_both_gain() -> None:
    shown = summary(documents.two_fixes())
    assert (
        "2. Use autocast\n   saves nothing by itself · with those above 6.2 ms, step then 6.1 ms ·\n   low "
        "confidence, preview rule\n" in shown
    )
    assert "GPU floor: 5.10 ms (2.4× faster than now) if the CPU side cost nothing." in shown


def test_without_a_prediction_it_says_why_and_what_the_finding_costs() -> None:
    shown = summary(documents.unpredicted(), width=200)
    assert (
        "! Savings cannot be predicted here, for replaying the recorded steps misses them by 62 %. Only what "
        "each finding costs is told." in shown
    )
    assert "   costs 4.10 ms a step, 33 % · preview rule\n" in shown
    assert "at most" not in shown and "saves" not in shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_number_is_parted_from_its_unit(width: int) -> None:
    for make in (documents.sick, documents.two_fixes, documents.some_steps, documents.unpredicted):
        lines = summary(make(), width=width).splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("ms", "%"))]


def widest() -> Document:
    """A document with all that a summary can hold, everything long: nine fixes, four doubts, a bad end."""
    path = "/home/somebody/projects/a-very-long-project-name/training/experiments/2026/november/fine_tuning/attention.py"
    document = documents.some_steps()
    document.upper_bound_ms = 5.1
    change(document.run, ended="killed", signal="SIGKILL", argv=["train.py", "--config", path])
    document.headline = (
        f"Measure again on a quiet machine: {'other processes used 93 % of the time, ' * 6}so see "
        f"`{path}:4171`."
    )
    long_title = "Ask for `foreach=True` or `fused=True` in the optimizer's constructor, always"
    culprit = changed(documents.culprit(4171, "loss.backward()", 1.0, 4.1), file=path)
    document.findings = [
        documents.finding(
            f"rule-{number}",
            title=long_title,
            severity="high",
            at_most_ms=1.0,
            share=0.1,
            predicted=(1.234, 0.432, 11.5, "low"),
            culprits=[culprit],
        )
        for number in range(9)
    ]
    document.findings[0].saving.scope = "average"
    document.plan = [
        documents.plan_row(
            f"rule-{number}",
            long_title,
            f"{path}:4171",
            1.0,
            0.1,
            "high",
            alone=1.2,
            cumulative=2.3,
            after=8.9,
        )
        for number in range(9)
    ]
    document.notes = [
        note(f"The plain steps differ so much {'that savings cannot be told ' * 5}.", NOISY_STEPS),
        note(f"GPU activity was not recorded{', for the driver does not allow it' * 5}.", GPU_UNRECORDED),
    ]
    return document


def lines_of(shown: str) -> tuple[list[str], list[str]]:
    """Lines to read, and those to copy."""
    lines = shown.splitlines()
    copied = [line for line in lines if line.startswith(("Report ", "TensorBoard ", "To measure ", "Then "))]
    return [line for line in lines if line not in copied], copied


MAKERS = [*documents.MAKERS, widest]


@pytest.mark.parametrize("make", MAKERS)
def test_a_summary_fits_a_small_terminal(make: Callable[[], Document]) -> None:
    read, copied = lines_of(summary(make()))
    assert len(read) + len(copied) <= HEIGHT == 24
    assert [line for line in read if len(line) > 80] == []
    assert 2 <= len(copied) <= 3


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_summary_of_hostile_names_fits_too(name: str) -> None:
    read, copied = lines_of(summary(documents.hostile(name)))
    assert len(read) + len(copied) <= HEIGHT
    assert [line for line in read if len(line) > 80] == []


def test_what_gives_way_are_remarks_not_fixes() -> None:
    shown = summary(widest())
    assert shown.splitlines()[1].startswith("Measure again on a quiet machine: other processes")
    for part in (
        "The script was killed",
        "! The plain steps differ",
        "Backward",
        "1. Ask for",
        "2. Ask for",
        "3. Ask for",
        "6 more in the report",
    ):
        assert part in shown
    # the end of a long path, for that is where the line is
    assert shown.count("fine_tuning/attention.py:4171\n") == 3
    assert shown.count("saves 0.43–12 ms a step") == 3
    assert "GPU floor" not in shown
    wide = summary(widest(), width=1000)
    assert "GPU floor" in wide and "! GPU activity was not recorded" in wide


def verified(count: int) -> Document:
    measured = {
        "pairs": 8,
        "outliers": 1,
        "change": -0.4,
        "low": -0.42,
        "high": -0.38,
        "noise": 0.01,
        "before_ms": 10.0,
        "after_ms": 6.0,
        "saved_ms": [3.8, 4.0, 4.2],
    }
    tried = {
        "rule": "input-wait-no-workers",
        "title": "Load batches in worker processes, and keep them from one epoch to the next one, pinned",
        "intervention": "dataloader",
        "arguments": {"num_workers": 2},
        "safety": "exact",
        "state": "measured",
        "why": "gc_freeze did not take hold beside the others",
        "predicted_ms": {"low": 3.0, "best_guess": 3.5, "high": 4.1},
        "verdict": "too_noisy",
        "change": measured,
        "results": {"agreement": "close", "compared": 40, "deviation": 0.003, "tolerance": 0.01},
        "memory": {},
        "curve": {"argument": "num_workers", "ms": {"1": 7.0, "2": 6.0}, "best": 2, "knee": 2},
    }
    proof = {
        "tool": {"name": "diagnose", "version": ""},
        "tried": [tried] * count,
        "together": None,
        "warnings": ["Other processes were busy. " * 8],
        "noise": 0.01,
        "runs": 20,
        "wall_s": 61.2,
        "seeded_batches": True,
        "same_losses": False,
        "interrupted": True,
    }
    return changed(documents.sick(), verification=proof)


@pytest.mark.parametrize("count", [1, 3, 12])
def test_what_was_measured_fits_a_small_terminal(count: int) -> None:
    stream = io.StringIO()
    print_verification(
        verified(count), Path("diagnosis/run"), Console(file=stream, width=80, color_system=None)
    )
    read, copied = lines_of(stream.getvalue())
    assert len(read) + len(copied) <= HEIGHT and len(copied) == 2
    assert [line for line in read if len(line) > 80] == []
    assert ("8 more in the report" in stream.getvalue()) == (count == 12)
    assert "too noisy to say: faster by 38–42 %" in stream.getvalue()


def test_what_to_type_next_is_one_thing() -> None:
    document = documents.sick()
    assert "Then         python -m diagnose train.py --epochs 3" in summary(document)
    document.findings[0].fix.intervention = "dataloader"
    shown = summary(document)
    assert "To measure   python -m diagnose verify diagnosis/run\n" in shown and "Then " not in shown
    assert "Then " not in summary(documents.healthy())


def test_what_makes_the_numbers_doubtful_is_told_once_and_in_one_sentence() -> None:
    document = documents.sick()
    unseen = (
        "GPU activity was not recorded: the trace holds 3 calls that launch GPU work, but no event of a GPU. "
        "All times are the host's."
    )
    noise = (
        "The plain steps differ so much that savings below 12 % of the step cannot be told from noise: "
        "close other programs."
    )
    document.notes = [
        note("timeline: 2 events without an end"),
        note(f"timeline: {unseen}", GPU_UNRECORDED),
        note(f"detail: {unseen}", GPU_UNRECORDED),
        note(noise, NOISY_STEPS),
    ]
    shown = summary(document, width=300)
    assert shown.count("! GPU activity was not") == 1 and "no event of a GPU.\n" in shown
    assert f"! {noise}" in shown
    assert "without an end" not in shown
    document.headline = (
        "Measure again: the plain steps differ so much that savings below 12 % of the step cannot be told "
        "from noise."
    )
    assert "! The plain steps differ" not in summary(document, width=300)


@pytest.mark.parametrize("make", [documents.healthy, documents.crashed, documents.empty])
def test_every_kind_of_document_has_a_summary(make: object) -> None:
    document = make()  # type: ignore[operator]
    assert document.headline in summary(document, width=200)


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
    assert second == "  out/a/report.html"

"""The summary fits a small terminal, and nothing in it commands the terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from diagnose.document import savings
from diagnose.document.model import Patch, RowAccount, Spender, Written
from diagnose.document.queries import planned
from diagnose.report import next_steps
from diagnose.report.brief import brief
from diagnose.report.console import stderr_console
from diagnose.report.markdown import markdown
from diagnose.report.page import page
from diagnose.report.terminal import HEIGHT, print_headline, print_summary, print_verification
from diagnose.trace.notes import GPU_UNRECORDED, UNSEEN_WORK

from . import documents
from .documents import HOSTILE_NAMES, Document, change, changed, note


def summary(document: Document, width: int = 80) -> str:
    stream = io.StringIO()
    print_summary(document, Path("diagnosis/run"), Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def test_the_summary_says_what_where_how_much_and_what_next() -> None:
    shown = summary(documents.sick())
    for part in (
        "Input loading without workers",
        "Input wait",
        "train.py:41",
        "saves 2.9–4.1 ms a step, 24–33 %",
        "step then 8.7 ms",
        "diagnosis/run/report.html",
    ):
        assert part in shown
    assert "tensorboard --logdir diagnosis/run · http://localhost:6006/#diagnose\n" in shown
    assert "python -m diagnose train.py --epochs 3" in shown


def test_a_plan_of_two_says_what_both_gain() -> None:
    shown = summary(documents.two_fixes())
    assert (
        "2. Use autocast\n   saves 0 ms a step until fix 1 is made · step after fixes 1–2: 6.1 ms ·\n   low "
        "confidence, preview rule\n" in shown
    )
    assert "GPU floor: 5.10 ms (2.4× faster than now) if the CPU side cost nothing." in shown


def test_without_a_prediction_it_says_why_and_what_the_finding_costs() -> None:
    shown = summary(documents.unpredicted(), width=200)
    assert (
        "Savings unknown. Replaying the recorded steps misses them by 62 %, so only costs are shown." in shown
    )
    assert "   costs 4.10 ms a step, 33 % · preview rule\n" in shown
    assert "at most" not in shown and "saves" not in shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_number_is_parted_from_its_unit(width: int) -> None:
    for make in (documents.sick, documents.two_fixes, documents.some_steps, documents.unpredicted):
        lines = summary(make(), width=width).splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("ms", "%"))]


def widest() -> Document:
    """A document with all that a summary can hold, everything long: nine fixes, a doubt, a bad end."""
    path = "/home/somebody/projects/a-very-long-project-name/training/experiments/2026/november/fine_tuning/attention.py"
    document = documents.some_steps()
    document.upper_bound_ms = 5.1
    change(document.run, ended="killed", signal="SIGKILL", argv=["train.py", "--config", path])
    document.headline = (
        "Extraordinarily unconfigured optimizers: 93 % of each step "
        "(…ments/2026/november/fine_tuning/attention.py:4171); the fix saves 1,200–3,100 ms"
    )
    document.badge = "out of memory"
    document.doubt = f"Memory ran out ({'other programs had taken nearly all of it, ' * 5}as it seems)."
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
        note(f"Step times vary {'and savings cannot be told ' * 5}."),
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
    assert shown.splitlines()[1].startswith("Extraordinarily unconfigured optimizers")
    for part in (
        "Out of memory. Memory ran out",
        "Backward",
        "1. Ask for",
        "2. Ask for",
        "3. Ask for",
        "6 more in the report",
    ):
        assert part in shown
    # the end of a long path, for that is where the line is
    assert shown.count("fine_tuning/attention.py:4171\n") == 3
    assert shown.count("saves up to 12 ms a step") == 3
    assert "GPU floor" not in shown
    wide = summary(widest(), width=1000)
    assert "GPU floor" in wide


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
    assert "To measure   python -m diagnose verify\n" in shown and "Then " not in shown
    assert "Then " not in summary(documents.healthy())


@pytest.mark.parametrize("long", [False, True])
def test_the_change_that_makes_the_first_fix_is_shown_with_the_command_that_makes_it(
    tmp_path: Path, *, long: bool
) -> None:
    document = documents.sick()
    first = document.findings[0]
    document.run.cwd = "/somewhere/else"
    document.patch = Patch(patched=[first.rule], unpatched={})
    arguments = ", ".join(f"argument_{number}={number}" for number in range(16)) if long else "data"
    (tmp_path / "fixes.diff").write_text(
        "--- a/other.py\n+++ b/other.py\n@@ -41,1 +41,1 @@\n-not this\n+nor this\n"
        "--- a/train.py\n+++ b/train.py\n@@ -40,2 +40,2 @@\n     model = Net()\n"
        f"-    loader = DataLoader({arguments})\n+    loader = DataLoader({arguments}, num_workers=2)\n"
    )
    stream = io.StringIO()
    print_summary(document, tmp_path, Console(file=stream, width=80, color_system=None))
    shown = stream.getvalue()
    if long:  # only what is added: both would be more than six lines
        assert "   - loader" not in shown and "   + loader = DataLoader(argument_0=0" in shown
    else:
        assert "   - loader = DataLoader(data)\n   + loader = DataLoader(data, num_workers=2)\n" in shown
    assert "not this" not in shown and "num_workers=2)\n" in shown
    assert f"To apply     git -C /somewhere/else apply {tmp_path}/fixes.diff\n" in shown
    assert len(shown.splitlines()) <= HEIGHT


def test_a_stream_that_is_not_utf_8_is_written_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr("sys.stderr", stream)
    print_summary(documents.sick(), Path("out"), stderr_console())
    stream.flush()
    shown = written.getvalue().decode()
    assert "saves 2.9-4.1 ms a step, 24-33 % - step then 8.7 ms" in shown
    assert "####" in shown and "\\" not in shown


@pytest.mark.parametrize(("width", "named"), [(60, False), (100, True)])
def test_names_of_the_ledger_are_left_out_where_there_is_no_room(width: int, named: bool) -> None:
    document = documents.sick()
    spender = Spender(
        name="aten::convolution", kind="operator", ms_per_step=4.0, share=0.3, count_per_step=1, headroom_ms=0
    )
    document.account = [RowAccount(row=document.ledger[0].row, spenders=[spender])]
    shown = summary(document, width=width)
    assert ("aten::" in shown) == named and "…" not in shown


def test_a_step_is_not_rounded_below_the_floor() -> None:
    document = documents.sick()
    row = document.plan[0]
    # two digits of 120 ms are tens
    row.step_ms_after, row.cumulative_ms = 71.6, 120.0
    document.upper_bound_ms = 71.5
    assert savings.then(row, document) == "step then 71.6 ms"
    document.upper_bound_ms = 60.0
    assert savings.then(row, document) == "step then 70 ms"


def test_commands_name_the_folders_and_the_python_that_there_are() -> None:
    document = documents.sick()
    document.findings[0].fix.intervention = "dataloader"
    document.run.cwd = "/job"
    document.written = Written(
        folder="/job/diagnosis/1", run="/job/diagnosis/1", python=".venv/bin/python", has_script=True
    )
    shown = summary(document, width=200)
    assert "To measure   .venv/bin/python -m diagnose verify diagnosis/1\n" in shown
    assert "TensorBoard  .venv/bin/python -m tensorboard.main --logdir diagnosis/run · http" in shown
    document.written.run = "/elsewhere/run"
    assert next_steps.verify_command(document) == ".venv/bin/python -m diagnose verify /elsewhere/run"
    assert "`.venv/bin/python -m diagnose compare /elsewhere/run`" in next_steps.then(document)


@pytest.mark.parametrize(
    ("safeties", "fixes", "options"),
    [
        ({"fp32-no-autocast": "numerics"}, "fix 2", " --allow numerics"),
        ({"input-wait-no-workers": "exact"}, "fix 1", ""),
        (
            {"input-wait-no-workers": "exact", "fp32-no-autocast": "numerics"},
            "fixes 1 and 2",
            " --allow numerics",
        ),
    ],
)
def test_the_command_that_measures_tries_the_fixes_that_it_is_said_to(
    safeties: dict[str, str], fixes: str, options: str
) -> None:
    document = documents.two_fixes()
    for finding in planned(document):
        made = safeties.get(finding.rule)
        change(finding.fix, safety=made or "manual", intervention="dataloader" if made else "")
    assert next_steps.verify_command(document) == f"python -m diagnose verify{options}"
    told = f"measures {fixes} by running the script as it is and changed"
    assert f"{told}." in next_steps.to_verify(document)
    assert f"<p>This {told}:</p>" in page(document, None)


@pytest.mark.parametrize("ended", ["crashed", "killed"])
def test_what_cannot_be_run_to_its_end_is_not_offered_for_measuring(ended: str) -> None:
    document = documents.sick()
    document.findings[0].fix.intervention = "dataloader"
    assert next_steps.verify_command(document)
    change(document.run, ended=ended)
    assert next_steps.verify_command(document) == ""
    assert next_steps.then(document) == "First fix what ended the script, then run it again:"


def test_a_fix_whose_numbers_were_not_recorded_is_not_offered_for_measuring() -> None:
    document = documents.sick()
    change(document.findings[0].fix, intervention="dataloader", arguments=None)
    assert next_steps.verify_command(document) == ""


def test_without_the_script_nothing_can_be_measured() -> None:
    document = documents.sick()
    document.findings[0].fix.intervention = "dataloader"
    document.written = Written(folder="/out", run="/run", python="python", has_script=False)
    assert next_steps.verify_command(document) == ""


def test_who_has_a_trace_is_told_no_command_that_cannot_work() -> None:
    document = documents.sick()
    document.run.recorded_by_us = False
    assert "Then " not in summary(document) and "train.py --epochs" not in summary(document)


def test_what_makes_the_numbers_doubtful_is_told_once_below_the_headline() -> None:
    document = documents.sick()
    document.badge = "GPU not recorded"
    document.doubt = "Work was given to a GPU, but no GPU work was recorded: all times are the CPU's."
    document.notes = [note("timeline: 2 events without an end"), note("GPU unseen", GPU_UNRECORDED)]
    lines = summary(document, width=300).splitlines()
    assert lines[1:3] == [document.headline, f"GPU not recorded. {document.doubt}"]
    assert not [line for line in lines if "without an end" in line or "GPU unseen" in line]


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
    assert first.startswith("train.py: Input loading without workers: 33 % of each step")
    assert second == "  out/a/report.html"


def test_what_came_in_no_step_is_told() -> None:
    document = documents.sick()
    sentence = "What train.py:41 does every 500 steps was not timed."
    change(document, notes=[*document.notes, note(sentence, UNSEEN_WORK)])
    assert sentence in " ".join(summary(document).split())
    assert sentence in markdown(document) and sentence in brief(document).not_known

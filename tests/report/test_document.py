"""The result document on disk, and what renderers ask of it."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import pytest

from diagnose.document.queries import automatic, ledger_ms, on_one_machine, run_command, severest, shell_line
from diagnose.document.stored import to_json, write_text

from . import documents
from .documents import change


def test_shares_are_of_what_the_ledger_adds_up_to() -> None:
    assert ledger_ms(documents.sick()) == pytest.approx(12.3)  # 4.1 + 3.0 + 3.7 + 1.2 + 0.3
    assert ledger_ms(documents.empty()) is None


def test_json_is_strict() -> None:
    text = to_json({"a": math.nan, "b": [math.inf, 1.5], "c": "×"})
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "c": "×"}


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_text("old", path)
    write_text("new \ud800", path)
    assert path.read_text() == "new ?"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.md"]


def test_the_command_repeats_what_was_typed() -> None:
    document = documents.sick()
    assert run_command(document) == "python -m diagnose train.py --epochs 3"
    change(document.run, target="pkg.train", argv=["pkg.train", "--name", "two words"], module=True)
    assert run_command(document) == "python -m diagnose -m pkg.train --name 'two words'"


def test_severest_looks_only_at_the_plan() -> None:
    assert severest(documents.sick()) == "high"
    assert severest(documents.healthy()) is None


@pytest.mark.parametrize(
    ("automatic_form", "low_ms", "because_of", "tried"),
    [
        ("", 0.32, None, ["conv-bias-before-norm"]),
        ("", 0.31, None, []),  # not more than the noise, which is 0.31 ms
        ("", 0.32, "input-wait-no-workers", []),
        ("dataloader", 0.32, None, ["input-wait-no-workers"]),  # nothing in the plan is for people to make
    ],
)
def test_what_stands_behind_a_fix_for_people_can_be_tried(
    automatic_form: str, low_ms: float, because_of: str | None, tried: list[str]
) -> None:
    document = documents.sick()
    planned, minor = document.findings[:2]
    planned.fix.intervention = automatic_form
    minor.fix.intervention, minor.because_of = "optimizer", because_of
    change(minor.saving, predicted_ms={"best_guess": 1.0, "low": low_ms, "high": 2.0})
    assert [finding.rule for finding in automatic(document)] == tried


def test_ranks_of_other_machines_are_not_on_this_one() -> None:
    document = documents.sick()
    assert on_one_machine(document)
    change(document.run, launchers=4, launchers_here=4)
    assert on_one_machine(document)
    document.run.launchers_here = 2
    assert not on_one_machine(document)


def test_what_started_a_run_starts_it_again() -> None:
    document = documents.sick()
    document.run.launchers = 4
    assert run_command(document) == "torchrun --nproc-per-node 4 -m diagnose train.py --epochs 3"
    document.run.launchers_here = 2
    assert run_command(document) == "torchrun --nnodes 2 --nproc-per-node 2 -m diagnose train.py --epochs 3"
    document.run.in_process = True
    assert run_command(document) == ""


def test_a_shell_reads_back_words_that_no_terminal_can_show() -> None:
    words = ["a'b", "c\nd", "e\x1b[31m", "f'\\\n", "\u202eg"]
    line = shell_line(["printf", "%s|", *words])
    assert line.isprintable()
    assert subprocess.run(["bash", "-c", line], capture_output=True, text=True).stdout == "".join(
        f"{word}|" for word in words
    )

"""The brief holds what is needed to act, and is never long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from diagnose.document.model import Lacking, Patch
from diagnose.document.stored import to_json
from diagnose.report.brief import MOST_CHARACTERS, brief, markdown

from . import documents
from .documents import HOSTILE_NAMES, Document, change


def told(document: Document) -> dict[str, Any]:
    """As a program reads it."""
    return json.loads(to_json(brief(document)))


def with_change(document: Document, lines: list[str]) -> Document:
    rule = document.plan[0].rule
    change(document, patch=Patch(patched=[rule], unpatched={}, lines={rule: lines}))
    return document


def test_a_fix_is_told_with_its_line_its_gain_and_its_change() -> None:
    of_sick = told(with_change(documents.sick(), ["-    loader = DataLoader(data)", "+    loader = Data(2)"]))
    assert of_sick["headline"] == documents.sick().headline
    (fix,) = of_sick["fixes"]
    assert fix["where"][0] == "train.py:41"
    assert (fix["rule"], fix["results"]) == (documents.sick().plan[0].rule, "exact")
    assert fix["predicted_ms"] == [2.9, 3.6, 4.1]
    assert "num_workers=2" in fix["how"]
    assert fix["change"] == ["-    loader = DataLoader(data)", "+    loader = Data(2)"]
    assert "measured_ms" not in fix and "verdict" not in fix
    assert any("git apply" in command for command in of_sick["next"])


def test_what_verify_can_try_is_told() -> None:
    document = documents.sick()
    finding = document.findings[0]
    change(finding.fix, intervention="dataloader", arguments={"num_workers": 2})
    assert told(document)["verify_can_try"] == [finding.rule]
    change(finding.fix, arguments=None)  # the number was not recorded
    assert "verify_can_try" not in told(document)


def test_what_was_measured_is_told_beside_what_was_predicted() -> None:
    (fix, *_) = told(documents.verified())["fixes"]
    measured = documents.verified().findings[0].saving.measured_ms
    assert measured is not None
    assert fix["measured_ms"] == pytest.approx([measured.low, measured.best_guess, measured.high], rel=0.01)
    assert fix["verdict"] == "faster"


def test_parts_of_a_step_are_the_ledgers_largest_first() -> None:
    parts = told(documents.sick())["step_goes_to"]
    rows = sorted(documents.sick().ledger, key=lambda row: -row.share)
    assert [part["part"] for part in parts] == [row.title for row in rows if row.share >= 0.01]
    assert sum(part["share"] for part in parts) == pytest.approx(1, abs=0.02)


def test_only_what_could_be_recorded_is_called_not_known() -> None:
    document = documents.sick()
    quiet = next(finding for finding in document.findings if finding.group is None)
    change(quiet, state="abstains", abstains_for=Lacking(reason="no shapes", option="--shapes"))
    assert "1 rule: no shapes; --shapes would record it" in told(document)["not_known"]
    change(quiet, state="abstains", abstains_for=Lacking(reason="no shapes", option=""))
    assert not any("no shapes" in unknown for unknown in told(document).get("not_known", []))


def test_a_healthy_run_has_no_fixes() -> None:
    assert "fixes" not in told(documents.healthy())


@pytest.mark.parametrize(
    "document",
    [
        documents.sick(),
        documents.two_fixes(),
        documents.some_steps(),
        documents.unpredicted(),
        documents.healthy(),
        documents.empty(),
        documents.crashed(),
        documents.without_a_step(),
        documents.verified(),
        *map(documents.hostile, HOSTILE_NAMES),
    ],
    ids=lambda document: document.run.target[:20].encode("ascii", "replace").decode(),
)
def test_it_is_short_whatever_it_is_given(document: Document) -> None:
    assert len(to_json(brief(document))) <= MOST_CHARACTERS
    assert len(markdown(document)) <= MOST_CHARACTERS


def test_long_plans_are_cut_until_they_fit() -> None:
    document = documents.sick()
    planned, row = document.findings[0], document.plan[0]
    for number in range(60):
        change(document, findings=[*document.findings, documents.changed(planned, rule=f"rule-{number}")])
        change(document, plan=[*document.plan, documents.changed(row, rule=f"rule-{number}")])
    for finding in document.findings:
        change(finding.fix, how="x" * 3_000)
    with_change(document, ["+" + "y" * 500] * 100)
    found = brief(document)
    assert len(to_json(found)) <= MOST_CHARACTERS
    assert found.fixes[0].rule == document.plan[0].rule and found.fixes[0].where
    assert len(found.fixes) + found.more_fixes == 61
    assert len(markdown(document)) <= MOST_CHARACTERS


def test_markdown_says_the_same() -> None:
    text = markdown(with_change(documents.sick(), ["+    loader = Data(2)"]))
    assert text.startswith("# train.py\n\n**Input loading without workers")
    assert "`train.py:41`" in text and "```diff\n+    loader = Data(2)\n```" in text

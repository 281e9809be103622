"""From a verified run to fixes.diff and, only when asked, into the script."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from benchmarks.samples import FOLDER
from diagnose.commands import verify as verifying
from diagnose.document.model import Document, Measured, Patch
from diagnose.document.queries import ledger_ms
from diagnose.fixes.patch.diff import Patches
from diagnose.pipeline import analyse
from diagnose.report.patch import patches_of, verified_patches, with_patch

RULE = "input-wait-no-workers"
TRIED = {
    "rule": RULE,
    "state": "measured",
    "verdict": "faster",
    "change": {
        "pairs": 8,
        "outliers": 0,
        "change": -0.4,
        "low": -0.44,
        "high": -0.37,
        "noise": 0.01,
        "before_ms": 27.0,
        "after_ms": 16.0,
        "saved_ms": [10.0, 11.0, 12.0],
    },
}
REST = {
    "title": "",
    "intervention": "dataloader",
    "arguments": {"num_workers": 4, "persistent_workers": True},
    "predicted_ms": None,
    "safety": "exact",
    "why": "",
    "results": None,
    "memory": None,
    "curve": None,
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The recorded sample as if it had been recorded here, with its script beside it."""
    job = tmp_path / "job"
    job.mkdir()
    shutil.copy(FOLDER / "input-wait" / "sick.py", job)
    shutil.copytree(FOLDER / "input-wait" / "sick", tmp_path / "run")
    for name in ("run.json", "rank0/steps.json", "rank0/facts.json"):
        path = tmp_path / "run" / name
        path.write_text(path.read_text().replace("/sample", str(job)))
    return tmp_path / "run"


def document_of(run: Path, **tried: Any) -> Document:
    if tried:
        proof = {
            "schema": 1,
            "tool": {"name": "diagnose", "version": ""},
            "tried": [TRIED | REST | tried],
            "together": None,
            "warnings": [],
            "noise": None,
            "runs": 0,
            "wall_s": 0.0,
        }
        proof |= {"seeded_batches": False, "same_losses": True, "interrupted": False}
        (run / "verify.json").write_text(json.dumps(proof))
    return analyse(run)


def test_exact_fixes_are_in_the_diff_before_anything_is_measured(run: Path) -> None:
    document = with_patch(document_of(run), run)
    assert document.patch is not None
    assert (document.patch.patched, document.patch.unpatched) == ([RULE], {})
    removed, added = document.patch.lines[RULE]
    assert removed.startswith("-    loader = DataLoader(") and added.endswith("persistent_workers=True)")
    folder = Path(document.run.cwd)
    subprocess.run(["git", "apply", str(run / "fixes.diff")], cwd=folder, check=True)
    assert "num_workers=2, persistent_workers=True)" in (folder / "sick.py").read_text()


def test_what_was_measured_to_change_nothing_leaves_the_plan_and_the_diff(run: Path) -> None:
    (run / "fixes.diff").write_text("stale")
    document = with_patch(document_of(run, verdict="no_change"), run)
    assert document.plan == [] and not (run / "fixes.diff").exists()
    finding = next(one for one in document.findings if one.rule == RULE)
    assert (finding.group, finding.saving.verdict, finding.saving.measured_ms) == ("minor", "no_change", None)


def test_no_change_in_which_the_predicted_one_may_hide_leaves_the_plan_and_the_diff_as_they_were(
    run: Path,
) -> None:
    """Of 100 ms it may have gained 6, and 3 to 5 were predicted."""
    told = {"predicted_ms": {"low": 3.0, "best_guess": 4.0, "high": 5.0}, "predicted_of_ms": 100.0}
    document = document_of(run, verdict="no_change", change=change(-0.06, -0.02, 0.02, noise=0.07), **told)
    document = with_patch(document, run)
    assert [row.rule for row in document.plan] == [RULE]
    assert document.patch is not None and document.patch.patched == [RULE]
    assert next(one for one in document.findings if one.rule == RULE).saving.verdict == "too_noisy"


def change(low: float, best: float, high: float, noise: float = 0.01) -> dict[str, Any]:
    """Of a step of 100 ms, shares."""
    interval = {"change": best, "low": low, "high": high, "noise": noise}
    saved = [-100 * high, -100 * best, -100 * low]
    return TRIED["change"] | interval | {"before_ms": 100.0, "after_ms": 100 * (1 + best), "saved_ms": saved}


@pytest.mark.parametrize("measured", [change(-0.1, 0.0, 0.1), change(-0.05, 0.04, 0.13)])
def test_what_does_not_gain_what_was_predicted_no_longer_leads(run: Path, measured: dict[str, Any]) -> None:
    assert [row.rule for row in document_of(run).plan] == [RULE]
    document = with_patch(document_of(run, verdict="no_such_gain", change=measured), run)
    assert document.plan == [] and "saves" not in document.headline
    assert document.patch is None or document.patch.patched == []
    finding = next(one for one in document.findings if one.rule == RULE)
    assert (finding.group, finding.saving.verdict) == ("minor", "no_such_gain")
    assert finding.saving.measured_ms is not None
    assert finding.saving.measured_ms.low == measured["saved_ms"][0]


def test_what_gains_something_else_is_planned_with_what_was_measured(run: Path) -> None:
    document = document_of(run, verdict="no_such_gain", change=change(-0.16, -0.08, 0.005))
    assert [row.rule for row in document.plan] == [RULE]
    assert document.plan[0].cumulative_ms == pytest.approx(8.0, rel=0.01)
    assert "saves" not in document.headline


def test_less_work_leaves_the_prediction_in_the_plan(run: Path) -> None:
    work = change(-0.25, -0.2, -0.15)
    document = document_of(run, verdict="less_work", change=change(-0.3, -0.05, 0.2), work=work)
    assert [row.rule for row in document.plan] == [RULE]
    saving = next(one for one in document.findings if one.rule == RULE).saving
    assert (saving.verdict, saving.measured_ms) == ("less_work", None)


def test_what_changes_results_stays_in_the_plan_but_not_in_the_diff(run: Path) -> None:
    document = document_of(run, verdict="changes_result")
    assert [row.rule for row in document.plan] == [RULE]
    assert patches_of(document).patched == ()


@pytest.mark.live
def test_only_what_was_measured_to_be_faster_is_ever_applied(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = run.parent / "job" / "sick.py"
    before = script.read_text()
    document = document_of(run)
    assert verified_patches(document).files == ()
    verifying._apply(document)
    assert script.read_text() == before and "nothing was changed" in capsys.readouterr().err

    verifying._apply(document_of(run, verdict="faster"))
    assert f"changed {script}" in capsys.readouterr().err
    short = script.read_text().replace("STEPS = ", "STEPS = 3 and ", 1)
    # the number that was measured, not the one that was suggested
    assert "num_workers=4, persistent_workers=True)" in short
    script.write_text(short)
    assert subprocess.run([sys.executable, "sick.py"], cwd=script.parent, capture_output=True).returncode == 0


OTHER = "epoch-start"


@pytest.fixture
def both_faster(run: Path) -> Document:
    """Two fixes of the script that are faster alone: the first by 11 ms, the second by 4."""
    document = document_of(run, verdict="faster")
    first = next(one for one in document.findings if one.rule == RULE)
    second = structs.replace(
        first,
        rule=OTHER,
        saving=structs.replace(
            first.saving, measured_ms=Measured(best_guess=4.0, low=3.0, high=5.0, of_ms=27.0)
        ),
    )
    row = structs.replace(document.plan[0], rule=OTHER)
    return structs.replace(document, findings=[*document.findings, second], plan=[*document.plan, row])


def with_together(document: Document, **told: Any) -> Document:
    """As if the two had been measured at once, with this."""
    result = structs.replace(document.verification.tried[0], rule=f"{RULE}, {OTHER}", **told)
    return structs.replace(document, verification=structs.replace(document.verification, together=result))


def applied_of(document: Document, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], dict[str, str]]:
    """The rules whose fixes would go into the files, and why others would not."""
    taken: list[str] = []

    def diff_of(findings: list[Any], document: Document) -> Patches:
        taken.extend(one.rule for one in findings)
        return Patches("", tuple(taken), {})

    monkeypatch.setattr("diagnose.report.patch._diff_of", diff_of)
    return taken, verified_patches(document).unpatched


def test_what_was_faster_together_is_applied_together(
    both_faster: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert applied_of(with_together(both_faster, verdict="faster"), monkeypatch) == ([RULE, OTHER], {})


@pytest.mark.parametrize(
    "told",
    [
        {"state": "failed", "verdict": None},
        {"verdict": "slower"},
        {"verdict": "changes_result"},
        {"verdict": "too_noisy"},
        {"state": "no_time", "verdict": None},
    ],
)
def test_of_what_did_not_gain_together_the_one_that_gains_most_is_applied(
    both_faster: Document, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]
) -> None:
    taken, unpatched = applied_of(with_together(both_faster, **told), monkeypatch)
    assert taken == [RULE]
    assert unpatched == {OTHER: f"it was not measured to be faster together with {RULE}"}


def test_what_was_never_measured_together_is_not_applied_together(
    both_faster: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert applied_of(both_faster, monkeypatch)[0] == [RULE]


def test_the_plan_counts_with_what_was_measured(run: Path) -> None:
    document = document_of(run, verdict="faster")
    row = document.plan[0]
    assert row.cumulative_ms == pytest.approx(11.0)
    assert row.step_ms_after == pytest.approx(ledger_ms(document) - 11.0)
    assert document.headline.endswith("the fix saved 10–12 ms")


def test_nothing_is_patched_where_the_script_is_not_at_hand(run: Path) -> None:
    shutil.rmtree(run.parent / "job")
    assert with_patch(document_of(run), run).patch == Patch(patched=[], unpatched={})

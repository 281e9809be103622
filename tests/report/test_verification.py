"""What was measured, in words."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.document.model import FixResult, Verification
from diagnose.report.markdown import markdown
from diagnose.report.verification import losses, remarks, saved, verdict

from . import documents
from .documents import changed, made

CHANGE = {
    "pairs": 8,
    "outliers": 1,
    "change": -0.4,
    "low": -0.42,
    "high": -0.38,
    "noise": 0.01,
    "before_ms": 10.0,
    "after_ms": 6.0,
}
CHANGE |= {"saved_ms": [3.8, 4.0, 4.2]}
SAME = {"agreement": "same", "compared": 40, "deviation": 0.0, "tolerance": 0.01}


def tried(**given: Any) -> dict[str, Any]:
    blank = {
        "rule": "input-wait-no-workers",
        "title": "Load ahead",
        "intervention": "dataloader",
        "arguments": {"num_workers": 2},
    }
    blank |= {
        "safety": "exact",
        "state": "measured",
        "why": "",
        "predicted_ms": {"low": 3.0, "best_guess": 3.5, "high": 4.1},
    }
    blank |= {"verdict": "faster", "change": CHANGE, "results": SAME, "memory": {}, "curve": None}
    return made(FixResult, blank | given)


def proof(*rows: FixResult, **given: Any) -> Verification:
    blank = {"tool": {"name": "diagnose", "version": ""}, "tried": list(rows), "noise": 0.01, "runs": 20}
    return made(Verification, blank | {"wall_s": 61.2, "same_losses": True} | given)


def by(low: float, high: float, **given: Any) -> FixResult:
    return tried(change=CHANGE | {"low": low, "high": high, "change": (low + high) / 2}, **given)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (tried(), "faster by 38–42 %"),
        (by(0.021, 0.05, verdict="slower"), "slower by 2.1–5.0 %"),
        (by(-0.004, 0.011, verdict="no_change"), "no change beyond noise (within ± 1.1 %)"),
        (
            by(-0.03, 0.02, verdict="too_noisy"),
            "too noisy to say: between 3.0 % faster and 2.0 % slower; a larger --budget or a quieter machine "
            "would tell",
        ),
        (
            by(-0.08, 0.04, verdict="no_such_gain", predicted_of_ms=10.0),
            "no such gain: between 8.0 % faster and 4.0 % slower, predicted 30–41 %",
        ),
        (
            by(-0.3, 0.1, verdict="less_work", work=CHANGE | {"low": -0.22, "high": -0.18}),
            "does 18–22 % less work (processor time); too noisy to say whether it is faster: between 30 % "
            "faster and 10 % slower",
        ),
        (by(-0.1, -0.08, predicted_of_ms=10.0), "faster by 8.0–10 %, less than predicted (30–41 %)"),
        (by(-0.6, -0.5, predicted_of_ms=10.0), "faster by 50–60 %, more than predicted (30–41 %)"),
        (
            by(-0.1, -0.08, predicted_of_ms=10.0, predicted_with={"num_workers": 4}),
            "faster by 8.0–10 %",  # with other arguments than were predicted
        ),
        (tried(verdict="changes_result"), "changes the result; faster by 38–42 %"),
        (tried(state="not_held", why="It is already so."), "did not take hold: It is already so."),
        (tried(state="failed", why="it was killed by SIGKILL"), "failed: it was killed by SIGKILL"),
        (
            tried(state="not_tried", why="needs a manual change; not measured"),
            "needs a manual change; not measured",
        ),
    ],
)
def test_verdicts_are_words(one: FixResult, said: str) -> None:
    assert verdict(one) == said


@pytest.mark.parametrize("pairs", [2, 3])
def test_fewer_than_four_pairs_have_no_interval(pairs: int) -> None:
    change = CHANGE | {
        "pairs": pairs,
        "outliers": 0,
        "low": -0.99,
        "high": 99.82,
        "saved_ms": [-6400, 3.0, 64],
    }
    few = tried(change=change, verdict="too_noisy")
    todo = f"too noisy to say after {pairs} pairs; run the same command again to continue"
    assert (verdict(few), saved(few)) == (todo, "–")
    assert verdict(tried(change=change, verdict="changes_result")) == f"changes the result; {todo}"
    # two or three that agree need none
    assert verdict(tried(change=CHANGE | {"pairs": pairs, "outliers": 0})) == "faster by 38–42 %"


def test_an_interval_wider_than_the_step_is_not_told() -> None:
    # as seen beside busy programs: four pairs, between 99 % faster and 717 % slower
    change = CHANGE | {"pairs": 4, "outliers": 0, "low": -0.99, "high": 7.17, "saved_ms": [-95, 1.0, 13]}
    wide = tried(change=change, verdict="too_noisy")
    todo = "too noisy to say after 4 pairs; run the same command again to continue"
    assert (verdict(wide), saved(wide)) == (todo, "–")
    # as many as are ever made: running it again makes no more
    at_most = tried(change=change | {"pairs": 32}, verdict="too_noisy")
    assert verdict(at_most) == "too noisy to say after 32 pairs; a quieter machine would tell"
    just = tried(change=change | {"low": -0.4, "high": 0.6}, verdict="too_noisy")
    assert verdict(just).startswith("too noisy to say: between 40 % faster and 60 % slower")


def test_a_saving_is_told_with_the_step_it_comes_off() -> None:
    assert saved(tried()) == "3.8–4.2 ms of 10.0 ms"
    assert saved(tried(change=None)) == "–"


@pytest.mark.parametrize(
    ("results", "safety", "said"),
    [
        (SAME, "exact", "the same to the bit (40 compared)"),
        (
            SAME | {"agreement": "unsteady", "deviation": 0.1},
            "exact",
            "differ from run to run without the fix as well",
        ),
        (SAME | {"agreement": "unknown"}, "exact", "none to compare"),
        (
            SAME | {"agreement": "other_data"},
            "exact",
            "not compared: with the fix the script sees other batches",
        ),
        (
            SAME | {"agreement": "close", "deviation": 0.0004},
            "exact",
            "deviate by < 0.1 % at most: sums may be added in another order",
        ),
        (
            SAME | {"agreement": "close", "deviation": 0.002},
            "numerics",
            "deviate by 0.2 % at most (tolerance 1.0 %, 40 compared)",
        ),
        (
            SAME | {"agreement": "differ", "deviation": 0.12},
            "numerics",
            "deviate by 12 % at most (tolerance 1.0 %, 40 compared)",
        ),
        (None, "exact", "–"),
    ],
)
def test_losses_are_words(results: dict[str, Any] | None, safety: str, said: str) -> None:
    assert losses(tried(results=results, safety=safety)) == said


def said_of(*rows: FixResult, **given: Any) -> str:
    return "\n".join(remarks(changed(documents.sick(), verification=proof(*rows, **given))))


def test_fixes_together_are_explained() -> None:
    one, other = tried(), tried(rule="other")
    together = tried(rule="both", change=CHANGE | {"saved_ms": [4.9, 5.0, 5.1]})
    assert (
        "save 4.9–5.1 ms, separately they add up to 8.00 ms: in part they shorten the same time."
        in said_of(one, other, together=together)
    )
    together = tried(rule="both", change=CHANGE | {"saved_ms": [7.5, 7.9, 8.3]})
    assert "save 7.5–8.3 ms, as much as separately." in said_of(one, other, together=together)


def test_a_curve_and_memory_are_told_where_there_is_something_to_tell() -> None:
    curve = {"argument": "num_workers", "ms": {"1": 42.0, "2": 30.1}, "best": 2, "knee": 2}
    memory = {
        "peak_resident_bytes": {"before": 2**30, "after": 2 * 2**30},
        "peak_allocated_bytes": {"before": None, "after": None},
    }
    told = said_of(tried(curve=curve, memory=memory))
    assert "1 → 42.0 ms, 2 → 30.1 ms. Best: 2." in told
    gib = 2**30
    larger = curve | {"argument": "batch_size", "peak_bytes": {"1": 1.0 * gib, "2": 2.0 * gib}}
    assert "1 → 42.0 ms (1.00 GiB), 2 → 30.1 ms (2.00 GiB)" in said_of(tried(curve=larger))
    alike = curve | {"peak_bytes": {"1": 1.0 * gib, "2": 1.01 * gib}}
    assert "GiB" not in said_of(tried(curve=alike))
    one_number = curve | {"ms": {"2": 30.1}}  # there was no time for more, and nothing to compare
    assert "Best" not in said_of(tried(curve=one_number))
    assert "Host memory, at its peak: 1.00 GiB before, 2.00 GiB with the fix" in told
    assert "memory" not in said_of(
        tried(memory={"peak_resident_bytes": {"before": 2**30, "after": 2**30 + 2**20}})
    )


def test_what_there_was_no_time_for_is_named_with_what_to_do() -> None:
    late = tried(title="Fuse the optimizer", state="no_time", change=None, verdict=None, results=None)
    rest = "Not measured within the budget: Fuse the optimizer. Run the same command again to continue."
    assert rest in said_of(tried(), late)
    assert "within the budget" not in said_of(tried())
    assert "within the budget" not in said_of(late, interrupted=True)  # which says what to do as well
    none = "No run of the script ended within the budget: give it a larger --budget."
    assert none in said_of(late, runs=0)


def test_the_report_has_a_section_of_what_was_measured() -> None:
    document = documents.sick()
    assert "## Measured" not in markdown(document)
    report = markdown(
        changed(document, verification=proof(tried(), warnings=["Other processes used the same GPU."]))
    )
    section = report.partition("## Measured")[2].partition("\n## ")[0].replace("\N{NO-BREAK SPACE}", " ")
    fold = report.partition("<b>How the fixes were measured</b>")[2].partition("</details>")[0]
    for part in (
        "| Load ahead `dataloader(num_workers=2)`",
        "| 3.0–4.1 ms",
        "faster by 38–42 %",
        "8 (and 1 set aside)",
    ):
        assert part in section, part
    assert "up to 1.0 %" in fold and "same GPU" in fold


def test_the_report_says_which_fixes_are_in_the_patch_and_how_to_measure() -> None:
    document = documents.sick()
    first = document.findings[0]
    first.fix.intervention = "dataloader"
    document.run.cwd = "/job"
    report = markdown(changed(document, patch={"patched": [first.rule], "unpatched": {}}))
    assert "`git apply fixes.diff` makes fix 1; type it in `/job`." in report
    assert "`python -m diagnose verify` measures fix 1 by running the script" in report
    for came_of_it, is_offered in {"faster": False, "failed": False, "too_noisy": True}.items():
        first.saving.verdict = came_of_it
        assert ("diagnose verify" in markdown(changed(document, verification=proof(tried())))) == is_offered


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.08, 0.12, "Load ahead: 8.0–12 % more processor time."),
        (-0.3, -0.2, "Load ahead: 20–30 % less processor time."),
        (-0.01, 0.12, ""),
        (0.005, 0.015, ""),
    ],
)
def test_processor_time_is_told_beside_the_verdict(low: float, high: float, said: str) -> None:
    work = CHANGE | {"low": low, "high": high, "change": (low + high) / 2}
    told = [one for one in said_of(tried(work=work)).splitlines() if "processor time" in one]
    assert told == ([said] if said else [])

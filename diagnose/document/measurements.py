"""What `verify` measured (verify.json), and what that says of each finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from diagnose.document.model import Comparison, Finding, FixResult, Measured, Verdict, Verification
from diagnose.document.stored import checked

if TYPE_CHECKING:
    from diagnose.judge.rules import Rule

# Of the verdicts of a fix: faster, slower, no_change, no_such_gain, less_work and too_noisy are of its time;
# changes_result comes before any of them.
FASTER: Literal["faster"] = "faster"
REFUTED = ("slower", "no_change", "no_such_gain")


def verification_in(content: Mapping[str, Any]) -> Verification | None:
    """The verification that verify.json holds; None if there is none. Raises DiagnoseError."""
    return checked(content, Verification, "verify.json") if content else None


def tried_for(rule: str, verification: Verification | None) -> FixResult | None:
    """What came of the rule's fix; None if it was not among those to try."""
    return next((tried for tried in _tried(verification) if tried.rule == rule), None)


def _tried(verification: Verification | None) -> list[FixResult]:
    return verification.tried if verification else []


def proven_ms(verification: Verification | None) -> dict[str, float]:
    """What the fixes save, ms per step, by rule: those whose measurement says so.

    At most 0 where nothing is gained.
    """
    return {
        tried.rule: _saved_ms(tried.change, tried.verdict)
        for tried in _tried(verification)
        if tried.rule and tried.change and _tells(tried, tried.change)
    }


def _tells(tried: FixResult, change: Comparison) -> bool:
    """Whether a fix is known to gain, or not to: a measurement that finds no change tells nothing if the
    predicted saving is too small to show in its noise.
    """
    if tried.verdict == "no_change" and tried.predicted_ms:
        expected = predicted_shares(tried) or (tried.predicted_ms.low / change.before_ms, 1.0)
        return -change.low < expected[0]
    return tried.verdict in (FASTER, *REFUTED)


def _saved_ms(change: Comparison, verdict: Verdict | None) -> float:
    saved = change.saved_ms[1]
    gains = verdict == FASTER or (verdict == "no_such_gain" and -change.change > change.noise)
    return saved if gains else min(0.0, saved)


def predicted_shares(tried: FixResult) -> tuple[float, float] | None:
    """What it was predicted to save at least and at most, as shares of the step; None where it was not
    predicted, or for other arguments than were measured, its step is not known, or other fixes, which may
    shorten the same time, were in both arms.
    """
    known, of_ms = tried.predicted_ms, tried.predicted_of_ms
    if known is None or not of_ms or tried.beside or tried.predicted_with is not None:
        return None
    return known.low / of_ms, known.high / of_ms


def found_numbers(rule: Rule, verification: Verification | None) -> dict[str, Any]:
    """The numbers that a search found to be best, by the metric that suggests them."""
    tried = tried_for(rule.id, verification)
    if tried is None or tried.curve is None:
        return {}
    return {
        metric: tried.arguments[name]
        for name, metric in rule.fix.arguments.items()
        if name == tried.curve.argument
    }


def with_measurement(finding: Finding, verification: Verification | None) -> Finding:
    """The finding with its saving's `verdict` (not_held or failed where its time could not be measured;
    too_noisy where no change was found, but the predicted one may hide in the noise), and with `measured_ms`
    where the fix was found to make the step faster or slower, or to gain less than predicted.
    """
    tried = tried_for(finding.rule, verification)
    if tried is None or finding.state != "fires":
        return finding
    verdict: Verdict | None = tried.verdict
    if tried.state == "not_held" or tried.state == "failed":
        verdict = verdict or tried.state
    elif tried.state != "measured":
        return finding
    if verdict == "no_change" and tried.change and not _tells(tried, tried.change):
        verdict = "too_noisy"
    measured_ms, fix = None, finding.fix
    if tried.change and tried.verdict in (FASTER, "slower", "no_such_gain"):
        low, best, high = tried.change.saved_ms
        measured_ms = Measured(best_guess=best, low=low, high=high, of_ms=tried.change.before_ms)
        fix = replace(fix, arguments=tried.arguments)  # its number may have been searched for
    saving = replace(finding.saving, verdict=verdict, measured_ms=measured_ms)
    return replace(finding, fix=fix, saving=saving)

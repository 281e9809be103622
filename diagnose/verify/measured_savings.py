"""What verify.json says of each finding."""

from __future__ import annotations

from typing import Any

from diagnose.judge.rules import Rule

# Of the verdicts of a fix: faster, slower, no_change and too_noisy are of its time;
# changes_result comes before any of them.
FASTER = "faster"
REFUTED = ("slower", "no_change")


def tried_for(rule: str, proof: dict[str, Any]) -> dict[str, Any] | None:
    """What came of the rule's fix; None if it was not among those to try."""
    return next((one for one in proof.get("tried", []) if one["rule"] == rule), None)


def proven_ms(proof: dict[str, Any]) -> dict[str, float]:
    """What the fixes save, ms per step, by rule: those whose measurement says so.

    At most 0 where nothing is gained.
    """
    return {one["rule"]: _saved_ms(one) for one in proof.get("tried", []) if one["rule"] and _tells(one)}


def _tells(tried: dict[str, Any]) -> bool:
    """A measurement that finds no change tells nothing if the predicted
    saving is too small to show in its noise.
    """
    if tried["verdict"] == "no_change" and tried["predicted_ms"]:
        return bool(tried["change"]["saved_ms"][2] < tried["predicted_ms"]["low"])
    return tried["verdict"] in (FASTER, *REFUTED)


def _saved_ms(tried: dict[str, Any]) -> float:
    saved = float(tried["change"]["saved_ms"][1])
    return saved if tried["verdict"] == FASTER else min(0.0, saved)


def found_numbers(rule: Rule, proof: dict[str, Any]) -> dict[str, Any]:
    """The numbers that a search found to be best, by the metric that suggests them."""
    tried = tried_for(rule.id, proof)
    if tried is None or not tried["curve"]:
        return {}
    return {
        metric: tried["arguments"][name]
        for name, metric in rule.fix.arguments.items()
        if name == tried["curve"]["argument"]
    }


def with_measurement(finding: dict[str, Any], proof: dict[str, Any]) -> dict[str, Any]:
    """The finding with its saving's `verdict` (not_held or failed where its time could not be measured), and
    with `measured_ms` where the fix was found to make the step faster or slower.
    """
    tried = tried_for(finding["rule"], proof)
    if tried is None or finding["state"] != "fires" or tried["state"] in ("not_tried", "no_time"):
        return finding
    measured_ms = None
    if tried["verdict"] in (FASTER, "slower"):
        low, best, high = tried["change"]["saved_ms"]
        measured_ms = {"best_guess": best, "low": low, "high": high, "of_ms": tried["change"]["before_ms"]}
        # its number may have been searched for
        finding = finding | {"fix": finding["fix"] | {"arguments": tried["arguments"]}}
    return finding | {
        "saving": finding["saving"]
        | {"verdict": tried["verdict"] or tried["state"], "measured_ms": measured_ms}
    }

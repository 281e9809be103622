"""What changed from one run to another: two result documents in, a comparison out.

`noise` says what counts as a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from diagnose import __version__
from diagnose.compare.noise import FLOOR_SHARE, Change, Run, Runs
from diagnose.document.queries import Document, Finding, is_complete, place, recorded_by_us
from diagnose.judge.findings import OPERATORS
from diagnose.run.child.step_clock import StepClock

SCHEMA = 1
MOST_CHANGED = 10  # lines and operators listed
_CHANGE = ("a_ms", "b_ms", "change_ms", "change_share", "noise_ms", "beyond_noise")


def compare(a: Document, b: Document, names: tuple[str, str] = ("A", "B")) -> dict[str, Any]:
    """The comparison of two result documents; ms per step, of the plain step where both runs timed some.

    ``{"schema", "tool", "a", "b", "basis", "verdict", "why", "step", "average", "floor_share",
    "differences", "ledger", "findings", "lines", "operators"}``. ``verdict``: faster, slower, no_change,
    too_noisy, or not_comparable: ``why`` says why, and nothing below ``differences`` is filled.
    ``basis``: plain or recorded. ``step`` is the change of the median step, ``average`` of the mean,
    which slow steps move. A change is ``{"a_ms", "b_ms", "change_ms", "change_share", "noise_ms",
    "beyond_noise"}``, negative where B takes less.
    """
    basis = "plain" if all(one["steps"]["plain_series_ms"] for one in (a, b)) else "recorded"
    runs = Runs(Run(a, basis), Run(b, basis))
    why = _why_not(runs)
    comparison = {
        "schema": SCHEMA,
        "tool": {"name": "diagnose", "version": __version__},
        "a": _side(a, names[0], runs.a),
        "b": _side(b, names[1], runs.b),
        "basis": basis,
        "verdict": "not_comparable",
        "why": why,
        "step": None,
        "average": None,
        "floor_share": FLOOR_SHARE,
        "differences": differences(a, b),
        "ledger": [],
        "findings": [],
        "lines": [],
        "operators": [],
    }
    if why:
        return comparison
    return comparison | {
        "verdict": runs.verdict,
        "step": runs.step,
        "average": runs.average,
        "ledger": _ledger(runs),
        "findings": _findings(runs),
        "lines": _lines(runs),
        "operators": _operators(runs),
    }


def _side(document: Document, name: str, run: Run) -> dict[str, Any]:
    known = len(run.steps_ms) > 0
    return {
        "name": name,
        "target": document["run"]["target"],
        "device": document["run"]["device"],
        "steps": len(run.steps_ms),
        "step_ms": run.step_ms if known else None,
        "spread_ms": run.spread_ms if known else None,
        "others_share": run.others_share,
        "verdict": document["verdict"],
    }


# ---- whether the steps can be compared at all, and what else differs


def _why_not(runs: Runs) -> str:
    """Why a step of one is something else than a step of the other; empty if it is not."""
    for name, run in (("A", runs.a), ("B", runs.b)):
        if not (is_complete(run.document) and run.step_ms > 0):
            return f"no complete step was recorded in {name}"
    a, b = runs.a.document, runs.b.document
    devices = [str(one["run"]["device"]).partition(":")[0] for one in (a, b)]
    if devices[0] != devices[1]:
        return f"A ran on {devices[0]}, B on {devices[1]}: their steps divide in different ways"
    clocks = [StepClock(one["steps"]["clock"]) for one in (a, b)]
    if StepClock.TRACE not in clocks and clocks[0] != clocks[1]:
        return f"a step of A ends with {clocks[0].event}, one of B with {clocks[1].event}"
    if sum(_is_whole_trace(one) for one in (a, b)) == 1:
        return (
            f"nothing marks the steps of {'A' if _is_whole_trace(a) else 'B'}: its whole recording "
            "counts as one"
        )
    return ""


def _is_whole_trace(document: Document) -> bool:
    return document["steps"].get("step_source") == "whole trace"


def differences(a: Document, b: Document) -> list[dict[str, Any]]:
    """What else the runs differ in: ``{"what", "a", "b", "matters"}``, first what changes the
    work of a step or how fast it is done.

    What one of them does not know is left out, unless both were recorded by us:
    then None says that it was not there.
    """
    facts = _facts(a), _facts(b)
    both_ours = recorded_by_us(a) and recorded_by_us(b)
    names = sorted(
        {**facts[0], **facts[1]},
        key=lambda name: list(_MATTERS).index(name) if name in _MATTERS else len(_MATTERS),
    )
    found = []
    for name in names:
        values = [of.get(name) for of in facts]
        if values[0] != values[1] and (both_ours or None not in values):
            shown = [None if value is None else _shown(value) for value in values]
            found.append(
                {"what": _MATTERS.get(name, name), "a": shown[0], "b": shown[1], "matters": name in _MATTERS}
            )
    return found


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


_MATTERS = {  # fact → what it is called
    "gpu": "GPU",
    "gpu slice (MIG)": "GPU slice (MIG)",
    "process group": "processes of the job",
    "batch": "samples in a batch",
    "ticks": "optimizer steps in a step",
    "torch": "torch",
    "threads": "threads",
    "cores": "processor cores",
    "warm-up": "recorded during the warm-up",
    "after session": "plain steps after a profiler had recorded the GPU",
}


def _facts(document: Document) -> dict[str, Any]:
    run, steps = document["run"], document["steps"]
    facts = {
        **run["environment"],
        "batch": document["metrics"].get("forward_batch_size", {}).get("value"),
        "ticks": steps.get("ticks_per_step"),
        "warm-up": "yes" if steps.get("cold") else "no",
        "after session": "yes" if steps.get("after_session") else "no",
        "script": run["target"],
        "arguments": " ".join(map(str, run["argv"][1:])) or None,
        "diagnose": document["tool"].get("version"),
    }
    return {name: value for name, value in facts.items() if value is not None}


# ---- where the change lies


def _ledger(runs: Runs) -> list[dict[str, Any]]:
    """The rows of both, costliest first."""
    a, b = runs.a.rows, runs.b.rows
    rows = [
        {"row": row, "title": known["title"], "meaning": known["meaning"], **_row_change(row, runs)}
        for row, known in {**b, **a}.items()
    ]
    return sorted(rows, key=lambda row: -max(row["a_ms"], row["b_ms"]))


def _row_change(row: str, runs: Runs) -> Change:
    a, b = (run.rows.get(row, {"ms": 0.0, "spread_ms": 0.0}) for run in (runs.a, runs.b))
    return runs.change(a["ms"], b["ms"], a["spread_ms"], b["spread_ms"])


def _findings(runs: Runs) -> list[dict[str, Any]]:
    """Every rule that fires in either run, costliest first.

    ``state``: gone, new, remains, at_threshold (fires in one only, by less than noise), unknown_now or
    unknown_before (the other run could not be judged; ``why``). ``a``, ``b``: ``{"group", "where"}``, None
    where it does not fire, and so are the costs then; a change is known only of what remains.
    """
    judged = [{one["rule"]: one for one in run.document["findings"]} for run in (runs.a, runs.b)]
    rules = [rule for rule in {**judged[0], **judged[1]} if any(_fires(of.get(rule)) for of in judged)]
    found = [_finding(rule, judged[0].get(rule), judged[1].get(rule), runs) for rule in rules]
    return sorted(found, key=lambda one: -max(one["a_ms"] or 0.0, one["b_ms"] or 0.0))


def _finding(rule: str, a: Finding | None, b: Finding | None, runs: Runs) -> dict[str, Any]:
    state, why = _state(a, b, runs)
    title = next(one["fix"]["title"] for one in (b, a) if one is not None)
    costs = [one["ms_per_step"] if one is not None and _fires(one) else None for one in (a, b)]
    if state == "remains" and costs[0] is not None and costs[1] is not None:
        change = runs.change_of_finding(costs[0], costs[1])
    else:
        change = {
            **dict.fromkeys(_CHANGE),
            "a_ms": costs[0],
            "b_ms": costs[1],
            "beyond_noise": state in ("gone", "new"),
        }
    return {
        "rule": rule,
        "title": title,
        "state": state,
        "why": why,
        "a": _found(a),
        "b": _found(b),
        **change,
    }


def _state(a: Finding | None, b: Finding | None, runs: Runs) -> tuple[str, str]:
    if _fires(a) and _fires(b):
        return "remains", ""
    fires, other, unknown, known = (
        (a, b, "unknown_now", "gone") if _fires(a) else (b, a, "unknown_before", "new")
    )
    if fires is None or other is None:
        return unknown, "that version of diagnose does not look for it"
    if other["state"] == "abstains":
        return unknown, other["abstains_for"]["reason"]
    if other["state"] == "error":
        return unknown, other["error"]
    return "at_threshold" if _is_near(fires, other, runs) else known, ""


def _is_near(fires: Finding, quiet: Finding, runs: Runs) -> bool:
    """Whether all that keeps the rule quiet differs between the runs by less than noise: then the
    runs lie on both sides of a threshold.
    """
    values = {one["metric"]: one["value"] for one in fires["evidence"]}
    kept_quiet = [one for one in quiet["evidence"] if not _holds(one)]
    return bool(kept_quiet) and all(
        _differs_by_noise(one, values.get(one["metric"]), runs) for one in kept_quiet
    )


def _differs_by_noise(evidence: dict[str, Any], other: Any, runs: Runs) -> bool:
    """Shares are of the step, so noise is its share of it; of other numbers the same share."""
    value = evidence["value"]
    if not (_is_number(value) and _is_number(other)):
        return False
    whole = 1.0 if evidence["unit"] == "share" else max(abs(value), abs(other))
    return bool(abs(value - other) <= runs.noise_share * whole)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _holds(evidence: dict[str, Any]) -> bool:
    return bool(OPERATORS[evidence["op"]](evidence["value"], evidence["threshold"]))


def _fires(finding: Finding | None) -> bool:
    return finding is not None and finding["state"] == "fires"


def _found(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None or not _fires(finding):
        return None
    line = place(finding)
    return {"group": finding["group"], "where": [line["file"], line["line"]] if line else None}


def _lines(runs: Runs) -> list[dict[str, Any]]:
    """The lines whose own time changed most, beyond noise. A line is its file and its text:
    numbers move when a file is edited.

    Documents hold the twenty costliest lines: one that is missing takes a twentieth of the
    step at most, which is within noise.
    """
    a, b = (_by_text(run.document) for run in (runs.a, runs.b))
    changes = []
    for key in {**a, **b}:
        sides = a.get(key), b.get(key)
        costs = [side["ms"] if side else 0.0 for side in sides]
        found = [{"where": side["where"]} if side else None for side in sides]
        changes.append({"source": key[1], "a": found[0], "b": found[1], **runs.change_of_little(*costs)})
    return _changed_most(changes) if a and b else []


def _by_text(document: Document) -> dict[tuple[str, str], dict[str, Any]]:
    """``ms`` of each line in itself, of all places of that text; ``where``: file and number of the first.

    The script itself has no name.
    """
    script, found = document["run"]["target"], dict[tuple[str, str], dict[str, Any]]()
    for line in document["lines"]:
        is_script = PurePath(line["file"]).name == PurePath(script).name
        key = ("" if is_script else line["file"], " ".join(line["source"].split()) or str(line["line"]))
        entry = found.setdefault(key, {"ms": 0.0, "where": [line["file"], line["line"]]})
        entry["ms"] += line["self_ms"]
    return found


def _operators(runs: Runs) -> list[dict[str, Any]]:
    """The operators whose own time changed most, beyond noise, as torch counts it: on the CPU,
    and on the GPU where both have that.

    Counted with the profiler on, and scaled to the step compared here.
    """
    changes = []
    for part, column in (("CPU", "self_cpu_ms"), ("GPU", "self_device_ms")):
        a, b = (run.operators_ms(column) for run in (runs.a, runs.b))
        if a and b:
            changes += [
                {"name": name, "on": part} | runs.change_of_little(a.get(name, 0.0), b.get(name, 0.0))
                for name in {**a, **b}
            ]
    return _changed_most(changes)


def _changed_most(changes: Iterable[Change]) -> list[Change]:
    beyond: Sequence[Change] = [one for one in changes if one["beyond_noise"]]
    return sorted(beyond, key=lambda one: -abs(one["change_ms"]))[:MOST_CHANGED]

"""What changed from one run to another: two result documents in, a comparison out.

`noise` says what counts as a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Literal, TypeGuard, TypeVar

from msgspec import structs

from diagnose import __version__
from diagnose.compare.model import (
    Basis,
    Change,
    Comparison,
    Difference,
    FindingChange,
    FindingState,
    Firing,
    LedgerChange,
    LineChange,
    OperatorChange,
    Side,
    Spot,
)
from diagnose.compare.noise import FLOOR_SHARE, RowTime, Run, Runs
from diagnose.document.model import Document, Evidence, Finding, Kernel, LedgerRow, Operator, Scalar, Tool
from diagnose.document.queries import is_complete, is_whole_trace, metric, place, recorded_by_us
from diagnose.judge.findings import OPERATORS
from diagnose.run.child.steps.step_clock import StepClock

MOST_CHANGED = 10  # lines and operators listed


def compare(a: Document, b: Document, names: tuple[str, str] = ("A", "B")) -> Comparison:
    """The comparison of two result documents; ms per step, of the plain step where both runs timed some."""
    basis: Basis = "plain" if a.steps.plain_series_ms and b.steps.plain_series_ms else "recorded"
    runs = Runs(Run(a, basis), Run(b, basis))
    why = _why_not(runs)
    comparison = Comparison(
        tool=Tool(name="diagnose", version=__version__),
        a=_side(a, names[0], runs.a),
        b=_side(b, names[1], runs.b),
        basis=basis,
        why=why,
        floor_share=FLOOR_SHARE,
        differences=differences(a, b),
    )
    if why:
        return comparison
    return structs.replace(
        comparison,
        verdict=runs.verdict,
        step=runs.step,
        average=runs.average,
        ledger=_ledger(runs),
        findings=_findings(runs),
        lines=_lines(runs),
        operators=_operators(runs),
    )


def _side(document: Document, name: str, run: Run) -> Side:
    known = len(run.steps_ms) > 0
    return Side(
        name=name,
        target=document.run.target,
        device=document.run.device,
        steps=len(run.steps_ms),
        step_ms=run.step_ms if known else None,
        spread_ms=run.spread_ms if known else None,
        others_share=run.others_share,
        headline=document.headline,
    )


# ---- whether the steps can be compared at all, and what else differs


def _why_not(runs: Runs) -> str:
    """Why a step of one is something else than a step of the other; empty if it is not."""
    for name, run in (("A", runs.a), ("B", runs.b)):
        if not (is_complete(run.document) and run.step_ms > 0):
            return f"no complete step was recorded in {name}"
    a, b = runs.a.document, runs.b.document
    devices = [one.run.device.partition(":")[0] for one in (a, b)]
    if devices[0] != devices[1]:
        return f"A ran on {devices[0]}, B on {devices[1]}: their steps divide in different ways"
    clocks = [one.steps.clock for one in (a, b)]
    if StepClock.TRACE not in clocks and clocks[0] != clocks[1]:
        return f"a step of A ends with {clocks[0].event}, one of B with {clocks[1].event}"
    if sum(is_whole_trace(one) for one in (a, b)) == 1:
        return (
            f"nothing marks the steps of {'A' if is_whole_trace(a) else 'B'}: its whole recording counts as "
            "one"
        )
    return ""


def differences(a: Document, b: Document) -> list[Difference]:
    """What else the runs differ in, first what changes the work of a step or how fast it is done.

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
            what = _MATTERS.get(name, name)
            found.append(Difference(what=what, a=shown[0], b=shown[1], matters=name in _MATTERS))
    return found


def _shown(value: Scalar) -> str:
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


def _facts(document: Document) -> dict[str, Scalar]:
    run, steps = document.run, document.steps
    facts = {
        **run.environment,
        "batch": metric(document, "training_batch_size") or metric(document, "forward_batch_size"),
        "ticks": steps.ticks_per_step,
        "warm-up": "yes" if steps.cold else "no",
        "after session": "yes" if steps.after_session else "no",
        "script": run.target,
        "arguments": " ".join(run.argv[1:]) or None,
        "diagnose": document.tool.version,
    }
    return {name: value for name, value in facts.items() if value is not None}


# ---- where the change lies


def _ledger(runs: Runs) -> list[LedgerChange]:
    """The rows of both, costliest first."""
    rows = [_row_change(known.row, runs) for known in {**runs.b.rows, **runs.a.rows}.values()]
    return sorted(rows, key=lambda row: -max(row.a_ms, row.b_ms))


def _row_change(row: LedgerRow, runs: Runs) -> LedgerChange:
    none = RowTime(row, 0.0, 0.0)
    a, b = (run.rows.get(row.row, none) for run in (runs.a, runs.b))
    change = runs.change(a.ms, b.ms, a.spread_ms, b.spread_ms)
    return LedgerChange(row=row.row, title=row.title, meaning=row.meaning, **structs.asdict(change))


def _findings(runs: Runs) -> list[FindingChange]:
    """Every rule that fires in either run, costliest first."""
    judged = [{finding.rule: finding for finding in run.document.findings} for run in (runs.a, runs.b)]
    rules = [rule for rule in {**judged[0], **judged[1]} if any(_firing(of.get(rule)) for of in judged)]
    found = [_finding(rule, judged[0].get(rule), judged[1].get(rule), runs) for rule in rules]
    return sorted(found, key=lambda one: -max(one.a_ms or 0.0, one.b_ms or 0.0))


def _finding(rule: str, a: Finding | None, b: Finding | None, runs: Runs) -> FindingChange:
    state, why = _state(a, b, runs)
    a_ms, b_ms = (one.ms_per_step if one is not None and _firing(one) else None for one in (a, b))
    change = FindingChange(
        rule=rule,
        title=next(one.fix.title for one in (b, a) if one is not None),
        state=state,
        why=why,
        a=_place_of(a),
        b=_place_of(b),
        a_ms=a_ms,
        b_ms=b_ms,
        beyond_noise=state in ("gone", "new"),
    )
    if state != "remains" or a_ms is None or b_ms is None:
        return change
    return structs.replace(change, **structs.asdict(runs.change_of_finding(a_ms, b_ms)))


def _state(a: Finding | None, b: Finding | None, runs: Runs) -> tuple[FindingState, str]:
    if _firing(a) and _firing(b):
        return "remains", ""
    unknown: FindingState
    known: FindingState
    fires, other, unknown, known = (
        (a, b, "unknown_now", "gone") if _firing(a) else (b, a, "unknown_before", "new")
    )
    if fires is None or other is None:
        return unknown, "that version of diagnose does not look for it"
    if other.abstains_for is not None:
        return unknown, other.abstains_for.reason
    if other.error is not None:
        return unknown, other.error
    return "at_threshold" if _is_near(fires, other, runs) else known, ""


def _is_near(fires: Finding, quiet: Finding, runs: Runs) -> bool:
    """Whether all that keeps the rule quiet differs between the runs by less than noise: then the
    runs lie on both sides of a threshold.
    """
    values = {one.metric: one.value for one in fires.evidence}
    kept_quiet = [one for one in quiet.evidence if not _holds(one)]
    return bool(kept_quiet) and all(
        _differs_by_noise(one, values.get(one.metric), runs) for one in kept_quiet
    )


def _differs_by_noise(evidence: Evidence, other: Scalar, runs: Runs) -> bool:
    """Shares are of the step, so noise is its share of it; of other numbers the same share."""
    value = evidence.value
    if not (_is_number(value) and _is_number(other)):
        return False
    whole = 1.0 if evidence.unit == "share" else max(abs(value), abs(other))
    return abs(value - other) <= runs.noise_share * whole


def _is_number(value: Scalar) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _holds(evidence: Evidence) -> bool:
    return OPERATORS[evidence.op](evidence.value, evidence.threshold)


def _firing(finding: Finding | None) -> bool:
    return finding is not None and finding.state == "fires"


def _place_of(finding: Finding | None) -> Firing | None:
    if finding is None or not _firing(finding):
        return None
    line = place(finding)
    return Firing(group=finding.group, where=(line.file, line.line) if line else None)


def _lines(runs: Runs) -> list[LineChange]:
    """The lines whose own time changed most, beyond noise. A line is its file and its text:
    numbers move when a file is edited.

    Documents hold the twenty costliest lines: one that is missing takes a twentieth of the
    step at most, which is within noise.
    """
    a, b = (_by_text(run.document) for run in (runs.a, runs.b))
    changes = []
    for key in {**a, **b}:
        a_ms, a_spot = a.get(key, (0.0, None))
        b_ms, b_spot = b.get(key, (0.0, None))
        change = structs.asdict(runs.change_of_little(a_ms, b_ms))
        changes.append(LineChange(source=key[1], a=a_spot, b=b_spot, **change))
    return _changed_most(changes) if a and b else []


def _by_text(document: Document) -> dict[tuple[str, str], tuple[float, Spot]]:
    """The ms of each line in itself, of all places of that text, and the first of these places.

    The script itself has no name.
    """
    script, found = document.run.target, dict[tuple[str, str], tuple[float, Spot]]()
    for line in document.lines:
        is_script = PurePath(line.file).name == PurePath(script).name
        key = ("" if is_script else line.file, " ".join(line.source.split()) or str(line.line))
        before_ms, spot = found.get(key, (0.0, Spot(where=(line.file, line.line))))
        found[key] = before_ms + line.self_ms, spot
    return found


def _operators(runs: Runs) -> list[OperatorChange]:
    """The operators on the host and the kernels on the GPU whose time changed most, beyond noise.

    Documents hold the twenty costliest: what one that is missing takes is within noise, as of `_lines`.
    """
    on_cpu = _changes_on("CPU", lambda document: document.operators, runs)
    return _changed_most([*on_cpu, *_changes_on("GPU", lambda document: document.kernels, runs)])


def _changes_on(
    part: Literal["CPU", "GPU"], rows: Callable[[Document], Sequence[Operator | Kernel]], runs: Runs
) -> list[OperatorChange]:
    a, b = (run.by_name_ms(rows(run.document)) for run in (runs.a, runs.b))
    if not (a and b):
        return []
    changes = {name: runs.change_of_little(a.get(name, 0.0), b.get(name, 0.0)) for name in {**a, **b}}
    return [OperatorChange(name=name, on=part, **structs.asdict(change)) for name, change in changes.items()]


SomeChange = TypeVar("SomeChange", bound=Change)


def _changed_most(changes: Iterable[SomeChange]) -> list[SomeChange]:
    beyond = [change for change in changes if change.beyond_noise]
    return sorted(beyond, key=lambda one: -abs(one.change_ms))[:MOST_CHANGED]

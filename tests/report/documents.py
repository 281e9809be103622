"""Result documents to render, in the shape of docs/architecture.md: a sick run, a healthy one, a
crash, an empty profile, hostile names.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec

from diagnose.document.model import (
    Culprit,
    Document,
    Evidence,
    Finding,
    FixResult,
    Kernel,
    LedgerRow,
    Line,
    Operator,
    PlanRow,
    Verification,
)
from diagnose.document.stored import to_json
from diagnose.run.child.steps.step_clock import StepClock
from diagnose.trace.notes import Note

Part = TypeVar("Part")

HOSTILE_NAMES = (
    "void at::native::(anonymous)<float, 4>(int|bool)`x`",
    "a|b`c``d```e<script>alert(1)</script>",
    "![pixel](https://evil.example/p.png) [click](javascript:alert(1))",
    "line one\nline two\r\n\n# heading\n- item\n| x | y |",
    "\x1b[31mred\x1b[0m\x00\x07 \u202egnp.exe\u200b",
    "**bold** _it_ ~~no~~ &lt;b&gt; <!-- --> </details>",
    "\\`\\|\\",
    "x" * 5000,
    "\ud800 lone surrogate",
)


def sick() -> Document:
    """A training run whose loader has no workers, with one minor, one hypothetical
    and one rule that could not be judged.
    """
    content = {
        "schema": 2,
        "tool": {"name": "diagnose", "version": "0.1.0"},
        "headline": "Input loading without workers: 33 % of each step (train.py:41); the fix saves 2.9–4.1 ms",
        "run": {
            "target": "train.py",
            "argv": ["train.py", "--epochs", "3"],
            "module": False,
            "ended": "stopped",
            "exit_code": 0,
            "recorded_by_us": True,
            "device": "cpu",
            "environment": {"torch": "2.13.0", "python": "3.11.7", "cores": 2, "OMP_NUM_THREADS": "2"},
        },
        "steps": {
            "clock": "optimizer",
            "step_source": "mark",
            "complete": 8,
            "ticks_per_step": 1,
            "phases": {"warmup": 5, "plain": 20, "timeline": 8, "detail": 2},
            "cold": False,
            "per_step": {"backward": 1.0, "fetch": 1.0},
            "plain_ms": {"median": 12.3, "mad": 0.2},
            "timeline_ms": {"median": 14.0, "mad": 0.3},
            "distortion": 1.138,
            "detail_distortion": 3.1,
            "plain_series_ms": [12.1, 12.3, 12.6],
            "timeline_series_ms": [13.8, 14.0, 14.4],
            "noise_ms": 0.31,
        },
        "ledger": [
            ledger_row(
                "input_wait", "Input wait", "the training thread waits for the next batch", 4.1, 0.333
            ),
            ledger_row("forward", "Forward", "the model's forward, Python included", 3.0, 0.244),
            ledger_row("backward", "Backward", "the backward pass", 3.7, 0.301),
            ledger_row("optimizer", "Optimizer", "the optimizer's step", 1.2, 0.0976),
            ledger_row(
                "python",
                "Python",
                "no operator runs: the script's own Python, or waiting outside torch",
                0.3,
                0.0244,
            ),
        ],
        "ledger_device": "cpu",
        "findings": [
            finding(
                "input-wait-no-workers",
                severity="high",
                ms_per_step=4.1,
                share=0.317,
                at_most_ms=3.9,
                predicted=(3.6, 2.9, 4.1, "high"),
                cause="Input loading without workers",
                symptom="The DataLoader has no workers: every batch is loaded while the model waits.",
                why="The loader has no worker processes, so every batch is read and collated while the model "
                "stands still.",
                title="Load batches in worker processes",
                how="Pass `num_workers=2, persistent_workers=True` to the DataLoader.",
                caution="Each worker holds its own copy of the dataset object.",
                evidence=[
                    evidence(
                        "input_wait_share",
                        0.333,
                        ">=",
                        0.05,
                        "share",
                        "below a twentieth of the step the gain drowns in noise",
                    ),
                    evidence(
                        "loader_worker_count", 0, "==", 0, "count", "with workers the remedy is another one"
                    ),
                ],
                culprits=[culprit(41, "for x, y in loader:", 1.0, 4.1)],
            ),
            finding(
                "conv-bias-before-norm",
                group="minor",
                severity="low",
                ms_per_step=0.05,
                share=0.004,
                at_most_ms=0.05,
                title="Drop the bias",
            ),
            finding(
                "host-reads-every-step",
                group="hypothetical",
                severity="low",
                symptom="Every step reads tensor values on the host.",
                title="Read tensor values less often before moving to a GPU",
                how="Collect with `total += loss.detach()` and read it every hundred steps.",
                culprits=[culprit(47, "running += loss.item()", 1.0, 0.001)],
            ),
            finding(
                "pageable-htod-copies",
                state="abstains",
                abstains_for={"reason": "no GPU in this recording", "option": "--device cuda"},
            ),
            finding(
                "host-sync",
                state="abstains",
                abstains_for={"reason": "no GPU in this recording", "option": "--device cuda"},
            ),
            finding("row-loop", state="error", error="ZeroDivisionError: division by zero"),
            finding("debug-mode-on", state="quiet"),
        ],
        "plan": [
            plan_row(
                "input-wait-no-workers",
                "Load batches in worker processes",
                "train.py:41",
                3.9,
                0.317,
                "high",
                alone=3.6,
                after=8.7,
            )
        ],
        "self_replay_error": 0.0034,
        "prediction_missing": None,
        "upper_bound_ms": None,
        "lines": [
            line(41, "for x, y in loader:", 4.1, 4.1, 0.333),
            line(44, "loss.backward()", 3.7, 3.7, 0.301),
        ],
        "operators": [operator("aten::addmm", 1.9, 6.0), operator("Optimizer.step#Adam.step", 0.4, 1.0)],
        "key_averages": {
            "rows": [
                {
                    "name": "aten::addmm",
                    "calls": 6.0,
                    "self_cpu_ms": 1.9,
                    "cpu_ms": 2.2,
                    "self_device_ms": None,
                },
                {
                    "name": "Optimizer.step#Adam.step",
                    "calls": 1.0,
                    "self_cpu_ms": 0.4,
                    "cpu_ms": 1.2,
                    "self_device_ms": None,
                },
            ],
            "note": "",
        },
        "metrics": {
            "input_wait_share": {"value": 0.333, "unit": "share"},
            "sync_ms": {"missing": "no GPU", "option": "--device cuda"},
        },
        "notes": [note("timeline: 2 events without an end were cut at the end of the recording.")],
    }
    return made(Document, content)


def two_fixes() -> Document:
    """The sick run on a GPU with a second fix: alone it gains nothing, after the first one 2.6 ms."""
    document = sick()
    second = finding(
        "fp32-no-autocast",
        title="Use autocast",
        ms_per_step=5.0,
        share=0.0,
        at_most_ms=2.5,
        predicted=(0.0, 0.0, 0.0, "low"),
    )
    document.findings.insert(1, second)
    document.plan.append(
        plan_row(
            "fp32-no-autocast", "Use autocast", None, 2.5, 0.0, "low", alone=0.0, cumulative=6.2, after=6.1
        )
    )
    document.upper_bound_ms = 5.1
    return document


def some_steps() -> Document:
    """What only some steps have: 1.2 ms on average on top of the usual 12.3."""
    document = sick()
    first = document.findings[0]
    change(first, ms_per_step=1.2)
    change(
        first.saving,
        scope="average",
        predicted_ms={"best_guess": 1.2, "low": 0.9, "high": 1.5},
        confidence="medium",
    )
    change(document.plan[0], alone_ms=1.2, cumulative_ms=1.2, step_ms_after=12.3)
    return document


def unpredicted() -> Document:
    """The sick run, had its replay missed the recording."""
    document = sick()
    change(
        document,
        self_replay_error=0.62,
        prediction_missing="replaying the recorded steps misses them by 62 %",
        headline="Input loading without workers takes 33 % of each step (train.py:41)",
        badge="savings unknown",
        doubt="Replaying the recorded steps misses them by 62 %, so only costs are shown.",
    )
    change(document.findings[0].saving, predicted_ms=None, confidence=None, reason=None)
    change(document.plan[0], alone_ms=None, cumulative_ms=None, step_ms_after=None)
    return document


def healthy() -> Document:
    """The twin: nothing fires but the statement that the step is compute-bound, on a GPU."""
    document = sick()
    document.headline = "95 % of each step is compute; nothing worth fixing"
    document.run.device = "cuda:0"
    document.ledger = [
        ledger_row("compute", "Compute", "kernels run on the GPU", 11.7, 0.951),
        ledger_row("launch_bound", "Launch-bound", "", 0.6, 0.049),
    ]
    document.findings = [
        finding(
            "compute-bound",
            group="information",
            severity="low",
            symptom="The GPU computes nearly all the time.",
            title="Look at the kernels",
        ),
        finding("input-wait-no-workers", state="quiet"),
    ]
    document.plan = []
    document.kernels = [
        kernel(
            "ampere_sgemm_128x64_tn", 7.5, 6.0, number_format="fp32", tensor_cores=False, roofline_share=0.4
        ),
        kernel("Memcpy HtoD (Pinned -> Device)", 0.5, 1.0, kind="copy"),
    ]
    return document


def empty() -> Document:
    """A trace with nothing in it."""
    document = sick()
    document.headline = "No complete step was recorded, so there is nothing to judge"
    change(
        document.run,
        target="trace.json",
        argv=[],
        ended="finished",
        exit_code=None,
        recorded_by_us=False,
        environment={},
    )
    change(
        document.steps,
        clock=StepClock.TRACE,
        complete=0,
        phases={},
        plain_ms=None,
        timeline_ms=None,
        distortion=None,
    )
    change(
        document.steps,
        plain_series_ms=[],
        timeline_series_ms=[],
        noise_ms=None,
        detail_distortion=None,
        per_step={},
    )
    change(document, ledger=[], ledger_device=None, findings=[], plan=[], lines=[], metrics={}, notes=[])
    change(document, self_replay_error=None, prediction_missing="no complete step was recorded")
    change(document, operators=[], kernels=[], key_averages={"rows": [], "note": ""})
    return document


def crashed() -> Document:
    """A script that failed before its first step was complete."""
    document = empty()
    document.headline = "The script failed before a complete step was recorded"
    change(
        document.run, target="train.py", argv=["train.py"], ended="crashed", exit_code=1, recorded_by_us=True
    )
    change(document.steps, clock=StepClock.OPTIMIZER, phases={"warmup": 1})
    document.findings = [
        finding(
            "host-sync",
            state="abstains",
            abstains_for={"reason": "no complete step was recorded", "option": "--steps"},
        )
    ]
    return document


def without_a_step(*, torch_imported: bool = True) -> Document:
    """A script that ran to its own end and never took a step."""
    document = crashed()
    change(document.run, ended="finished", exit_code=0, torch_imported=torch_imported)
    change(document.steps, clock=StepClock.NONE, step_source=None, phases={})
    return document


def hostile(name: str) -> Document:
    """The sick run with `name` wherever a trace, a script or an exception can put text of its own."""
    document = copy.deepcopy(sick())
    change(document.run, target=name, argv=[name, name], device=name, environment={name: name})
    document.headline = f"Loading takes 33 % of each step ({name}:41)"
    change(document, notes=[note(name), note(f"`{name}")])
    document.key_averages.note = name
    document.kernels = [kernel(name, 1.0, 1.0)]
    for row in [*document.operators, *document.key_averages.rows]:
        row.name = name
    for row in [*document.lines, *(culprit for finding in document.findings for culprit in finding.culprits)]:
        change(row, file=name, function=name, source=name)
    for finding_ in document.findings:
        finding_.error = name if finding_.state == "error" else None
        if finding_.abstains_for:
            finding_.abstains_for.reason = name
    document.findings[0].evidence.append(
        evidence("debug_modes", name, "!=", name, "", "names come from the script")
    )
    return document


def verified() -> Document:
    """The sick run after `verify`, with all that verify.json can hold."""
    from diagnose.verify.results import Results
    from diagnose.verify.statistics import comparison
    from diagnose.verify.tuning import Curve

    measured = made(
        FixResult,
        {
            "rule": "input-wait-no-workers",
            "title": "Load ahead",
            "intervention": "dataloader",
            "arguments": {"num_workers": 2},
            "safety": "exact",
            "state": "measured",
            "verdict": "faster",
            "predicted_ms": {"best_guess": 3.6, "low": 2.9, "high": 4.1},
            "change": asdict(comparison([10.0, 10.1, 9.9, 10.0], [6.0, 6.1, 5.9, 6.0])),
            "results": asdict(Results("same", 40, 0.0, 0.01)),
            "memory": {"peak_resident_bytes": {"before": 1.0, "after": None}},
            "curve": json.loads(to_json(asdict(Curve("num_workers", {1: 7.0, 2: 6.0}, 2, 2)))),
            "batch_sizes": (32, None),
            "step_from": 5,
            "step_to": 20,
        },
    )
    failed = FixResult(
        rule="",
        title="gc_freeze",
        intervention="gc_freeze",
        arguments={},
        safety="exact",
        state="failed",
        why="it was killed by SIGKILL",
    )
    document = sick()
    change(
        document.findings[0].saving,
        measured_ms={"best_guess": 4.0, "low": 3.8, "high": 4.2, "of_ms": 10.0},
        verdict="faster",
    )
    document.verification = Verification(
        tool=document.tool,
        step_ms=10.0,
        same_losses=True,
        noise=0.01,
        tried=[measured, failed],
        together=measured,
    )
    return document


MAKERS = (sick, two_fixes, some_steps, unpredicted, healthy, crashed, empty, verified)


# ---- parts


def made(kind: type[Part], content: object) -> Part:
    """A part of a document, from a dictionary that may hold such parts."""
    return msgspec.convert(msgspec.to_builtins(content), kind)


def change(part: object, **values: object) -> None:
    """Give the part other values; dictionaries become the parts they describe."""
    kinds = get_type_hints(type(part), include_extras=True)
    for name, value in values.items():
        setattr(part, name, made(kinds[name], value))


def changed(part: Part, **values: object) -> Part:
    """A copy with other values."""
    other = copy.deepcopy(part)
    change(other, **values)
    return other


def as_read(document: Document) -> dict[str, Any]:
    """The document as report.json has it."""
    return json.loads(to_json(document))


def note(text: str, code: str = "") -> Note:
    return Note(code, text)


def finding(
    rule: str,
    *,
    state: str = "fires",
    group: str = "plan",
    severity: str = "medium",
    cause: str = "",
    symptom: str = "Something is slow.",
    why: str = "It waits.",
    title: str = "Mend it",
    how: str = "Change the line.",
    caution: str = "",
    ms_per_step: float | None = None,
    share: float | None = None,
    at_most_ms: float | None = None,
    predicted: tuple[float, float, float, str] | None = None,
    evidence: list[Evidence] | None = None,
    culprits: list[Culprit] | None = None,
    abstains_for: dict[str, str] | None = None,
    error: str | None = None,
) -> Finding:
    fires = state == "fires"
    scope = group if group in ("hypothetical", "information") else "step"
    fix: dict[str, Any] = {"title": title}
    if fires:
        fix |= {
            "how": how,
            "caution": caution,
            "safety": "exact",
            "intervention": "",
            "arguments": {},
            "call_sites": [],
        }
    content = {
        "rule": rule,
        "status": "preview",
        "state": state,
        "group": group if fires else None,
        "severity": severity if fires else None,
        "refines": "input_wait",
        "cause": cause,
        "symptom": symptom,
        "why": why,
        "false_positives": "",
        "references": ["https://docs.pytorch.org/docs/stable/data.html"],
        "ms_per_step": ms_per_step,
        "share": share,
        "evidence": evidence or [],
        "culprits": culprits or [],
        "fix": fix,
        "saving": {
            "at_most_ms": at_most_ms,
            "scope": scope,
            **_prediction(predicted),
            "measured_ms": None,
            "verdict": None,
        },
        "because_of": None,
        "abstains_for": abstains_for,
        "error": error,
    }
    return made(Finding, content)


def _prediction(predicted: tuple[float, float, float, str] | None) -> dict[str, Any]:
    """Best guess, low, high, ms, and the confidence."""
    if predicted is None:
        return {"predicted_ms": None, "confidence": None, "reason": None}
    best_guess, low, high, confidence = predicted
    ranged = {"best_guess": best_guess, "low": low, "high": high}
    return {"predicted_ms": ranged, "confidence": confidence, "reason": "loading as measured"}


def evidence(metric: str, value: Any, op: Any, threshold: Any, unit: str, because: str) -> Evidence:
    return Evidence(
        metric=metric,
        meaning="what it means",
        value=value,
        op=op,
        threshold=threshold,
        unit=unit,
        because=because,
    )


def culprit(number: int, source: str, calls_per_step: float, ms_per_step: float) -> Culprit:
    return Culprit(
        file="train.py",
        line=number,
        function="main",
        source=source,
        calls_per_step=calls_per_step,
        ms_per_step=ms_per_step,
    )


def operator(name: str, self_ms: float, calls_per_step: float) -> Operator:
    return Operator(
        name=name,
        self_ms=self_ms,
        share=self_ms / 12.3,
        calls_per_step=calls_per_step,
        mean_ms=self_ms / calls_per_step,
    )


def kernel(
    name: str,
    ms_per_step: float,
    count_per_step: float,
    *,
    kind: Literal["kernel", "communication", "copy", "set"] = "kernel",
    number_format: str | None = None,
    tensor_cores: bool | None = None,
    roofline_share: float | None = None,
) -> Kernel:
    return Kernel(
        name=name,
        kind=kind,
        ms_per_step=ms_per_step,
        share=ms_per_step / 12.3,
        count_per_step=count_per_step,
        mean_ms=ms_per_step / count_per_step,
        number_format=number_format,
        tensor_cores=tensor_cores,
        roofline_share=roofline_share,
    )


def line(number: int, source: str, self_ms: float, total_ms: float, share: float) -> Line:
    return Line(
        file="train.py",
        line=number,
        function="main",
        source=source,
        self_ms=self_ms,
        total_ms=total_ms,
        share=share,
        calls_per_step=1.0,
    )


def ledger_row(row: str, title: str, meaning: str, ms_per_step: float, share: float) -> LedgerRow:
    return LedgerRow(row=row, title=title, meaning=meaning, ms_per_step=ms_per_step, share=share)


def plan_row(
    rule: str,
    fix: str,
    where: str | None,
    at_most_ms: float | None,
    share: float | None,
    severity: Any,
    *,
    alone: float | None = None,
    cumulative: float | None = None,
    after: float | None = None,
) -> PlanRow:
    return PlanRow(
        rule=rule,
        fix=fix,
        where=where,
        severity=severity,
        share=share,
        at_most_ms=at_most_ms,
        alone_ms=alone,
        cumulative_ms=alone if cumulative is None else cumulative,
        step_ms_after=after,
    )

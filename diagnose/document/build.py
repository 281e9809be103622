"""The result document, made of what was measured, judged and predicted
(docs/architecture.md, *The result document*).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from diagnose import __version__
from diagnose.document import model, text
from diagnose.document.account import account_rows
from diagnose.document.devices import device_rows
from diagnose.document.doubt import doubt_about, gpu_notes
from diagnose.document.headline import headline_of
from diagnose.document.measurements import found_numbers, with_measurement
from diagnose.document.memory import memory_peaks
from diagnose.document.model import Document
from diagnose.document.operators import kernel_rows, operator_rows
from diagnose.document.queries import place
from diagnose.document.ranks import ranks_document
from diagnose.document.rare_work import unseen_work
from diagnose.document.seldom import seldom_work
from diagnose.document.stored import checked
from diagnose.document.text import quantity
from diagnose.document.watched import unwatched, watched_run
from diagnose.judge.call_sites import CallSite, call_sites
from diagnose.judge.culprits import Culprit
from diagnose.judge.findings import Evidence, Finding
from diagnose.judge.rules import Advice, Rule, filled, placeholders
from diagnose.judge.terms import FRAMEWORK_WORDS, Framework
from diagnose.measure.account import RowAccount
from diagnose.measure.device_steps import gpus_listed
from diagnose.measure.endings import about_ranks
from diagnose.measure.ledger import TITLES
from diagnose.measure.lines import line_costs
from diagnose.measure.metrics import METRICS, Measured
from diagnose.measure.missing import Missing
from diagnose.measure.page_faults import kept_away_ms
from diagnose.measure.recording import Recording, rank_folders
from diagnose.measure.sources import Sources
from diagnose.measure.spread import row_noise_ms
from diagnose.predict.on_average import longer_ms
from diagnose.predict.plan import Assessed
from diagnose.predict.prediction import Prediction
from diagnose.predict.saving import seldom_of
from diagnose.predict.utilisation import throughput
from diagnose.run.child.steps.step_clock import StepClock
from diagnose.trace.collector import collector_at_rest
from diagnose.trace.notes import Note


@collector_at_rest()
def result_document(
    measured: Measured,
    prediction: Prediction,
    assessed: list[Assessed],
    spent: list[RowAccount],
    sources: Sources,
    verification: model.Verification | None = None,
) -> Document:
    """The result document; ``patch`` is filled in by whoever writes the patch (`diagnose.report.patch`)."""
    recording = measured.recording
    findings = [
        with_measurement(_finding(one, measured, sources, verification), verification) for one in assessed
    ]
    average_ms = _average_ms(assessed, prediction)
    rows = zip(findings, assessed, strict=True)
    planned = [one.finding.rule for one in assessed if one.group == "plan"]
    account, named_share = account_rows(spent, prediction, sources, planned)
    document = Document(
        tool=model.Tool(name="diagnose", version=__version__),
        headline="",
        run=_run(recording),
        steps=_steps(measured),
        ledger=_ledger(measured),
        ledger_device=measured.ledger.device if measured.ledger else None,
        account=account,
        named_share=named_share,
        seldom=seldom_work(assessed, measured, sources),
        devices=device_rows(measured),
        findings=findings,
        plan=[_plan_row(finding, of, average_ms) for finding, of in rows if finding.group == "plan"],
        self_replay_error=prediction.error,
        prediction_missing=prediction.missing.reason if prediction.missing else None,
        upper_bound_ms=None if prediction.missing else prediction.limit_ms,
        ranks=ranks_document(measured.job),
        verification=verification,
        lines=_lines(measured, sources),
        operators=operator_rows(measured),
        kernels=kernel_rows(measured),
        memory=memory_peaks(
            measured.memory, sources, measured.row_ms("forward") if measured.ledger is not None else None
        ),
        watched=watched_run(recording, sources),
        key_averages=_averages(recording),
        metrics={name: _metric(measured, name) for name in sorted(METRICS)},
        notes=[
            *_plain_notes(*recording.notes, *_rank_notes(recording)),
            *unseen_work(measured, sources),
            *unwatched(recording),
            *_trace_notes(recording),
            *gpu_notes(measured),
        ],
    )
    doubt, notes = doubt_about(document, measured)
    doubted = replace(document, badge=doubt.badge, doubt=doubt.sentence, notes=[*document.notes, *notes])
    return replace(doubted, headline=headline_of(doubted))


def _run(recording: Recording) -> model.Run:
    run, facts = recording.run, recording.facts
    environment = _environment(recording)
    return model.Run(
        target=run.get("target", recording.url or recording.source.name),
        argv=run.get("argv", []),
        module=run.get("module", False),
        cwd=run.get("cwd"),
        wall_s=run.get("wall_s"),
        ended=run.get("ended", "finished"),
        exit_code=run.get("exit_code"),
        signal=run.get("signal"),
        recorded_by_us=bool(run),
        torch_imported=run.get("torch_imported"),
        in_process=run.get("in_process", False),
        launchers=run.get("launchers", 1),
        launchers_here=run.get("launchers_here", run.get("launchers", 1)),
        device=facts.get("device") or _device(recording),
        environment={name: value for name, value in environment.items() if value is not None},
    )


def _environment(recording: Recording) -> dict[str, Any]:
    """What the run was made with, by name; None where it is not known."""
    facts, gpu_state = recording.facts, recording.run.get("gpu_state") or {}
    group = facts.get("process_group") or {}
    return {
        "torch": facts.get("torch_version"),
        "python": facts.get("python_version"),
        "gpu": facts.get("gpu_name") or _gpu_name(recording),
        "driver": facts.get("driver_version"),
        "gpu slice (MIG)": "yes" if gpu_state.get("mig") else None,
        "cores": facts.get("cpu_core_count"),
        "threads": facts.get("thread_count"),
        "numa nodes": facts.get("numa_node_count"),
        "libraries": ", ".join(facts.get("libraries") or []) or None,
        "process group": f"{group['backend']}, {group['world_size']} processes" if group else None,
        **{
            f"loader {number}": _loader(loader) for number, loader in enumerate(facts.get("loaders") or [], 1)
        },
        "platform": facts.get("platform"),
        **(facts.get("environment_variables") or {}),
    }


def _loader(loader: dict[str, Any]) -> str:
    """A DataLoader's settings on one line."""
    pinned = ", pinned" if loader.get("pin_memory") else ""
    batches = f"batches of {loader['batch_size']}" if loader.get("batch_size") else "no batches of its own"
    workers = f"{loader['num_workers']} worker{'s' * (loader['num_workers'] != 1)}"
    return f"{workers}, {batches}, {loader.get('sampler', 'unknown sampler')}{pinned}"


def _device(recording: Recording) -> str:
    if recording.timeline is None or not len(recording.timeline.device):
        return "cpu"
    return str(recording.timeline.info.get("device_type") or "cuda")


def _gpu_name(recording: Recording) -> str | None:
    if recording.timeline is None or not len(recording.timeline.device):
        return None
    return next((str(gpu["name"]) for gpu in gpus_listed(recording.timeline) if gpu.get("name")), None)


def _steps(measured: Measured) -> model.Steps:
    recording = measured.recording
    timeline = measured.timeline
    recorded_ms = timeline.complete_ns / 1e6 if timeline else np.empty(0)
    plain = measured.plain_steps
    plain_ms = plain.lengths_ns / 1e6 if plain else np.empty(0)
    step_ms = measured.number("plain_step_ms")
    timed, detail = plain or timeline, measured.detail
    return model.Steps(
        clock=StepClock(recording.clock.get("clock", StepClock.NONE if recording.run else StepClock.TRACE)),
        step_source=recording.timeline.step_source if recording.timeline is not None else None,
        complete=len(recorded_ms),
        ticks_per_step=recording.ticks_per_step,
        phases={
            phase["name"]: len(recording.step_ns(phase["name"]))
            for phase in recording.clock.get("phases", [])
        },
        cold=bool((recording.phase("timeline") or {}).get("cold")),
        after_session=measured.after_session,
        per_step=recording.clock.get("per_step", {}),
        typical_ms=_plain(measured.number("step_ms")),
        untypical_count=int((~timed.chosen).sum()) if timed else 0,
        untypical_ms=_plain(measured.number("untypical_ms")),
        delayed_share=_plain(measured.number("delayed_share")),
        page_faults_ms=kept_away_ms(recording),
        plain_ms=_spread(plain_ms),
        timeline_ms=_spread(recorded_ms),
        distortion=timeline.step_ns / 1e6 / step_ms if step_ms > 0 and timeline else None,
        detail_distortion=detail.step_ns / 1e6 / step_ms if detail and step_ms > 0 else None,
        plain_series_ms=plain_ms.tolist(),
        timeline_series_ms=recorded_ms.tolist(),
        noise_ms=_plain(measured.number("noise_ms")),
        **asdict(throughput(measured, _plain(measured.number("step_ms")))),
    )


def _spread(values: np.ndarray) -> model.Spread | None:
    if not len(values):
        return None
    median = float(np.median(values))
    return model.Spread(median=median, mad=float(np.median(np.abs(values - median))))


def _ledger(measured: Measured) -> list[model.LedgerRow]:
    ledger = measured.ledger
    if ledger is None:
        return []
    return [
        model.LedgerRow(
            row=row,
            title=TITLES[row][0],
            meaning=_said_for(measured.framework, TITLES[row][1]),
            ms_per_step=measured.row_ms(row),
            share=measured.row_ms(row) / measured.number("step_ms"),
            noise_ms=row_noise_ms(measured, row),
        )
        for row, intervals in ledger.rows.items()
        if len(intervals) or measured.row_ms(row) > 0
    ]


def _said_for(framework: str, meaning: str) -> str:
    """What is said of torch holds for the other frameworks as well."""
    return re.sub(r"\btorch\b", FRAMEWORK_WORDS.get(cast(Framework, framework), "torch"), meaning)


def _finding(
    assessed: Assessed, measured: Measured, sources: Sources, verification: model.Verification | None
) -> model.Finding:
    finding, rule = assessed.finding, assessed.finding.rule
    fires = finding.state == "fires"
    return model.Finding(
        rule=rule.id,
        status=rule.status,
        state=finding.state,
        group=assessed.group,
        severity=assessed.severity,
        refines=rule.refines,
        cause=rule.cause,
        symptom=rule.symptom,
        why=rule.why,
        false_positives=rule.false_positives,
        references=list(rule.references),
        ms_per_step=finding.ms_per_step,
        share=assessed.share,
        evidence=[_evidence(evidence, measured.framework) for evidence in finding.evidence],
        culprits=[_culprit(culprit, sources) for culprit in finding.culprits],
        fix=_fix(finding, measured, sources, found_numbers(rule, verification))
        if fires
        else model.Fix(title=rule.fix.title, safety=rule.fix.safety),
        saving=_saving(assessed),
        because_of=assessed.because_of,
        alternative_to=assessed.alternative_to,
        abstains_for=model.Lacking(reason=finding.abstains_for.reason, option=finding.abstains_for.option)
        if finding.abstains_for
        else None,
        error=finding.error,
    )


def _saving(assessed: Assessed) -> model.Saving:
    known = assessed.saving
    return model.Saving(
        at_most_ms=assessed.at_most_ms,
        scope=assessed.finding.rule.saving.scope,
        predicted_ms=model.Predicted(best_guess=known.predicted_ms, low=known.low_ms, high=known.high_ms)
        if known
        else None,
        confidence=known.confidence if known else None,
        reason=known.reason if known else None,
        measured_ms=None,  # see `with_measurement`
        verdict=None,
        of_ms=assessed.of_ms,
    )


def _fix(finding: Finding, measured: Measured, sources: Sources, found: Mapping[str, Any]) -> model.Fix:
    """``found``: numbers that were searched for by running the script, in place of what metrics suggest."""
    fix = finding.rule.fix

    def value_of(name: str) -> Any:
        return found.get(name, measured.metric(name))

    return model.Fix(
        title=fix.title,
        how=_how(finding.rule, value_of),
        caution=fix.caution,
        safety=fix.safety,
        intervention=fix.intervention,
        arguments=_arguments(fix, value_of),
        before=fix.before,
        after=filled(fix.after, lambda name: _shown(value_of(name), name)),
        call_sites=_call_sites(finding, measured, sources) if fix.call else [],
    )


def _arguments(fix: Advice, value_of: Callable[[str], Any]) -> dict[str, Any] | None:
    """The intervention's arguments with metrics replaced by their values; None where one of them is
    unknown.
    """
    values = {name: value_of(value) if value in METRICS else value for name, value in fix.arguments.items()}
    return (
        None
        if any(isinstance(value, Missing) for value in values.values())
        else {name: _plain(value) for name, value in values.items()}
    )


def _shown(value: Any, name: str) -> str | None:
    return None if isinstance(value, Missing) else quantity(value, METRICS[name].unit)


def _call_sites(finding: Finding, measured: Measured, sources: Sources) -> list[model.CallSite]:
    blamed = [CallSite(culprit.file, culprit.line) for culprit in finding.culprits]
    sites = call_sites(finding.rule.fix.call, measured, blamed)
    return [
        model.CallSite(file=sources.shown(site.file), line=site.line, source=sources.line(*site))
        for site in sites
    ]


def _how(rule: Rule, value_of: Callable[[str], Any]) -> str:
    values = {name: value_of(name) for name in placeholders(rule.fix.how)}
    if any(isinstance(value, Missing) for value in values.values()):
        return rule.fix.otherwise
    return rule.fix.how.format(
        **{name: quantity(value, METRICS[name].unit) for name, value in values.items()}
    )


def _evidence(evidence: Evidence, framework: str) -> model.Evidence:
    condition = evidence.condition
    return model.Evidence(
        metric=condition.metric,
        meaning=_said_for(framework, METRICS[condition.metric].meaning),
        value=_plain(evidence.value),
        op=condition.op,
        threshold=condition.value,
        unit=evidence.unit,
        because=condition.because,
    )


def _culprit(culprit: Culprit, sources: Sources) -> model.Culprit:
    return model.Culprit(
        file=sources.shown(culprit.file),
        line=culprit.line,
        function=culprit.function,
        source=sources.line(culprit.file, culprit.line),
        calls_per_step=None if math.isnan(culprit.calls_per_step) else culprit.calls_per_step,
        ms_per_step=culprit.ms_per_step,
        via=culprit.via,
    )


def _average_ms(assessed: list[Assessed], prediction: Prediction) -> float | None:
    """The step that the plan's savings come off: the typical one, and what the plan's findings of
    some steps only add to it on average.
    """
    if prediction.missing:
        return None
    planned = [one.finding for one in assessed if one.group == "plan"]
    return prediction.recorded_ms + longer_ms(seldom_of(one, prediction.measured) for one in planned)


def _plan_row(finding: model.Finding, assessed: Assessed, average_ms: float | None) -> model.PlanRow:
    line = place(finding)
    assert finding.severity is not None  # of all that fire
    return model.PlanRow(
        rule=finding.rule,
        fix=finding.fix.title,
        where=text.place(line) if line else None,
        severity=finding.severity,
        at_most_ms=finding.saving.at_most_ms,
        share=finding.share,
        alone_ms=assessed.saving.predicted_ms if assessed.saving else None,
        cumulative_ms=assessed.cumulative_ms,
        step_ms_after=None
        if assessed.cumulative_ms is None or average_ms is None
        else average_ms - assessed.cumulative_ms,
    )


def _lines(measured: Measured, sources: Sources) -> list[model.Line]:
    step_ms = measured.number("step_ms")
    return [
        model.Line(
            file=sources.shown(cost.file),
            line=cost.line,
            function=cost.function,
            source=sources.line(cost.file, cost.line),
            self_ms=cost.self_ms,
            total_ms=cost.total_ms,
            backward_ms=cost.backward_ms,
            share=(cost.self_ms + cost.backward_ms) / step_ms,
            calls_per_step=cost.calls_per_step,
            is_part=cost.is_part,
        )
        for cost in line_costs(measured)
    ]


def _averages(recording: Recording) -> model.Averages:
    known = recording.key_averages
    rows = checked(known.get("rows", []), list[model.Average], "key_averages.json")
    return model.Averages(rows=rows, note=known.get("note", ""))


def _metric(measured: Measured, name: str) -> model.Metric:
    value = measured.metric(name)
    if isinstance(value, Missing):
        return model.Metric(missing=value.reason, option=value.option)
    return model.Metric(value=_plain(value), unit=METRICS[name].unit)


def _plain(value: Any) -> Any:
    """JSON has no NaN: an unknown number is null."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _rank_notes(recording: Recording) -> list[str]:
    """How the ranks of a run that we recorded ended; of thousands that takes a
    while, so only the one report asks.
    """
    return about_ranks(recording.run, rank_folders(recording.source)) if recording.run else []


def _plain_notes(*sentences: str) -> list[Note]:
    return [Note("", sentence) for sentence in sentences]


def _trace_notes(recording: Recording) -> list[Note]:
    notes = []
    for name, trace in (("timeline", recording.timeline), ("detail", recording.detail)):
        if trace is not None:
            lead = f"{name}: " if recording.run else ""
            found = [*_plain_notes(*trace.notes), *trace.doubts]
            notes += [Note(note.code, f"{lead}{note.text}") for note in found]
    return notes

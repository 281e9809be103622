"""Sentences that several reports say about a document, in plain words.

Plain text: each report escapes it in its own way.
"""

from __future__ import annotations

from diagnose.document import savings, text
from diagnose.document.leads import is_healthy
from diagnose.document.model import (
    CUT_RECORDING,
    DAMAGED_RECORDING,
    GPU_NOT_RECORDED,
    LITTLE_MEMORY,
    SAVINGS_UNKNOWN,
    Document,
    Finding,
    Spread,
    Steps,
)
from diagnose.document.queries import (
    framework,
    in_group,
    in_state,
    is_complete,
    is_whole_trace,
    ledger_ms,
    line_to_change,
    lines_to_see,
    metric,
    recorded_by_us,
    recorded_inside,
    saw_no_step,
    step_ms,
    warming_up,
    whole_word,
)
from diagnose.document.text import count, factor, ms, share
from diagnose.document.unjudged import unjudged
from diagnose.report import account, throughput
from diagnose.run.child.steps.step_clock import StepClock
from diagnose.trace.notes import GPU_UNRECORDED, HOST_AHEAD, MARK_STEPS

_ENDED = {
    "stopped": "diagnose stopped the script once everything was recorded.",
    "finished": "The script ran to its own end.",
    "timeout": "The script was ended by --timeout.",
    "interrupted": "The run was interrupted (Ctrl-C or SIGTERM).",
    "running": "The script was still running, or diagnose itself was ended, when this was written.",
}
_LEFT = {
    "finished": "The recorded block was left.",
    "crashed": "An exception ended the recorded block.",
    "interrupted": "The recorded block was interrupted (Ctrl-C).",
    "running": "The recorded block was still running when this was written.",
}
_STEP_SOURCES = {
    "mark": "the marks of diagnose's own recorder",
    "ProfilerStep": "the trace's ProfilerStep ranges",
    "optimizer": "the ends of the optimizer's steps in the trace",
    "annotation": "the ranges that the program or its framework marks again and again",
    "repetition": "repetition: nothing marks the steps, but the sequence of kernels (or operators) repeats",
    "whole trace": "nothing: the trace marks no steps, so the whole recording counts as one",
}
ON_A_GPU = "These cost next to nothing in this run. On a GPU they would."
TOP_NOTES = 3
BOUND_NEAR = 1.05  # a step and its bound that differ by less than this factor are the same
# × the bound: beyond, the recording is of something else than the GPU's work, a start for example
MOST_TIMES = 100


def ending(document: Document) -> str:
    """How the run ended."""
    if not recorded_by_us(document):
        return (
            "This trace was recorded by another profiler: what only a run can tell (loader settings, exact "
            "lines) is missing."
        )
    run = document.run
    if recorded_inside(document):
        return _LEFT.get(run.ended, f"The block was left: {run.ended}.")
    if run.ended == "crashed":
        return f"The script failed with exit code {run.exit_code}; its output has the error."
    if run.ended == "killed":
        signal = run.signal
        return (
            f"The script was killed{f' by {signal}' if signal else ' by a signal'}; out of memory is the "
            "usual reason for SIGKILL."
        )
    return _ENDED.get(run.ended, f"The run ended: {run.ended}.")


def ended_badly(document: Document) -> bool:
    return document.run.ended in ("crashed", "killed", "timeout", "interrupted", "running")


def doubt(document: Document) -> str:
    """The badge and the doubt on one line: `Noisy run. Other programs used …`; empty where there is none."""
    badge = document.badge
    return f"{badge[:1].upper()}{badge[1:]}. {document.doubt}" if badge else ""


def set_out(document: Document) -> list[str]:
    """The first notes, for the head of a report; without what the doubt there says already, and what is no
    reason to doubt.
    """
    passed_over = [HOST_AHEAD, *([GPU_UNRECORDED] if document.badge == GPU_NOT_RECORDED else [])]
    notes = [
        note.text
        for note in document.notes
        if note.code not in passed_over and not document.doubt.startswith(note.text)
    ]
    rest = len(notes) - TOP_NOTES
    notes_are = "note is" if rest == 1 else "notes are"
    more = [f"{count(rest)} more {notes_are} at the end of this report."] if rest > 0 else []
    return [*notes[:TOP_NOTES], *more]


def clock(document: Document) -> str:
    """Which events were taken for the ends of steps."""
    name, source = document.steps.clock, document.steps.step_source
    return name.sentence or f"steps are read from {_STEP_SOURCES.get(source or '', 'the trace')}"


def phases(document: Document) -> str:
    """`warm-up 5, plain 20, timeline 8, detail 2`; empty for a trace."""
    steps = document.steps.phases
    return ", ".join(f"{name.replace('warmup', 'warm-up')} {count(number)}" for name, number in steps.items())


def bound(document: Document) -> str:
    """What takes the largest part of the step; empty without a ledger."""
    if not is_complete(document):
        return ""
    row = max(document.ledger, key=lambda one: one.share)
    whole = "recording" if is_whole_trace(document) else "step"
    return f"The largest part of the {whole} is {row.title.lower()}, {share(row.share)} of it: {row.meaning}."


# ---- how far to trust them


def unpredicted(document: Document) -> str:
    """Why no saving is told; empty if savings are."""
    reason = document.prediction_missing
    return (
        f"Savings cannot be predicted here, for {reason}. The report shows what each finding costs."
        if reason
        else ""
    )


def says_unpredicted(document: Document) -> bool:
    """Whether the plan has to say that no saving is predicted: the doubt above it does not."""
    return bool(document.prediction_missing) and document.badge != SAVINGS_UNKNOWN


def replayed(document: Document) -> str:
    """How well the recorded steps are understood; empty where nothing is predicted."""
    error = document.self_replay_error
    if error is None or document.prediction_missing:
        return ""
    return (
        f"Replaying the recorded steps gives them back within {share(max(error, 0.001))}. A predicted saving "
        "is the same replay with the fix made; the range is our uncertainty."
    )


def distorted(document: Document) -> str:
    """What the profiler did to the steps that the times come from."""
    ratio = document.steps.distortion
    if ratio is None:
        return "No step was timed without the profiler, so how far it slowed these steps down is not known."
    if ratio <= 1:
        return "The profiler did not slow the steps down."
    return (
        f"The profiler slowed the steps down ({factor(ratio)} their plain time); all times are scaled back "
        "to the plain step."
    )


def fastest(document: Document) -> str:
    """What the GPU allows; empty without one, and where nothing is predicted."""
    limit_ms, now_ms = document.upper_bound_ms, ledger_ms(document)
    if limit_ms is None or not now_ms or limit_ms <= 0:
        return ""
    if now_ms < BOUND_NEAR * limit_ms:
        whole = "the recording" if is_whole_trace(document) else "a step"
        now = f"{whole} takes {ms(now_ms)}, and with everything on the host fixed still {ms(limit_ms)}"
        return f"The {_takes_the_time(document, limit_ms)} takes the time: {now}."
    times = now_ms / limit_ms
    now = f" ({times:.{0 if times >= 9.95 else 1}f}× faster than now)" if times < MOST_TIMES else ""
    least_ms = min((row.step_ms_after for row in document.plan if row.step_ms_after), default=limit_ms)
    as_now = " and the GPU did the same as now" if least_ms < limit_ms else ""
    return f"GPU floor: {ms(limit_ms)}{now} if the CPU side cost nothing{as_now}."


def _takes_the_time(document: Document, limit_ms: float) -> str:
    """Of what no host can shorten."""
    queued_ms = sum(row.ms_per_step for row in document.ledger if row.row == "queued")
    return "GPU's wait with work queued" if 2 * queued_ms > limit_ms else "GPU's own work"


def starting_step(document: Document) -> str:
    """Which step the savings come off, where it is not the typical one; else empty."""
    whole_ms = savings.average_ms(document)
    if whole_ms is None or not savings.has_average(document):
        return ""
    return (
        f"Some steps take longer than the typical {ms(step_ms(document))}: the average is {ms(whole_ms)}, "
        "and the savings come off that."
    )


def alternative(finding: Finding, document: Document) -> str:
    """Another fix for the same time: what, where and what it gains alone."""
    line, title = line_to_change(finding), finding.fix.title
    at = f" at {text.quoted_place(line)}" if line else ""
    return f"{title[:1].lower()}{title[1:]}{at}: {savings.worth(finding, document)}"


def where(finding: Finding) -> str:
    """Of its fix: `train.py:33`, where the time is spent at another line `train.py:33`, time at
    `train.py:40`; empty where no line is known.
    """
    return ", time at ".join(map(text.quoted_place, lines_to_see(finding)))


def judged(document: Document) -> str:
    """How many rules there were and what became of them; empty where there was nothing to judge."""
    if not is_complete(document):
        return ""
    numbers = {state: len(in_state(document, state)) for state in ("fires", "quiet", "abstains", "error")}
    said = {"fires": "fired", "quiet": "found nothing", "abstains": "could not be judged", "error": "failed"}
    parts = [f"{number} {said[state]}" for state, number in numbers.items() if number]
    return (
        f"Of {count(sum(numbers.values()))} rules, {', '.join(parts)}." if parts else "No rules were judged."
    )


def remedies(document: Document) -> list[str]:
    """What to try when no complete step was recorded."""
    ended, ticks = document.run.ended, document.steps.clock
    if document.badge in (CUT_RECORDING, DAMAGED_RECORDING):
        return ["Copy the trace again, or record it again; the disk needs room for all of it."]
    if document.badge == LITTLE_MEMORY:
        return ["Let each step do less (a smaller batch, fewer iterations), or free memory."]
    if framework(document) != "torch":
        return [MARK_STEPS[framework(document)]]
    if not recorded_by_us(document):
        return [
            "Record more than one step: call `prof.step()` after each, or give the script itself to diagnose."
        ]
    if document.run.torch_imported is False:
        return [
            "If it starts the training elsewhere (in a container, by `sudo`, with `python -I`), name that "
            "script, there."
        ]
    tries = []
    if ended in ("crashed", "killed"):
        tries.append("Fix the error first; the recording starts after a warm-up of a few steps.")
    if ended == "timeout":
        tries.append("Allow more time: a larger `--timeout`, or none.")
    if ticks in (StepClock.NONE, StepClock.TRACE) and metric(document, "memory_error") is None:
        tries.append(
            "Check that the script reaches its training loop in this run, with torch modules or a torch "
            "optimizer."
        )
    if ended == "finished" and not saw_no_step(document):
        fewer = "steps=2" if recorded_inside(document) else "--steps 2"
        tries.append(
            f"Let the script run longer (more batches or epochs), or ask for fewer steps: `{fewer}`."
        )
    return tries or ["Run it again and let it go on until diagnose stops it."]


def nothing_to_do(document: Document) -> str:
    """In place of an empty plan."""
    if not is_healthy(document):
        if warming_up(document) is not None:
            return (
                "Record later steps: `schedule(wait=1, warmup=3, active=5)`, and `prof.step()` after each. "
                "What took the time here:"
            )
        if account.looks(document):
            return account.NO_FIX
        return f"No rule knows a fix for this, and no part that could go is large. {bound(document)}"
    costs = {"lines": document.lines, "operators": document.operators, "kernels": document.kernels}
    shown = [name for name, rows in costs.items() if rows]
    several = " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
    titles = [finding.fix.title for finding in in_group(document, "information") if finding.fix]
    limits = "; ".join(f"{title[:1].lower()}{title[1:]}" for title in titles)
    bounds = f"“What bounds the {whole_word(document).lower()}” ({limits})" if limits else ""
    costly = f"the costliest {several} in the report" if shown else ""
    further = " and ".join(filter(None, [bounds, costly]))
    further = further and f"To go further, see {further}."
    lacking = unjudged(document)
    nothing = (
        f"{lacking[:1].upper()}{lacking[1:]} in this run."
        if lacking
        else "Nothing: no fix we know of would shorten this step by more than the noise of the run."
    )
    return " ".join(filter(None, [nothing, bound(document), further]))


def happened(document: Document) -> str:
    """In place of the plan when no complete step was recorded."""
    if phases(document):
        return f"{ending(document)} Steps recorded: {phases(document)}."
    return (
        ending(document)
        if saw_no_step(document) or document.badge in (CUT_RECORDING, DAMAGED_RECORDING)
        else f"{ending(document)} No step ended while it was recorded."
    )


# ---- how it was measured


DELAYS_TOLD = 0.02  # of the time; less is what a quiet machine's own threads take now and then


def measurement(document: Document) -> list[str]:
    """The clock, how many steps, how long they took, and what analysed them."""
    steps, tool = document.steps, document.tool
    knows_clock = is_complete(document) or not is_whole_trace(document)
    said = [f"Step clock: {clock(document)}."] if knows_clock else []
    if phases(document):
        said.append(f"Steps recorded: {phases(document)}.")
    if steps.plain_ms:
        said.append(f"A plain step, without profiler: {_spread(steps.plain_ms)}{_typical(steps)}.")
    if steps.after_session:
        said.append(
            "A profiler had recorded this process before, as nobody knew how many steps would come. On CUDA "
            "it stays attached, and plain steps may be 10–20 % too long (pytorch#146604); `verify` measures "
            "without a profiler."
        )
    if (delayed := steps.delayed_share or 0.0) >= DELAYS_TOLD:
        said.append(
            f"For {share(delayed)} of the time the script's threads had work and no core; all times are "
            "without that."
        )
    if steps.page_faults_ms:
        said.append(
            f"Each plain step is {ms(steps.page_faults_ms)} longer than it was timed: steps had more "
            "page faults before anything was recorded, and the system worked so much more for them."
        )
    if steps.timeline_ms:
        typical = "" if steps.plain_ms else _typical(steps)
        said.append(f"A step while the timeline was recorded: {_spread(steps.timeline_ms)}{typical}.")
    if steps.cold:
        said.append(
            "The script had so few steps that the warm-up itself was recorded: its times include one-time "
            "costs."
        )
    return [
        *said,
        *throughput.explained(document),
        f"Analysed by {tool.name} {tool.version}, result document schema {document.schema}.",
    ]


def _typical(steps: Steps) -> str:
    """The mean that stands for all steps, and what the others add."""
    if not steps.typical_ms:
        return ""
    others, adds = steps.untypical_count, ""
    if steps.untypical_ms:
        average, of_all = (
            ms(steps.typical_ms + steps.untypical_ms),
            len(steps.plain_series_ms or steps.timeline_series_ms),
        )
        adds = f"; with the other {count(others)} of {count(of_all)} the average is {average}"
    return f"; the typical ones take {ms(steps.typical_ms)} on average{adds}"


def _spread(times: Spread) -> str:
    return f"median {ms(times.median)}, median deviation {ms(times.mad)}"

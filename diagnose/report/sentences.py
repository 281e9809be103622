"""Sentences that several reports say about a document, in plain words. Plain text: each report escapes it in its own way."""

from __future__ import annotations

from diagnose.report.document import Document, Finding, in_state, is_complete, recorded_by_us
from diagnose.report.text import count, ms, share

_ENDED = {
    "stopped": "diagnose stopped the script once everything was recorded.",
    "finished": "The script ran to its own end.",
    "timeout": "The script was ended by --timeout.",
    "interrupted": "The run was interrupted (Ctrl-C or SIGTERM).",
    "running": "The script was still running, or diagnose itself was ended, when this was written.",
}
_STEP_SOURCES = {
    "mark": "the marks of diagnose's own recorder",
    "ProfilerStep": "the trace's ProfilerStep ranges",
    "optimizer": "the ends of the optimizer's steps in the trace",
    "repetition": "repetition: nothing marks the steps, but the sequence of kernels (or operators) repeats",
    "whole trace": "nothing: the trace marks no steps, so the whole recording counts as one",
}
_CLOCKS = {
    "optimizer": "a step ends with `optimizer.step()`",
    "backward": "no optimizer was used, so a step ends with `backward()`",
    "forward": "nothing was trained, so a step is one outermost module call",
    "none": "no optimizer step, backward pass or module call was seen",
}


def ending(document: Document) -> str:
    """How the run ended."""
    if not recorded_by_us(document):
        return "This trace was recorded by another profiler: what only a run can tell (loader settings, exact lines) is missing."
    run = document["run"]
    if run["ended"] == "crashed":
        return f"The script failed by itself (exit code {run['exit_code']}); its own message is in its output."
    if run["ended"] == "killed":
        signal = run.get("signal")
        return f"The script was killed{f' by {signal}' if signal else ' by a signal'}; out of memory is the usual reason for SIGKILL."
    return _ENDED.get(run["ended"], f"The run ended: {run['ended']}.")


def ended_badly(document: Document) -> bool:
    return document["run"]["ended"] in ("crashed", "killed", "timeout", "interrupted", "running")


def clock(document: Document) -> str:
    """Which events were taken for the ends of steps."""
    name, source = document["steps"]["clock"], document["steps"].get("step_source")
    return _CLOCKS.get(name) or f"steps are read from {_STEP_SOURCES.get(source, 'the trace')}"


def phases(document: Document) -> str:
    """`warm-up 5, plain 20, timeline 8, detail 2`; empty for a trace."""
    steps = document["steps"]["phases"]
    return ", ".join(f"{name.replace('warmup', 'warm-up')} {count(number)}" for name, number in steps.items())


def bound(document: Document) -> str:
    """What takes the largest part of the step; empty without a ledger."""
    if not is_complete(document):
        return ""
    row = max(document["ledger"], key=lambda one: one["share"])
    return f"The largest part of the step is {row['title'].lower()}, {share(row['share'])} of it: {row['meaning']}."


def sureness(finding: Finding) -> str:
    """How sure we are, in a few words."""
    rule = "proven rule" if finding["status"] == "stable" else "preview rule"
    saving = finding["saving"]
    if saving["measured_ms"] is not None:
        return f"{rule}, gain measured"
    if saving["predicted_ms"] is not None:
        return f"{rule}, gain predicted"
    return f"{rule}, upper bound" if saving["at_most_ms"] is not None else f"{rule}, gain unknown"


def how_sure(finding: Finding) -> str:
    """The same for people who have never seen the words before."""
    if finding["status"] == "stable":
        rule = "The rule is stable: it found this on real recordings of slow scripts and stayed quiet on their healthy twins."
    else:
        rule = "The rule is a preview: it is not yet proven on enough real recordings, so check the evidence above before you act."
    saving = finding["saving"]
    if saving["measured_ms"] is not None:
        return f"{rule} The gain was measured by running the script with the fix."
    if saving["predicted_ms"] is not None:
        return f"{rule} The gain was predicted by replaying the recorded step with the fix."
    if saving["at_most_ms"] is not None:
        return f"{rule} The gain is an upper bound, for the rest of the step may hide part of it."
    return rule


def why_minor(finding: Finding, document: Document) -> str:
    """Why a finding that fires is not worth anyone's time."""
    if finding["because_of"]:
        titles = {one["rule"]: one["fix"]["title"] for one in document["findings"]}
        return f"the same time is explained better by: {titles.get(finding['because_of'], finding['because_of'])}"
    noise = document["steps"].get("noise_ms")
    return f"below the noise of this run ({ms(noise)} per step)" if noise is not None else "below the noise of this run"


def judged(document: Document) -> str:
    """How many rules there were and what became of them."""
    numbers = {state: len(in_state(document, state)) for state in ("fires", "quiet", "abstains", "error")}
    said = {"fires": "fired", "quiet": "found nothing", "abstains": "could not be judged", "error": "failed"}
    parts = [f"{number} {said[state]}" for state, number in numbers.items() if number]
    return f"Of {count(sum(numbers.values()))} rules, {', '.join(parts)}." if parts else "No rules were judged."


def remedies(document: Document) -> list[str]:
    """What to try when no complete step was recorded."""
    ended, ticks = document["run"]["ended"], document["steps"]["clock"]
    if not recorded_by_us(document):
        return ["Record more than one step: call `prof.step()` after each, or give the script itself to diagnose."]
    tries = []
    if ended in ("crashed", "killed"):
        tries.append("Mend the failure first; the recording begins after a warm-up of a few steps.")
    if ended == "timeout":
        tries.append("Allow more time: a larger `--timeout`, or none.")
    if ticks in ("none", "trace"):
        tries.append("Check that the script reaches its training loop in this run, with torch modules or a torch optimizer.")
    if ended == "finished":
        tries.append("Let the script run longer (more batches or epochs), or ask for fewer steps: `--steps 2`.")
    return tries or ["Run it again and let it go on until diagnose stops it."]

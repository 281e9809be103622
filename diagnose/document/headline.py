"""The verdict in one sentence, and what makes it doubtful."""

from __future__ import annotations

import numpy as np

from diagnose.document import savings
from diagnose.document.model import Document
from diagnose.document.queries import metric, recorded_inside, saw_no_step
from diagnose.document.ranks import ranks_headline
from diagnose.document.text import count, ms, share, size
from diagnose.measure.areas.gpu_state import gpu_bytes
from diagnose.measure.areas.host import FULL, OTHERS_SHARE
from diagnose.measure.device_steps import HOST_AHEAD
from diagnose.measure.metrics import Measured, Missing
from diagnose.predict.plan import HIGH_SHARE
from diagnose.trace import notes
from diagnose.trace.notes import NOISY_STEPS, Note

# Timeline ÷ plain step, beyond which scaling back is guesswork: a script seen once at
# 21 times had a ledger that was wrong.
MOST_DISTORTION = 3.0
OUT_OF_MEMORY = "out-of-memory"  # the rule
# the share from which a saving counts as medium: noise above it hides findings worth acting on
TOO_NOISY_SHARE = 0.05


def noise_notes(measured: Measured) -> list[Note]:
    if not _noise_share(measured) > TOO_NOISY_SHARE:
        return []
    said = (
        f"{_noise(measured).capitalize()}: close other programs on this machine, or time more steps "
        "(`--plain-steps 100`)."
    )
    return [Note(NOISY_STEPS, said)]


def _noise_share(measured: Measured) -> float:
    return measured.number("noise_ms") / measured.number("step_ms")


def _noise(measured: Measured) -> str:
    return (
        f"the plain steps differ so much that savings below {share(_noise_share(measured))} of the step "
        "cannot be told from noise"
    )


def gpu_notes(measured: Measured) -> list[Note]:
    """A GPU of which nothing was recorded, with what to do about it; a host that runs ahead of its GPU."""
    if measured.metric("gpu_unseen") is True:
        text = (
            f"{_unseen(measured)}: all times here are the host's alone. Often another profiler was at work "
            "in the same process (one of the script's own for the CPU only, Nsight), or the driver refuses "
            "CUPTI its access. Switch the other profiler off, see what torch and Kineto print at the start, "
            "and run again."
        )
        return [Note("", text)]
    view = measured.timeline
    if view is None or view.step_ns < HOST_AHEAD * view.host_step_ns:
        return []
    host, device = ms(view.host_step_ns / 1e6), ms(view.step_ns / 1e6)
    text = (
        f"The host runs ahead of the GPU: as recorded, it hands a step over in {host}, and the GPU takes "
        f"{device} for its work. The step and its parts here are the GPU's; less work for the host alone "
        "would not shorten it."
    )
    return [Note(notes.HOST_AHEAD, text)]


def _unseen(measured: Measured) -> str:
    return (
        f"The script allocated {size(gpu_bytes(measured))} on a GPU, and the profiler recorded nothing that "
        "ran there"
    )


def caution_about(measured: Measured) -> str:
    """The sentence that says why the numbers of this run cannot be trusted; empty if they can."""
    if measured.metric("gpu_unseen") is True:
        return f"Do not trust this report. {_unseen(measured)}. What the host did: "
    distortion = _least_distortion(measured)
    if distortion > MOST_DISTORTION and measured.parts is None and not measured.host_ahead:
        return (
            f"Do not trust how this step divides: the profiler made the recorded steps {distortion:.1f} "
            "times as long as plain ones (often memory that is given back and fetched anew). As recorded: "
        )
    busy, others = measured.number("machine_busy_share"), measured.number("others_busy_share")
    disturbed = measured.metric("disturbed") is True
    crowded, starved = (
        disturbed and busy >= FULL and others >= OTHERS_SHARE,
        disturbed and measured.metric("starved") is True,
    )
    noisy = _noise_share(measured) > (TOO_NOISY_SHARE if crowded else HIGH_SHARE) and not measured.metric(
        "shapes_differ"
    )
    if not (starved or noisy):
        return ""
    if (starved or crowded) and not noisy and (uncertain := _uncertain(measured)):
        return f"Other programs had the cores, so {uncertain} uncertain. As measured: "
    reasons = [_taken(measured, others, starved=starved)] * (starved or crowded) + [_noise(measured)] * noisy
    # Where other processes are known to have left cores idle, a quieter machine would change nothing.
    how = "on a quiet machine" if starved or not busy < FULL else "with more steps (`--plain-steps 100`)"
    return (
        f"Measure again {how}: {', and '.join(reasons)}, so the numbers of this run cannot be trusted. As "
        "measured: "
    )


def _least_distortion(measured: Measured) -> float:
    """The shortest recorded step ÷ the plain one; nan where one of them is missing.

    Of few steps one may be slow by itself.
    """
    view = measured.timeline
    return (
        float(np.diff(view.windows).min()) / 1e6 / measured.number("plain_step_ms")
        if view is not None
        else float("nan")
    )


def _uncertain(measured: Measured) -> str:
    """What delays have done to that cannot be left out, with its verb; empty where delays are not known."""
    if isinstance(measured.metric("delayed_share"), Missing):
        return ""
    if measured.has_gpu:
        return "what the host does for the GPU is"
    return (
        "the wait for the loader's workers is"
        if measured.number("loader_worker_count") > 0
        else "all times are"
    )


def _taken(measured: Measured, others: float, *, starved: bool) -> str:
    """What other processes took from the script."""
    threads, times = (
        f"{count(measured.number('thread_count'))} thread{'s' * (measured.number('thread_count') != 1)}",
        count(measured.number("involuntary_switches_per_step")),
    )
    from_threads = f", and took cores from the script's {threads} {times} times a step" if starved else ""
    return (
        f"other processes used {share(others)} of this machine's processor time while no core was "
        f"idle{from_threads}"
    )


def _end_for_lack_of_memory(document: Document) -> str:
    """Whose memory ran out, when and where, if that ended the run; else empty."""
    told = metric(document, "memory_error")
    where = next((row.where for row in document.plan if row.rule == OUT_OF_MEMORY), "")
    return f"The run ended for lack of memory ({told}){f', at `{where}`' if where else ''}" if told else ""


def headline_of(document: Document, caution: str) -> str:
    """One sentence: what is at stake and where, or that nothing is; after the caution, and who
    holds up other ranks, if there are such.

    Before it what ended the run, if that was a lack of memory.
    """
    ended = _end_for_lack_of_memory(document)
    if not document.ledger:
        return f"{ended}, before a complete step was recorded." if ended else _nothing_recorded(document)
    caution = f"{ended}. As recorded until then: {caution}" if ended else caution
    lead = ranks_headline(document)
    if document.plan:
        top = document.plan[0]
        symptom = next(finding.symptom for finding in document.findings if finding.rule == top.rule).rstrip(
            "."
        )
        where = f", at `{top.where}`" if top.where else ""
        attributed = savings.attributed(document)
        before, after = f"{lead}: " if lead else "", f" ({attributed})" if attributed else ""
        return f"{caution}{before}{symptom}{where}{after}."
    largest = max(document.ledger, key=lambda row: row.share)
    costliest = next((line for line in document.lines if line.self_ms > 0), None)
    line = f" The costliest of your own lines is `{costliest.file}:{costliest.line}`." if costliest else ""
    nothing = (
        f"{lead}, and no rule tells a fix"
        if lead
        else "no rule fires"
        if caution
        else "Nothing worth fixing was found"
    )
    return f"{caution}{nothing}: {share(largest.share)} of each step is {largest.title.lower()}.{line}"


def _nothing_recorded(document: Document) -> str:
    target = f"`{document.run.target}`"
    if document.run.torch_imported is False:
        return f"{target} never imported torch, so there was nothing to record."
    if saw_no_step(document) and not recorded_inside(document):
        return (
            f"No step was seen in {target}: no optimizer step, backward or forward of a module with "
            "parameters."
        )
    return "No complete step was recorded, so there is nothing to judge."

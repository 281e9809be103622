"""Why the numbers of a run are doubtful: a badge of two or three words, and one sentence with what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from diagnose.document.model import (
    CUT_RECORDING,
    DAMAGED_RECORDING,
    DISK_FULL,
    DISTORTED,
    GPU_NOT_RECORDED,
    LITTLE_MEMORY,
    NOISY_RUN,
    SAVINGS_UNKNOWN,
    Document,
)
from diagnose.document.queries import (
    framework,
    is_complete,
    metric,
    of_recorded,
    recorded_by_us,
    recorded_inside,
    warming_up,
)
from diagnose.document.text import ms, share, size
from diagnose.measure.areas.gpu_state import gpu_bytes
from diagnose.measure.device_steps import HOST_AHEAD
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing
from diagnose.run.child.writing import GIVEN_UP, STOPPED_BY_FULL_DISK
from diagnose.trace import notes
from diagnose.trace.notes import Note

# Timeline ÷ plain step, beyond which scaling back is guesswork: a script seen once at
# 21 times had a ledger that was wrong.
MOST_DISTORTION = 3.0
# noise above it hides findings that are worth acting on
TOO_NOISY_SHARE = 0.05
OUT_OF_MEMORY = "out-of-memory"  # the rule

_BADGES = {
    "crashed": "crashed",
    "killed": "killed",
    "timeout": "timed out",
    "interrupted": "interrupted",
    "running": "still running",
}
_LOSSES = {notes.CUT_OFF: CUT_RECORDING, notes.DAMAGED: DAMAGED_RECORDING, notes.MERGED: "merged recordings"}


@dataclass(frozen=True)
class Doubt:
    """`sentence`: what was seen and what to do about it, in two short sentences at most."""

    badge: str
    sentence: str


def doubt_about(document: Document, measured: Measured) -> tuple[Doubt, list[Note]]:
    """The gravest doubt, empty where the numbers can be trusted; what else makes them doubtful, as notes."""
    if not is_complete(document):  # there are no numbers, and the headline says why
        return next(chain(_no_room(document), _losses(measured)), Doubt("", "")), []
    of_numbers = [
        *_gpu_unseen(document, measured),
        *_warming_up(document),
        *_distorted(measured),
        *_noisy(document, measured),
    ]
    doubts = [
        *(*_ended(document), *_no_room(document), *_losses(measured)),
        *(*of_numbers, *_unjudged(document)),
    ]
    gravest = doubts[0] if doubts else Doubt("", "")
    return gravest, [
        Note("", doubt.sentence)
        for doubt in of_numbers
        if doubt is not gravest and doubt.badge != GPU_NOT_RECORDED  # of which there is a note
    ]


def _ended(document: Document) -> Iterator[Doubt]:
    """The run did not end as it should."""
    run = document.run
    if memory_error := metric(document, "memory_error"):
        numbers = [number for number, row in enumerate(document.plan, 1) if row.rule == OUT_OF_MEMORY]
        todo = f" Fix {numbers[0]} says what helps." if numbers else ""
        yield Doubt(
            "out of memory",
            f"Memory ran out ({memory_error}): only the steps until then were recorded.{todo}",
        )
        return
    if not recorded_by_us(document) or run.ended not in _BADGES:
        return
    block = recorded_inside(document)
    what = "recorded block" if block else "script"
    sentences = {
        "crashed": "An exception ended the recorded block. Fix that first."
        if block
        else f"The script failed with exit code {run.exit_code}. Fix the error that it printed first.",
        "killed": f"The script was killed by {run.signal or 'a signal'}"
        + (". Most often memory had run out." if run.signal in (None, "SIGKILL") else "."),
        "timeout": "The script was ended by `--timeout`. Allow more time to see all of it.",
        "interrupted": f"The {what} was interrupted: only the steps until then were recorded.",
        "running": f"The {what} was still running when this was written.",
    }
    yield Doubt(_BADGES[run.ended], sentences[run.ended])


def _no_room(document: Document) -> Iterator[Doubt]:
    """On the disk, or in memory."""
    if any(note.text == STOPPED_BY_FULL_DISK for note in document.notes):
        yield Doubt(DISK_FULL, f"{STOPPED_BY_FULL_DISK} Make room, or record into another folder: `--out`.")
    for note in document.notes:
        if note.text.endswith(GIVEN_UP):
            yield Doubt(LITTLE_MEMORY, f"{note.text} Let each step do less, or free memory.")


def _losses(measured: Measured) -> Iterator[Doubt]:
    """The recorded steps, or some of them, lost a part, or are not of one process."""
    trace = measured.recording.timeline
    for note in trace.doubts if trace is not None else ():
        if badge := _LOSSES.get(note.code):
            yield Doubt(badge, note.text)


def _gpu_unseen(document: Document, measured: Measured) -> Iterator[Doubt]:
    if measured.metric("gpu_unseen") is True:
        seen = f"The script used {size(gpu_bytes(measured))} on a GPU, but no GPU work was recorded"
    elif any(note.code == notes.GPU_UNRECORDED for note in document.notes):
        seen = "Work was given to a GPU, but no GPU work was recorded"
    else:
        return
    todo = (
        "Switch other profilers off and run again."
        if recorded_by_us(document)
        else "Record with `ProfilerActivity.CUDA` and without another GPU profiler."
        if framework(document) == "torch"
        else "Record again without another GPU profiler, where this one may read the GPU's counters."
    )
    yield Doubt(GPU_NOT_RECORDED, f"{seen}: all times are the CPU's. {todo}")


def _warming_up(document: Document) -> Iterator[Doubt]:
    """The recorded steps are not like later ones."""
    part = warming_up(document)
    if part is not None:
        yield Doubt(
            "first calls",
            f"{share(part)} of {of_recorded(document)} is spent loading, compiling and setting up what later "
            "steps find ready. Record later steps: `schedule(wait=1, warmup=3, active=5)`.",
        )


def _distorted(measured: Measured) -> Iterator[Doubt]:
    distortion = _least_distortion(measured)
    if distortion > MOST_DISTORTION and measured.parts is None and not measured.host_ahead:
        yield Doubt(
            DISTORTED,
            f"The profiler made the recorded steps {distortion:.1f} times as long as plain ones. "
            "Do not rely on how the step divides; `verify` measures without a profiler.",
        )


def _least_distortion(measured: Measured) -> float:
    """The shortest recorded step ÷ the plain one; nan where one of them is missing.

    Of few steps one may be slow by itself. Where a GPU is behind, one may have no time of it at all.
    """
    view = measured.timeline
    lengths_ns = np.diff(view.windows) if view is not None else np.empty(0)
    lasting_ns = lengths_ns[lengths_ns > 0]
    return float(lasting_ns.min()) / 1e6 / measured.number("plain_step_ms") if len(lasting_ns) else math.nan


def _noisy(document: Document, measured: Measured) -> Iterator[Doubt]:
    """Steps that differ much, or cores that other programs took."""
    noise_share = measured.number("noise_ms") / measured.number("step_ms")
    noisy = noise_share > TOO_NOISY_SHARE
    disturbed = measured.metric("disturbed") is True
    starved = disturbed and measured.metric("starved") is True
    crowded = disturbed and measured.metric("crowded") is True
    others = measured.number("others_busy_share")
    if not (noisy or starved):
        return
    if starved or crowded:
        used = f"used {share(others)} of the CPU" if others > 0 else "kept all cores busy"
        seen, todo = f"Other programs {used}", "Close them"
    elif measured.metric("shapes_differ") is True:
        seen, todo = "Batches differ in shape, and steps in length", ""
    else:
        seen, todo = "Step times vary", "Close other programs"
    doubtful = (
        f"differences below {share(noise_share)} are not reliable"
        if noisy
        else f"{_uncertain(measured)} uncertain"
    )
    yield Doubt(NOISY_RUN, f"{seen}: {doubtful}. {_or_more_steps(document, todo)}")


def _uncertain(measured: Measured) -> str:
    """What delays have done to that cannot be left out, with its verb."""
    if isinstance(measured.metric("delayed_share"), Missing):
        return "all times are"
    if measured.has_gpu:
        return "what the host does for the GPU is"
    return (
        "the wait for the loader's workers is"
        if measured.number("loader_worker_count") > 0
        else "all times are"
    )


def _or_more_steps(document: Document, todo: str) -> str:
    if not recorded_by_us(document):
        more = "record more steps"
    elif recorded_inside(document):
        more = "let more steps run"
    else:
        more = "`--plain-steps 100`" if todo else "Time more of them: `--plain-steps 100`"
    return f"{todo}, or {more}." if todo else f"{more[:1].upper()}{more[1:]}."


def _unjudged(document: Document) -> Iterator[Doubt]:
    """What else a report rests on is missing."""
    steps = document.steps
    if steps.cold:
        yield Doubt(
            "cold start",
            "The script had so few steps that the first ones, with their one-time costs, were recorded. "
            "Let it run longer.",
        )
    if document.prediction_missing:
        reason = document.prediction_missing.partition(":")[0]
        yield Doubt(SAVINGS_UNKNOWN, f"{reason[:1].upper()}{reason[1:]}, so only costs are shown.")


def gpu_notes(measured: Measured) -> list[Note]:
    """A GPU of which nothing was recorded, with what to do about it; a host that runs ahead of its GPU."""
    if measured.metric("gpu_unseen") is True:
        text = (
            f"The script allocated {size(gpu_bytes(measured))} on a GPU, and the profiler recorded nothing "
            "that ran there. Often another profiler was at work in the same process (one of the script's own "
            "for the CPU only, Nsight), or the driver refuses CUPTI its access: see what torch and Kineto "
            "print at the start."
        )
        return [Note(notes.GPU_UNRECORDED, text)]
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

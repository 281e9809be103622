"""What the source of the loops says is done seldom, and came in no step that was timed: what its evaluations
take, by their samples and the forward of the training.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from diagnose.measure.areas.recurring import MODEL_LEFT, average_with_evaluations_ms
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_PLAIN_STEPS, Missing
from diagnose.measure.recording import Recording
from diagnose.measure.view import once

NONE_UNSEEN = Missing("no evaluation is known that came in no timed step")
# What a forward of an evaluation takes, of one of the training (decision 198): nothing is kept for a backward
OF_FORWARD = 0.7
# of a step on a GPU: a backward has twice the operations of its forward
OF_GPU_STEP = 1 / 3


def unseen_works(recording: Recording) -> list[dict[str, Any]]:
    """Those of `rare_work` that came in no plain step, as far as anybody can tell."""
    works = recording.facts.get("rare_work") or []
    met = {occasion(told) for told in works if _was_looked_at(told, recording)}
    return [told for told in works if not told["seen"] and occasion(told) not in met]


def occasion(told: dict[str, Any]) -> tuple[str, int | None]:
    """Of what comes at the same time it is the same."""
    return told["file"], told["every"]


def _was_looked_at(told: dict[str, Any], recording: Recording) -> bool:
    """It may have come though nobody can tell from the loop's variables: then a look at the lines of plain
    steps has met it, unless it is short.
    """
    stacks = (recording.facts.get("line_samples") or {}).get("stacks") or []
    return any(
        file == told["file"] and told["line"] <= line <= told["last_line"]
        for stack in stacks
        for file, line, *_ in stack
    )


class _Unseen(NamedTuple):
    """``samples``: that are evaluated for each that is trained on. ``calls``: of the line, a step; 0 where
    nobody knows.
    """

    file: str
    line: int
    function: str
    samples: float
    calls: float
    is_training_data: bool


@once
def _unseen(measured: Measured) -> list[_Unseen]:
    found = []
    for told in unseen_works(measured.recording):
        for one in told.get("passes") or []:
            batches = one["batches"] / measured.fetches_per_step if one["batches"] else None  # steps' worth
            if told["in_steps"]:
                if not told["every"] or batches is None:
                    continue
                samples, calls = batches / told["every"], 1 / told["every"]
            else:
                samples, calls = one["epochs"], one["epochs"] / batches if batches else 0.0
            place = told["file"], one["line"], told["function"]
            found.append(_Unseen(*place, samples, calls, one["is_training_data"]))
    return found


@fact_selector(
    "unseen_evaluations",
    "evaluations that came in no timed step, by the training's forward and wait for input",
)
def _unseen_evaluations(measured: Measured) -> list[FactPlace] | Missing:
    if not measured.recording.facts:
        return NONE_UNSEEN
    unseen = _unseen(measured)
    if not unseen:
        return []
    if measured.plain_steps is None:
        return NO_PLAIN_STEPS
    wait_ms = measured.row_ms("input_wait")
    forward_ms = OF_FORWARD * measured.row_ms("forward")
    if measured.has_gpu:
        forward_ms = OF_GPU_STEP * (measured.needed("step_ms") - wait_ms)
    asking_ms = wait_ms + forward_ms / _passes(measured)
    return [FactPlace(one.file, one.line, one.function, one.calls, one.samples * asking_ms) for one in unseen]


def _passes(measured: Measured) -> float:
    """Forwards with a backward of their own for each batch, as adversarial training makes them: an evaluation
    makes one.
    """
    forwards, backwards = (measured.number(f"{name}_count_per_step") for name in ("forward", "backward"))
    passes = min(forwards, backwards) / measured.fetches_per_step
    return passes if passes > 1 else 1.0


@metric(
    "unseen_evaluations_average_share",
    "share",
    "Share of the average step that evaluations which came in no timed step would take, estimated",
)
def _average_share(measured: Measured) -> Value | Missing:
    cost_ms = measured.needed("unseen_evaluations_ms")
    return cost_ms / (average_with_evaluations_ms(measured) + cost_ms) if cost_ms else 0.0


@metric(
    "evaluated_samples_share",
    "share",
    "Share of the samples trained on that are evaluated besides, in no timed step",
)
def _evaluated_samples_share(measured: Measured) -> Value | Missing:
    return sum(one.samples for one in _unseen(measured)) or NONE_UNSEEN


@metric("unseen_evaluations_left", "ratio", "Part of these evaluations that is left once they are mended")
def _left(measured: Measured) -> Value | Missing:
    """Metrics of what was trained on can be had from the training itself."""
    of_other_data = sum(one.samples for one in _unseen(measured) if not one.is_training_data)
    return MODEL_LEFT * of_other_data / measured.needed("evaluated_samples_share")

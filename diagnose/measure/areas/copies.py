"""What the run found when it gave copies of the script's modules another layout, padded sequences or more
samples, 32-bit floats, or called them without autocast (`diagnose.run.child.trials.copies`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diagnose.measure.areas.settings import NOT_TRIED, PAIRS_AT_LEAST, QUANTILE, is_shorter
from diagnose.measure.areas.user_code import PLACE
from diagnose.measure.ledger import TORCH_ROWS
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.sources import Sources

FLOAT32_LEFT = 0.5  # of its time: half the bytes, and half the work of a vector unit


@fact_selector(
    "channels_first_models", "models that were faster with images laid out channels_last, in this run"
)
def _channels_first_models(measured: Measured) -> list[FactPlace] | Missing:
    return _saved_by_copies(measured, "layouts")


@fact_selector("packed_layers", "recurrent layers that were faster with padded sequences, in this run")
def _packed_layers(measured: Measured) -> list[FactPlace] | Missing:
    return _saved_by_copies(measured, "packed")


@fact_selector("autocast_models", "models that were faster without autocast on the CPU, in this run")
def _autocast_models(measured: Measured) -> list[FactPlace] | Missing:
    return _saved_by_copies(measured, "autocast_calls")


@metric(
    "float32_tried", "share", "Share of their time that 32-bit floats left of models, as tried in this run"
)
def _float32_tried(measured: Measured) -> Value | Missing:
    """Only where the models are most of what computes in 64 bits. 1 where they take as long, or longer."""
    told, doubles_ms = _tried(measured, "double_calls"), measured.number("float64_ops_ms")
    if isinstance(told, Missing):
        return told
    timed = [called for called in told if _is_timed(called)]
    ms = [called["call_count"] * float(np.quantile(called["as_is_ms"], QUANTILE)) for called in timed]
    if not sum(ms) > doubles_ms / 2:
        return NOT_TRIED
    saved_ms = sum(one_ms * _share_saved(called) for one_ms, called in zip(ms, timed, strict=True))
    return 1 - max(0.0, saved_ms / sum(ms))


@metric("float32_left", "share", "Share of its time that 32-bit floats leave of what computes in 64 bits")
def _float32_left(measured: Measured) -> Value | Missing:
    """As tried in this run, else as it usually does."""
    tried = measured.metric("float32_tried")
    return FLOAT32_LEFT if isinstance(tried, Missing) else tried


@metric(
    "packed_both_ways",
    "yes/no",
    "A layer that is given packed sequences reads backwards, too, and some rows are shorter",
)
def _packed_both_ways(measured: Measured) -> Value | Missing:
    told = _tried(measured, "packed")
    return told if isinstance(told, Missing) else any(layer.get("turned") for layer in told)


def _saved_by_copies(measured: Measured, fact: str) -> list[FactPlace] | Missing:
    """As large a part of their calls as copies of them saved; of no more than torch takes of the step."""
    told = _tried(measured, fact)
    if isinstance(told, Missing):
        return told
    torch_ms = sum(measured.row_ms(row) for row in TORCH_ROWS)
    saved_ms = [_saved_by_copy(called, torch_ms) for called in told]
    return [_called(one, ms) for one, ms in zip(told, saved_ms, strict=True) if ms > 0]


def _tried(measured: Measured, fact: str) -> list[dict[str, Any]] | Missing:
    told: list[dict[str, Any]] | None = measured.recording.facts.get(fact)
    if measured.timeline is None:
        return NO_STEPS
    return NOT_TRIED if told is None else told


def _saved_by_copy(called: dict[str, Any], most_ms: float) -> float:
    """ms a step of these calls, which take ``most_ms`` at most; less than 0 where copies take longer."""
    as_is_ms = float(np.quantile(called["as_is_ms"], QUANTILE)) if called["as_is_ms"] else 0.0
    return min(most_ms, called["call_count"] * as_is_ms) * _share_saved(called)


def _share_saved(called: dict[str, Any]) -> float:
    """0 where copies show only noise, less where they take longer. The change may be to give the model
    `times` as many samples.
    """
    as_is, changed = np.array(called["as_is_ms"]), np.array(called["changed_ms"]) / called.get("times", 1)
    if not _is_timed(called) or not (is_shorter(changed, as_is) or is_shorter(as_is, changed)):
        return 0.0
    as_is_ms, changed_ms = (float(np.quantile(ms, QUANTILE)) for ms in (as_is, changed))
    return 1 - changed_ms / as_is_ms


def _is_timed(called: dict[str, Any]) -> bool:
    return min(len(called["as_is_ms"]), len(called["changed_ms"])) >= PAIRS_AT_LEAST


def _called(called: dict[str, Any], ms: float) -> FactPlace:
    return FactPlace(called["file"], called["line"], called["function"], float(called["call_count"]), ms)


@fact_selector("small_training_batches", "models that are trained with one or two samples at a time")
def _small_training_batches(measured: Measured) -> list[FactPlace] | Missing:
    """What as many samples save in larger batches: of their calls and backwards what copies of them did, and
    with the first the optimizer's steps that are then left out, but for what copies take longer. Of what was
    not timed nothing is known.
    """
    told = _tried(measured, "larger_batches")
    if isinstance(told, Missing):
        return told
    model_ms, optimizer_ms = _model_ms(measured), measured.row_ms("optimizer")
    timed = [called for called in told if not called.get("accumulates") and _is_timed(called)]
    saved_ms = [_saved_by_copy(called, model_ms) for called in timed]
    if timed:
        saved_ms[0] += optimizer_ms * (1 - 1 / timed[0]["times"])
    return [_called(called, ms) for called, ms in zip(timed, saved_ms, strict=True) if ms > 0]


@fact_selector(
    "accumulated_batches", "models that are given the batch of an update in pieces, each with its backward"
)
def _accumulated_batches(measured: Measured) -> list[FactPlace] | Missing:
    """What is saved if all pieces come at once, as copies of the models say; at the loop over the pieces,
    where the source tells it, else at the line that calls the model. What else is computed for each piece,
    its loss and the backward of that, is taken to save half as large a share, between none of it and all,
    where one model is given pieces.
    """
    told = _tried(measured, "larger_batches")
    if isinstance(told, Missing):
        return told
    model_ms, loop = _model_ms(measured), _loop_of_backward(measured)
    in_pieces = [called for called in told if called.get("accumulates")]
    saved_ms = [_saved_by_copy(called, model_ms) for called in in_pieces]
    if len(in_pieces) == 1:
        all_ms = (model_ms + measured.row_ms("operators")) * _share_saved(in_pieces[0])
        saved_ms = [(saved_ms[0] + all_ms) / 2]
    return [
        replace(_called(called, ms), **loop) for called, ms in zip(in_pieces, saved_ms, strict=True) if ms > 0
    ]


def _loop_of_backward(measured: Measured) -> dict[str, Any]:
    """The innermost loop around the one line that goes backward; empty where there are several, or none is
    in the source.
    """
    view = measured.timeline
    if view is None:
        return {}
    rows = view.host[PLACE].iloc[view.named(view.marked("backward"))].drop_duplicates()
    if len(rows) != 1:
        return {}
    file, line, function = rows.iloc[0]
    around = [first for first, last in Sources(measured.recording).loops(file) if first < line <= last]
    return {"file": file, "line": max(around), "function": function} if around else {}


def _model_ms(measured: Measured) -> float:
    return measured.row_ms("forward") + measured.row_ms("backward")


def _gain_share(name: str, meaning: str, places: Callable[[Measured], list[FactPlace] | Missing]) -> None:
    """A metric: what these places save together."""

    def share(measured: Measured) -> Value | Missing:
        found = places(measured)
        if isinstance(found, Missing):
            return found
        return sum(place.ms_per_step or 0.0 for place in found) / measured.number("step_ms")

    metric(name, "share", f"Share of the step that {meaning}")(share)


_gain_share(
    "larger_batch_gain_share",
    "four times as large batches save a sample, as copies of the model say",
    _small_training_batches,
)
_gain_share(
    "whole_batch_gain_share",
    "models save that are given the batch of an update at once, as copies of these say",
    _accumulated_batches,
)
_gain_share(
    "channels_last_gain_share", "channels_last saves, as copies of the model say", _channels_first_models
)
_gain_share(
    "without_autocast_gain_share", "models save without autocast, as copies of these say", _autocast_models
)
_gain_share(
    "padded_gain_share", "padded sequences save in recurrent layers, as copies of these say", _packed_layers
)

"""Sequences that models are given (`diagnose.run.child.facts.sequences`): padding, and growing ones."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from diagnose.measure.areas.fetching import fetch_lines
from diagnose.measure.areas.input import feeding_loader
from diagnose.measure.areas.operators import both_ways
from diagnose.measure.areas.padding_lines import padded_beside, where_padded
from diagnose.measure.areas.positions import share_of_positions
from diagnose.measure.areas.small_ops import SMALL_NS, dispatch_time
from diagnose.measure.areas.tried import define_gain_share
from diagnose.measure.areas.user_code import PLACE, places_of
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_FACTS, NO_STEPS, NOT_RECORDED, Missing, known
from diagnose.measure.selection import Selection
from diagnose.measure.sources import Sources
from diagnose.measure.traced_lines import own_times
from diagnose.measure.view import Intervals, Rows, started_in
from diagnose.measure.work import in_rows, outermost
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import intersect, union

GROWS_BY_A_HABIT = 0.5  # of a line's calls
GROWN_AT_LEAST = 8  # calls
# what is left of a call of torch's for one position: 4 to 12 µs on two cores of an EPYC (linear, layer norm)
CALL_NS = 10_000
# of padding between short and long rows: of batches of 64 sorted within windows of 2,048 rows 0.04 to 0.06
# was left (lengths drawn log-normal, sigma 0.5 to 1.0), of smaller windows more
MIXED_STILL = 0.1
DIFFER = 0.03  # of the longer batches of some steps: the numbers of operators are exact
PACKS = r"^aten::_pack_padded_sequence$"
PADS_AGAIN = r"^aten::_pad_packed_sequence$"
SKIPS_PADDING = r"^aten::(_nested_tensor_from_mask|_nested_view_from_\w+)$|varlen"
ON_GPU = Missing("what a shorter sequence saves on a GPU is not known from the host")


def _sequences(measured: Measured, what: str) -> list[dict[str, Any]] | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    found = (measured.recording.facts.get("forward") or {}).get("sequences")
    return NOT_RECORDED if found is None else list(found[what])


def _padded(measured: Measured) -> dict[str, Any] | Missing:
    """Of the line that calls the model most often in the recorded steps; else the one that gives the most
    batches, for an evaluation may have run between the steps.
    """
    found, view = _sequences(measured, "padded"), measured.timeline
    if isinstance(found, Missing):
        return found
    forwards = [] if view is None else places_of(view, view.named(view.marked("forward")))
    calls = {(place.file, place.line): place.count_per_step for place in forwards}
    most: dict[str, Any] | None = max(
        found, key=lambda line: (calls.get((line["file"], line["line"]), 0.0), line["batches"]), default=None
    )
    return most or Missing("no model was given batches of sequences")


@metric("sequence_length", "count", "Length of the sequences that the model is given, padding counted")
def _sequence_length(measured: Measured) -> Value | Missing:
    return round(known(_padded(measured))["length"])


@metric("sequence_longest", "count", "Length of the longest sequence of a batch without padding, on average")
def _sequence_longest(measured: Measured) -> Value | Missing:
    return round(known(_padded(measured))["longest"])


@metric("sequence_filled_share", "share", "Share of the positions in the model's batches that hold data")
def _sequence_filled_share(measured: Measured) -> Value | Missing:
    return float(known(_padded(measured))["filled"])


@metric("padding_left", "share", "Share of the time spent on padding that is there without it, too")
def _padding_left(measured: Measured) -> Value | Missing:
    """Kernels on large tensors get shorter with them; dispatching does not, unless a GPU hides it, or loops
    over the positions dispatch less.
    """
    view, whole_ms = measured.timeline, _model_ms(measured)
    if view is None or view.has_device:
        return 0.0
    fixed_ms = measured.timeline_ms(in_rows(view, dispatch_time(view), "forward", "backward"))
    fixed_ms *= 1 - _operators_by_position(measured)
    return min(1.0, fixed_ms / whole_ms) if whole_ms > 0 else 1.0


def _operators_by_position(measured: Measured) -> float:
    """Share of a step's operators that come once or more for each position of a sequence, as loops over time
    in Python make them: by how the steps differ in both; 0 where they hardly do.
    """
    view = measured.timeline
    elements = measured.recording.input_elements("timeline", of_sequences=True)
    if view is None or not len(elements) or not elements.all() or np.ptp(elements) < DIFFER * elements.mean():
        return 0.0
    operators = view.operators_in_complete_steps
    if len(operators) != len(elements):
        return 0.0
    more = float(np.polyfit(elements, operators, 1)[0])
    return float(np.clip(more * elements.mean() / operators.mean(), 0.0, 1.0))


@metric("padding_gain_share", "share", "Share of the step saved without padding that all rows share")
def _padding_gain_share(measured: Measured) -> Value | Missing:
    return measured.needed("padded_batches_share") * (1 - measured.needed("padding_left"))


def _model_rows(measured: Measured) -> tuple[str, ...]:
    on_device = measured.timeline is not None and measured.timeline.has_device
    return ("compute",) if on_device else ("forward", "backward")


def _model_ms(measured: Measured) -> float:
    return sum(measured.row_ms(row) for row in _model_rows(measured))


@fact_selector("padded_batches", "forward and backward of positions that are padding in all rows of a batch")
def _padded_batches(measured: Measured) -> list[FactPlace] | Missing:
    padded = _padded(measured)
    if isinstance(padded, Missing):
        return padded
    return _padding(measured, padded, 1 - padded["longest"] / padded["length"], made_by_it=True)


@fact_selector(
    "ragged_batches", "forward and backward of padding behind rows that are shorter than the longest"
)
def _ragged_batches(measured: Measured) -> list[FactPlace] | Missing:
    padded = _padded(measured)
    if isinstance(padded, Missing):
        return padded
    return _padding(measured, padded, padded["longest"] / padded["length"] - padded["filled"])


def _padding(
    measured: Measured, padded: dict[str, Any], share: float, *, made_by_it: bool = False
) -> list[FactPlace]:
    """So large a share of all positions: at the line that pads (``made_by_it``), else at the one that makes
    the loader where one feeds the steps, or where a model is called from outside of models. Of what works on
    positions each is taken to cost the same: attention costs more. What works on packed sequences computes no
    padding.
    """
    view, loader = measured.timeline, feeding_loader(measured)
    if view is not None and view.name_matches(SKIPS_PADDING).any():
        return []
    caller = padded.get("caller") or padded
    place = caller if isinstance(loader, Missing) or not loader.get("file") else loader
    if made_by_it:
        place = _where_padded(measured, loader) if place is loader else _padded_beside(measured) or place
    padded_ms = max(0.0, _model_ms(measured) - _on_packed_ms(measured))
    padded_ms *= share_of_positions(measured, padded["length"])
    return [FactPlace(place["file"], place["line"], place["function"], 1.0, padded_ms * share)]


def _where_padded(measured: Measured, loader: dict[str, Any]) -> dict[str, Any]:
    """The line that pads; else the user's function that collates, else the loader."""
    lines = fetch_lines(measured)
    ran = set() if isinstance(lines, Missing) else {(line.file, line.function) for line in lines}
    found = where_padded(Sources(measured.recording), loader, ran)
    return found._asdict() if found else loader.get("collated") or loader


def _padded_beside(measured: Measured) -> dict[str, Any] | None:
    """The line that pads where the script makes its batches itself, beside the model."""
    beside_ms: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (file, _), line in own_times(measured).items():
        beside_ms[file, line.function] += line.beside_ms
    costliest = sorted((name for name in beside_ms if beside_ms[name] > 0), key=lambda name: -beside_ms[name])
    found = padded_beside(Sources(measured.recording), costliest)
    return found._asdict() if found else None


def _on_packed_ms(measured: Measured) -> float:
    """Forward and backward of what works on packed sequences: from packing them until they are padded again,
    else until the step ends.
    """
    view = measured.timeline
    if view is None:
        return 0.0
    start = view.host["start_ns"].to_numpy()
    here = view.in_steps & view.on_training_thread
    packs = np.sort(start[view.name_matches(PACKS) & here])
    ends = np.sort(np.concatenate([start[view.name_matches(PADS_AGAIN) & here], view.host_windows[:, 1]]))
    packed = union(np.column_stack([packs, ends[np.searchsorted(ends, packs)]]))
    forward = here & ~view.host["backward"].to_numpy() & started_in(view.host, packed)
    rows = outermost(view, forward & (view.kind == "op"))
    return measured.timeline_ms(in_rows(view, both_ways(view, rows), *_model_rows(measured)))


@metric(
    "sequence_fill_up_to_longest", "share", "Share of the positions up to a batch's longest that hold data"
)
def _sequence_fill_up_to_longest(measured: Measured) -> Value | Missing:
    padded = known(_padded(measured))
    return float(padded["filled"] * padded["length"] / max(padded["longest"], 1e-9))


@metric(
    "ragged_left", "share", "Share of the time spent on this padding that batches of similar lengths leave"
)
def _ragged_left(measured: Measured) -> Value | Missing:
    return 1 - (1 - MIXED_STILL) * (1 - measured.needed("padding_left"))


@metric("ragged_gain_share", "share", "Share of the step saved by batches of sequences of similar length")
def _ragged_gain_share(measured: Measured) -> Value | Missing:
    return measured.needed("ragged_batches_share") * (1 - measured.needed("ragged_left"))


@fact_selector("growing_calls", "model calls that are given the same sequence again, longer by one")
def _growing_calls(measured: Measured) -> list[FactPlace] | Missing:
    habits, view = _growing(measured), measured.timeline
    if isinstance(habits, Missing) or view is None:
        return habits if isinstance(habits, Missing) else NO_STEPS
    if view.has_device:
        return ON_GPU
    return [
        FactPlace(
            line["file"],
            line["line"],
            line["function"],
            line["share"] * len(rows) / view.step_count,
            line["share"] * measured.timeline_ms(view.host_intervals(rows)),
        )
        for line in habits
        if len(rows := _forwards_at(view, line))
    ]


@metric("growing_calls_left", "share", "Share of these calls left if each is given the new position only")
def _growing_calls_left(measured: Measured) -> Value | Missing:
    """Dispatch, and a call's fixed part of each operator that takes longer."""
    habits, view = known(_growing(measured)), measured.timeline
    if view is None:
        return NO_STEPS
    rows = np.concatenate([_forwards_at(view, line) for line in habits] or [np.array([], int)])
    within = view.host_intervals(rows)
    whole_ns = int((within[:, 1] - within[:, 0]).sum())
    if not whole_ns:
        return Missing("no such call was seen")
    dispatch = intersect(dispatch_time(view), union(within))
    left_ns = int((dispatch[:, 1] - dispatch[:, 0]).sum()) + CALL_NS * len(_large_in(view, within))
    return min(1.0, left_ns / whole_ns)


define_gain_share("growing_calls", "Share of the step saved if each is given the new position only")


def _growing(measured: Measured) -> list[dict[str, Any]] | Missing:
    """The lines whose calls are given a longer sequence by a habit, and not by chance."""
    found = _sequences(measured, "longer")
    if isinstance(found, Missing):
        return found
    return [line for line in found if line["share"] >= GROWS_BY_A_HABIT and line["count"] >= GROWN_AT_LEAST]


def _forwards_at(view: Selection, line: dict[str, Any]) -> Rows:
    forwards = view.named(view.marked("forward") & view.on_training_thread)
    places = view.host[PLACE].iloc[forwards]
    return forwards[((places["file"] == line["file"]) & (places["line"] == line["line"])).to_numpy()]


def _large_in(view: Selection, within: Intervals) -> Rows:
    """Outermost operators in there that take longer than dispatching one."""
    start, dur = view.host["start_ns"].to_numpy(), view.host["dur_ns"].to_numpy()
    large = (view.kind == "op") & view.on_training_thread & (dur >= SMALL_NS)
    ops = distinct(view.outermost_ops(np.flatnonzero(large)))
    at = np.searchsorted(within[:, 0], start[ops], side="right") - 1
    return ops[(at >= 0) & (start[ops] < within[np.maximum(at, 0), 1])]

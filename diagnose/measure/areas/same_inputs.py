"""The same again: a second forward of a batch, and what every step computes from what never changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from diagnose.measure.areas.dataflow import constant_calls
from diagnose.measure.areas.operators import Shape, dispatched_work, input_shapes, shape_of
from diagnose.measure.areas.user_code import PLACE, model_forwards, places_of
from diagnose.measure.measured import FactPlace, Measured, fact_selector
from diagnose.measure.missing import NO_FACTS, NO_STEPS, NOT_RECORDED, Missing
from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows
from diagnose.measure.work import inside, outermost

MOSTLY = 0.5  # of a line's calls are given what another one is: the line does it as a rule
RANDOM_OP = r"rand|dropout|bernoulli|normal_|multinomial|uniform_"


def _same_inputs(measured: Measured) -> dict[str, Any] | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    found = (measured.recording.facts.get("forward") or {}).get("same_inputs")
    return NOT_RECORDED if found is None else dict(found)


@fact_selector(
    "second_forwards", "calls of the model with a batch that it was given already, and no backward"
)
def _second_forwards(measured: Measured) -> list[FactPlace] | Missing:
    """Lines whose calls train nothing; none where those that train are given the same in each step too: then
    one batch is all there is.
    """
    known, view = _same_inputs(measured), measured.timeline
    if isinstance(known, Missing) or view is None:
        return known if isinstance(known, Missing) else NO_STEPS
    again = {
        (one["file"], one["line"], one["function"]): one["share"]
        for one in known["again"]
        if one["share"] >= MOSTLY
    }
    trained, untrained = model_forwards(view)
    lines = view.host[PLACE]
    if all(tuple(line) in again for line in lines.iloc[trained].itertuples(index=False)):
        return []
    found = []
    for place in places_of(view, untrained):
        line = (place.file, place.line, place.function)
        there = untrained[[tuple(one) == line for one in lines.iloc[untrained].itertuples(index=False)]]
        if line in again:
            ms = measured.timeline_ms(view.host_intervals(there)) * again[line]
            found.append(FactPlace(*line, place.count_per_step * again[line], ms))
    return found


@fact_selector("constant_work", "what each step computes anew, though it is the same each time")
def _constant_work(measured: Measured) -> list[FactPlace] | Missing:
    """By what calls depend on, where that was looked at; else by the shapes of what the model is given."""
    seen = constant_calls(measured)
    return _constant_by_shapes(measured) if isinstance(seen, Missing) else seen


def _constant_by_shapes(measured: Measured) -> list[FactPlace] | Missing:
    known, view = _same_inputs(measured), measured.timeline
    if isinstance(known, Missing) or view is None:
        return known if isinstance(known, Missing) else NO_STEPS
    rows = _constant_rows(view, known)
    ms = measured.timeline_ms(dispatched_work(view, rows))
    lines = measured.detail if measured.detail is not None else view
    dur = lines.host["dur_ns"].to_numpy()
    found = _constant_rows(lines, known)
    whole_ns = max(int(dur[found].sum()), 1)
    events = lines.host[PLACE].iloc[found].assign(dur_ns=dur[found])
    by_line = events.groupby(PLACE, observed=True, sort=False)["dur_ns"].agg(["size", "sum"]).reset_index()
    return [
        FactPlace(str(file), int(line), str(name), count / lines.step_count, ms * took_ns / whole_ns)
        for file, line, name, count, took_ns in by_line.to_numpy()
    ]


def _constant_rows(view: Selection, known: dict[str, Any]) -> Rows:
    """Outermost operators in trained forwards that record nothing for the backward, draw nothing, and whose
    inputs have only sizes of what never changes, and not the shape of what does.
    """
    constant = {size for shape in known["unchanged_shapes"] for size in shape} | {1}
    changing = {tuple(shape) for shape in known["changing_shapes"]}
    sequence, backward = view.host["sequence"].to_numpy(), view.host["backward"].to_numpy()
    own = (view.kind == "op") & view.on_training_thread & ~backward & ~view.in_library_work
    outer = outermost(view, own)
    numbered = outer[sequence[outer] >= 0]
    # a number is that of the next node: an operator that makes one is followed by a higher number
    makes_none = numbered[:-1][np.diff(sequence[numbered]) == 0]
    trained = model_forwards(view)[0]
    found = makes_none[inside(view, makes_none, view.is_among(trained))]
    found = found[~view.name_matches(RANDOM_OP)[found]]
    given = [list(map(shape_of, input_shapes(text))) for text in view.host["shapes"].iloc[found]]
    return found[np.array([_is_constant(shapes, constant, changing) for shapes in given], bool)]


def _is_constant(shapes: list[Shape], constant: set[int], changing: set[Shape]) -> bool:
    sizes = {size for shape in shapes for size in shape}
    return bool(sizes - {1}) and sizes <= constant and changing.isdisjoint(shapes)

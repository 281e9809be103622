"""Linear layers of one shape, each with weights of its own, that a loop calls in turn. One product of stacked
weights takes the place of the layers, and of what else their lines do in each round.
"""

from __future__ import annotations

from dataclasses import replace

from diagnose.measure.areas.at_once import Loop, loops_at_once, saved_ms, share_left
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import Missing, known
from diagnose.measure.told_calls import dataflow, parts_of_torch
from diagnose.measure.view import once


@once
def _members(measured: Measured) -> list[Loop] | Missing:
    """By line. What the line does beside the layers, as slicing what each is given, is of the same rounds."""
    layers = parts_of_torch(measured, "members")
    if isinstance(layers, Missing):
        return layers
    loops = loops_at_once(measured)
    beside = (
        {} if isinstance(loops, Missing) else {(loop.place.file, loop.place.line): loop for loop in loops}
    )
    return [
        _with(place, line["left_ns"] / max(line["ns"], 1), beside.get((place.file, place.line)))
        for place, line in zip(layers, known(dataflow(measured))["members"], strict=True)
    ]


def _with(place: FactPlace, left: float, beside: Loop | None) -> Loop:
    ms = place.ms_per_step or 0.0
    if beside is None:
        return Loop(place, left, 0.0)
    whole_ms = ms + beside.ms
    left_ms = ms * left + beside.ms * beside.left
    return Loop(replace(place, ms_per_step=whole_ms), left_ms / whole_ms, 0.0)


@fact_selector("members_in_turn", "linear layers of one shape, each with weights of its own, called in turn")
def _members_in_turn(measured: Measured) -> list[FactPlace] | Missing:
    members = _members(measured)
    return members if isinstance(members, Missing) else [member.place for member in members]


@metric(
    "members_in_turn_left",
    "share",
    "Share of the time of these layers that one product of stacked weights leaves",
)
def _members_in_turn_left(measured: Measured) -> Value | Missing:
    members = _members(measured)
    return members if isinstance(members, Missing) else share_left(members)


@metric("members_in_turn_gain_share", "share", "Share of the step that one product of stacked weights saves")
def _members_in_turn_gain_share(measured: Measured) -> Value | Missing:
    members = _members(measured)
    return members if isinstance(members, Missing) else saved_ms(members) / measured.number("step_ms")

"""Linear layers of one shape, each with weights of its own, that a loop calls in turn. One product of stacked
weights takes the place of the layers, and of what else their lines do in each round.
"""

from __future__ import annotations

from diagnose.measure.areas.at_once import Loop, loops_at_once, saved_ms, share_left, together
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
    members = [
        Loop(place, line["left_ns"] / max(line["ns"], 1), differs=0.0)
        for place, line in zip(layers, known(dataflow(measured))["members"], strict=True)
    ]
    return [_with(member, beside.get((member.place.file, member.place.line))) for member in members]


def _with(member: Loop, beside: Loop | None) -> Loop:
    return member if beside is None else together(member.place, (member, beside))


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

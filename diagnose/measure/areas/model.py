"""The model: forward and backward, training and inference."""

from __future__ import annotations

from diagnose.measure.measured import NO_FACTS, NO_STEPS, Measured, Missing, Value, metric
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Rows


@selector("forward", "outermost calls of the model")
def _forward(view: Selection) -> Rows:
    return view.named((view.kind == "mark") & (view.name == "forward"))


@selector("backward", "calls of backward")
def _backward(view: Selection) -> Rows:
    return view.named((view.kind == "mark") & (view.name == "backward"))


@metric("trains", "yes/no", "the recorded steps compute gradients and update parameters")
def _trains(measured: Measured) -> Value | Missing:
    clock = measured.recording.clock.get("clock")
    if clock is not None:
        return clock in ("optimizer", "backward")
    view = measured.timeline
    if view is None:
        return NO_STEPS
    return bool(view.host["backward"].any() or view.name_matches(r"^Optimizer\.step#").any())


@metric("grad_forward_share", "share", "of the outermost forwards that ran with gradient recording on")
def _grad_forward_share(measured: Measured) -> Value | Missing:
    forward = measured.recording.facts.get("forward") or {}
    if not forward.get("count"):
        return NO_FACTS if not measured.recording.facts else Missing("no module was called")
    return float(forward["grad_count"]) / float(forward["count"])


@metric("saved_bytes", "bytes", "memory one step's forwards keep for a backward")
def _saved_bytes(measured: Measured) -> Value | Missing:
    saved = (measured.recording.facts.get("forward") or {}).get("saved_bytes")
    return Missing("what the forward keeps for a backward was not recorded", "run without --no-stacks") if saved is None else float(saved)

"""Steps that the look at the dataflow sees, and what it tells of them by the line's text."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places
from diagnose.run.child.values import Call, Values

HERE = Path(__file__).parent


def looking() -> Dataflow:
    """One that has begun."""
    flow = Dataflow(Places(str(HERE), str(HERE)))
    assert flow.begin()
    return flow


def seen(step: Callable[[], Any]) -> dict[str, Any]:
    flow = looking()
    try:
        step()
        assert [flow.step() for _ in range(6)] == [False] * 5 + [True]
    except BaseException:  # else it is to have ended by itself
        flow.end()
        raise
    assert flow.facts is not None and torch.overrides._get_current_function_mode() is None
    return flow.facts


def call_of(step: Callable[[], Any], is_wanted: Callable[[Call], bool]) -> Call:
    """The one such call of torch's that the step makes."""
    found: list[Call] = []

    class Looking(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            call = Call(Values(lambda: 0), func, args, kwargs or {})
            if is_wanted(call):
                found.append(call)
            return func(*args, **(kwargs or {}))

    with Looking():
        step()
    (call,) = found
    return call


def text_of(place: dict[str, Any]) -> str:
    assert Path(place["file"]).parent == HERE
    return linecache.getline(place["file"], place["line"]).strip()


def at_once(step: Callable[[], Any]) -> dict[str, tuple[int, int]]:
    """By the line's text: rounds, and calls that could be one."""
    return {text_of(one): (one["rounds"], one["call_count"]) for one in seen(step)["at_once"]}


def again(step: Callable[[], Any]) -> dict[str, int]:
    return {text_of(one): one["call_count"] for one in seen(step)["again"]}


def again_later(steps: list[Callable[[], Any]]) -> dict[str, float]:
    """Calls a step that ask for what the one before has."""
    return of_six_steps(steps, "again")


def of_six_steps(steps: list[Callable[[], Any]], what: str) -> dict[str, float]:
    flow = looking()
    assert len(steps) == 6
    for step in steps:
        step()
        flow.step()
    assert flow.facts is not None
    return {text_of(one): one["call_count"] for one in flow.facts[what]}

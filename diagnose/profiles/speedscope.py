"""Speedscope's JSON (`py-spy record -f speedscope`): stacks, sampled or as calls that begin and end.

Its format: https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
"""

from __future__ import annotations

import math
from itertools import zip_longest

import msgspec

from diagnose.profiles.marshalled import Malformed
from diagnose.profiles.stacks import StackTree
from diagnose.profiles.table import Profile, Site

_SECONDS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
_IDLE = (
    "py-spy leaves out threads that wait, unless it is started with --idle: waiting for loader workers, locks"
    " and files may be missing."
)
_C_CODE = (
    "Calls into C are not in it: they count as the Python line that makes them (py-spy --native has them)."
)


class _Frame(msgspec.Struct):
    name: str
    file: str | None = None
    line: int | None = None


class _Shared(msgspec.Struct):
    frames: list[_Frame]


class _Event(msgspec.Struct):
    type: str
    at: float
    frame: int


class _Recorded(msgspec.Struct):
    type: str
    name: str = ""
    unit: str = "none"
    samples: list[list[int]] = []
    weights: list[float] = []
    events: list[_Event] = []


class _File(msgspec.Struct):
    shared: _Shared
    profiles: list[_Recorded]
    exporter: str | None = None


def read(content: bytes) -> Profile:
    """Of several threads the one with most time in the user's code. Raises Malformed."""
    try:
        file = msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    frames = [Site(frame.file or "", frame.line or 0, frame.name) for frame in file.shared.frames]
    timed = [recorded for recorded in file.profiles if recorded.unit in _SECONDS]
    trees = [(recorded, _tree(recorded, frames)) for recorded in timed]
    trees = [(recorded, tree) for recorded, tree in trees if sum(tree.seconds) > 0]
    if not trees:
        raise Malformed("no samples with a time")
    recorded, tree = max(trees, key=lambda one: (one[1].own_seconds, sum(one[1].seconds)))
    duration = sum(tree.seconds)
    if not math.isfinite(duration):
        raise Malformed("times that are none")
    kinds, symptoms = tree.account()
    by = (file.exporter or "").partition("@")[0]
    return Profile(
        profiler=by or "speedscope",
        duration_s=duration,
        is_sampled=recorded.type == "sampled",
        what="line",
        rows=tree.rows(),
        kinds=kinds,
        symptoms=symptoms,
        notes=tuple(filter(None, (_of_threads(recorded, trees), _C_CODE, _IDLE if by == "py-spy" else ""))),
    )


def _of_threads(chosen: _Recorded, trees: list[tuple[_Recorded, StackTree]]) -> str:
    if len(trees) == 1:
        return ""
    others = sum(sum(tree.seconds) for recorded, tree in trees if recorded is not chosen)
    return (
        f"It holds {len(trees)} threads. This is {chosen.name or 'one without a name'}, with most time in "
        f"your code; the others took {others:.1f} s and are not counted."
    )


def _tree(recorded: _Recorded, frames: list[Site]) -> StackTree:
    tree, unit = StackTree(frames), _SECONDS[recorded.unit]
    if recorded.type == "sampled":
        for stack, weight in zip_longest(recorded.samples, recorded.weights, fillvalue=None):
            if stack is None or weight is None:
                raise Malformed("not as many weights as samples")
            _check(stack, frames)
            tree.add(stack, max(0.0, weight) * unit)
    else:
        _add_events(recorded.events, tree, frames, unit)
    return tree


def _add_events(events: list[_Event], tree: StackTree, frames: list[Site], unit: float) -> None:
    path, last = [(0, -1)], None  # nodes with their frames
    for event in events:
        if last is not None:
            tree.seconds[path[-1][0]] += max(0.0, event.at - last) * unit if len(path) > 1 else 0.0
        last = event.at
        _check([event.frame], frames)
        if event.type == "O":
            path.append((tree.below(path[-1][0], event.frame), event.frame))
        elif len(path) > 1 and path[-1][1] == event.frame:
            path.pop()
        else:
            raise Malformed("a call ends that is not the innermost")


def _check(stack: list[int], frames: list[Site]) -> None:
    if any(not 0 <= frame < len(frames) for frame in stack):
        raise Malformed("a stack with a frame that is not listed")

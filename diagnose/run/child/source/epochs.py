"""How far the training loop is, by the variables of the loops around it."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import NamedTuple

from ..guard import guarded
from ..places import Places
from .frame_values import Unknown, variables_of
from .loop_rounds import round_of
from .loop_source import Loop, LoopSource, name_of, within

_FRAMES_AT_MOST = 30
_LOOPS_AT_MOST = 4  # within each other
_OF_OPTIMIZERS = {"step", "zero_grad", "update", "unscale_", "clip_grad_norm_", "parameters"}

Frames = dict[CodeType, FrameType]


class Place(NamedTuple):
    """A loop, and the code that it is in."""

    loop: Loop
    code: CodeType


class Round(NamedTuple):
    """Of a loop: ``now``, from 0, and how many there are. None for what is not known."""

    now: int | None
    total: int | None


UNKNOWN = Round(None, None)


def frames_now(places: Places) -> Frames:
    """Of the script, in the thread that asks, from the innermost outwards."""
    found: Frames = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _FRAMES_AT_MOST:
        if places.user_file(frame.f_code.co_filename):
            found.setdefault(frame.f_code, frame)
        frame = frame.f_back
    return found


def loops_around(frame: FrameType, source: LoopSource, places: Places) -> list[Loop]:
    """Those around the line that runs in it, outermost first."""
    file = places.user_file(frame.f_code.co_filename)
    return list(source.loops_around(file, frame.f_code, frame.f_lineno or -1))


def training_loops(loops: Iterable[Loop], frame: FrameType) -> Iterator[Place]:
    """Innermost first, without those that are within a step: over optimizers."""
    for loop in reversed(list(loops)):
        called = {name_of(node.func) for node in within(*loop.body) if isinstance(node, ast.Call)}
        if not called <= _OF_OPTIMIZERS:
            yield Place(loop, frame.f_code)


def rounds(around: Iterable[Place], frames: Frames) -> list[Round]:
    """Of each of them."""
    found = []
    for place in around:
        told = UNKNOWN
        with contextlib.suppress(Unknown, KeyError):
            told = Round(*round_of(place.loop, variables_of(frames[place.code])))
        found.append(told)
    return found


@guarded("counting the rounds that loops have left", 0)
def rounds_left(places: Places) -> int:
    """Of the loops around the line that runs in this thread, that with most; 0 where none tells."""
    frames = frames_now(places)
    told = rounds(_all_loops(frames, places), frames)
    return max((total - 1 - now for now, total in told if now is not None and total is not None), default=0)


def _all_loops(frames: Frames, places: Places) -> list[Place]:
    """Around the lines that run, from the innermost outwards."""
    source = LoopSource()
    return [
        place
        for frame in frames.values()
        for place in training_loops(loops_around(frame, source, places), frame)
    ]


@dataclass
class Ends:
    """Of a loop. ``every``: its steps, None where that is not known. ``come_in``: steps until what comes
    after it is done. ``were_seen``: it ended since the begin.
    """

    every: int | None = None
    come_in: float | None = None
    were_seen: bool = False


class Epoch:
    """How far the loops are: the innermost by its own count, else by what its DataLoader has left.

    ``ends``: of the innermost loop and of those around it. ``steps_left``: of the script, at least.
    """

    def __init__(self, around: list[Place], frames: Frames, left: int | None) -> None:
        self._around, self._begin_left = around[:_LOOPS_AT_MOST], left
        self._begin = self._rounds(frames)
        self.ends = [Ends() for _ in self._around]
        self.steps_left = 0.0

    def is_once(self, number: int) -> bool:
        """Whether that loop of epochs goes over once. A single epoch may be all that somebody tries first."""
        return number > 0 and self._begin[number + 1].total == 1

    def look(self, frames: Frames, left: int | None, steps: int) -> None:
        """So many steps after the begin."""
        if not self.ends:
            return
        told = self._rounds(frames)
        self._look_at_innermost(told, left, steps)
        for inner, ends, first, now, outer_first, outer in zip(
            self.ends, self.ends[1:], self._begin[1:], told[1:], self._begin[2:], told[2:], strict=False
        ):
            if first.now is None or now.now is None or now.total is None:
                break
            ends.were_seen |= _rounds_between(outer_first, outer) > 0 or now.now < first.now
            if inner.come_in is None or inner.every is None:
                break
            ends.every = inner.every * now.total
            ends.come_in = inner.come_in + (now.total - 1 - now.now) * inner.every
        in_this, outer = self.ends[0].come_in or 0.0, told[1]
        known = [ends.come_in for ends in self.ends if ends.come_in is not None]
        if outer.now is not None and outer.total is not None:
            at_least = self.ends[0].every or max(in_this, self._begin_left or 0)
            known.append(in_this + (outer.total - 1 - outer.now) * at_least)
        self.steps_left = max(known, default=0.0)

    def _look_at_innermost(self, told: list[Round], left: int | None, steps: int) -> None:
        ends, (first, _), (now, total) = self.ends[0], self._begin[0], told[0]
        if now is not None and total is not None and first is not None:
            epochs = _rounds_between(self._begin[1], told[1])
            ends.were_seen |= epochs > 0 or now < first
            risen = epochs * total + now - first
            if risen > 0 and (epochs or steps < total):  # else nobody knows how many epochs that were
                ends.every = round(total * steps / risen)
                ends.come_in = (total - 1 - now) * steps / risen + 1
        elif left is not None:
            ends.were_seen |= self._begin_left is not None and left > self._begin_left - steps
            ends.come_in = left + 1.0

    def _rounds(self, frames: Frames) -> list[Round]:
        """Of these loops, innermost first, and two more that nothing is known of."""
        return [*rounds(self._around, frames), UNKNOWN, UNKNOWN]


def _rounds_between(first: Round, now: Round) -> int:
    return now.now - first.now if now.now is not None and first.now is not None else 0


class StepsLeft:
    """`begin` and `look` in the thread that trains. Only `begin` reads source."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._around: list[Place] = []
        self._first: tuple[int, int] | None = None  # round and steps, when first known

    def begin(self) -> None:
        self._around = _all_loops(frames_now(self._places), self._places)

    def look(self, steps: int, batches: Round) -> float | None:
        """How many the script's loops have left, about, after so many; None where a loop does not tell.

        ``batches``: how far a DataLoader is, which the innermost loop may go over.
        """
        told = rounds(self._around, frames_now(self._places))
        if told and told[0].now is None:
            told[0] = batches
        now, in_all = 0, 1
        for number, total in told:
            if number is None or total is None:
                return None
            now += number * in_all
            in_all *= total
        if not told or self._first is None:
            self._first = (now, steps) if told else None
            return None
        first, steps_then = self._first
        if now <= first:
            return None
        return (in_all - 1 - now) * (steps - steps_then) / (now - first)

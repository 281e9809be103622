"""What the script does in some steps only, as the source of its loops says: under `if step % 50 == 0:`, and
between two rounds of the loops around the training loop.

A validation every 500 steps lies in no short recording. The source tells of it, and the loops' variables hold
the numbers, so it is known when it comes next.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from ..guard import guarded
from ..places import Places
from .called_source import called_by
from .epochs import Epoch, Place, frames_now, loops_around, training_loops
from .frame_values import Unknown, truth, variables_of, whole_number
from .loop_source import (
    Loop,
    LoopSource,
    guarded_in,
    holds,
    is_comprehension,
    name_of,
    remainders,
    remainders_when,
    within,
)
from .passes import Data, Pass, Passes, Scope

_CONDITIONS_AT_MOST = 50
_CALLS_AT_MOST = 100
# names of functions that do more than to print a line
_HEAVY = re.compile(
    r"(?<![a-z])(eval|valid|val(?![a-z])|test)|Eval|Valid|Test|(?i:save|dump|sampl|generat|predict|plot|checkpoint)"
)


class Coming(NamedTuple):
    """What will have been done in so many steps, and how many follow for sure."""

    in_steps: float
    then_steps: float


@dataclass(frozen=True)
class _Work:
    """Lines in ``code`` that not all steps run, and what they evaluate."""

    code: CodeType
    file: str
    line: int
    last_line: int
    passes: tuple[Pass, ...]


@dataclass(frozen=True)
class _Condition(_Work):
    """`count % modulus == rest`; ``together``: what has to be true besides. ``asked_at``: the line of the
    loop at which it is asked, also by what that line calls.
    """

    asked_at: int
    count: ast.expr
    modulus: ast.expr
    rest: ast.expr
    together: tuple[ast.expr, ...]


class RareWork:
    """`begin` at a tick, then `look` at later ones, in the thread that trains. Only `begin` reads source.

    ``left``: steps that the DataLoader has left at least, None where nobody knows.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._counts: dict[_Condition, int] = {}  # at the begin
        self._between: list[tuple[int, _Work]] = []  # after which of the loops, from the innermost outwards
        self._epoch = Epoch([], {}, None)
        self.facts: list[dict[str, Any]] = []

    @guarded("reading the source of the training loop")
    def begin(self, left: int | None) -> None:
        told = _Source(self._places)
        self._epoch = Epoch(told.around, told.frames, left)
        between = told.between(len(self._epoch.ends))
        self._between = [(number, work) for number, work in between if not self._epoch.is_once(number)]
        self._counts = {}
        self.facts = []
        for _, work in self._between:  # until `look` tells more: a run may end before
            self._tell(work, None, None, was_seen=False)
        for condition in itertools.islice(told.conditions(), _CONDITIONS_AT_MOST):
            with contextlib.suppress(Unknown):
                self._counts[condition] = whole_number(
                    condition.count, variables_of(told.frames[condition.code])
                )

    def look(self, steps: int, left: int | None) -> list[Coming]:
        """What was not done since the begin, so many steps ago. Fills `facts`."""
        return self._look(steps, left) or []

    @guarded("reading the source of the training loop")
    def _look(self, steps: int, left: int | None) -> list[Coming]:
        frames, epoch = frames_now(self._places), self._epoch
        epoch.look(frames, left, steps)
        self.facts, coming = [], []
        for condition, first in self._counts.items():
            with contextlib.suppress(Unknown, KeyError):
                rhythm = _Rhythm(condition, first, frames[condition.code], steps)
                self._tell(condition, rhythm.every, rhythm.next_in, was_seen=rhythm.was_seen)
                if not rhythm.was_seen:
                    coming.append(Coming(rhythm.next_in, epoch.steps_left - rhythm.next_in))
        for number, work in self._between:
            ends = epoch.ends[number]
            self._tell(work, ends.every, ends.come_in, was_seen=ends.were_seen)
        for number in {number for number, _ in self._between}:
            ends = epoch.ends[number]
            if ends.come_in is not None and not ends.were_seen:
                coming.append(Coming(ends.come_in, epoch.steps_left - ends.come_in))
        return coming

    def _tell(self, work: _Work, every: int | None, next_in: float | None, *, was_seen: bool) -> None:
        told = {"file": work.file, "line": work.line, "last_line": work.last_line}
        told |= {"in_steps": isinstance(work, _Condition), "function": work.code.co_name}
        told |= {"passes": [found._asdict() for found in work.passes]}
        self.facts.append(told | {"every": every, "seen": was_seen, "next_in": next_in})


class _Source:
    """What the source of the loops that run now tells."""

    def __init__(self, places: Places) -> None:
        self._places, self._source = places, LoopSource()
        self.frames = frames_now(places)
        self._loops = {code: loops_around(frame, self._source, places) for code, frame in self.frames.items()}
        self._scopes: dict[CodeType, Scope | None] = {}
        self.around: list[Place] = []
        for code, frame in self.frames.items():
            self.around += training_loops(self._loops[code], frame)
        # the innermost loop that is known to go over data, and the data
        self._epoch_loop, trained = next(self._over_data(), (0, None))
        self._passes = Passes(trained, self._source, places)

    def _over_data(self) -> Iterator[tuple[int, Data]]:
        codes = list(self.frames)
        for number, place in enumerate(self.around):
            # what a comprehension goes over is worked out where it is written
            inner = codes.index(place.code) + is_comprehension(place.code)
            scope = self._scope(codes[min(inner, len(codes) - 1)])
            data = scope.data(place.loop.iter) if scope and not isinstance(place.loop, ast.While) else None
            if data and (data.unit == "sample" or number == 0):
                yield number, data

    def _scope(self, code: CodeType) -> Scope | None:
        """Of a function that runs; None where its variables are not to be asked for."""
        if code not in self._scopes:
            loops, body = self._loops[code], self._source.body(self._places.user_file(code.co_filename), code)
            self._scopes[code] = None
            with contextlib.suppress(Unknown):
                variables = variables_of(self.frames[code])
                self._scopes[code] = Scope(variables, body, loops[0].body if loops else [])
        return self._scopes[code]

    def _passes_of(self, statements: list[ast.stmt], code: CodeType) -> tuple[Pass, ...]:
        scope = self._scope(code)
        return tuple(self._passes.of(statements, scope)) if scope else ()

    def between(self, loops: int) -> Iterator[tuple[int, _Work]]:
        """What the rounds around each of so many training loops do besides, with the number of the loop that
        they come after.
        """
        codes = list(self.frames)
        for number, (inner, outer) in enumerate(itertools.pairwise(self.around[:loops])):
            is_epoch = number == self._epoch_loop
            yield from ((number, work) for work in self._beside(outer.loop.body, outer.code, is_epoch))
            # functions that are called in a round, and come to the training loop
            for code in codes[codes.index(inner.code) : codes.index(outer.code)]:
                body = self._source.body(self._places.user_file(code.co_filename), code)
                yield from ((number, work) for work in self._beside(body, code, is_epoch))

    def _beside(self, statements: list[ast.stmt], code: CodeType, is_epoch: bool) -> Iterator[_Work]:
        """Of these the heavy ones that each round runs, but for that which trains."""
        frame = self.frames[code]
        file, line = self._places.user_file(code.co_filename), frame.f_lineno or -1
        for statement in statements:
            if holds([statement], line):
                continue
            if isinstance(statement, ast.If) and (
                any(remainders(statement.test)) or _is_off(statement.test, frame)
            ):
                continue  # only after some of the rounds
            passes = self._passes_of([statement], code) if is_epoch else ()
            if passes or self._is_heavy([statement], frame.f_globals):
                last_line = statement.end_lineno or statement.lineno
                yield _Work(code, file, statement.lineno, last_line, passes)

    def conditions(self) -> Iterator[_Condition]:
        for code, loops in self._loops.items():
            if loops:
                yield from self._asked(loops[0], self.frames[code])
                yield from self._asked_in_calls(loops[0], self.frames[code])

    def _asked(self, outermost: Loop, frame: FrameType) -> Iterator[_Condition]:
        """In the loops around the line that runs, and not of what it runs in itself."""
        code, line = frame.f_code, frame.f_lineno or -1
        file = self._places.user_file(code.co_filename)
        for told in guarded_in(outermost.body):
            if not holds(told.body, line) and self._is_heavy(told.body, frame.f_globals):
                last_line = told.body[-1].end_lineno or told.line
                remainders_told = list(remainders_when(told.test, told.when))
                passes = self._passes_of(told.body, code) if remainders_told else ()
                for remainder in remainders_told:
                    yield _Condition(code, file, told.line, last_line, passes, told.line, *remainder)

    def _asked_in_calls(self, outermost: Loop, frame: FrameType) -> Iterator[_Condition]:
        """In functions and methods of the script's that the loop calls."""
        try:
            variables = variables_of(frame)
        except Unknown:
            return
        calls = [node for node in within(*outermost.body) if isinstance(node, ast.Call)]
        for call in calls[:_CALLS_AT_MOST]:
            called = called_by(call, variables, self._source, self._places)
            for told in guarded_in(called.body) if called is not None else ():
                if called is None or not self._is_heavy(told.body, called.variables):
                    continue
                last_line = told.body[-1].end_lineno or told.line
                for count, modulus, rest, _ in remainders_when(told.test, told.when):
                    with contextlib.suppress(Unknown):
                        yield _Condition(
                            frame.f_code,
                            called.file,
                            told.line,
                            last_line,
                            (),
                            call.lineno,
                            called.told(count),
                            called.told(modulus),
                            called.told(rest),
                            (),
                        )

    def _is_heavy(self, statements: list[ast.stmt], variables: dict[str, Any]) -> bool:
        """Whether they may take long: a loop, a context, or a call of more than what prints a line."""
        for node in within(*statements):
            if isinstance(node, (ast.For, ast.While, ast.With)):
                return True
            if isinstance(node, ast.Call) and (
                (_HEAVY.search(name_of(node.func)) and name_of(node.func) != "eval")
                or self._is_users(node.func, variables)
            ):
                return True
        return False

    def _is_users(self, function: ast.expr, variables: dict[str, Any]) -> bool:
        if not isinstance(function, ast.Name):
            return False
        called = variables.get(function.id)
        return isinstance(called, FunctionType) and bool(self._places.user_file(called.__code__.co_filename))


def _is_off(test: ast.expr, frame: FrameType) -> bool:
    try:
        return truth(test, variables_of(frame)) is False
    except Unknown:
        return False


class _Rhythm:
    """How often a condition comes true. Raises Unknown where its numbers do not tell, or do not rise."""

    def __init__(self, condition: _Condition, first: int, frame: FrameType, steps: int) -> None:
        variables = variables_of(frame)
        if any(truth(other, variables) is False for other in condition.together):
            raise Unknown
        now, modulus, rest = (
            whole_number(expression, variables)
            for expression in (condition.count, condition.modulus, condition.rest)
        )
        rise = (now - first) / steps  # of the count, a step
        if rise <= 0 or modulus < 2 or not 0 <= rest < modulus:
            raise Unknown
        # a condition after the line of the tick is asked with the number that this line saw
        asked_later = condition.asked_at > (frame.f_lineno or -1)
        done = math.floor((now - asked_later - rest) / modulus)
        self.was_seen = done > math.floor((first - asked_later - rest) / modulus)
        self.every = round(modulus / rise)
        self.next_in = ((done + 1) * modulus + rest - now) / rise + 1

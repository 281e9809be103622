"""What ends a step: one enumeration for the recorder, the analysis and the reports."""

from __future__ import annotations

from enum import StrEnum


class StepClock(StrEnum):
    """In order of trust: while a better clock ticks, a worse one is not listened to.

    ``TRACE`` is no clock of the recorder: the trace of another profiler says what its steps are.
    """

    NONE = "none"
    REPLAY = "replay"
    FORWARD = "forward"
    ANSWER = "answer"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    STEP = "step"
    TRACE = "trace"

    @property
    def trust(self) -> int:
        """From 0, for a clock that never ticks."""
        return _TRUST[self]

    @property
    def event(self) -> str:
        """What ends a step, in a few words."""
        return _WORDS[self][0]

    @property
    def sentence(self) -> str:
        """What ends a step, as a part of a sentence of the report; empty for ``TRACE``."""
        return _WORDS[self][1]


_TRUST = {clock: trust for trust, clock in enumerate(StepClock)}  # asked for several times a step
_WORDS = {
    StepClock.NONE: ("nothing that was seen", "no optimizer step, backward pass or module call was seen"),
    StepClock.REPLAY: (
        "the replay of a CUDA graph",
        "a step ends with the replay of a CUDA graph: what runs in the graph calls no Python",
    ),
    StepClock.FORWARD: ("the model's forward", "nothing was trained, so a step is one outermost module call"),
    StepClock.ANSWER: (
        "a method of the model's",
        "nothing was trained, so a step is one call of the model's method that calls its parts",
    ),
    StepClock.BACKWARD: (
        "the backward pass",
        "a step ends with `backward()`: no optimizer was used, or each of its steps makes many backward "
        "passes, as LBFGS does",
    ),
    StepClock.OPTIMIZER: ("the optimizer's step", "a step ends with `optimizer.step()`"),
    StepClock.STEP: (
        "the program's own `step()`",
        "a step ends where the program itself says so, with `step()`",
    ),
    StepClock.TRACE: ("what the trace marks", ""),
}

"""What to run, how to record it, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from diagnose.run.signals import signal_number

FEWEST_STEPS = 5  # that a comparison of runs can rest on


@dataclass(frozen=True)
class Settings:
    """`steps`: steps of the timeline, the other phases scale with it; `plain_steps`: of the phase without a
    profiler, instead; `timeout_s`: end the run after that many seconds; `wait_s`: the longest that plain
    steps go on until work that the script does seldom has come; `watch`: watch the steps to the script's own
    end, once all is recorded.
    """

    steps: int | None = None
    plain_steps: int | None = None
    keep_going: bool = False
    stacks: bool = True
    device: Literal["auto", "cpu", "cuda"] = "auto"
    timeout_s: float | None = None
    wait_s: float = 30
    watch: bool = False


@dataclass(frozen=True)
class Target:
    """A script file, or with `module` a dotted module name, and its own arguments."""

    script: str
    module: bool
    args: tuple[str, ...]


@dataclass(frozen=True)
class RunOutcome:
    """`ended`: stopped, finished, crashed, killed, interrupted or timeout; `signal`: name
    of the signal that ended the script.
    """

    ended: str
    exit_code: int | None
    signal: str | None
    wall_s: float | None

    @property
    def as_exit_code(self) -> int:
        """The script's own, as a shell tells it; 0 for one that had to be ended when all was recorded."""
        if self.ended == "stopped" and self.exit_code is None:
            return 0
        if self.exit_code is not None:
            return self.exit_code
        return 128 + signal_number(self.signal) if self.signal else 1

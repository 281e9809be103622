"""All that is to be said of an automatic fix: one `Fix` each, in `diagnose.fixes.all`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

SEE = "see the snippet in the report"
# How far losses may deviate, relative to the larger of the loss and 1 % of the first one. A fix in 16 bits
# rounds each value to 2^-8 (bfloat16's 8 bits of significand); the others reorder sums of float32 or round to
# TF32's 2^-11. Training amplifies both.
TOLERANCE = 0.01
TOLERANCE_IN_16_BITS = 0.05
TOLERANCE_IN_8_BITS = 0.1  # twice that of the child on one output, for losses are sums

Arguments = Mapping[str, Any]
Changes = dict[str, str | None]  # of environment variables; None: to be removed


class Where(Enum):
    """Which lines of the script a fix changes."""

    CALL = auto()  # the call that its rule names, where the recording saw it made
    BLAMED_LINE = auto()  # the line that costs: it is itself the call to change
    FILE = auto()  # without a known line, all such calls in the files concerned
    PROCESS = auto()  # set once, in the file that sets it already or is run


@dataclass(frozen=True)
class Argument:
    """``largest``: of a number that `verify` searches for, from the rule's own number on; None where it takes
    the number as it is. ``settings``: what sets the argument for the whole process, attributes that are
    assigned to or functions that are called.
    """

    name: str
    largest: Callable[[], int] | None = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fix:
    """``what``: it does, in a sentence. ``child``: its class below `diagnose.run.child.interventions`, which
    takes the same arguments. ``needs_arguments``: without any of them it would change nothing.

    ``patch``: the function below `diagnose.fixes.patch` that changes the source, or ``by_hand``: why there is
    none. Class and function are named, not imported: torch and libcst are slow to load.
    ``environment``: the variables to set before Python starts, from its arguments and the variables as they
    are. ``tolerance``: how far losses may deviate with it.
    """

    name: str
    what: str
    child: str
    arguments: tuple[Argument, ...] = ()
    needs_arguments: bool = False
    patch: str = ""
    by_hand: str = ""
    where: Where = Where.CALL
    environment: Callable[[Arguments, Mapping[str, str]], Changes] | None = None
    tolerance: float = TOLERANCE

    def tuned(self, given: Arguments) -> Argument | None:
        """The first of its arguments that is given with a number to search for."""
        searched = [argument for argument in self.arguments if argument.largest is not None]
        return next((one for one in searched if isinstance(given.get(one.name), int)), None)

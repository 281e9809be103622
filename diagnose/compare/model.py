"""What `compare` says of two runs, as its JSON holds it. Times are ms of the step compared."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diagnose.document.model import Tool

SCHEMA: Literal[1] = 1
Verdict = Literal["faster", "slower", "no_change", "too_noisy", "not_comparable"]
FindingState = Literal["gone", "new", "remains", "at_threshold", "unknown_now", "unknown_before"]
Basis = Literal["plain", "recorded"]


class Change(Struct, kw_only=True):
    """From A to B; negative where B takes less. ``beyond_noise``: it is more than ``noise_ms``."""

    a_ms: float
    b_ms: float
    change_ms: float
    change_share: float | None
    noise_ms: float
    beyond_noise: bool


class Side(Struct, kw_only=True):
    """One of the two runs. ``others_share``: of the processor time, what other processes used."""

    name: str
    target: str
    device: str
    steps: int
    step_ms: float | None
    spread_ms: float | None
    others_share: float
    headline: str


class Difference(Struct, kw_only=True):
    """A fact that differs; ``matters``: it changes the work of a step or how fast it is done."""

    what: str
    a: str | None
    b: str | None
    matters: bool


class LedgerChange(Change, kw_only=True):
    """Of a row of the ledger."""

    row: str
    title: str
    meaning: str


class Firing(Struct, kw_only=True):
    """Where a rule fires in a run: the finding's group, and file and line."""

    group: str | None
    where: tuple[str, int] | None


class FindingChange(Struct, kw_only=True):
    """Of a rule that fires in either run.

    ``state``: gone, new, remains, at_threshold (fires in one only, by less than noise), unknown_now or
    unknown_before (the other run could not be judged; ``why``). ``a``, ``b`` and the costs: None where it
    does not fire; a change is known only of what remains.
    """

    rule: str
    title: str
    state: FindingState
    why: str
    a: Firing | None
    b: Firing | None
    a_ms: float | None
    b_ms: float | None
    change_ms: float | None = None
    change_share: float | None = None
    noise_ms: float | None = None
    beyond_noise: bool


class Spot(Struct, kw_only=True):
    """File and line."""

    where: tuple[str, int]


class LineChange(Change, kw_only=True):
    """Of a line of the user's own code; None where a run does not have it."""

    source: str
    a: Spot | None
    b: Spot | None


class OperatorChange(Change, kw_only=True):
    """Of an operator in itself on the CPU, or of a kernel or copy on the GPU."""

    name: str
    on: Literal["CPU", "GPU"]


class Comparison(Struct, kw_only=True):
    """``step`` is the change of the median step, ``average`` of the mean, which slow steps move.

    Where the runs cannot be compared, ``why`` says so, and nothing below ``differences`` is filled.
    """

    schema: Literal[1] = SCHEMA
    tool: Tool
    a: Side
    b: Side
    basis: Basis
    verdict: Verdict = "not_comparable"
    why: str
    step: Change | None = None
    average: Change | None = None
    floor_share: float
    differences: list[Difference]
    ledger: list[LedgerChange] = []
    findings: list[FindingChange] = []
    lines: list[LineChange] = []
    operators: list[OperatorChange] = []

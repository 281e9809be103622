"""Which fixes can be tried: those of the plan that have an automatic form,
or what is named on the command line.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diagnose.document.model import CallSite, Culprit, Document, Finding, Fix, Predicted
from diagnose.document.savings import before_ms
from diagnose.errors import DiagnoseError, UsageError
from diagnose.fixes.all import FIXES, Spec, check
from diagnose.fixes.fix import Argument, Where


@dataclass(frozen=True)
class Candidate:
    """A fix to try. `rule` is empty for one from the command line; `why_not` says why it is not tried, empty
    if it is; `predicted_ms`: what it is predicted to save of a step of `predicted_of_ms`, as in the result
    document.
    """

    rule: str
    title: str
    intervention: str
    arguments: dict[str, Any]
    sites: tuple[tuple[str, int], ...]
    safety: str
    why_not: str = ""
    predicted_ms: Predicted | None = None
    predicted_of_ms: float | None = None

    @property
    def spec(self) -> Spec:
        return {
            "name": self.intervention,
            "arguments": self.arguments,
            "sites": [list(site) for site in self.sites],
        }

    @property
    def tuned(self) -> Argument | None:
        """The argument with a number to search for; its own is where the search starts."""
        return FIXES[self.intervention].tuned(self.arguments)

    def with_number(self, number: int) -> Candidate:
        assert self.tuned is not None
        return replace(self, arguments=self.arguments | {self.tuned.name: number})


def candidates(
    findings: Sequence[Finding],
    cwd: Path,
    allowed: Collection[str],
    only: Collection[str],
    document: Document | None = None,
) -> list[Candidate]:
    """Of the plan's findings, in its order; `document` tells of which step their savings come.

    Raises UsageError if `only` names a rule that is not among them.
    """
    for rule in only:
        if rule not in [finding.rule for finding in findings]:
            there = ", ".join(finding.rule for finding in findings) or "nothing"
            raise UsageError(
                f"{rule} is not in the plan of this run",
                saw=f"the plan holds {there}",
                do="--try tries a fix by its name",
            )
    chosen = [finding for finding in findings if not only or finding.rule in only]
    return [_candidate(finding, cwd, allowed, document) for finding in chosen]


def _candidate(finding: Finding, cwd: Path, allowed: Collection[str], document: Document | None) -> Candidate:
    fix = finding.fix
    automatic = FIXES.get(fix.intervention)
    sites: Sequence[Culprit | CallSite] = fix.call_sites
    if automatic is not None and automatic.where is Where.BLAMED_LINE:
        sites = sites or finding.culprits
    return Candidate(
        rule=finding.rule,
        title=fix.title,
        intervention=fix.intervention,
        arguments=dict(fix.arguments or {}),
        sites=tuple((str(cwd / site.file), site.line) for site in sites if site.file),
        safety=fix.safety,
        why_not=_why_not(fix, allowed),
        predicted_ms=finding.saving.predicted_ms,
        predicted_of_ms=before_ms(finding, document) if document else None,
    )


def _why_not(fix: Fix, allowed: Collection[str]) -> str:
    if fix.intervention not in FIXES:
        return "needs a manual change; not measured"
    if fix.arguments is None:
        return "the numbers it needs were not recorded; not measured"
    if fix.safety == "numerics" and "numerics" not in allowed:
        return "changes the last digits of results; --allow numerics measures it"
    return ""


def by_hand(given: str) -> Candidate:
    """The fix in `dataloader:num_workers=2,persistent_workers=True` or `gc_freeze`. Raises UsageError."""
    name, _, rest = given.partition(":")
    arguments: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not (key and equals):
            raise UsageError(
                f"{part!r} in --try {given} is no argument",
                do="write it as name=value: --try dataloader:num_workers=2",
            )
        try:
            arguments[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            arguments[key] = value
    try:
        check(name, arguments, f"--try {given}")
    except DiagnoseError as error:
        raise UsageError(error.what, do=error.do) from error
    return Candidate("", given, name, arguments, (), "manual")

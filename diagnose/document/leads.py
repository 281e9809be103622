"""Leads: who spends most of what a step need not take, where to look first; and the line of the model that
takes most of its own work.

They hold where no rule knows a fix: names and times are measured, and the headroom is what would be gained at
most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from diagnose.document.model import DISTORTED, Document, Finding, Spender
from diagnose.document.queries import ledger_ms, planned

HEALTHY = 0.05  # of the step: the rules' own threshold; with less headroom nothing is worth fixing
# what a step is for; the rest would be gone if it took no time
MODEL_ROWS = ("forward", "backward")
_WORK_ROWS = ("compute", *MODEL_ROWS, "optimizer")
LEADING = 0.1  # of the step, from which a lead is worth a headline: what it could gain is less
FAR_MORE = 4  # times what the plan's first fix is about: it would be a detail in the first place
LINE_LEADS = 0.25  # of the step, in its own work: a line of the model is worth a headline
LARGER = 1.5  # times what a fix is about: at least a third of the row is not

_LOOK = {
    "exposed_communication": "let it run beside computation, or send less and less often",
    "exposed_copies": "copy less, from pinned memory and with `non_blocking=True`",
    "input_wait": "load batches ahead in worker processes, or make loading cheaper",
    "first_calls": "record later steps, in which nothing is loaded or set up any more",
    "compilation": "record later steps, in which nothing is compiled any more",
    "allocator": "keep buffers instead of requesting them in each step",
    "profiler": "switch it off where you do not need it",
    "host_sync": "read values of the GPU later, or less often",
    "launch_bound": "fewer, larger operators: `torch.compile`, CUDA graphs, a larger batch",
    "host_work": "find out what it does on the host: work on CPU tensors, a lock, a first call",
    "queued": "see what else uses this GPU (`nvidia-smi`), and what this stream waits for",
    "unattributed": "let some steps pass before you record: the GPU waits for what was not recorded",
    "host_reads": "read values less often",
    "copies": "copy and convert less",
    "operators": "move it out of the loop, or do less of it",
    "python": "time this part of your code; do it once, in fewer calls, or elsewhere",
}

_IN_COMPILED = (
    "look at what it does between its kernels: guards, graph breaks, hand-written kernels' wrappers"
)


@dataclass(frozen=True)
class Lead:
    """A spender of rows that are not the step's own work. ``row`` is that in which it spends most;
    ``headroom_ms`` is None where nothing could be replayed.
    """

    name: str
    kind: str
    mostly: str
    row: str
    ms: float
    share: float
    headroom_ms: float | None
    rule: str | None = None  # the plan's that is about it

    @property
    def look(self) -> str:
        """What to do about time of this kind; may be empty."""
        is_compiled = "Compiled" in self.name and self.row in ("host_work", "launch_bound", "python")
        return _IN_COMPILED if is_compiled else _LOOK.get(self.row, "")


def leads(document: Document) -> list[Lead]:
    """The leads, largest headroom first; those that spend most where none is known or worth a fix, as while
    the GPU waits for what was not recorded.
    """
    together = _by_name(
        _lead(account.row, spender)
        for account in document.account
        if is_spare(account.row, document)
        for spender in account.spenders
    )
    if not _known_headroom(together, document):
        return sorted(together, key=lambda lead: -lead.ms)
    return sorted(together, key=lambda lead: -(lead.headroom_ms or 0.0))


def line_of_model(document: Document) -> Lead | None:
    """The line that takes most of the model's forward and backward, both together; nothing tells how much of
    it could go. None where no line takes as much as is worth a headline.
    """
    lines = _by_name(
        replace(_lead(account.row, line), name=f"{line.file}:{line.line}", headroom_ms=None)
        for account in document.account
        if account.row in MODEL_ROWS
        for line in account.spenders
        if line.kind == "line"  # or its backward, which has a name of its own
    )
    most = max(lines, key=lambda lead: lead.share, default=None)
    return most if most is not None and most.share >= LINE_LEADS else None


def _known_headroom(some: list[Lead], document: Document) -> bool:
    """Whether the headroom of one of them is worth a fix."""
    worth_ms = HEALTHY * (ledger_ms(document) or 0.0)
    return any((lead.headroom_ms or 0.0) >= worth_ms for lead in some)


def _lead(row: str, spender: Spender) -> Lead:
    return Lead(
        spender.name,
        spender.kind,
        spender.mostly,
        row,
        spender.ms_per_step,
        spender.share,
        spender.headroom_ms,
        spender.rule,
    )


def _by_name(some: Iterable[Lead]) -> list[Lead]:
    """One of each name, for all rows together."""
    found: dict[tuple[str, str], list[Lead]] = {}
    for lead in some:
        found.setdefault((lead.kind, lead.name), []).append(lead)
    return [_together(same) for same in found.values()]


def _together(same: list[Lead]) -> Lead:
    """The spender in all rows, named after the row in which it spends most. Without it a step may also lose
    work that is not spare: a lead gains no more than it takes.
    """
    most, whole_ms = max(same, key=lambda lead: lead.ms), sum(lead.ms for lead in same)
    return Lead(
        most.name,
        most.kind,
        most.mostly,
        most.row,
        whole_ms,
        sum(lead.share for lead in same),
        None if most.headroom_ms is None else min(most.headroom_ms, whole_ms),
        most.rule,
    )


def leading(document: Document) -> Lead | None:
    """The lead that says more than the plan: without one, where its first fix is about far less, or where no
    fix touches the largest part of the step that could go. Without such a lead the line of the model, where
    the first fix is about little.

    None where how the step divides cannot be relied on.
    """
    first = next(iter(planned(document)), None)
    if document.badge == DISTORTED:
        return None
    if is_healthy(document):
        return _line_before(first, document) if first is not None else None
    known = leads(document)
    if _known_headroom(known, document):
        known = [lead for lead in known if _known_headroom([lead], document)]
    large = (lead for lead in known if lead.share >= LEADING)
    lead = next((lead for lead in large if first is None or _is_more(lead, first, document)), None)
    return lead or _line_before(first, document)


def _line_before(first: Finding | None, document: Document) -> Lead | None:
    """The line of the model, where nothing is advised or the first fix is about little; not if a fix is about
    the line.
    """
    line = line_of_model(document)
    if line is None or (first is not None and first.severity != "low"):
        return None
    blamed = {
        f"{culprit.file}:{culprit.line}" for finding in planned(document) for culprit in finding.culprits
    }
    return None if line.name in blamed else line


def _is_more(lead: Lead, first: Finding, document: Document) -> bool:
    """Whether a lead says more than the plan, whose first fix is this; not of what this is about."""
    if lead.rule == first.rule:
        return False
    blamed = next(iter(first.culprits), None)
    if blamed is not None and (lead.kind, lead.name) == ("line", f"{blamed.file}:{blamed.line}"):
        return False
    if (first.share or 0.0) < lead.share / FAR_MORE:
        return True
    most_ms = lead.ms if lead.headroom_ms is None else lead.headroom_ms
    return lead.rule is None and _is_untouched(lead.row, document) and _gain_ms(first) < most_ms


def _is_untouched(row: str, document: Document) -> bool:
    """Whether a row is larger than what the first fix is about, and no fix is about it; far larger where
    it is not known which row a fix is about.
    """
    refined = {finding.rule: finding.refines for finding in document.findings}
    rows = set()
    for finding in planned(document):
        root: str | None = finding.rule
        while root in refined:
            root = refined[root]
        rows.add(root)
    share = next(one.share for one in document.ledger if one.row == row)
    larger = LARGER if rows & {"step", None} else 1.0
    return row not in rows and share > larger * (planned(document)[0].share or 0.0)


def _gain_ms(finding: Finding) -> float:
    known = finding.saving.predicted_ms
    return known.best_guess if known else finding.saving.at_most_ms or finding.ms_per_step or 0.0


def headroom_share(document: Document) -> float:
    """Of the step, 0-1: what is not its own work."""
    return sum(row.share for row in document.ledger if is_spare(row.row, document))


def is_spare(row: str, document: Document) -> bool:
    """Whether a row of the ledger is not the step's own work. Operators outside the model's forward that take
    longer than it, as where nothing marks a model, are the model.
    """
    shares = {one.row: one.share for one in document.ledger}
    is_model = row == "operators" and shares.get(row, 0.0) > shares.get("forward", 0.0)
    return row not in _WORK_ROWS and not is_model


def is_healthy(document: Document) -> bool:
    """Whether nothing that a step need not take is worth fixing."""
    return headroom_share(document) < HEALTHY

"""What only some steps do and no fix is about: where it takes much of the average step, it is named."""

from __future__ import annotations

from diagnose.document import model
from diagnose.document.model import Document
from diagnose.document.queries import planned
from diagnose.measure.areas.recurring import average_without_ms, seldom
from diagnose.measure.measured import Measured
from diagnose.measure.recurring import Recurring
from diagnose.measure.sources import Sources
from diagnose.predict.plan import Assessed

WORTH = 0.1  # of the average step
LEADS = 0.25  # worth a headline, as a line of the model is


def seldom_work(assessed: list[Assessed], measured: Measured, sources: Sources) -> list[model.SeldomWork]:
    """Costliest first."""
    works = list(seldom(measured))
    if not works or measured.plain_steps is None:
        return []
    average_ms = average_without_ms(measured) + sum(work.ms_per_occasion / steps for work, _, steps in works)
    blamed = {
        (culprit.file, culprit.line)
        for one in assessed
        if one.finding.state == "fires" and one.finding.rule.saving.scope == "average"
        for culprit in one.finding.culprits
    }
    found = [
        model.SeldomWork(
            file=sources.shown(work.calls[0].file),
            line=work.calls[0].line,
            kind=kind,
            every=steps,
            ms_per_step=work.ms_per_occasion / steps,
            share=work.ms_per_occasion / steps / average_ms,
            mostly=_mostly(work, sources),
        )
        for work, kind, steps in works
        if not blamed & {(line.file, line.line) for stack in work.looks for line in stack}
    ]
    return sorted((work for work in found if work.share >= WORTH), key=lambda work: -work.share)


def _mostly(work: Recurring, sources: Sources) -> str | None:
    inner = work.calls[-1]
    return f"{sources.shown(inner.file)}:{inner.line}" if len(work.calls) > 1 else None


def leading_seldom(document: Document) -> model.SeldomWork | None:
    """The work that says more than the plan: where nothing is advised, or the first fix is about little."""
    first = next(iter(planned(document)), None)
    if first is not None and first.severity != "low":
        return None
    return next((work for work in document.seldom if work.share >= LEADS), None)

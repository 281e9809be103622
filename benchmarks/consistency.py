"""Whether each report says one thing: one step everywhere, savings within what is at stake, in few words.

python -m benchmarks consistency TARGET…

Prints every contradiction that it finds, and how often each check was made.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.options import parser
from diagnose.document import savings
from diagnose.document.headline import MOST_WORDS
from diagnose.document.model import Document
from diagnose.document.queries import is_complete, step_ms
from diagnose.document.text import ms
from diagnose.errors import TraceUnreadable
from diagnose.measure.ledger import BUSY_ROWS
from diagnose.pipeline import Analysis, analysis_of
from diagnose.report.blocks import table
from diagnose.report.markdown import VISIBLE_LINES, markdown
from diagnose.report.timeline.timeline import ALIKE

SAME = 1e-6  # of a step: what rounding makes of equal times
LEAST_GAIN = 0.01  # of the step, of a row of the plan
MOST_BADGE_WORDS, MOST_DOUBT_SENTENCES = 3, 2
# Sentences that no reader liked, and words that are not the field's (docs/glossary.md has those that are).
UNWANTED = (
    r"as measured:",
    r"no rule fires",
    r"cannot be trusted",
    r"Measure again",
    r"not worth your time",
    r"With those above",
    r"nothing by itself",
    r"nothing yet",
    r"is not meant",
    r"taken for granted",
    r"[Kk]ept workers",
    r"a wait is not won",
    r"Steps differ: the ledger",
    r"everything on the host fixed, a step cannot",
    r"confidence is high where the range is narrow",
    r"no complete step was recorded; .*would tell: .*warm-up-dominates",
    r"9982 %",
    r"a step by its number",
    r"that no tool can make",
    r"too few to tell whether one rank is always late",
    r"\b1 threads\b",
    r"diagnose train\.py`? knows more",
    r"\bFOLDER\b",
    r"\bOLD NEW\b",
)


def contradictions(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """Each check by name with what contradicts it; empty if nothing does."""
    document = analysis.document
    for name, found in _CHECKS.items():
        yield from ((name, what) for what in found(document))
    if is_complete(document):
        yield from (("the step drawn is the step shown", what) for what in _drawn(analysis))


def _one_step(document: Document) -> Iterator[str]:
    step, ledger = step_ms(document), sum(row.ms_per_step for row in document.ledger)
    if document.ledger and (step is None or not math.isclose(step, ledger, rel_tol=SAME)):
        yield f"the step takes {ms(step)}, the ledger's rows {ms(ledger)}"
    share = sum(row.share for row in document.ledger)
    if document.ledger and not math.isclose(share, 1.0, rel_tol=SAME):
        yield f"the ledger's shares add up to {share}"


def _drawn(analysis: Analysis) -> Iterator[str]:
    """A step drawn that is another one has to say both times; as it is, it is the one of the heading."""
    step = step_ms(analysis.document) or math.nan
    for number, version in enumerate(analysis.picture["versions"]):
        drawn_ms, shown_ms = version["drawn_us"] / 1000, version["step_ms"]
        if not number and not math.isclose(shown_ms, step, rel_tol=SAME):
            yield f"the timeline is of a step of {ms(shown_ms)}, the heading of {ms(step)}"
        says_both = all(ms(time) in version["note"] for time in (drawn_ms, shown_ms))
        if abs(drawn_ms - shown_ms) > ALIKE * shown_ms and not says_both:
            yield f"{version['title']}: drawn {ms(drawn_ms)}, shown {ms(shown_ms)}"


def _shorter(document: Document) -> Iterator[str]:
    """Each row of the plan leaves less of the step, by no less than a hundredth; some gain only together."""
    now_ms, before_ms = savings.average_ms(document), 0.0
    for row in document.plan:
        if row.cumulative_ms is None or row.step_ms_after is None or now_ms is None:
            continue
        waits = savings.is_nothing(row.cumulative_ms) and row is not document.plan[-1]
        if not waits and not row.step_ms_after < now_ms:
            yield f"{row.rule}: {ms(row.step_ms_after)} of {ms(now_ms)}"
        if not waits and row.cumulative_ms - before_ms < LEAST_GAIN * now_ms * (1 - SAME):
            yield f"{row.rule} gains {ms(row.cumulative_ms - before_ms)} of {ms(now_ms)}"
        before_ms = row.cumulative_ms


def _within(document: Document) -> Iterator[str]:
    for finding in document.findings:
        known, most = finding.saving.predicted_ms, finding.saving.at_most_ms
        if known is None:
            continue
        bound = math.inf if most is None else most * (1 + SAME)
        if not 0 <= known.low <= known.best_guess <= known.high <= bound:
            yield f"{finding.rule}: {known.low} ≤ {known.best_guess} ≤ {known.high} ≤ {most}"


def _kernels(document: Document) -> Iterator[str]:
    """Their rows, some of them of all, take no more than the GPU is busy; where it is busy there are some."""
    busy_ms = sum(row.ms_per_step for row in document.ledger if row.row in BUSY_ROWS)
    listed_ms = sum(row.ms_per_step for row in document.kernels)
    if listed_ms > busy_ms * (1 + SAME) or (busy_ms > 0 and not document.kernels):
        yield f"the table of kernels has {ms(listed_ms)}, the ledger {ms(busy_ms)}"


def _account(document: Document) -> Iterator[str]:
    """The spenders of a row take no more than the row, and none could gain more than the step."""
    rows, step = {row.row: row.ms_per_step for row in document.ledger}, step_ms(document) or math.nan
    for account in document.account:
        spent_ms = sum(spender.ms_per_step for spender in account.spenders)
        if spent_ms > rows[account.row] * (1 + SAME):
            yield f"{account.row} takes {ms(rows[account.row])}, its spenders {ms(spent_ms)}"
        for spender in account.spenders:
            if spender.headroom_ms is not None and spender.headroom_ms > step * (1 + SAME):
                yield f"without {spender.name} {ms(spender.headroom_ms)} less of {ms(step)}"
    if document.named_share is not None and not 0 <= document.named_share <= 1 + SAME:
        yield f"{document.named_share} of the step has a name"


def _few_words(document: Document) -> Iterator[str]:
    sentences = len(re.findall(r"[.!?](?=\s|$)", document.doubt))
    if not 0 < len(document.headline.split()) <= MOST_WORDS:
        yield document.headline
    if len(document.badge.split()) > MOST_BADGE_WORDS or bool(document.badge) != bool(document.doubt):
        yield f"{document.badge}: {document.doubt}"
    if sentences > MOST_DOUBT_SENTENCES:
        yield document.doubt


def _short(document: Document) -> Iterator[str]:
    lines = len(markdown(document).partition("<details>")[0].splitlines())
    if lines > VISIBLE_LINES:
        yield f"{lines} lines before the first fold"


def _plain_words(document: Document) -> Iterator[str]:
    report = markdown(document)
    for pattern in UNWANTED:
        if found := re.search(pattern, report):
            yield f"{found[0]!r} in {report[max(0, found.start() - 60) : found.end() + 40]!r}"


_CHECKS: dict[str, Callable[[Document], Iterator[str]]] = {
    "the ledger adds up to the step": _one_step,
    "each fix of the plan leaves less": _shorter,
    "savings lie within what is at stake": _within,
    "kernels take what the GPU is busy": _kernels,
    "spenders take no more than their row": _account,
    f"headline of {MOST_WORDS} words, short doubt": _few_words,
    f"report.md in {VISIBLE_LINES} lines": _short,
    "plain words": _plain_words,
}


def main(arguments: Sequence[str]) -> int:
    options = parser("consistency", __doc__)
    options.add_argument(
        "targets", type=Path, nargs="*", metavar="TARGET", help="traces, folders of them, runs"
    )
    targets = options.parse_args(arguments).targets
    sources = [source for target in targets or [ROOT / "sample_traces"] for source in _sources(target)]
    broken: Counter[str] = Counter()
    judged = 0
    for source in sources:
        try:
            analysis = analysis_of(source)
        except TraceUnreadable:
            continue
        judged += 1
        for check, what in contradictions(analysis):
            broken[check] += 1
            print(f"{source}: {check}: {what}", file=sys.stderr)
    names = [*_CHECKS, "the step drawn is the step shown"]
    print(f"{judged} reports")
    print(table(("Check", "Contradictions"), [(name, str(broken[name])) for name in names]))
    return int(bool(broken))


def _sources(target: Path) -> list[Path]:
    """A trace or a run itself; of a folder of them each."""
    if target.is_file() or (target / "run.json").is_file():
        return [target]
    runs = sorted(path.parent for path in target.glob("**/run.json"))
    traces = sorted(path for path in target.glob("*.json*") if path.suffix in (".json", ".gz"))
    return runs or traces

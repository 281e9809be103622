"""report.md: the answer first, then the evidence, then how it was measured.

A pure function of the result document.
"""

from __future__ import annotations

import functools

from diagnose.document import savings, text
from diagnose.document.model import Document, LedgerRow
from diagnose.document.queries import (
    counted,
    is_complete,
    planned,
    run_command,
    time_column,
    whole_word,
    whose_time,
)
from diagnose.document.text import code, prose
from diagnose.report import (
    account,
    beside,
    devices,
    figures,
    findings,
    memory,
    next_steps,
    operators,
    ranks,
    sentences,
    throughput,
    verification,
    watched,
)
from diagnose.report.blocks import bullets, folded, section, shell, table

TOP_LINES = 10
VISIBLE_LINES = 60  # above the first fold
LEAST_SHARE = 0.01  # of the step, of a row of its own in the table above the folds
BAR_WIDTH = 16  # TensorBoard's narrow columns would break a longer one


def markdown(document: Document, *, collapsible: bool = True) -> str:
    """The whole report. `collapsible`: side matters are closed `<details>`, which
    GitHub knows and TensorBoard does not; above the first of them there is a screen or two.
    """
    above = _joined(
        f"# Diagnosis of {code(document.run.target)}",
        f"**{prose(document.headline)}**",
        _doubt(document),
        _setting(document),
        _watched(document),
        _plan(document) if is_complete(document) else _what_happened(document),
        verification.measured(document),
        section(memory.HEADING, *_memory(document)) if memory.ran_out(document) else "",
        ranks.compared(document),
        _ledger(document),
        _devices(document),
    )
    below = _next(document) if is_complete(document) else ""
    taken = len(_joined(above, "## Findings", below).splitlines()) + 1
    blocks = findings.blocks(document, VISIBLE_LINES - taken if collapsible else None)
    fold = functools.partial(folded, collapsible=collapsible)
    folds = [
        findings.behind(document, blocks, collapsible=collapsible),
        findings.other_ways(document, collapsible=collapsible),
        findings.too_small(document, collapsible=collapsible),
        findings.hypothetical(document, collapsible=collapsible),
        findings.bounding(document, collapsible=collapsible),
        findings.not_judged(document, collapsible=collapsible),
        fold(
            f"The whole {whole_word(document).lower()}",
            _whole_ledger(document),
            holds="each row of the table above, with its meaning",
        ),
        verification.behind(document, collapsible=collapsible),
        ranks.behind(document, collapsible=collapsible),
        fold(account.HEADING, *_account(document), holds="the largest spenders of each part"),
        fold("Your lines", _lines(document), holds="what each of them costs"),
        fold(operators.HEADING, *_operators(document), holds="those that take longest"),
        fold(beside.HEADING, *_beside(document), holds="your functions in other recordings of this run"),
        ""
        if memory.ran_out(document)
        else fold(memory.HEADING, *_memory(document), holds="parts and lines at the peak"),
        fold("How far to trust these numbers", _trust(document), holds="the replay and the profiler"),
        fold("How this was measured", *_how_measured(document), holds="clock, steps, notes, environment"),
    ]
    return _joined(above, section("Findings", *blocks), below, *folds) + "\n"


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def plan_table(document: Document) -> str:
    """The plan, best first; empty if there is nothing to do."""
    columns = {
        "#": [str(number) for number in range(1, len(document.plan) + 1)],
        "Fix": [prose(finding.fix.title) for finding in planned(document)],
        "Where": [findings.where(finding) for finding in planned(document)],
        savings.saves_title(document): [
            prose(savings.saving(finding, document)) for finding in planned(document)
        ],
        savings.after_title(document): [prose(savings.after(row, document)) for row in document.plan],
        "How sure": [savings.sureness(finding, document) for finding in planned(document)],
    }
    filled = {header: cells for header, cells in columns.items() if any(cells)}
    return table(list(filled), list(zip(*filled.values(), strict=True)))


def _doubt(document: Document) -> str:
    """The badge and the doubt; empty where the numbers can be trusted."""
    return f"> **{prose(document.badge)}**: {prose(document.doubt)}" if document.badge else ""


def _setting(document: Document) -> str:
    """One line: how long a step is, what it gets done, and where it ran."""
    run, step = document.run, figures.step(document)
    parts = [f"{whole_word(document)}: {step}"] if step else []
    parts += map(prose, throughput.told(document))
    parts += [f"device: {code(run.device)}", f"recorded: {figures.recorded(document)}"]
    return " · ".join(parts)


def _plan(document: Document) -> str:
    if not document.plan:
        looks = bullets(account.looks(document))
        return section("What to do", prose(sentences.nothing_to_do(document)), looks)
    unpredicted = "Savings cannot be predicted here; *How far to trust these numbers* below says why."
    return section(
        "What to do",
        plan_table(document),
        unpredicted if sentences.says_unpredicted(document) else "",
        prose(sentences.starting_step(document)),
        *_looks(document),
    )


def _looks(document: Document) -> list[str]:
    """Beside a plan that does not touch what leads the report: where to look."""
    looks = account.looks(document)
    return [prose(account.introduced(document)), bullets(looks)] if looks else []


def _watched(document: Document) -> str:
    """What became of the steps over the whole run, where it was watched."""
    if document.watched is None:
        return ""
    slow = watched.slow_table(document)
    return section(
        watched.HEADING,
        prose(watched.about(document)),
        bullets(map(prose, watched.sentences(document))),
        *([f"{slow.title}:", _table(slow)] if slow else []),
    )


def _next(document: Document) -> str:
    """What to type."""
    if not document.plan:
        return ""
    return section(
        "What to type",
        prose(next_steps.patched(document)),
        prose(next_steps.to_verify(document)),
        prose(next_steps.then(document)),
        shell(run_command(document)),
    )


def _what_happened(document: Document) -> str:
    """In place of the plan when no complete step was recorded."""
    tries = bullets(sentences.remedies(document))
    return section(
        "What happened",
        prose(sentences.happened(document)),
        "What to try:",
        tries,
        shell(run_command(document)),
    )


def _ledger(document: Document) -> str:
    """The rows that matter; the others are one. They add up to the step."""
    rows = _by_share(document)
    small = [row for row in rows if row.share < LEAST_SHARE]
    heading = f"Where {whose_time(document)} time goes"
    if len(small) < 2:
        return section(heading, _ledger_table(rows, document))
    others = LedgerRow(
        row="others",
        title="Others",
        meaning=", ".join(row.title for row in small),
        ms_per_step=sum(row.ms_per_step for row in small),
        share=sum(row.share for row in small),
    )
    shown = [*rows[: len(rows) - len(small)], others]
    return section(heading, _ledger_table(shown, document))


def _devices(document: Document) -> str:
    """Every device in a line, where there are several."""
    rows = [(prose(name), busy, prose(rest)) for name, busy, rest in devices.rows(document)]
    if not rows:
        return ""
    return _joined(table(devices.COLUMNS, rows, right=["Busy"]), prose(devices.note(document)))


def _whole_ledger(document: Document) -> str:
    """All rows, where the table above does not show them."""
    rows = _by_share(document)
    return _ledger_table(rows, document) if sum(row.share < LEAST_SHARE for row in rows) > 1 else ""


def _by_share(document: Document) -> list[LedgerRow]:
    return sorted(document.ledger, key=lambda row: -row.share)


def _ledger_table(rows: list[LedgerRow], document: Document) -> str:
    if not rows:
        return ""
    whole_ms, whole_share = sum(row.ms_per_step for row in rows), sum(row.share for row in rows)
    time = time_column(document)
    columns = {
        "Part": [*(prose(row.title) for row in rows), f"**{whole_word(document)}**"],
        time: [*(text.ms(row.ms_per_step) for row in rows), text.ms(whole_ms)],
        "Share": [*(text.share(row.share) for row in rows), text.share(whole_share)],
        "": [*(f"`{text.bar(row.share, BAR_WIDTH):<{BAR_WIDTH}}`" for row in rows), ""],
        "Most of it": [*(prose(account.names_in(row, document)) for row in rows), ""],
        "Meaning": [*(prose(row.meaning) for row in rows), ""],
    }
    filled = {header: cells for header, cells in columns.items() if any(cells)}
    return table(list(filled), list(zip(*filled.values(), strict=True)), right=[time, "Share"])


def _trust(document: Document) -> str:
    """How well the recording is understood, and what the GPU allows at best."""
    told = [
        sentences.fastest(document),
        sentences.replayed(document),
        sentences.unpredicted(document),
        sentences.distorted(document),
    ]
    return bullets(filter(None, told)) if is_complete(document) else ""


def _lines(document: Document) -> str:
    rows = [
        (
            code(text.place(line)),
            code(line.source),
            text.ms(line.self_ms),
            text.ms(line.backward_ms) if line.backward_ms else "–",
            text.ms(line.total_ms),
            text.share(line.share),
            text.count(line.calls_per_step),
        )
        for line in document.lines[:TOP_LINES]
    ]
    note = (
        "*Self* is the time under a line that no other of your lines explains, *Its backward* what autograd "
        "takes for it later. These times rank lines; they are no stopwatch readings."
    )
    columns = ("Line", "Source", "Self", "Its backward", "Total", "Share", counted("Calls", document))
    return f"{table(columns, rows, right=columns[2:])}\n\n{note}" if rows else ""


def _operators(document: Document) -> list[str]:
    return [_joined(f"{shown.title}:", _table(shown)) for shown in operators.tables(document)]


def _beside(document: Document) -> list[str]:
    return [_joined(f"{prose(shown.title)}:", _table(shown)) for shown in beside.tables(document)]


def _memory(document: Document) -> list[str]:
    return [
        _joined(prose(shown.title) if not shown.named else f"{shown.title}:", _table(shown))
        for shown in memory.tables(document)
    ]


def _account(document: Document) -> list[str]:
    shown = account.table(document)
    return [_table(shown)] if shown else []


def _table(shown: operators.Table) -> str:
    rows = [(code(name) if shown.named else prose(name), *cells) for name, *cells in shown.rows]
    return _joined(table(shown.columns, rows, right=shown.columns[1:]), " ".join(map(prose, shown.notes)))


def _how_measured(document: Document) -> list[str]:
    environment = [(code(str(name)), code(str(value))) for name, value in document.run.environment.items()]
    facts = [
        *sentences.measurement(document),
        sentences.ending(document),
        sentences.judged(document),
        *(note.text for note in document.notes),
    ]
    return [bullets(filter(None, facts)), table(("Environment", "Value"), environment)]

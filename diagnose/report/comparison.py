"""What changed between two runs, in words: lines for a terminal, a page of Markdown, a fragment of HTML.

See `diagnose.compare`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnose.compare.model import Change, Comparison, FindingChange, LineChange
from diagnose.document import text
from diagnose.report.blocks import bullets, section, table
from diagnose.report.templates import environment

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SMALLEST_SHARE = 0.0005  # of the step: what would show as 0.0 %
MANIFOLD = 2  # times as long: from there on said as a factor
NOTABLE_SHARE = 0.05  # of the typical step: an average that is further off is worth a sentence
CROWDED_SHARE = 0.1  # of the machine's processor time, used by others: worth a sentence
LONGEST_IN_TERMINAL = 48
_WITHIN = "within noise"
_COLOURS = {"less": "green", "more": "red", "within": "dim", "total": "bold"}


@dataclass(frozen=True)
class Row:
    """``kind``: less, more (beyond noise), within, total or empty; it decides the colour."""

    texts: tuple[str, ...]
    kind: str = ""

    def cells(self, table: Table) -> Iterator[tuple[str, str]]:
        return zip(table.headers, self.texts, strict=True)


@dataclass(frozen=True)
class Table:
    """``right``: headers of columns with numbers, ``code``: of those with foreign names.

    Texts are clean, not escaped.
    """

    title: str
    headers: tuple[str, ...]
    rows: Sequence[Row]
    right: tuple[str, ...] = ("A", "B", "Change")
    code: tuple[str, ...] = ()


# ---- the three forms


def print_comparison(comparison: Comparison, console: Console) -> None:
    """What is compared, the verdict, how far it can be trusted, and where the change lies.

    Lines are not broken.
    """
    from rich.text import Text

    for letter, name in sides(comparison):
        console.print(Text.assemble((letter, "bold"), f"  {name}"), soft_wrap=True)
    colour = {"faster": "bold green", "slower": "bold red"}.get(comparison.verdict, "bold")
    console.print(Text.assemble("\n", (headline(comparison), colour)), soft_wrap=True)
    for remark in remarks(comparison):
        console.print(Text(remark), soft_wrap=True)
    for one in tables(comparison):
        console.print(Text.assemble("\n", (one.title, "bold")), soft_wrap=True)
        for line in _lines(one):
            console.print(line, soft_wrap=True)


def comparison_markdown(comparison: Comparison) -> str:
    """A page, for a pull request."""
    return (
        "\n\n".join(
            [
                f"**{text.prose(headline(comparison))}**",
                "\n".join(f"- {letter}: {text.code(name)}" for letter, name in sides(comparison)),
                bullets(remarks(comparison)),
                *(section(one.title, _markdown_table(one)) for one in tables(comparison)),
            ]
        ).replace("\n\n\n\n", "\n\n")
        + "\n"
    )


def comparison_html(comparison: Comparison) -> str:
    """A `<section>` without style or script; rows have the classes less, more, within and total."""
    template = environment().get_template("comparison.html")
    return template.render(
        headline=headline(comparison),
        sides=sides(comparison),
        remarks=remarks(comparison),
        tables=tables(comparison),
    )


def _markdown_table(one: Table) -> str:
    rows = [
        [text.code(cell) if header in one.code else text.prose(cell) for header, cell in row.cells(one)]
        for row in one.rows
    ]
    return table(one.headers, rows, right=one.right)


def _lines(one: Table) -> list[Text]:
    """The table's lines, columns as wide as their widest cell."""
    from rich.text import Text

    body = [
        Row(tuple(text.clean(cell, LONGEST_IN_TERMINAL) if cell else "" for cell in row.texts), row.kind)
        for row in one.rows
    ]
    rows = [Row(one.headers, "within"), *body]
    widths = [max(Text(row.texts[column]).cell_len for row in rows) for column in range(len(one.headers))]
    return [Text(_padded(row, one, widths), style=_COLOURS.get(row.kind, "")) for row in rows]


def _padded(row: Row, one: Table, widths: Sequence[int]) -> str:
    from rich.text import Text

    cells = []
    for (header, cell), width in zip(row.cells(one), widths, strict=True):
        filling = " " * (width - Text(cell).cell_len)
        cells.append(filling + cell if header in one.right else cell + filling)
    return ("  " + "  ".join(cells)).rstrip()


# ---- sentences


def sides(comparison: Comparison) -> list[tuple[str, str]]:
    """What A and B are: the name they were given, and the script."""
    told = []
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        parts = [text.clean(part, text.LONGEST_NAME) for part in (side.name, side.target)]
        told.append((letter, " · ".join(part for part in dict.fromkeys(parts) if part != letter)))
    return told


def headline(comparison: Comparison) -> str:
    """The verdict in one sentence."""
    verdict, step, average = comparison.verdict, comparison.step, comparison.average
    if step is None or average is None:
        return f"Not comparable: {text.clean(comparison.why)}."
    both = f"a step takes {text.ms(step.a_ms)} in A and {text.ms(step.b_ms)} in B"
    if verdict == "too_noisy":
        return f"Too noisy to say: {both}, but these runs may differ by {_noise(step)} for other reasons."
    if verdict == "no_change":
        return f"No change beyond noise: {both}."
    if step.beyond_noise:
        return f"B is {verdict}: a step takes {_instead(step)}."
    return (
        f"B is {verdict} on average, slow steps included: {_instead(average)}. The typical step stays within "
        "noise."
    )


def _instead(change: Change) -> str:
    """`5.52 ms instead of 27.8 ms, 22.3 ms (80 %) less`."""
    saved_ms, part = abs(change.change_ms), text.share(abs(change.change_share or 0.0))
    if change.change_ms < 0:
        how = f"{text.ms(saved_ms)} ({part}) less"
    elif change.b_ms < MANIFOLD * change.a_ms:
        how = f"{text.ms(saved_ms)} ({part}) more"
    else:
        how = f"{text.factor(change.b_ms / change.a_ms)} as long"
    return f"{text.ms(change.b_ms)} instead of {text.ms(change.a_ms)}, {how}"


def _noise(step: Change) -> str:
    return f"{text.ms(step.noise_ms)} ({text.share(step.noise_ms / max(step.a_ms, step.b_ms))})"


def remarks(comparison: Comparison) -> list[str]:
    """What the verdict does not say: the average step, other work in a step, how much
    noise there is and how to know more.
    """
    step, average = comparison.step, comparison.average
    if step is None or average is None:
        return []
    said = [
        _on_average(comparison, step, average),
        _other_work(comparison),
        _basis(comparison),
        _trust(comparison, step),
        *_crowds(comparison),
    ]
    exact = (
        "To know more, run both again, or let `python -m diagnose verify RUN` measure a fix with many runs "
        "in turns."
    )
    return [*filter(None, said), exact]


def _on_average(comparison: Comparison, step: Change, average: Change) -> str:
    is_told = comparison.verdict in ("faster", "slower") and not step.beyond_noise
    both = ((average.a_ms, step.a_ms), (average.b_ms, step.b_ms))
    differs = any(abs(mean - usual) > NOTABLE_SHARE * usual for mean, usual in both)
    if is_told or not differs:
        return ""
    within = "" if average.beyond_noise else f", {_WITHIN}"
    return (
        f"On average, slow steps included, a step takes {text.ms(average.a_ms)} in A and "
        f"{text.ms(average.b_ms)} in B{within}."
    )


def _other_work(comparison: Comparison) -> str:
    batch = next(
        (difference for difference in comparison.differences if difference.what == "samples in a batch"), None
    )
    if batch is None:
        return ""
    given = f"The model is given {_fact(batch.b)} samples at once in B, {_fact(batch.a)} in A"
    return f"{given}: a step may do other work, and times per step say little."


def _basis(comparison: Comparison) -> str:
    if comparison.basis == "plain":
        return ""
    return (
        "Steps are compared as recorded, with what the profiler added: no steps without it were timed in "
        "both runs."
    )


def _trust(comparison: Comparison, step: Change) -> str:
    if comparison.verdict == "too_noisy":
        return ""
    fewest = min(comparison.a.steps, comparison.b.steps)
    few = " Fewer than three steps tell no spread, so a large one is assumed." if fewest < 3 else ""
    return f"With one run each, a change of the step below {_noise(step)} cannot be told from noise.{few}"


def _crowds(comparison: Comparison) -> list[str]:
    crowds = [("A", comparison.a.others_share), ("B", comparison.b.others_share)]
    return [
        f"Other processes used {text.share(used)} of the machine's processor time during {letter}."
        for letter, used in crowds
        if used >= CROWDED_SHARE
    ]


def _fact(value: str | None) -> str:
    return "–" if value is None else text.clean(value, text.LONGEST_NAME)


# ---- tables


def tables(comparison: Comparison) -> list[Table]:
    """Those that have rows."""
    made = (
        _ledger(comparison),
        _findings(comparison),
        _script_lines(comparison),
        _operators(comparison),
        _differences(comparison),
    )
    return [one for one in made if one.rows]


def _ledger(comparison: Comparison) -> Table:
    step = comparison.step
    rows = [
        _row((row.title,), row)
        for row in comparison.ledger
        if step and max(row.a_ms, row.b_ms) >= SMALLEST_SHARE * max(step.a_ms, step.b_ms)
    ]
    total = [Row(_row(("The step",), step).texts, "total")] if rows and step else []
    return Table("Where a step's time goes", ("Part", "A", "B", "Change"), [*rows, *total])


def _findings(comparison: Comparison) -> Table:
    """Those that are in the plan of either run."""
    shown = [
        finding
        for finding in comparison.findings
        if any(side and side.group == "plan" for side in (finding.a, finding.b))
    ]
    rows = [
        Row((one.title, _moved(one), *_times(one), _finding_change(one)), _finding_kind(one)) for one in shown
    ]
    return Table(
        "Findings, and what each costs", ("Finding", "Where", "A", "B", "Change"), rows, code=("Where",)
    )


def _finding_change(change: FindingChange) -> str:
    """What became of it."""
    if change.state in ("unknown_now", "unknown_before"):
        return f"not judged in {'B' if change.state == 'unknown_now' else 'A'}: {text.clean(change.why)}"
    if change.state == "at_threshold":
        return f"in {'A' if change.a else 'B'} only, {_WITHIN}"
    return _said(change) if change.state == "remains" else str(change.state)


def _finding_kind(finding_change: FindingChange) -> str:
    states = {"gone": "less", "new": "more"}
    return states.get(finding_change.state) or _kind(finding_change)


def _moved(one: FindingChange | LineChange) -> str:
    """`train.py:41`, where it moved `train.py:41 → train.py:43`."""
    places = [side.where for side in (one.a, one.b) if side and side.where]
    return " → ".join(dict.fromkeys(text.clean(f"{file}:{line}", text.LONGEST_NAME) for file, line in places))


def _script_lines(comparison: Comparison) -> Table:
    """A line that is in one run only has no time in the other."""
    rows = []
    for line in comparison.lines:
        times = [
            shown if side else text.UNKNOWN
            for side, shown in zip((line.a, line.b), _times(line), strict=True)
        ]
        rows.append(
            Row((text.clean(line.source, text.LONGEST_NAME), _moved(line), *times, _said(line)), _kind(line))
        )
    return Table(
        "Your lines that changed most", ("Line", "Where", "A", "B", "Change"), rows, code=("Line", "Where")
    )


def _operators(comparison: Comparison) -> Table:
    rows = [
        _row((text.clean(operator.name, text.LONGEST_NAME), operator.on), operator)
        for operator in comparison.operators
    ]
    return Table(
        "Operators and kernels that changed most", ("Name", "On", "A", "B", "Change"), rows, code=("Name",)
    )


def _differences(comparison: Comparison) -> Table:
    rows = [
        Row((text.clean(difference.what, text.LONGEST_NAME), _fact(difference.a), _fact(difference.b)))
        for difference in comparison.differences
    ]
    return Table("What else differs between the runs", ("What", "A", "B"), rows, right=(), code=("A", "B"))


def _row(lead: tuple[str, ...], change: Change | FindingChange) -> Row:
    return Row((*lead, *_times(change), _said(change)), _kind(change))


def _times(change: Change | FindingChange) -> tuple[str, str]:
    return text.ms(change.a_ms), text.ms(change.b_ms)


def _said(change: Change | FindingChange) -> str:
    """The change; a dash where it is not known."""
    if change.change_ms is None:
        return text.UNKNOWN
    return _signed(change.change_ms) if change.beyond_noise else _WITHIN


def _kind(change: Change | FindingChange) -> str:
    if not change.beyond_noise or change.change_ms is None:
        return "within"
    return "less" if change.change_ms < 0 else "more"


def _signed(change_ms: float) -> str:
    return f"{'−' if change_ms < 0 else '+'}{text.ms(abs(change_ms))}"

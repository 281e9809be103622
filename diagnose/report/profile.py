"""A profile of the CPU alone: as Markdown, and in short for the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.document.text import clean, code, count, prose, share, significant
from diagnose.measure.areas.user_code import short_callee
from diagnose.profiles.summary import Advised, KindRow, ProfileSummary, Spent
from diagnose.report.blocks import bullets, section, shell, table

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ROWS = 20
_SHORT = 3  # of each, in the terminal
_OWN = {"function": "Your functions", "line": "Your lines"}
_LEAST = 0.001  # of the whole: what takes less is not worth a line


def profile_page(summary: ProfileSummary) -> str:
    """The whole report."""
    return (
        "\n\n".join(
            filter(
                None,
                [
                    f"# Where the CPU time goes in {code(summary.file)}",
                    f"**{prose(no_gpu(summary))}** For the GPU, source lines with measured savings and fixes "
                    "that can be tried, run the script:",
                    shell(command(summary)),
                    f"**{prose(headline(summary))}**",
                    section("Where the time goes", _account(summary)),
                    section(_title(summary), _explained(summary), _rows(summary)),
                    section("What to do", *_advice(summary)),
                    section("What is not in it", bullets(summary.notes)),
                ],
            )
        )
        + "\n"
    )


def print_profile(summary: ProfileSummary, out: Path, console: Console) -> None:
    """What fits a small terminal."""
    from rich.text import Text

    say = console.print
    say()
    say(Text(no_gpu(summary), style="yellow"))
    say(Text(clean(headline(summary)), style="bold"))
    say()
    for kind in summary.account[:_SHORT]:
        say(Text(f"{share(kind.share):>7}  {plain(kind.title)}"))
    say()
    for row in summary.rows[:_SHORT]:
        say(Text(f"{share(_share_of(row, summary)):>7}  {_named(row)}"))
    for number, advised in enumerate(summary.advice[:_SHORT], 1):
        say(Text(f"{number}. {plain(advised.title)}: at most {share(advised.at_most_share)}"))
    say()
    say(Text(f"For the GPU  {command(summary)}"), soft_wrap=True)
    say(Text(f"Report       {out / 'profile.md'}"), soft_wrap=True)


def no_gpu(summary: ProfileSummary) -> str:
    return f"There is no GPU work in this recording: {summary.profiler} sees Python on the CPU only."


def command(summary: ProfileSummary) -> str:
    return f"python -m diagnose {_shown(summary.script)}"


def headline(summary: ProfileSummary) -> str:
    """`31 % of 14.6 s: backward. Of your functions, main (train.py:22) takes most: 63 %.`"""
    whole = f"{significant(summary.duration_s)} s"
    if not summary.account:
        return f"{whole} were recorded."
    top = summary.account[0]
    of_kind = f"{share(top.share)} of {whole}: {plain(top.title)}"
    row = summary.rows[0] if summary.rows else None
    if row is None or summary.what not in _OWN:
        return f"{of_kind}."
    return f"{of_kind}. Of your {summary.what}s, {_named(row)} takes most: {share(row.share)}."


def plain(text: str) -> str:
    return clean(text).replace("`", "")


def _account(summary: ProfileSummary) -> str:
    shown = [row for row in summary.account if row.share >= _LEAST]
    rest = sum(row.seconds for row in summary.account) - sum(row.seconds for row in shown)
    rows = [*shown, KindRow("rest", "All the rest", rest, rest / summary.duration_s)] if rest > 0 else shown
    return table(
        ("Kind", "Time", "Share"),
        [
            *((prose(row.title), _seconds(row.seconds), share(row.share)) for row in rows),
            ("**All that was recorded**", f"**{_seconds(summary.duration_s)}**", "**100 %**"),
        ],
        right=("Time", "Share"),
    )


def _title(summary: ProfileSummary) -> str:
    others = "Lightning's actions" if summary.what == "action" else "Functions, of yours and of libraries"
    return _OWN.get(summary.what, others)


def _explained(summary: ProfileSummary) -> str:
    if not summary.rows:
        return "No code of yours was seen: all files are Python's or an installed package's."
    if summary.what not in _OWN:
        return ""
    if not any(row.file and row.with_libraries_s > row.self_s for row in summary.rows):
        return ""
    return (
        "**Share**: of the recording, in this "
        f"{summary.what} and in library code that it called. **Total**: from its call to its end, with your "
        "other code that it called."
    )


def _rows(summary: ProfileSummary) -> str:
    shown = [row for row in summary.rows if max(row.share, row.total_share) >= _LEAST][:_MOST_ROWS]
    columns = {
        "What": [code(_named(row)) for row in shown],
        "Time" if summary.what == "action" else "Itself": [_seconds(row.self_s) for row in shown],
    }
    if summary.what in _OWN:
        columns["With libraries"] = [_seconds(row.with_libraries_s) for row in shown]
    columns["Share"] = [share(row.share) for row in shown]
    if summary.what != "action":
        columns["Total"] = [share(row.total_share) for row in shown]
    if any(row.calls is not None for row in shown):
        columns["Calls"] = [count(row.calls) for row in shown]
    numbers = [head for head in columns if head != "What"]
    if any(row.mostly for row in shown):
        columns["Mostly"] = [_mostly(row, summary) for row in shown]
    return table(list(columns), list(zip(*columns.values(), strict=True)), right=numbers)


def _mostly(row: Spent, summary: ProfileSummary) -> str:
    called = [one for one in row.mostly if one.seconds >= _LEAST * 10 * summary.duration_s]
    return ", ".join(
        f"{code(short_callee(one.name))} {share(one.seconds / summary.duration_s)}" for one in called
    )


def _share_of(row: Spent, summary: ProfileSummary) -> float:
    return row.total_share if summary.what == "action" else row.share


def _advice(summary: ProfileSummary) -> list[str]:
    if not summary.advice:
        return []
    said = (
        "By the rules for what is seen here. The share is all that the symptom takes: no fix gains more, and "
        "what one really gains is not known from this recording."
    )
    return [said, *(_advised(number, one) for number, one in enumerate(summary.advice, 1))]


def _advised(number: int, advised: Advised) -> str:
    return (
        f"{number}. **{prose(advised.title)}** ({code(advised.rule)}): at most "
        f"{_seconds(advised.at_most_s)}, {share(advised.at_most_share)}. {prose(advised.symptom)} "
        f"{prose(advised.how)}"
    )


def _named(row: Spent) -> str:
    """`main (train.py:22)`, `train.py:22`, or the name alone."""
    place = f"{_shown(row.file)}:{row.line}" if row.line > 0 else _shown(row.file)
    if not row.file:
        return clean(row.function)
    return clean(f"{row.function} ({place})" if row.function else place)


def _shown(file: str) -> str:
    """Relative to the current folder where it lies below it."""
    here = os.getcwd().rstrip(os.sep) + os.sep
    return clean(file.removeprefix(here))


def _seconds(value: float) -> str:
    return f"{significant(value)} s"

"""`python -m diagnose compare`: what changed from one run to another.

Nothing heavy is imported before something is asked.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.newest import newest_runs
from diagnose.commands.options import (
    WRITES_NOTHING,
    Parser,
    add_format_options,
    add_reading_options,
    add_rules_option,
    reading_limits,
)
from diagnose.commands.outputs import RUNS, say
from diagnose.commands.targets import kind_of
from diagnose.errors import EXIT_FINDINGS, EXIT_OK, DiagnoseError, UsageError
from diagnose.trace.source import is_url, shown

if TYPE_CHECKING:
    from diagnose.compare.model import Comparison
    from diagnose.document.model import Document


REPORT = "report.json"
_USAGE = "python -m diagnose compare [A [B]] [options]"
_DESCRIPTION = """\
Show what changed from run A to run B: the step, the parts of its ledger, the findings, and the lines and
operators that cost more or less.

A and B are run folders, report.json files or traces. Without B, B is the newest run below ./diagnosis.
Without A as well, A is the run before that. A run without a report is analysed. Nothing is written.
A change that may be noise is marked: one run each shows only large changes.
"""
_EPILOG = """\
examples:
  python -m diagnose compare
  python -m diagnose compare diagnosis/20261121-070000 diagnosis/20261121-081500
  python -m diagnose compare main/report.json branch/report.json --format markdown > comment.md
  python -m diagnose compare before.pt.trace.json.gz after.pt.trace.json.gz --fail-on slower

exit codes: 0 compared, 1 failure of diagnose, 2 wrong usage or unreadable file,
            4 --fail-on slower and B is slower beyond noise
"""


def run(options: argparse.Namespace) -> int:
    """Say on stdout what changed between the two runs."""
    a, b = _pair(options)
    from diagnose.compare.comparison import compare

    documents = [_document(target, options) for target in (a, b)]
    comparison = compare(documents[0], documents[1], (shown(a), shown(b)))
    _print(comparison, options.format)
    return EXIT_FINDINGS if options.fail_on == comparison.verdict else EXIT_OK


def _pair(options: argparse.Namespace) -> tuple[str, str]:
    """The run before and the run after; says which they are where they were not named."""
    if options.b is not None:
        return options.a, options.b
    runs = newest_runs()
    named = [] if options.a is None else [options.a]
    if len(named) + len(runs) < 2:
        raise UsageError(
            f"compare needs two runs, and below ./{RUNS} there is {'one' if runs else 'none'}",
            do=f"{_USAGE}; `python -m diagnose YOUR_SCRIPT.py` records a run",
        )
    a, b = (str(run) for run in (*named, *reversed(runs[: 2 - len(named)])))
    if Path(b).resolve() in (Path(a).resolve(), Path(a).resolve().parent):
        raise UsageError(
            f"{a} is the newest run itself", do="name both runs, or none for the two newest: " + _USAGE
        )
    say(f"A is {shown(a)}, B is {b}, the newest run", options)
    return a, b


def _print(comparison: Comparison, form: str) -> None:
    from diagnose.document.stored import to_json
    from diagnose.report.comparison import comparison_markdown, print_comparison
    from diagnose.report.whatif import stdout_console

    if form == "json":
        print(to_json(comparison), flush=True)
    elif form == "markdown":
        print(comparison_markdown(comparison), end="", flush=True)
    else:
        print_comparison(comparison, stdout_console())


def _document(target: str, options: argparse.Namespace) -> Document:
    """The result document of a run: the one that was written, else made now.

    Raises UsageError for anything else.
    """
    beside = Path(target) / REPORT
    if beside.is_file():
        return _read(beside)
    kind = kind_of(target)
    if kind == "trace" and _is_report(target):
        return _read(Path(target))
    if kind not in ("run", "trace"):
        raise UsageError(
            f"{target} is no run folder, report or trace",
            do="record it first: python -m diagnose YOUR_SCRIPT.py",
        )
    from diagnose.pipeline import analyse
    from diagnose.report.progress import reading_progress

    with reading_progress(quiet=options.quiet) as progress:
        source = target if is_url(target) else Path(target)
        return analyse(source, **reading_limits(options), progress=progress)


def _is_report(target: str) -> bool:
    """By how it begins: it is written with its schema and its tool first, and
    a trace may take gigabytes to parse.
    """
    if is_url(target):
        return False
    with Path(target).open("rb") as file:
        return (
            re.match(rb'\s*\{\s*"schema":\s*\d+,\s*"tool":\s*\{\s*"name":\s*"diagnose"', file.read(200))
            is not None
        )


def _read(path: Path) -> Document:
    """Raises UsageError if the file is no result document."""
    from diagnose.document.stored import read_document

    again = "analyse the run again: python -m diagnose RUN"
    try:
        return read_document(path.read_bytes(), str(path), again=again)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", saw=str(error), do=again) from error
    except DiagnoseError as error:
        raise UsageError(error.what, saw=error.saw, do=error.do) from error


def parser() -> Parser:
    parser = Parser("compare", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("a", metavar="A", nargs="?", help="the run before")
    add("b", metavar="B", nargs="?", help="the run after")
    add(
        "--fail-on",
        choices=("slower",),
        help="exit with 4 if B is slower beyond noise, for CI (unclear counts as not slower)",
    )
    add_reading_options(parser)
    add_rules_option(parser)
    parser.refuse("--out", WRITES_NOTHING)
    add_format_options(
        parser,
        ("text", "markdown", "json"),
        "text, json, or markdown: a page for a pull request (default text)",
    )
    return parser

"""`python -m diagnose compare`: what changed from one run to another.

Nothing heavy is imported before something is asked.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.options import Parser
from diagnose.commands.targets import kind_of
from diagnose.errors import EXIT_FINDINGS, EXIT_OK, DiagnoseError, UsageError
from diagnose.trace.source import is_url, shown

if TYPE_CHECKING:
    from diagnose.compare.model import Comparison
    from diagnose.document.model import Document


REPORT = "report.json"
_USAGE = "python -m diagnose compare A B [options]"
_DESCRIPTION = """\
What changed from run A to run B: the step, the parts of its ledger, the findings, the lines and operators that cost more or less.

A and B are run folders, report.json files or traces. What has no report yet is analysed, and nothing is written. A change that may be
noise is called so: one run each tells only so much.
"""
_EPILOG = """\
examples:
  python -m diagnose compare diagnosis/20261121-070000 diagnosis/20261121-081500
  python -m diagnose compare main/report.json branch/report.json --format markdown > comment.md
  python -m diagnose compare before.pt.trace.json.gz after.pt.trace.json.gz --fail-on slower

exit codes: 0 compared, 1 failure of diagnose, 2 wrong usage or unreadable file, 4 --fail-on slower and B is slower beyond noise
"""


def answer(options: argparse.Namespace) -> int:
    """Say on stdout what changed between the two runs that the command line names."""
    given = parser().parse_args(options.args)
    if given.a is None or given.b is None:
        raise UsageError("compare needs two runs", do=_USAGE)
    from diagnose.compare.comparison import compare

    documents = [_document(target, options) for target in (given.a, given.b)]
    comparison = compare(documents[0], documents[1], (shown(given.a), shown(given.b)))
    _say(comparison, "json" if options.json or given.json else given.format)
    return EXIT_FINDINGS if given.fail_on == comparison.verdict else EXIT_OK


def _say(comparison: Comparison, form: str) -> None:
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
            f"{target} is no run folder, report or trace", do="record it first: python -m diagnose train.py"
        )
    from diagnose.pipeline import analyse
    from diagnose.report.progress import reading_progress

    with reading_progress(quiet=options.quiet) as progress:
        source = target if is_url(target) else Path(target)
        return analyse(source, memory_limit=options.memory_limit, trusted=options.trusted, progress=progress)


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


def parser() -> argparse.ArgumentParser:
    options = Parser(
        prog="python -m diagnose compare", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG
    )
    add = options.add_argument
    add("a", metavar="A", nargs="?", help="the run before")
    add("b", metavar="B", nargs="?", help="the run after")
    add(
        "--format",
        choices=("text", "markdown"),
        default="text",
        help="markdown: a page for a pull request (default text)",
    )
    add("--json", action="store_true", help="the comparison as a document, on one line")
    add(
        "--fail-on",
        choices=("slower",),
        help="exit with 4 if B is slower beyond noise, for CI (what cannot be told is not slower)",
    )
    return options

"""`python -m diagnose accuracy`: predicted against measured, of all verified runs in a folder.

Heavy imports wait.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnose.commands.options import READS_NO_TRACE, WRITES_NOTHING, Parser
from diagnose.commands.outputs import RUNS
from diagnose.errors import EXIT_OK, UsageError

_USAGE = "python -m diagnose accuracy [FOLDER]"
_DESCRIPTION = """\
List the predicted savings of all runs in FOLDER, beside those that `verify` measured.
"""
_EPILOG = """\
exit codes: 0 done, 2 wrong usage, or no fix was verified there
"""


def parser() -> Parser:
    parser = Parser("accuracy", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=RUNS,
        help=f"the folder of the runs (default {RUNS})",
    )
    parser.refuse("--out", WRITES_NOTHING)
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Say it on stdout."""
    from diagnose.report.accuracy import accuracy_text, left_out
    from diagnose.verify.accuracy import found_below

    found = found_below(options.folder)
    if not found.pairs:
        raise UsageError(
            f"no verified fix below {options.folder}",
            saw=left_out(found),
            do="python -m diagnose verify RUN measures what fixes gain",
        )
    print(accuracy_text(found), flush=True)
    return EXIT_OK

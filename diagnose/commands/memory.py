"""`python -m diagnose memory`: a snapshot of a GPU's memory, read and told. Heavy imports wait."""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnose.commands.options import WRITES_NOTHING, Parser, add_format_options, byte_count
from diagnose.errors import EXIT_OK, UsageError

_USAGE = "python -m diagnose memory SNAPSHOT"
_DESCRIPTION = """\
What fills a GPU's memory, at which line, by a snapshot of torch.cuda.memory._dump_snapshot(): the peak, part
by part, who holds it, what grows, and how an out-of-memory came about.
The file is read as plain data: nothing in it is run.
"""
_EPILOG = """\
examples:
  python -m diagnose memory snapshot.pickle
  python -m diagnose memory snapshot.pickle --format json

To take one: torch.cuda.memory._record_memory_history() before the steps, after them
torch.cuda.memory._dump_snapshot("snapshot.pickle").

exit codes: 0 done, 2 wrong usage, or no snapshot that can be read
"""


def parser() -> Parser:
    parser = Parser("memory", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("snapshot", metavar="SNAPSHOT", nargs="?", type=Path)
    add_format_options(parser, ("text", "markdown", "json"), "markdown, or json (default markdown)")
    parser.add_argument(
        "--memory-limit",
        type=byte_count,
        metavar="SIZE",
        help="what reading it may take: 8G, 500M … (default half the free)",
    )
    parser.refuse("--out", WRITES_NOTHING)
    return parser


def run(options: argparse.Namespace) -> int:
    """Say it on stdout."""
    if options.snapshot is None:
        raise UsageError("memory needs a snapshot", do=_USAGE)
    if not options.snapshot.is_file():
        raise UsageError(f"there is no file {options.snapshot}", do=_USAGE)
    return tell_snapshot(options.snapshot, options)


def tell_snapshot(path: Path, options: argparse.Namespace) -> int:
    """Also of a snapshot that is named as a target."""
    from diagnose.document.stored import to_json
    from diagnose.report.snapshot import snapshot_page
    from diagnose.snapshot.reading import read_snapshot
    from diagnose.snapshot.summary import summary

    found = summary(read_snapshot(path, options.memory_limit), path.name)
    print(to_json(found) if options.json else snapshot_page(found), flush=True)
    return EXIT_OK

"""`python -m diagnose fleet`: a job's many ranks, analysed on a Dask cluster. Heavy imports wait."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.options import (
    Parser,
    add_out_option,
    add_output_options,
    add_reading_options,
    positive_number,
    reading_limits,
)
from diagnose.commands.outputs import open_output, out_folder, writing
from diagnose.errors import UsageError
from diagnose.trace.source import is_url

if TYPE_CHECKING:
    from diagnose.document.model import Document

SUMMARIES = "summaries"
EVERY_S = 5  # between lines of progress
_USAGE = "python -m diagnose fleet TRACES [options]"
_DESCRIPTION = """\
Find the late rank of one job, and why it is late, from the traces of all ranks (even thousands). A Dask
cluster reads them.

TRACES is a folder with all below it, a pattern in quotes, or the URL of either (anything fsspec reads). It
holds one trace per rank, or run folders of `diagnose`. One worker reads each rank and reduces it to a small
summary (a Parquet file). No trace leaves its worker. The report is about the late rank.
"""
_EPILOG = """\
examples:
  python -m diagnose fleet traces/                   on this machine, one worker per core
  python -m diagnose fleet 's3://bucket/job-17/*/rank*.json.gz' --workers 8
  python -m diagnose fleet '/shared/job-17/node*'    run folders that diagnose recorded, one per machine
  python -m diagnose fleet s3://bucket/job-17 --scheduler tcp://10.0.0.1:8786 --summaries s3://bucket/small

exit codes: 0 report written, 1 failure of diagnose, 2 wrong usage, no readable trace, or no Dask,
            4 --fail-on, 130 interrupted
"""


def run(options: argparse.Namespace) -> int:
    """Analyse the fleet, write the report of the rank that matters."""
    if options.traces is None:
        raise UsageError("TRACES is missing", do=f"a folder, a pattern or a URL: {_USAGE}")
    if options.scheduler and options.workers:
        raise UsageError(
            "--scheduler and --workers are two things",
            do="a running cluster has the workers it has: leave --workers out",
        )
    from diagnose.document.queries import exit_code

    with out_folder(options.out) as out, open_output(options) as output:
        document = _report_into(out, options)
        output.add(document)
        return exit_code(document, options.fail_on)


def _report_into(out: Path, options: argparse.Namespace) -> Document:
    """Write the reports into `out`, print the summary; the result document."""
    from diagnose.fleet.cluster import cluster
    from diagnose.fleet.fleet import analyse_fleet
    from diagnose.fleet.recordings import fleet_ranks
    from diagnose.pipeline import with_commands, write_files
    from diagnose.report.console import stderr_console
    from diagnose.report.progress import Progress
    from diagnose.report.terminal import print_summary

    say = Progress(quiet=options.quiet)
    ranks = fleet_ranks(options.traces)
    summaries = options.summaries or str(out.resolve() / SUMMARIES)
    with cluster(options.scheduler, options.workers) as client:
        say(
            f"reading {_number(len(ranks), 'rank')} on {_number(len(client.nthreads()), 'worker')}",
            client.dashboard_link,
        )
        if not is_url(summaries):
            _make_folder(Path(summaries))
        fleet = analyse_fleet(client, ranks, summaries, reading_limits(options), _told(say, len(ranks)))
    # not the trace as their source: it stays where it is
    with writing(out, "name another folder: --out"):
        document = with_commands(fleet.document, out, out)
        try:
            print_summary(document, out, stderr_console(quiet=options.quiet))
        finally:
            write_files(document, fleet.picture, out, out)
    return document


def _number(count: int, what: str) -> str:
    from diagnose.document import text

    return f"{text.count(count)} {what}{'s' if count != 1 else ''}"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"no summaries can be written to {folder}",
            saw=str(error),
            do="name another folder: --summaries WHERE",
        ) from error


def _told(
    say: Callable[[str, str], None], count: int, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Says from time to time how many are done, and about how long the others take; of all, what follows."""
    from diagnose.document import text

    began = said = clock()

    def tell(done: int) -> None:
        nonlocal said
        now = clock()
        if done == count:
            say(f"comparing {_number(count, 'rank')}", "")
        elif now - said >= EVERY_S:
            said = now
            say(
                f"{text.count(done)} of {text.count(count)} ranks read",
                f"about {text.seconds((now - began) / done * (count - done))} left",
            )

    return tell


def parser() -> Parser:
    parser = Parser("fleet", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("traces", metavar="TRACES", nargs="?", help="a folder, a pattern, or the URL of either")
    add(
        "--scheduler",
        metavar="ADDRESS",
        default="",
        help="a running Dask scheduler: tcp://host:8786 (default: a cluster on this machine)",
    )
    add(
        "--workers",
        metavar="N",
        type=positive_number(int),
        help="processes on this machine (default: one per core)",
    )
    add_out_option(parser)
    add(
        "--summaries",
        metavar="WHERE",
        help="a folder or URL that every worker can write summaries to (default FOLDER/summaries)",
    )
    add_reading_options(parser)
    add_output_options(parser)
    return parser

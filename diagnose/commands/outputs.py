"""What every command leaves: a folder of its own, the reports in it, the result for
programs on stdout, and errors in one form.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.options import reading_limits
from diagnose.errors import DiagnoseError, UsageError
from diagnose.integrations.trackers import send
from diagnose.report.console import telling
from diagnose.run.child.writing import is_full
from diagnose.run.record import numbered
from diagnose.trace.collector import collector_at_rest
from diagnose.trace.source import Source, shown

if TYPE_CHECKING:
    from diagnose.document.model import Document
    from diagnose.profiles.counters import CountersSummary
    from diagnose.profiles.summary import ProfileSummary
    from diagnose.report.formats import Output


RUNS = Path("diagnosis")  # where runs are kept unless --out says otherwise


@contextmanager
def out_folder(wanted: Path | None, in_place: Path | None = None) -> Iterator[Path]:
    """The folder to write into, made here; it goes again if nothing was written.

    Raises UsageError rather than overwrite anything.
    """
    if wanted is None and in_place is not None:
        yield in_place
        return
    if wanted is not None and wanted.exists() and not (wanted.is_dir() and not any(wanted.iterdir())):
        raise UsageError(
            f"--out {wanted} exists and is not an empty folder",
            do="name a new folder; nothing is ever overwritten",
        )
    out = wanted or fresh_folder(RUNS / time.strftime("%Y%m%d-%H%M%S"))
    is_ours = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{out} cannot be created", saw=str(error), do="name another folder with --out"
        ) from error
    try:
        yield out
    finally:
        if is_ours and not any(out.iterdir()):
            out.rmdir()
            if wanted is None:
                with suppress(OSError):  # earlier reports lie there
                    out.parent.rmdir()


@contextmanager
def writing(out: Path, do: str = "") -> Iterator[None]:
    """Whatever is written into `out`. Raises DiagnoseError where the disk is full or the folder closed.

    `do`: what to do then; without it `out` is recorded into, and what was recorded there is kept.
    """
    try:
        yield
    except OSError as error:
        if not _is_about(error, out):
            raise
        raise DiagnoseError(
            f"{out} cannot be written to", saw=error.strerror or str(error), do=do or _elsewhere(out)
        ) from error


def _elsewhere(recorded: Path | str) -> str:
    """What to do where a report has no room beside what it is made of, if anything is there."""
    folder = Path(recorded)
    if folder.is_dir() and not any(folder.glob("rank*/steps.json")):
        return "make room there, or name another folder: --out"
    return (
        f"what was recorded is kept; write its report elsewhere: python -m diagnose --out FOLDER {recorded}"
    )


def _is_about(error: OSError, out: Path) -> bool:
    """Whether it is a full disk, or a file in `out`."""
    if is_full(error):
        return True
    return isinstance(error.filename, str) and Path(error.filename).resolve().is_relative_to(out.resolve())


def fresh_folder(folder: Path) -> Path:
    """The folder, or with -2, -3 … at its end if it is taken."""
    return next(name for name in numbered(folder) if not name.exists())


@collector_at_rest()  # what has to be imported for it as well
def report_into(
    source: Source | Sequence[Path],
    out: Path,
    options: argparse.Namespace,
    *,
    brief: str = "",
    beside: Sequence[ProfileSummary | CountersSummary] = (),
) -> Document:
    """Analyse, print the summary, write every report into `out`; the result document.

    `brief`: which of several, whose summary is short. `beside`: what other profilers recorded of the run.
    """
    from diagnose.pipeline import report
    from diagnose.report.console import stderr_console
    from diagnose.report.progress import Progress, reading_progress
    from diagnose.report.terminal import print_headline, print_summary
    from diagnose.trace.freed import large_blocks_apart

    large_blocks_apart()
    if brief:
        Progress(quiet=options.quiet)(f"analysing {brief}")
    recorded = source if isinstance(source, (str, Path)) else source[0].parent
    with writing(out, _elsewhere(shown(recorded))), ExitStack() as while_reading:
        progress = while_reading.enter_context(reading_progress(quiet=options.quiet))

        def tell(document: Document) -> None:
            while_reading.close()
            with telling(sys.stderr):
                (print_headline if brief else print_summary)(
                    document, out, stderr_console(quiet=options.quiet)
                )

        return report(source, out, tell, beside, **reading_limits(options), progress=progress)


@contextmanager
def open_output(options: argparse.Namespace, *, after_script: bool = False) -> Iterator[Output]:
    """Where result documents go that programs read; at the end the tracker gets them, too."""
    from diagnose.report.formats import Output

    output = Output(options.format, options.fail_on, after_script=after_script)
    try:
        yield output
    finally:
        output.close()
    for document in output.added if options.track else ():
        send(document, options.track)
        say(f"the report is in {options.track}", options)


def say(text: str, options: argparse.Namespace) -> None:
    """A line about what is done, on stderr."""
    if not options.quiet:
        with telling(sys.stderr):
            print(f"diagnose: {text}", file=sys.stderr, flush=True)


def failed(message: str, exit_code: int, options: argparse.Namespace | None) -> int:
    with telling(sys.stderr):
        if options is not None and options.debug:
            traceback.print_exc()
        print(message, file=sys.stderr, flush=True)
    return exit_code

"""`python -m diagnose whatif`: what a step would take with changes made.

Nothing heavy is imported before something is asked.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.commands.newest import newest_run
from diagnose.commands.options import (
    WRITES_NOTHING,
    Parser,
    add_format_options,
    add_reading_options,
    add_rules_option,
    byte_count,
    positive_number,
    reading_limits,
    with_ratio,
)
from diagnose.commands.targets import kind_of, traces_in
from diagnose.errors import EXIT_OK, UsageError
from diagnose.trace.source import Source, is_url, shown

if TYPE_CHECKING:
    from diagnose.predict.whatif import Question

_USAGE = "python -m diagnose whatif [RUN_OR_TRACE] CHANGE …"
_DESCRIPTION = """\
Predict how long a step takes with changes made, by replaying the recorded steps.

Without RUN_OR_TRACE the newest run below ./diagnosis is used. NAME is a row of the report's ledger (python,
forward, exposed_copies …), a rule (`python -m diagnose rules`) or a selector (`python -m diagnose metrics`
lists host_reads_ms for host_reads).
"""
_EPILOG = """\
examples:
  python -m diagnose whatif --remove host_reads python
  python -m diagnose whatif diagnosis/20261121-070000 --workers 4 --shrink forward=0.5
  python -m diagnose whatif --batch 64 128 --fits 80G
  python -m diagnose whatif --checkpoint 6G
  python -m diagnose whatif trace.json.gz --scale-kernels 'gemm|conv=0.5' --unblock host_sync

exit codes: 0 answered, 1 nothing can be predicted from this recording, 2 wrong usage or unreadable trace
"""


def run(options: argparse.Namespace) -> int:
    """Answer on stdout what the steps of a recording would take with changes made."""
    target = _target(options)
    if _asks_for_batches(options):
        from diagnose.commands.batches import answer

        return answer(Path(_recorded(target)), options)
    if options.checkpoint:
        from diagnose.commands.checkpoints import answer as checkpoints

        return checkpoints(Path(_recorded(target)), options)
    in_folder = traces_in(Path(target)) if kind_of(target) == "traces" else []
    ranks = len(in_folder) > 1  # a trace for each rank of one job
    sources: list[Source] = [*in_folder] or [_recording(target)]
    from diagnose.measure.measured import Measured
    from diagnose.measure.recording import load_recording
    from diagnose.predict.prediction import Prediction
    from diagnose.predict.whatif import checked, what_if, what_if_together
    from diagnose.ranks.load import measured_rank
    from diagnose.report.progress import reading_progress
    from diagnose.report.whatif import (
        print_ranks,
        print_whatif,
        ranks_document,
        stdout_console,
        whatif_document,
        whatif_json,
    )

    questions = checked(_questions(options))
    limits = reading_limits(options)
    with reading_progress(quiet=options.quiet) as progress:
        if ranks:
            predictions = [
                Prediction(Measured(load_recording(source, **limits, progress=progress)))
                for source in sources
            ]
        else:
            predictions = [Prediction(measured_rank(sources[0], **limits, progress=progress)[0])]
    if ranks:
        document = ranks_document(
            what_if_together(questions, predictions), [Path(source).name for source in sources]
        )
    else:
        document = whatif_document(what_if(questions, predictions[0]), shown(target))
    if options.json:
        print(whatif_json(document), flush=True)
    else:
        (print_ranks if ranks else print_whatif)(document, stdout_console())
    return EXIT_OK


def _asks_for_batches(options: argparse.Namespace) -> bool:
    """Whether it is about other batch sizes. Raises UsageError where it is about the replay, too."""
    asks = bool(options.batch or options.fits)
    replayed = (options.remove, options.shrink, options.unblock, options.workers, options.scale_kernels)
    if options.checkpoint and (asks or any(replayed)):
        raise UsageError(
            "--checkpoint tells of memory alone", do="ask for the other changes one after the other"
        )
    if asks and any(replayed):
        raise UsageError(
            "--batch and --fits run the script, the other changes replay its recording",
            do="ask for them one after the other",
        )
    if options.argument and not asks:
        raise UsageError("--argument goes with --batch or --fits")
    return asks


def _target(options: argparse.Namespace) -> str:
    """What the command line names, else the newest run."""
    if options.target is not None:
        return options.target
    swallowed = [name for name in (*options.remove, *options.unblock) if is_url(name) or Path(name).exists()]
    if swallowed:
        raise UsageError(
            f"RUN_OR_TRACE is missing: {shown(swallowed[0])} was taken as a NAME",
            do=f"it comes before the changes: {_USAGE}",
        )
    return str(newest_run(options, "RUN_OR_TRACE", _USAGE))


def _questions(options: argparse.Namespace) -> list[Question]:
    """What is asked, in the order of the options in --help."""
    from diagnose.predict.whatif import Question

    questions = [
        *(Question("remove", name) for name in options.remove),
        *(Question("shrink", name, ratio) for name, ratio in options.shrink),
        *(Question("unblock", name) for name in options.unblock),
        *([Question("workers", str(options.workers))] if options.workers else []),
        *(Question("scale_kernels", pattern, ratio) for pattern, ratio in options.scale_kernels),
    ]
    if not questions:
        raise UsageError(
            "whatif needs at least one change",
            do="python -m diagnose whatif --help shows them, with examples",
        )
    return questions


def _recorded(target: str) -> str:
    """A run folder: for batch sizes its script is run, for checkpoints its memory was looked at. Raises
    UsageError for anything else.
    """
    if kind_of(target) != "run":
        raise UsageError(
            f"{shown(target)} is no run folder: memory is known of scripts alone that diagnose ran",
            do="record it first: python -m diagnose YOUR_SCRIPT.py",
        )
    return target


def _recording(target: str) -> Source:
    """Where a run or a trace lies. Raises UsageError for anything else."""
    kind = kind_of(target)
    if kind not in ("run", "trace"):
        raise UsageError(
            f"{target} is no run folder and no trace", do="record it first: python -m diagnose YOUR_SCRIPT.py"
        )
    return target if is_url(target) else Path(target)


def parser() -> Parser:
    parser = Parser("whatif", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    add(
        "target",
        metavar="RUN_OR_TRACE",
        nargs="?",
        help="a run folder, a trace or its URL, or a folder with a trace of each rank",
    )
    add("--remove", metavar="NAME", **several, help="remove its time; for a rule: make its fix")
    add(
        "--shrink",
        metavar="NAME=RATIO",
        type=with_ratio,
        **several,
        help="reduce its time to this ratio, 0 to 1",
    )
    add("--unblock", metavar="NAME", **several, help="the host no longer waits for it")
    add("--workers", metavar="N", type=positive_number(int), help="load the batches in N worker processes")
    add(
        "--scale-kernels",
        metavar="PATTERN=RATIO",
        type=with_ratio,
        **several,
        help="the same for kernels by name (a regular expression)",
    )
    add(
        "--batch",
        metavar="N",
        type=positive_number(int),
        **several,
        help="time and memory of these batch sizes: the script is run shortly, twice",
    )
    add("--fits", metavar="SIZE", type=byte_count, help="the largest batch that fits in 80G, 500M …")
    add(
        "--checkpoint",
        metavar="SIZE",
        type=byte_count,
        help="the fewest blocks to checkpoint for the tensors to stay within 6G …",
    )
    add(
        "--argument",
        metavar="NAME",
        default="",
        help="the script's own for the batch size, as --argument=--batch-size (default: its DataLoaders')",
    )
    add_reading_options(parser)
    add_rules_option(parser)
    parser.refuse("--out", WRITES_NOTHING)
    add_format_options(parser, ("text", "json"), "text, or json: the answer as a document (default text)")
    return parser

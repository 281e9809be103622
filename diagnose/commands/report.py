"""`python -m diagnose TARGET`, the command without a name: a report on a script or on what was recorded.

Heavy imports wait.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnose import __version__
from diagnose.commands.memory import tell_snapshot
from diagnose.commands.options import (
    WRITES_NOTHING,
    Parser,
    add_out_option,
    add_output_options,
    add_reading_options,
    add_rules_option,
    positive_number,
)
from diagnose.commands.outputs import failed, fresh_folder, open_output, out_folder, report_into
from diagnose.commands.profiles import refuse_what_needs_findings, report_profile
from diagnose.commands.record import RECORDING, record
from diagnose.commands.table import COMMANDS
from diagnose.commands.targets import Kind, kind_of, traces_in
from diagnose.commands.together import report_together
from diagnose.commands.verify import add_verify_options
from diagnose.document.queries import exit_code
from diagnose.errors import EXIT_FAILURE, DiagnoseError, UsageError
from diagnose.run.settings import Settings
from diagnose.trace.formats import TRACE_SUFFIXES
from diagnose.trace.source import is_url, shown

USAGE = "python -m diagnose [options] TARGET [arguments of the script …]"
_DESCRIPTION = """\
Find what slows a PyTorch script, at which line, and what a fix gains.
TARGET is a script or module (-m), a file, folder or URL of torch.profiler, nsys, cProfile …, or a run again.
"""
_EPILOG = """\
commands, in place of TARGET; COMMAND --help shows more (a script of that name is ./COMMAND):
{commands}
examples:
  python -m diagnose train.py --epochs 3          run train.py, record some steps, write a report
  python -m diagnose --verify -m pkg.train        the same for a module, then try the fixes and measure
  python -m diagnose s3://bucket/trace.json.gz    analyse a trace of torch.profiler, wherever fsspec reads
  python -m diagnose --watch train.py             run it to its end, tell when it slows and why
exit codes: 0 report, 1 nothing recorded, 2 usage or bad trace, 3 script failed, 4 --fail-on, 130 interrupted
"""


def parser() -> Parser:
    commands = "\n".join(f"  {name:<9} {summary}" for name, summary in COMMANDS.items())
    parser = Parser(usage=USAGE, description=_DESCRIPTION, epilog=_EPILOG.format(commands=commands))
    add = parser.add_argument
    add("-m", dest="module", action="store_true", help="TARGET is a module, run as `python -m` would")
    add_out_option(parser)
    add(
        "--steps",
        type=positive_number(int),
        metavar="N",
        help="steps of the timeline (default 8, more if short)",
    )
    add(
        "--plain-steps",
        type=positive_number(int),
        metavar="N",
        help="steps timed without a profiler (default 2.5 × --steps)",
    )
    add("--keep-going", action="store_true", default=None, help="let the script run to its own end")
    add("--watch", action="store_true", default=None, help="let it run to its end; tell when, why it slows")
    add(
        "--no-stacks",
        dest="stacks",
        action="store_false",
        default=None,
        help="skip the slow phase that finds source lines",
    )
    add(
        "--device",
        choices=("auto", "cpu", "cuda"),
        metavar="DEVICE",
        help=f"what to record: auto, cpu, cuda (default {Settings.device})",
    )
    add(
        "--timeout",
        dest="timeout_s",
        type=positive_number(float),
        metavar="SECONDS",
        help="end the script after this time",
    )
    add(
        "--wait",
        dest="wait_s",
        type=positive_number(float),
        metavar="SECONDS",
        help=argparse.SUPPRESS,  # for work that comes seldom; the report says when it would help
    )
    add_reading_options(parser)
    add_rules_option(parser)
    add(
        "--verify",
        action="store_true",
        default=None,
        help="then try each fix and measure (see `verify --help`)",
    )
    add_verify_options(parser, shown=False)
    add_output_options(parser)
    add("--version", action="version", version=f"diagnose {__version__}")
    return parser


def with_options_behind(options: argparse.Namespace) -> argparse.Namespace:
    """What stands behind a script is the script's; behind a recording it can only be meant for us: options,
    and other recordings of the same run.

    Raises UsageError for what is neither.
    """
    try:
        kind = _kind(options)
    except UsageError:  # `run` says so
        return options
    if kind in ("script", "module"):
        return options
    own = parser()
    _, unknown = own.parse_known_args(options.args)
    files = [given for given in unknown if is_url(given) or Path(given).exists()]
    if len(files) < len(unknown):
        others = " ".join(given for given in unknown if given not in files)
        raise UsageError(
            f"{shown(options.target)} is already recorded and takes no arguments: {others}",
            do="python -m diagnose --help",
        )
    options = own.parse([given for given in options.args if given not in files], options)
    options.args, options.beside = [], files
    return options


def _kind(options: argparse.Namespace) -> Kind:
    return kind_of(options.target, module=options.module, commands=COMMANDS)


def run(options: argparse.Namespace) -> int:
    """Record the script or read what was recorded, then report."""
    kind = _kind(options)
    if kind in ("script", "module"):
        return record(options)
    _refuse_recording_options(options)
    if getattr(options, "beside", ()):
        return report_together(options)
    if kind == "profile":
        return report_profile(options)
    if kind == "snapshot":
        refuse_what_needs_findings(options)
        if options.out is not None:
            raise UsageError(
                f"{options.target} is a snapshot of memory: --out is not for it", do=WRITES_NOTHING
            )
        return tell_snapshot(Path(options.target), options)
    if kind == "traces":
        return _analyse_folder(options)
    source = options.target if is_url(options.target) else Path(options.target)
    with (
        out_folder(options.out, in_place=source if kind == "run" else None) as out,
        open_output(options) as output,
    ):
        document = report_into(source, out, options)
        output.add(document)
        return exit_code(document, options.fail_on)


def _refuse_recording_options(options: argparse.Namespace) -> None:
    given = [
        flag
        for name, flag in [*RECORDING.items(), ("verify", "--verify")]
        if getattr(options, name) is not None
    ]
    if given:
        raise UsageError(
            f"{shown(options.target)} is already recorded: {' '.join(given)} would change nothing",
            do="leave it out, or name a script",
        )


def _analyse_folder(options: argparse.Namespace) -> int:
    """One report for the ranks of a job, else one for each trace; a bad one costs only itself."""
    from diagnose.ranks.naming import are_one_job

    codes = []
    with out_folder(options.out) as out, open_output(options) as output:
        traces = traces_in(Path(options.target))
        if are_one_job(traces):
            document = report_into(traces, out, options)
            output.add(document)
            return exit_code(document, options.fail_on)
        for number, trace in enumerate(traces, 1):
            try:
                document = report_into(
                    trace,
                    fresh_folder(out / _trace_name(trace)),
                    options,
                    brief=f"{trace.name}, {number} of {len(traces)}",
                )
            except DiagnoseError as error:
                failed(f"diagnose: {error}", EXIT_FAILURE, options)
            else:
                output.add(document)
                codes.append(exit_code(document, options.fail_on))
        if not codes:
            raise UsageError(f"none of the traces in {options.target} could be read")
    return max(codes)


def _trace_name(trace: Path) -> str:
    suffix = next(
        suffix for suffix in sorted(TRACE_SUFFIXES, key=len, reverse=True) if trace.name.endswith(suffix)
    )
    name = trace.name.removesuffix(suffix).removesuffix(".pt.trace")
    name = "".join(character if character.isprintable() else "_" for character in name)
    return name if name.strip(".") else "trace"  # "..json" must not name the folder itself or the one above

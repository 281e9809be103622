"""The command line: what the target is, what to do with it, and which exit code that ends with.

Only the standard library is imported before something has to be done: `--help` must feel instant.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from diagnose import __version__
from diagnose.commands import compare as comparing
from diagnose.commands import fleet as fleeting
from diagnose.commands import launching, whatif
from diagnose.commands import verify as verifying
from diagnose.commands.launching import RECORDING
from diagnose.commands.options import Parser, add_output_options, byte_count, positive_number, with_format
from diagnose.commands.outputs import failed, fresh_folder, open_output, out_folder, report_into
from diagnose.commands.targets import COMMANDS, kind_of, traces_in
from diagnose.document.queries import SEVERITIES, exit_code
from diagnose.errors import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, DiagnoseError, UsageError
from diagnose.run.settings import Settings
from diagnose.trace.formats import TRACE_SUFFIXES
from diagnose.trace.source import is_url, shown

_USAGE = "python -m diagnose [options] TARGET [arguments of the script …]"
_DESCRIPTION = """\
Find what slows a PyTorch script, at which line, and what fixing it gains.

TARGET is a script, a module (-m), a trace file or its URL, a folder of traces, or a run folder to analyse again.
Options stand before TARGET; everything after a script belongs to the script.
"""
_EPILOG = """\
examples:
  python -m diagnose train.py --epochs 3          run train.py, record some steps, write a report
  python -m diagnose --verify train.py            the same, then try the fixes and measure what each gains
  python -m diagnose --steps 4 -m pkg.train       the same for a module, with fewer steps
  python -m diagnose trace.json.gz                analyse a trace of torch.profiler
  python -m diagnose s3://bucket/trace.json.gz    the same from wherever fsspec reads
  python -m diagnose diagnosis/20261121-070000    analyse a recorded run again
  python -m diagnose verify RUN                   try its fixes on the script and measure (`verify --help` shows more)
  python -m diagnose compare RUN_A RUN_B          what changed from one run to another
  python -m diagnose fleet TRACES                 thousands of ranks, on a Dask cluster (`fleet --help` shows more)
  python -m diagnose whatif RUN --remove python   what a step would take without it (`whatif --help` shows more)
  python -m diagnose rules input-wait-no-workers  explain a rule (`rules` and `metrics` list all; a script of that name is ./rules)
  python -m diagnose rules new my-rule            begin a rule of your own (in a source tree)

exit codes: 0 report, 1 nothing recorded or our failure, 2 wrong usage or unreadable trace, 3 script failed, 4 --fail-on, 130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = None
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        return _run(options)
    except DiagnoseError as error:
        return failed(f"diagnose: {error}", error.exit_code, options)
    except KeyboardInterrupt:
        return failed("diagnose: interrupted", EXIT_INTERRUPTED, options)
    except BrokenPipeError:  # `diagnose rules | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        advice = "  do:  run again with --debug for the traceback, and please report it"
        return failed(f"diagnose failed: {type(error).__name__}: {error}\n{advice}", EXIT_FAILURE, options)


# ---- the command line


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options, with `target`, `module` and `args` (the script's own).

    Raises UsageError; `--help` and `--version` exit.
    """
    parser = _parser()
    own, target, args = _split(argv, parser)
    options = with_format(parser.parse_args(own))
    if target is None:
        raise UsageError("TARGET is missing", do=f"{_USAGE}; --help shows examples")
    options.target, options.args = target, args
    return options


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m diagnose", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("-m", dest="module", action="store_true", help="TARGET is a module, run as `python -m` would")
    add("--out", type=Path, metavar="FOLDER", help="a new folder for the report (default diagnosis/<time>)")
    add(
        "--steps",
        type=positive_number(int),
        metavar="N",
        help="steps of the timeline; the other phases scale with it (default: 8, more where they are short)",
    )
    add(
        "--plain-steps",
        type=positive_number(int),
        metavar="N",
        help="steps timed without profiler (default 2.5 × --steps)",
    )
    add("--keep-going", action="store_true", default=None, help="let the script run on to its own end")
    add(
        "--no-stacks",
        dest="stacks",
        action="store_false",
        default=None,
        help="skip the slow phase that finds source lines",
    )
    add("--device", choices=("auto", "cpu", "cuda"), help=f"what to record (default {Settings.device})")
    add(
        "--timeout",
        dest="timeout_s",
        type=positive_number(float),
        metavar="SECONDS",
        help="end the script after this time",
    )
    add(
        "--memory-limit",
        type=byte_count,
        metavar="SIZE",
        help="refuse a trace that takes more: 8G, 500M (default half of what is free)",
    )
    add(
        "--no-size-limit",
        dest="trusted",
        action="store_true",
        help="trust a trace: read all that it inflates to",
    )
    add(
        "--verify",
        action="store_true",
        default=None,
        help="then try each fix and measure (see `verify --help`)",
    )
    verifying.add_options(add, shown=False)
    add_output_options(add)
    add(
        "--fail-on",
        choices=SEVERITIES,
        metavar="SEVERITY",
        help="exit with 4 for a finding from low, medium or high on",
    )
    add("--debug", action="store_true", help="show tracebacks of diagnose itself")
    add("--version", action="version", version=f"diagnose {__version__}")
    return parser


def _split(argv: Sequence[str], parser: argparse.ArgumentParser) -> tuple[list[str], str | None, list[str]]:
    """Our own options, the target, and what follows it, which is not ours to read."""
    known = {flag: action.nargs != 0 for action in parser._actions for flag in action.option_strings}
    own: list[str] = []
    rest = iter(argv)
    for token in rest:
        if token == "--":
            return own, next(rest, None), list(rest)
        if not token.startswith("-"):
            return own, token, list(rest)
        flag, has_value, _ = token.partition("=")
        if flag not in known:
            raise _unknown_option(flag, known)
        own.append(token)
        if known[flag] and not has_value:
            own += [value for value in [next(rest, None)] if value is not None]
    return own, None, []


def _unknown_option(flag: str, known: dict[str, bool]) -> UsageError:
    near = difflib.get_close_matches(flag, known, n=1)
    return UsageError(
        f"unknown option {flag}",
        do=f"did you mean {near[0]}?" if near else "options of the script stand after the script; see --help",
    )


# ---- what is done


def _run(options: argparse.Namespace) -> int:
    kind = kind_of(options.target, module=options.module)
    if kind in COMMANDS and kind not in ("verify", "fleet") and options.format not in ("text", "json"):
        raise UsageError(f"{kind} has no --format {options.format}", do=f"python -m diagnose {kind} --help")
    if kind in ("rules", "metrics"):
        print(_catalogue(kind, options.args), flush=True)
        return EXIT_OK
    if kind == "whatif":
        return whatif.answer(options)
    if kind == "verify":
        return verifying.answer(options)
    if kind == "compare":
        return comparing.answer(options)
    if kind == "fleet":
        return _analyse_fleet(options)
    if kind == "accuracy":
        print(_accuracy(options.args), flush=True)
        return EXIT_OK
    if kind in ("script", "module"):
        return launching.record(options)
    _refuse_recording_options(options)
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
    if options.args:
        raise UsageError(
            f"{shown(options.target)} is already recorded and takes no arguments: {' '.join(options.args)}",
            do="diagnose's own options come before it: python -m diagnose --out FOLDER TRACE",
        )
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


def _catalogue(kind: str, args: list[str]) -> str:
    from diagnose.judge.rules import load_rules
    from diagnose.measure.metrics import METRICS
    from diagnose.report import catalogue

    if args and args[0] in ("-h", "--help"):
        return "python -m diagnose rules [ID | new ID]\npython -m diagnose metrics"
    if kind == "rules" and args[:1] == ["new"] and len(args) == 2:
        return _new_rule(args[1])
    if len(args) > (kind == "rules"):
        raise UsageError(
            f"too many arguments for {kind}: {' '.join(args)}", do=f"a script called {kind} is ./{kind}"
        )
    if kind == "metrics":
        return catalogue.metric_list(METRICS.values())
    rules = load_rules()
    if not args:
        return catalogue.rule_list(rules.values())
    if args[0] not in rules:
        near = difflib.get_close_matches(args[0], rules, n=1)
        raise UsageError(
            f"there is no rule {args[0]}",
            do=f"did you mean {near[0]}?" if near else "`python -m diagnose rules` lists all",
        )
    return catalogue.rule_page(rules[args[0]], METRICS)


def _accuracy(args: list[str]) -> str:
    """Predicted against measured, of all verified runs in a folder."""
    if len(args) > 1 or args[:1] in (["-h"], ["--help"]):
        return (
            "python -m diagnose accuracy [FOLDER]\nWhat fixes were predicted to save and what `verify` "
            "measured, of all runs in FOLDER."
        )
    from diagnose.report.accuracy import accuracy_text
    from diagnose.verify.accuracy import pairs_below

    folder = Path(args[0] if args else "diagnosis")
    pairs = pairs_below(folder)
    if not pairs:
        raise UsageError(
            f"no verified fix below {folder}", do="python -m diagnose verify RUN measures what fixes gain"
        )
    return accuracy_text(pairs)


def _new_rule(rule_id: str) -> str:
    """The skeleton of a rule, written where a source tree keeps its rules."""
    from diagnose.judge.rules import rules_folder
    from diagnose.judge.skeleton import write_skeleton

    folder = rules_folder()
    if folder.name != "rules":
        raise UsageError(
            "rules are added in a source tree, not in an installed package",
            do="git clone the project; see CONTRIBUTING.md",
        )
    written = "\n".join(f"  {path}" for path in write_skeleton(rule_id, folder))
    return (
        f"written:\n{written}\nfill in every TODO; CONTRIBUTING.md shows how, `pytest tests/judge -k "
        f"{rule_id}` says what is missing"
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


def _analyse_fleet(options: argparse.Namespace) -> int:
    asked = fleeting.given(options)
    with out_folder(asked.out) as out, open_output(asked) as output:
        document = fleeting.answer(asked, out)
        output.add(document)
        return exit_code(document, asked.fail_on)


def _trace_name(trace: Path) -> str:
    suffix = next(
        suffix for suffix in sorted(TRACE_SUFFIXES, key=len, reverse=True) if trace.name.endswith(suffix)
    )
    name = trace.name.removesuffix(suffix).removesuffix(".pt.trace")
    name = "".join(character if character.isprintable() else "_" for character in name)
    return name if name.strip(".") else "trace"  # "..json" must not name the folder itself or the one above

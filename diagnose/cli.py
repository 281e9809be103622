"""The command line: what the target is, what to do with it, and which exit code that ends with.

Only the standard library is imported before something has to be done: `--help` must feel instant.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from diagnose import __version__
from diagnose.errors import EXIT_FAILURE, EXIT_FINDINGS, EXIT_OK, EXIT_SCRIPT_FAILED, DiagnoseError, UsageError
from diagnose.run.settings import Settings, Target
from diagnose.trace.source import Source, is_url, shown

if TYPE_CHECKING:
    from diagnose.predict.whatif import Question

Kind = Literal["module", "script", "run", "trace", "traces", "rules", "metrics", "whatif"]
COMMANDS: dict[str, Kind] = {"rules": "rules", "metrics": "metrics", "whatif": "whatif"}

SEVERITIES = ("low", "medium", "high")
EXIT_INTERRUPTED = 130  # what a shell reports after Ctrl-C
TRACE_SUFFIXES = (".json", ".json.gz", ".json.zst")
SCRIPT_SUFFIXES = (".py", ".pyw", ".pyc", ".pyz")
# Settings that only matter while a script runs, and the options that give them.
_RECORDING = {
    "steps": "--steps",
    "plain_steps": "--plain-steps",
    "keep_going": "--keep-going",
    "stacks": "--no-stacks",
    "device": "--device",
    "timeout_s": "--timeout",
}

_USAGE = "python -m diagnose [options] TARGET [arguments of the script …]"
_DESCRIPTION = """\
Find what slows a PyTorch script, at which line, and what fixing it gains.

TARGET is a script, a module (-m), a trace file or its URL, a folder of traces, or a run folder to analyse again.
Options stand before TARGET; everything after a script belongs to the script.
"""
_EPILOG = """\
examples:
  python -m diagnose train.py --epochs 3          run train.py, record some steps, write a report
  python -m diagnose --steps 4 -m pkg.train       the same for a module, with fewer steps
  python -m diagnose trace.json.gz                analyse a trace of torch.profiler
  python -m diagnose s3://bucket/trace.json.gz    the same from wherever fsspec reads
  python -m diagnose diagnosis/20261121-070000    analyse a recorded run again
  python -m diagnose whatif RUN --remove python   what a step would take without it (`whatif --help` shows more)
  python -m diagnose rules input-wait-no-workers  explain a rule (`rules` and `metrics` list all; a script of that name is ./rules)
  python -m diagnose rules new my-rule            begin a rule of your own (in a source tree)

exit codes: 0 report written, 1 failure of diagnose, 2 wrong usage or unreadable trace, 3 the script failed, 4 --fail-on, 130 interrupted
"""

_WHATIF_USAGE = "python -m diagnose whatif RUN_OR_TRACE CHANGE …"
_WHATIF_DESCRIPTION = """\
What a step would take with changes made, predicted by replaying the recorded steps.

NAME is a row of the report's ledger (python, forward, exposed_copies …), a rule (`python -m diagnose rules`) or a selector
(`python -m diagnose metrics` lists host_reads_ms for host_reads).
"""
_WHATIF_EPILOG = """\
examples:
  python -m diagnose whatif diagnosis/20261121-070000 --remove host_reads python
  python -m diagnose whatif diagnosis/20261121-070000 --workers 4 --shrink forward=0.5
  python -m diagnose whatif trace.json.gz --scale-kernels 'gemm|conv=0.5' --unblock host_sync

exit codes: 0 answered, 1 nothing can be predicted from this recording, 2 wrong usage or unreadable trace
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = None
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        return _run(options)
    except DiagnoseError as error:
        return _failed(f"diagnose: {error}", error.exit_code, options)
    except KeyboardInterrupt:
        return _failed("diagnose: interrupted", EXIT_INTERRUPTED, options)
    except BrokenPipeError:  # `diagnose rules | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        advice = "  do:  run again with --debug for the traceback, and please report it"
        return _failed(f"diagnose failed: {type(error).__name__}: {error}\n{advice}", EXIT_FAILURE, options)


def _failed(message: str, exit_code: int, options: argparse.Namespace | None) -> int:
    if options is not None and options.debug:
        traceback.print_exc()
    print(message, file=sys.stderr)
    return exit_code


# ---- the command line


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, do=f"{self.prog} --help")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options, with `target`, `module` and `args` (the script's own). Raises UsageError; `--help` and `--version` exit."""
    parser = _parser()
    own, target, args = _split(argv, parser)
    options = parser.parse_args(own)
    if target is None:
        raise UsageError("TARGET is missing", do=f"{_USAGE}; --help shows examples")
    options.target, options.args = target, args
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m diagnose",
        usage=_USAGE,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-m", dest="module", action="store_true", help="TARGET is a module, run as `python -m` would")
    add("--out", type=Path, metavar="FOLDER", help="where the report goes (default diagnosis/<time>); must be new or empty")
    add(
        "--steps",
        type=_positive(int),
        metavar="N",
        help=f"steps of the timeline; the other phases scale with it (default {Settings.steps})",
    )
    add("--plain-steps", type=_positive(int), metavar="N", help="steps timed without the profiler (default 2.5 times --steps)")
    add("--keep-going", action="store_true", default=None, help="let the script run to its own end instead of stopping it")
    add("--no-stacks", dest="stacks", action="store_false", default=None, help="skip the slow phase that finds source lines")
    add("--device", choices=("auto", "cpu", "cuda"), help=f"what to record (default {Settings.device})")
    add("--timeout", dest="timeout_s", type=_positive(float), metavar="SECONDS", help="end the script after this time")
    add("--memory-limit", type=_byte_count, metavar="SIZE", help="refuse a trace that takes more: 8G, 500M (default half of what is free)")
    add("--no-size-limit", dest="trusted", action="store_true", help="trust the file: read however much a compressed trace inflates to")
    add("--json", action="store_true", help="the result on stdout as well, one document per line, after whatever the script printed there")
    add("--fail-on", choices=SEVERITIES, help="exit with 4 if the plan holds a finding at least that severe (for CI)")
    add("--debug", action="store_true", help="show tracebacks of diagnose itself")
    add("--version", action="version", version=f"diagnose {__version__}")
    return parser


def _whatif_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m diagnose whatif",
        usage=_WHATIF_USAGE,
        description=_WHATIF_DESCRIPTION,
        epilog=_WHATIF_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    add("target", metavar="RUN_OR_TRACE", nargs="?", help="a run folder, a trace or its URL, or a folder with a trace of each rank")
    add("--remove", metavar="NAME", **several, help="it takes no time; of a rule: its fix is made")
    add("--shrink", metavar="NAME=RATIO", type=_with_ratio, **several, help="it takes this part of its time, 0 to 1")
    add("--unblock", metavar="NAME", **several, help="the host no longer waits for it")
    add("--workers", metavar="N", type=_positive(int), help="so many worker processes load the batches")
    add("--scale-kernels", metavar="PATTERN=RATIO", type=_with_ratio, **several, help="so do kernels of such names (a regular expression)")
    add("--json", action="store_true", help="the answer as a document, on one line")
    return parser


def _with_ratio(given: str) -> tuple[str, float]:
    """`python=0.5`. A pattern may hold an equals sign itself."""
    name, _, number = given.rpartition("=")
    try:
        ratio = float(number)
    except ValueError:
        ratio = -1.0
    if not name or not 0 <= ratio <= 1:
        raise argparse.ArgumentTypeError(f"{given!r} is no name and a ratio from 0 to 1, as in python=0.5")
    return name, ratio


def _positive(number: type) -> Any:
    def positive(given: str) -> Any:
        try:
            value = number(given)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{given!r} is not a positive number")
        return value

    return positive


def _byte_count(given: str) -> int:
    """The bytes in `8G`, `1.5MiB` or `500000`; units are powers of 1024."""
    size = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)([KMGT]?)(?:I?B)?", given.upper())
    count = int(float(size[1]) * 1024 ** "-KMGT".find(size[2])) if size else 0
    if count <= 0:
        raise argparse.ArgumentTypeError(f"{given!r} is no size such as 8G, 500M or a number of bytes")
    return count


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
        f"unknown option {flag}", do=f"did you mean {near[0]}?" if near else "options of the script stand after the script; see --help"
    )


# ---- the target


def kind_of(target: str, *, module: bool = False) -> Kind:
    """What the target is. Raises UsageError if it is nothing we can work on."""
    if module:
        return "module"
    if target in COMMANDS:
        return COMMANDS[target]
    if is_url(target):
        return "trace"
    path = Path(target)
    if path.is_dir():
        return _kind_of_folder(path)
    if not path.exists():
        raise UsageError(f"there is no {target}", saw=f"working directory {Path.cwd()}", do=_nearest(path))
    if path.suffix in SCRIPT_SUFFIXES:
        return "script"
    return "trace" if target.endswith(TRACE_SUFFIXES) or _holds_a_trace(path) else "script"


def _kind_of_folder(folder: Path) -> Kind:
    if (folder / "run.json").is_file():
        return "run"
    if traces_in(folder):
        return "traces"
    if (folder / "__main__.py").is_file():
        return "script"
    raise UsageError(
        f"no traces in this folder: {folder}", saw=_contents(folder), do=f"name a folder that holds {', '.join(TRACE_SUFFIXES)} files"
    )


def _contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "") if names else "nothing in it"


def traces_in(folder: Path) -> list[Path]:
    """The folder's trace files by their names, sorted."""
    return sorted(path for path in folder.iterdir() if path.name.endswith(TRACE_SUFFIXES) and path.is_file())


def _holds_a_trace(path: Path) -> bool:
    """By its first bytes: compressed, JSON, or binary. No script begins like any of these."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", saw=str(error)) from error
    return head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or head.lstrip()[:1] in (b"{", b"[") or b"\0" in head


def _nearest(path: Path) -> str:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {folder / near[0]}?" if near else "check the path"


# ---- what is done


def _run(options: argparse.Namespace) -> int:
    kind = kind_of(options.target, module=options.module)
    if kind in ("rules", "metrics"):
        print(_catalogue(kind, options.args), flush=True)
        return EXIT_OK
    if kind == "whatif":
        return _what_if(options)
    if kind in ("script", "module"):
        return _record(options)
    _refuse_recording_options(options)
    if kind == "traces":
        return _analyse_folder(options)
    source = options.target if is_url(options.target) else Path(options.target)
    with _out_folder(options.out, in_place=source if kind == "run" else None) as out:
        return _report(source, out, options)


def _refuse_recording_options(options: argparse.Namespace) -> None:
    if options.args:
        raise UsageError(
            f"{shown(options.target)} is already recorded and takes no arguments: {' '.join(options.args)}",
            do="diagnose's own options come before it: python -m diagnose --out FOLDER TRACE",
        )
    given = [flag for name, flag in _RECORDING.items() if getattr(options, name) is not None]
    if given:
        raise UsageError(
            f"{shown(options.target)} is already recorded: {' '.join(given)} would change nothing", do="leave it out, or name a script"
        )


def _catalogue(kind: str, args: list[str]) -> str:
    from diagnose.measure.metrics import METRICS
    from diagnose.report import catalogue
    from diagnose.rules import load_rules

    if args and args[0] in ("-h", "--help"):
        return "python -m diagnose rules [ID | new ID]\npython -m diagnose metrics"
    if kind == "rules" and args[:1] == ["new"] and len(args) == 2:
        return _new_rule(args[1])
    if len(args) > (kind == "rules"):
        raise UsageError(f"too many arguments for {kind}: {' '.join(args)}", do=f"a script called {kind} is ./{kind}")
    if kind == "metrics":
        return catalogue.metric_list(METRICS.values())
    rules = load_rules()
    if not args:
        return catalogue.rule_list(rules.values())
    if args[0] not in rules:
        near = difflib.get_close_matches(args[0], rules, n=1)
        raise UsageError(f"there is no rule {args[0]}", do=f"did you mean {near[0]}?" if near else "`python -m diagnose rules` lists all")
    return catalogue.rule_page(rules[args[0]], METRICS)


def _new_rule(rule_id: str) -> str:
    """The skeleton of a rule, written where a source tree keeps its rules."""
    from diagnose.report.skeleton import write_skeleton
    from diagnose.rules import rules_folder

    folder = rules_folder()
    if folder.name != "rules":
        raise UsageError("rules are added in a source tree, not in an installed package", do="git clone the project; see CONTRIBUTING.md")
    written = "\n".join(f"  {path}" for path in write_skeleton(rule_id, folder))
    return f"written:\n{written}\nfill in every TODO; CONTRIBUTING.md shows how, `pytest tests/judge -k {rule_id}` says what is missing"


def _what_if(options: argparse.Namespace) -> int:
    """Answer on stdout what the steps of a recording would take with changes made."""
    given = _whatif_parser().parse_args(options.args)
    if given.target is None:
        raise UsageError("RUN_OR_TRACE is missing", do=f"it comes before the changes: {_WHATIF_USAGE}")
    if kind_of(given.target) == "traces":
        return _what_if_together(given, options)
    source = _recording(given.target)
    from diagnose.measure.measured import Measured
    from diagnose.measure.recording import load_recording
    from diagnose.predict.prediction import Prediction
    from diagnose.predict.whatif import checked, what_if
    from diagnose.report.terminal import Progress, ReadingProgress
    from diagnose.report.whatif import print_whatif, stdout_console, whatif_document, whatif_json

    questions = checked(_questions(given))
    progress = ReadingProgress(Progress())
    recording = load_recording(source, memory_limit=options.memory_limit, trusted=options.trusted, progress=progress)
    document = whatif_document(what_if(questions, Prediction(Measured(recording))), shown(given.target))
    if options.json or given.json:
        print(whatif_json(document), flush=True)
    else:
        print_whatif(document, stdout_console())
    return EXIT_OK


def _what_if_together(given: argparse.Namespace, options: argparse.Namespace) -> int:
    """The same of a folder with a trace for each rank of one job."""
    from diagnose.measure.measured import Measured
    from diagnose.measure.recording import load_recording
    from diagnose.predict.prediction import Prediction
    from diagnose.predict.whatif import checked, what_if_together
    from diagnose.report.whatif import print_ranks, ranks_document, stdout_console, whatif_json

    questions, traces = checked(_questions(given)), traces_in(Path(given.target))
    recordings = [load_recording(trace, memory_limit=options.memory_limit, trusted=options.trusted) for trace in traces]
    answer = what_if_together(questions, [Prediction(Measured(recording)) for recording in recordings])
    document = ranks_document(answer, [trace.name for trace in traces])
    if options.json or given.json:
        print(whatif_json(document), flush=True)
    else:
        print_ranks(document, stdout_console())
    return EXIT_OK


def _questions(given: argparse.Namespace) -> list[Question]:
    """What is asked, in the order of the options in --help."""
    from diagnose.predict.whatif import Question

    questions = [
        *(Question("remove", name) for name in given.remove),
        *(Question("shrink", name, ratio) for name, ratio in given.shrink),
        *(Question("unblock", name) for name in given.unblock),
        *([Question("workers", str(given.workers))] if given.workers else []),
        *(Question("scale_kernels", pattern, ratio) for pattern, ratio in given.scale_kernels),
    ]
    if not questions:
        raise UsageError("whatif needs at least one change", do="python -m diagnose whatif --help shows them, with examples")
    return questions


def _recording(target: str) -> Source:
    """Where a run or a trace lies. Raises UsageError for anything else."""
    kind = kind_of(target)
    if kind not in ("run", "trace"):
        raise UsageError(f"{target} is no run folder and no trace", do="record it first: python -m diagnose train.py")
    return target if is_url(target) else Path(target)


def _record(options: argparse.Namespace) -> int:
    """Run the script, then report. However it ended, what was recorded is worth a look."""
    from diagnose.report.terminal import Progress
    from diagnose.run.launch import launch

    settings = Settings(**{name: getattr(options, name) for name in _RECORDING if getattr(options, name) is not None})
    progress = Progress()
    with _out_folder(options.out) as out:
        outcome = launch(Target(options.target, options.module, tuple(options.args)), settings, out, progress)
        script_code = {"crashed": EXIT_SCRIPT_FAILED, "killed": EXIT_SCRIPT_FAILED, "interrupted": EXIT_INTERRUPTED}.get(outcome.ended)
        progress("analysing")
        try:
            code = _report(out, out, options)
        except DiagnoseError as error:
            if script_code is None:
                raise
            code = _failed(f"diagnose: {error}", EXIT_FAILURE, options)
        return code if script_code is None else script_code


def _analyse_folder(options: argparse.Namespace) -> int:
    """A report for each trace; a bad one costs only itself."""
    codes = []
    with _out_folder(options.out) as out:
        for trace in traces_in(Path(options.target)):
            try:
                codes.append(_report(trace, _fresh(out / _trace_name(trace)), options, brief=True))
            except DiagnoseError as error:
                _failed(f"diagnose: {error}", EXIT_FAILURE, options)
        if not codes:
            raise UsageError(f"none of the traces in {options.target} could be read")
    return max(codes)


def _trace_name(trace: Path) -> str:
    suffix = next(suffix for suffix in sorted(TRACE_SUFFIXES, key=len, reverse=True) if trace.name.endswith(suffix))
    name = trace.name.removesuffix(suffix).removesuffix(".pt.trace")
    name = "".join(character if character.isprintable() else "_" for character in name)
    return name if name.strip(".") else "trace"  # "..json" must not name the folder itself or the one above


def _report(source: Source, out: Path, options: argparse.Namespace, *, brief: bool = False) -> int:
    """Analyse, write every report into `out`, print the summary (`brief`: its two main lines); the exit code that --fail-on asks for."""
    from diagnose.analyse import analyse
    from diagnose.report.document import severest, to_json
    from diagnose.report.terminal import Progress, ReadingProgress, print_headline, print_summary, stderr_console
    from diagnose.report.write import write_reports

    progress = ReadingProgress(Progress())
    document = analyse(source, memory_limit=options.memory_limit, trusted=options.trusted, progress=progress)
    write_reports(document, source, out)
    (print_headline if brief else print_summary)(document, out, stderr_console())
    if options.json:
        print(to_json(document), flush=True)
    worst = severest(document)
    fails = options.fail_on and worst and SEVERITIES.index(worst) >= SEVERITIES.index(options.fail_on)
    return EXIT_FINDINGS if fails else EXIT_OK


@contextmanager
def _out_folder(wanted: Path | None, in_place: Path | None = None) -> Iterator[Path]:
    """The folder to write into, made here; it goes again if nothing was written. Raises UsageError rather than overwrite anything."""
    if wanted is None and in_place is not None:
        yield in_place
        return
    if wanted is not None and wanted.exists() and not (wanted.is_dir() and not any(wanted.iterdir())):
        raise UsageError(f"--out {wanted} exists and is not an empty folder", do="name a new folder; nothing is ever overwritten")
    out = wanted or _fresh(Path("diagnosis") / time.strftime("%Y%m%d-%H%M%S"))
    is_ours = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be created", saw=str(error), do="name another folder with --out") from error
    try:
        yield out
    finally:
        if is_ours and not any(out.iterdir()):
            out.rmdir()
            if wanted is None:
                with suppress(OSError):  # earlier reports lie there
                    out.parent.rmdir()


def _fresh(folder: Path) -> Path:
    """The folder, or with -2, -3 … at its end if it is taken."""
    names = [folder, *(folder.with_name(f"{folder.name}-{number}") for number in range(2, 1000))]
    return next(name for name in names if not name.exists())

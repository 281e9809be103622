"""`python -m diagnose verify`: try the fixes of a recorded run on its script, and measure.

Heavy imports wait.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.newest import newest_run
from diagnose.commands.options import (
    Parser,
    add_output_options,
    add_reading_options,
    add_rules_option,
    reading_limits,
    share_above_0,
)
from diagnose.commands.outputs import open_output, writing
from diagnose.commands.recorded_job import how_started, job_of
from diagnose.document.queries import exit_code
from diagnose.errors import EXIT_INTERRUPTED, UsageError
from diagnose.run.settings import FEWEST_STEPS

if TYPE_CHECKING:
    from diagnose.document.model import Document, Finding, Verification
    from diagnose.verify.candidates import Candidate
    from diagnose.verify.verification import VerifyOptions

FILE = "verify.json"

_USAGE = "python -m diagnose verify [RUN] [options]"
_DESCRIPTION = """\
Try the fixes of a recorded run on its script, and measure what each gains.

Without RUN the newest run below ./diagnosis is used. Its script runs many times in fresh processes, with and
without each fix, without a profiler, and is stopped after some steps.
Your script really runs: it will overwrite its own outputs each time. Its source is not changed.
The results go into the run's report. fixes.diff beside it holds the changes as a patch.
It ends within --budget, give or take a few seconds. The same command goes on where it stopped.
"""
_EPILOG = """\
examples:
  python -m diagnose verify
  python -m diagnose verify diagnosis/20261121-070000 --allow numerics --budget 30m
  python -m diagnose verify diagnosis/20261121-070000 --only input-wait-no-workers --precision 1%
  python -m diagnose verify diagnosis/20261121-070000 --try dataloader:num_workers=2 --try gc_freeze

exit codes: 0 done, 1 the script could not be run again, 2 wrong usage, 4 --fail-on,
            130 interrupted (run the same command again to continue)
"""


def run(options: argparse.Namespace) -> int:
    """Verify what the command line names."""
    folder = Path(options.run or newest_run(options, "RUN", _USAGE)).resolve()
    if not (folder / "run.json").is_file():
        raise UsageError(
            f"{folder} is no run folder", do="record the script first: python -m diagnose YOUR_SCRIPT.py"
        )
    return verify(folder, options)


def verify_recorded(folder: Path, options: argparse.Namespace) -> int:
    """The same for the first command's --verify, which has only some of our options."""
    ours = parser().parse([str(folder)])
    shared = vars(options).keys() & vars(ours).keys() - {"steps"}  # those of a recording are others
    for name in shared:
        setattr(ours, name, getattr(options, name))
    return verify(folder, ours, after_script=True)


def verify(folder: Path, options: argparse.Namespace, *, after_script: bool = False) -> int:
    """Try the fixes of the run's plan, write its reports anew, say what came of it; the exit code."""
    with open_output(options, after_script=after_script) as output:
        document, ended_early = _verified(folder, options)
        output.add(document)
    return EXIT_INTERRUPTED if ended_early else exit_code(document, options.fail_on)


def _verified(folder: Path, options: argparse.Namespace) -> tuple[Document, bool]:
    """The run's document with what was measured; whether that was ended early."""
    began_s = time.monotonic()
    from diagnose.document.queries import metric
    from diagnose.pipeline import analyse, report
    from diagnose.report.console import stderr_console
    from diagnose.report.progress import verify_progress
    from diagnose.report.terminal import print_verification
    from diagnose.verify.candidates import by_hand, candidates
    from diagnose.verify.deadline import Deadline
    from diagnose.verify.launch_settings import launch_settings, ways_to_serve
    from diagnose.verify.store import alone_in
    from diagnose.verify.verification import Verifier

    record, facts = how_started(folder)
    limits = reading_limits(options)
    if options.fresh:
        with writing(folder, "--fresh removes what earlier runs told"):
            (folder / FILE).unlink(missing_ok=True)
    document = analyse(folder, **limits)
    chosen: list[Candidate] = [by_hand(fix) for fix in options.by_hand]
    if options.only or options.search or not chosen:
        found = candidates(
            _worth_trying(document), Path(record["cwd"]), options.allow, options.only, document
        )
        chosen = [*found, *chosen]
    if options.search and not options.only:
        if metric(document, "trains") is False:
            chosen += ways_to_serve(facts, options.allow)
        chosen += launch_settings(facts, options.allow)
    if all(candidate.why_not for candidate in chosen):
        if not options.quiet:
            _say_nothing_to_try(chosen)
        return document, False
    before = document.verification.tried if document.verification and not options.fresh else []
    analysis_s = time.monotonic() - began_s
    deadline = Deadline.after(options.budget - 2 * analysis_s)  # to write the report takes about as long
    with (
        writing(folder, "make room there and run the same command again: it goes on where it was"),
        alone_in(folder / "verify"),
        verify_progress(quiet=options.quiet) as progress,
    ):
        verifier = Verifier(
            job_of(record, facts),
            document,
            folder / "verify",
            _verify_options(options),
            deadline,
            progress,
            lambda verification: _save(verification, folder),
            before,
        )
        verification = verifier.prove(chosen)
        document = report(folder, folder, **limits)
    print_verification(document, folder, stderr_console(quiet=options.quiet))
    if options.apply and not verification.interrupted:
        _apply(document)
    return document, verification.interrupted


def _apply(document: Document) -> None:
    """Change the script's files: only what was measured to help.

    Says what it did, for that is nothing to keep quiet about.
    """
    from diagnose.fixes.patch.diff import apply
    from diagnose.report.patch import verified_patches

    patches = verified_patches(document)
    changed = apply(patches, Path(document.run.cwd or ""))
    for path in changed:
        print(f"diagnose: changed {path}", file=sys.stderr)
    for rule, reason in patches.unpatched.items():
        print(f"diagnose: not changed for {rule}: {reason}", file=sys.stderr)
    if not changed and not patches.unpatched:
        print("diagnose: no fix was measured to be faster, so nothing was changed", file=sys.stderr)


def _worth_trying(document: Document) -> list[Finding]:
    """The plan's findings, what can be tried although it stands behind them, and what an
    earlier verification took out of the plan.
    """
    from diagnose.document.measurements import REFUTED
    from diagnose.document.queries import automatic, planned

    refuted = [finding for finding in document.findings if finding.saving.verdict in REFUTED]
    findings = (*planned(document), *automatic(document), *refuted)
    return list({finding.rule: finding for finding in findings}.values())


def _say_nothing_to_try(chosen: list[Candidate]) -> None:
    print(
        "diagnose: there is no fix to try" + (":" if chosen else ", for the plan is empty"), file=sys.stderr
    )
    for candidate in chosen:
        print(f"  {candidate.rule}: {candidate.why_not}", file=sys.stderr)


def _verify_options(options: argparse.Namespace) -> VerifyOptions:
    from diagnose.verify.verification import VerifyOptions

    return VerifyOptions(
        precision=options.precision, steps=options.steps, fresh=options.fresh, search=options.search
    )


def _save(verification: Verification, folder: Path) -> None:
    from diagnose.document.stored import to_json, write_text

    write_text(to_json(verification, indent=1), folder / FILE)


def duration(given: str) -> float:
    """The seconds in `90s`, `10m`, `1.5h` or `600`."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", given)
    seconds = float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]] if found else 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{given!r} is no time such as 90s, 10m or 1h")
    return seconds


def step_count(given: str) -> int:
    """As many as can be compared at all."""
    if not (given.isascii() and given.isdigit() and int(given) >= FEWEST_STEPS):
        raise argparse.ArgumentTypeError(f"{given!r} is no number of steps from {FEWEST_STEPS} on")
    return int(given)


def add_verify_options(parser: Parser, *, shown: bool = True) -> None:
    """Those that the first command has as well, beside --verify; `--help` there leaves them to ours."""
    helps = {
        "--allow": "also try fixes that change the last digits of results",
        "--precision": "measure changes to within ± this share (default 2%%)",
        "--budget": "the time for all of it, report included: 90s, 10m, 1h … (default 10m)",
    }
    said = {flag: help if shown else argparse.SUPPRESS for flag, help in helps.items()}
    add = parser.add_argument
    add("--allow", choices=("numerics",), action="append", default=[], help=said["--allow"])
    add("--precision", type=share_above_0, default=0.02, metavar="SHARE", help=said["--precision"])
    add("--budget", type=duration, default=600.0, metavar="TIME", help=said["--budget"])


def parser() -> Parser:
    parser = Parser("verify", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("run", metavar="RUN", nargs="?", help="a run folder (default: the newest below ./diagnosis)")
    add_verify_options(parser)
    add(
        "--only",
        metavar="RULE",
        nargs="+",
        action="extend",
        default=[],
        help="only the fixes of these rules of the plan",
    )
    add(
        "--try",
        dest="by_hand",
        metavar="FIX",
        action="append",
        default=[],
        help="try a fix by its name, even if no rule advises it",
    )
    add(
        "--steps",
        type=step_count,
        metavar="N",
        help="steps timed in each run (default: two seconds of them, at least 20)",
    )
    add(
        "--search",
        action="store_true",
        help="also ways to start it; each beside what was faster, best set last",
    )
    add("--fresh", action="store_true", help="forget earlier runs instead of continuing them")
    add("--apply", action="store_true", help="then make the fixes that were faster in the script's files")
    add_reading_options(parser)
    add_rules_option(parser)
    parser.refuse("--out", "the results go into the run's own folder: leave the option out")
    add_output_options(parser)
    return parser

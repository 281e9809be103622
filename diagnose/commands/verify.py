"""`python -m diagnose verify`: try the fixes of a recorded run on its script, and measure.

Heavy imports wait.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.commands.options import Parser, add_output_options, with_format
from diagnose.errors import EXIT_INTERRUPTED, DiagnoseError, UsageError
from diagnose.run.settings import FEWEST_STEPS, Target

if TYPE_CHECKING:
    from diagnose.document.model import Document, Finding, Verification
    from diagnose.run.trial import Job
    from diagnose.verify.candidates import Candidate
    from diagnose.verify.verification import VerifyOptions

FILE = "verify.json"
_BY_HAND = "make the change, record it again, and `compare` the two folders"
_USAGE = "python -m diagnose verify RUN [options]"
_DESCRIPTION = """\
Try the fixes of a recorded run on its script, and measure what each gains.

The script is run again and again in fresh processes, as it is and with a fix made inside the process, without a profiler, and stopped
after some steps. Its source is not touched; but what the script itself writes, it writes each time: let that not be what you want to keep.
What was measured goes into the run's report; fixes.diff beside it holds the changes as a patch.
"""
_EPILOG = """\
examples:
  python -m diagnose verify diagnosis/20261121-070000
  python -m diagnose verify diagnosis/20261121-070000 --allow numerics --budget 30m
  python -m diagnose verify diagnosis/20261121-070000 --only input-wait-no-workers --precision 1%
  python -m diagnose verify diagnosis/20261121-070000 --try dataloader:num_workers=2 --try gc_freeze

exit codes: 0 done, 1 the script could not be run again, 2 wrong usage, 130 interrupted (the same command goes on from there)
"""


def answer(options: argparse.Namespace) -> int:
    """Verify what the command line names."""
    given = with_format(parser().parse_args(options.args))
    given.fail_on, given.after_script = options.fail_on, False
    if given.format == "text":
        given.format = options.format
    given.quiet |= options.quiet
    if given.run is None:
        raise UsageError("RUN is missing", do=f"a run folder, as diagnose leaves it: {_USAGE}")
    run = Path(given.run).resolve()
    if not (run / "run.json").is_file():
        raise UsageError(f"{run} is no run folder", do="record the script first: python -m diagnose train.py")
    return verify(run, given)


def verify_recorded(run: Path, options: argparse.Namespace) -> int:
    """The same for the first command's --verify, which has only some of our options."""
    given = parser().parse_args([str(run)])
    given.after_script = True
    for name in ("allow", "precision", "budget", "format", "quiet", "fail_on"):
        setattr(given, name, getattr(options, name))
    return verify(run, given)


def verify(run: Path, given: argparse.Namespace) -> int:
    """Try the fixes of the run's plan, write its reports anew, say what came of it; the exit code."""
    from diagnose.document.queries import exit_code
    from diagnose.pipeline import analyse, report
    from diagnose.report.console import stderr_console
    from diagnose.report.progress import verify_progress
    from diagnose.report.terminal import print_verification
    from diagnose.verify.candidates import by_hand, candidates
    from diagnose.verify.verification import Verifier

    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    if record.get("in_process"):
        raise UsageError("a block that recorded itself cannot be started from outside", do=_BY_HAND)
    facts = facts_of(run)
    _check_machines(record, facts, run)
    cwd = Path(record["cwd"])
    document = analyse(run)
    chosen: list[Candidate] = [by_hand(one) for one in given.by_hand]
    if given.only or not chosen:
        chosen = [*candidates(_planned_without_proof(document), cwd, given.allow, given.only), *chosen]
    if not any(not one.why_not for one in chosen):
        if not given.quiet:
            _say_nothing_to_try(chosen)
        _print(document, given)
        return exit_code(document, given.fail_on)
    before = document.verification.tried if document.verification and not given.fresh else []
    with verify_progress(quiet=given.quiet) as progress:
        prover = Verifier(
            job_of(record, facts),
            document,
            run / "verify",
            _wanted(given),
            progress,
            lambda proof: _save(proof, run),
            before,
        )
        proof = prover.prove(chosen)
    document = report(run, run)
    print_verification(document, run, stderr_console(quiet=given.quiet))
    if given.apply and not proof.interrupted:
        _apply(document)
    _print(document, given)
    return EXIT_INTERRUPTED if proof.interrupted else exit_code(document, given.fail_on)


def _print(document: Document, given: argparse.Namespace) -> None:
    from diagnose.report.formats import Output

    output = Output(given.format, given.fail_on, after_script=given.after_script)
    output.add(document)
    output.close()


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


def _planned_without_proof(document: Document) -> list[Finding]:
    """The plan's findings, what can be tried although it stands behind them, and what an
    earlier verification took out of the plan.
    """
    from diagnose.document.measurements import REFUTED
    from diagnose.document.queries import automatic, planned

    refuted = [one for one in document.findings if one.saving.verdict in REFUTED]
    found = {one.rule: one for one in (*planned(document), *automatic(document), *refuted)}
    return list(found.values())


def _say_nothing_to_try(chosen: list[Candidate]) -> None:
    print(
        "diagnose: there is no fix to try" + (":" if chosen else ", for the plan is empty"), file=sys.stderr
    )
    for one in chosen:
        print(f"  {one.rule}: {one.why_not}", file=sys.stderr)


def facts_of(run: Path) -> dict[str, Any]:
    """Of the lowest rank; empty if none was written."""
    from diagnose.measure.recording import rank_folders

    for folder in rank_folders(run).values():
        try:
            facts: dict[str, Any] = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return facts
    return {}


def _check_machines(record: dict[str, Any], facts: dict[str, Any], run: Path) -> None:
    """Raises UsageError for a job whose ranks did not all run on one machine: those of
    others cannot be started from this one.
    """
    from diagnose.measure.recording import rank_folders

    launchers = record.get("launchers", 1)
    if launchers > 1:
        ranks, here = launchers, record.get("launchers_here", launchers)
    else:  # a script that starts its ranks by itself
        ranks, here = (facts.get("process_group") or {}).get("world_size", 1), len(rank_folders(run))
    if ranks > 1 and here < ranks:
        raise UsageError(
            "the ranks of a job on several machines cannot be started from one of them",
            saw=f"{here} of {ranks} ranks were recorded here",
            do=f"verify a run on one machine, or {_BY_HAND}",
        )


def job_of(record: dict[str, Any], facts: dict[str, Any]) -> Job:
    """The recorded run's script. Raises UsageError if it is no longer there."""
    from diagnose.run.job.torchrun import was_started_by_torchrun, without_launcher
    from diagnose.run.target import check
    from diagnose.run.trial import Job

    target = Target(record["target"], bool(record["module"]), tuple(record["argv"][1:]))
    cwd = Path(record["cwd"])
    if not cwd.is_dir():
        raise UsageError(
            f"the folder the script ran in is gone: {cwd}", do="verify where the run was recorded"
        )
    folder = check(target, cwd)
    variables = facts.get("environment_variables") or {}
    launchers = record.get("launchers", 1)
    ranks = launchers if launchers > 1 or was_started_by_torchrun(variables) else 0
    environment = without_launcher(variables) if ranks else {}
    return Job(
        target, str(folder), str(cwd), _python(record), record["settings"]["device"], ranks, environment
    )


def _python(record: dict[str, Any]) -> str:
    """The Python that recorded it, if it is still there."""
    recorded = str(record.get("python") or "")
    return recorded if Path(recorded).is_file() else sys.executable


def _wanted(given: argparse.Namespace) -> VerifyOptions:
    from diagnose.verify.verification import VerifyOptions

    return VerifyOptions(
        precision=given.precision, budget_s=given.budget, steps=given.steps, fresh=given.fresh
    )


def _save(proof: Verification, run: Path) -> None:
    from diagnose.document.stored import to_json, write_text

    try:
        write_text(to_json(proof, indent=1), run / FILE)
    except OSError as error:
        raise DiagnoseError(f"{run / FILE} could not be written", saw=str(error)) from error


def percentage(given: str) -> float:
    """The share in `2%` or `0.02`."""
    try:
        value = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{given!r} is no share such as 2% or 0.02")
    return value


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


def add_options(add: Any, *, shown: bool = True) -> None:
    """Those that the first command has as well, beside --verify; `--help` there leaves them to ours."""
    helps = {
        "--allow": "also try fixes that change the last digits of results",
        "--precision": "measure changes to within ± this share (default 2%%)",
        "--budget": "stop after 90s, 10m, 1h … (default 10m)",
    }
    said = {flag: help if shown else argparse.SUPPRESS for flag, help in helps.items()}
    add("--allow", choices=("numerics",), action="append", default=[], help=said["--allow"])
    add("--precision", type=percentage, default=0.02, metavar="SHARE", help=said["--precision"])
    add("--budget", type=duration, default=600.0, metavar="TIME", help=said["--budget"])


def parser() -> argparse.ArgumentParser:
    options = Parser(prog="python -m diagnose verify", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = options.add_argument
    add("run", metavar="RUN", nargs="?", help="a run folder")
    add_options(add)
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
        help="a fix by its name, whether or not a rule advises it",
    )
    add(
        "--steps",
        type=step_count,
        metavar="N",
        help="steps timed in each run (default: two seconds of them, at least 20)",
    )
    add("--fresh", action="store_true", help="forget earlier runs instead of going on from them")
    add("--apply", action="store_true", help="then change the script's files: what was measured to be faster")
    add_output_options(add)
    return options

"""`python -m diagnose train.py`: run the script, record some steps of it, report. Heavy imports wait."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.ahead import imported_ahead
from diagnose.commands.outputs import failed, open_output, out_folder, report_into, say, writing
from diagnose.commands.verify import verify_recorded
from diagnose.document.queries import exit_code, recorded_nothing
from diagnose.errors import (
    EXIT_FAILURE,
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_SCRIPT_FAILED,
    DiagnoseError,
)
from diagnose.run.settings import RunOutcome, Settings, Target

if TYPE_CHECKING:
    from diagnose.document.model import Document
    from diagnose.run.job.folder import JobFolder
    from diagnose.run.job.peers import Peers
    from diagnose.run.launch import Progress
    from diagnose.run.stage import Stage

# Settings that only matter while a script runs, and the options that give them.
RECORDING = {
    "steps": "--steps",
    "plain_steps": "--plain-steps",
    "keep_going": "--keep-going",
    "watch": "--watch",
    "stacks": "--no-stacks",
    "device": "--device",
    "timeout_s": "--timeout",
    "wait_s": "--wait",
}


def record(options: argparse.Namespace) -> int:
    """Run the script, then report. However it ended, what was recorded is worth a look."""
    from diagnose.report.progress import Progress, RecordingProgress
    from diagnose.run.job.lifecycle import run_on_if_recorded
    from diagnose.run.job.peers import outlive_the_script, peers_of
    from diagnose.run.launch import launch

    peers = peers_of(os.environ)
    settings = Settings(
        **{name: getattr(options, name) for name in RECORDING if getattr(options, name) is not None}
    )
    target = Target(options.target, options.module, tuple(options.args))

    if peers is not None:
        run_on_if_recorded(peers, options.out, target, settings, partial(say, options=options))
    progress = RecordingProgress(Progress(quiet=options.quiet or (peers is not None and not peers.leads)))
    with _run_folder(options.out, peers, target) as (out, job):
        if job is not None:
            outlive_the_script()
        reports = peers is None or peers.leads
        with (
            writing(out),
            _told_meanwhile(progress, out, options) as told,
            imported_ahead() if reports else nullcontext(),
        ):
            outcome = launch(target, settings, out, told, job)
        if job is not None:
            return _end_of_job(job, outcome, options)
        script_code = {
            "crashed": EXIT_SCRIPT_FAILED,
            "killed": EXIT_SCRIPT_FAILED,
            "interrupted": EXIT_INTERRUPTED,
        }.get(outcome.ended)
        try:
            code = _report_recorded(out, outcome, options)
        except DiagnoseError as error:
            if script_code is None:
                raise
            code = failed(f"diagnose: {error}", EXIT_FAILURE, options)
        return code if script_code is None else script_code


def _end_of_job(job: JobFolder, outcome: RunOutcome, options: argparse.Namespace) -> int:
    """Report, if the job is over. Returns the script's own exit code, whatever comes of that: for another one
    torchrun ends all ranks, or starts them again. So --fail-on counts only where nothing is started again.
    """
    from diagnose.run.job.heartbeat import close
    from diagnose.run.job.lifecycle import is_over

    code = EXIT_OK
    try:
        if is_over(job, outcome, partial(say, options=options)):
            try:
                code = _report_recorded(job.out, outcome, options)
            finally:
                close(job)
    except Exception as error:
        failed(f"diagnose: {error}", EXIT_FAILURE, options)
    if code == EXIT_FINDINGS and not job.peers.restarts_left:
        return outcome.as_exit_code or EXIT_FINDINGS
    return outcome.as_exit_code


@contextmanager
def _told_meanwhile(progress: Progress, out: Path, options: argparse.Namespace) -> Iterator[Progress]:
    """What is told of a watched run goes to TensorBoard, too, and to OpenTelemetry if asked for."""
    if not options.watch:
        yield progress
        return
    from diagnose.integrations.live_gauges import LiveGauges
    from diagnose.report.live_scalars import LiveScalars
    from diagnose.watched.following import Following

    takers: list[LiveScalars | LiveGauges] = [LiveScalars(out)]
    if options.track == "opentelemetry":
        with suppress(ModuleNotFoundError):  # said when the report is sent
            takers.append(LiveGauges(str(options.target)))
    follow = Following(out, *(taker.take for taker in takers))

    def told(stage: Stage) -> None:
        progress(stage)
        if stage.live:
            follow()

    try:
        yield told
    finally:
        follow(at_once=True)
        for taker in takers:
            taker.close()


@contextmanager
def _run_folder(
    wanted: Path | None, peers: Peers | None, target: Target
) -> Iterator[tuple[Path, JobFolder | None]]:
    """The folder to record into; for the ranks of one job, which each have a launcher, the same.

    Raises as `check` does, and UsageError.
    """
    from diagnose.run.job.folder import common_folder
    from diagnose.run.target import check

    if peers is None:
        with out_folder(wanted) as out:
            yield out, None
    else:
        check(target)
        job = common_folder(peers, wanted)
        yield job.out, job


def _report_recorded(out: Path, outcome: RunOutcome, options: argparse.Namespace) -> int:
    from diagnose.report.progress import Progress

    Progress(quiet=options.quiet)("analysing")
    with open_output(options, after_script=True) as output:
        document = report_into(out, out, options)
        if recorded_nothing(document):
            output.add(document)
            return _nothing_recorded(document, options)
        if not (options.verify and outcome.ended in ("stopped", "finished")):
            output.add(document)
            return exit_code(document, options.fail_on)
        try:
            return verify_recorded(out, options)  # its document is the one that counts
        except DiagnoseError:
            output.add(document)
            raise


def _nothing_recorded(document: Document, options: argparse.Namespace) -> int:
    """A report that holds no measurement is no success.

    The summary has said why, unless it is not to be shown.
    """
    if not options.quiet:
        return EXIT_FAILURE
    said = DiagnoseError(document.headline.replace("`", ""))
    return failed(f"diagnose: {said}", said.exit_code, options)

"""A job with a launcher for each rank, from its beginning to the one report: what there
is to do beside running the script.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from diagnose.run.job.folder import JobFolder, is_recorded, recorded_before
from diagnose.run.job.heartbeat import close, end, end_record, is_last, is_started_anew
from diagnose.run.job.peers import Peers
from diagnose.run.launch import command, environment_for, tidy
from diagnose.run.settings import RunOutcome, Settings, Target

Say = Callable[[str], None]


def run_on_if_recorded(
    peers: Peers, wanted: Path | None, target: Target, settings: Settings, say: Say
) -> None:
    """Does not return where an earlier start of the job recorded everything: then
    the script takes the launcher's place.
    """
    before = recorded_before(peers, wanted)
    if before is None:
        return
    if peers.leads:
        say(
            "everything was recorded before the ranks were restarted: they run on without recording. "
            f"Recorded: {before}"
        )
    os.execve(sys.executable, command(target), environment_for(settings))


def is_over(job: JobFolder, outcome: RunOutcome, say: Say) -> bool:
    """Called when the script of this launcher has ended: whether the job has, so that this
    launcher is to report and then to `close`.

    A start that is followed by another one is reported only if it recorded everything.
    """
    if not end(job, outcome):
        return False
    tidy(job.out, job.peers.node)
    starts_anew = is_started_anew(job)
    if starts_anew and not is_recorded(job.out, job.peers.world_size):
        say(f"a rank failed, and all ranks are restarted. Recorded until then: {job.out}")
        close(job)
        return False
    if not is_last(job):
        return False
    with suppress(OSError, ValueError):  # no room: what was recorded is reported all the same
        end_record(job.out, outcome, starts_anew=starts_anew)
    return True

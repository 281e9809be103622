"""`python -m diagnose snap`: have a watched run recorded again, as it is now. Heavy imports wait."""

from __future__ import annotations

import argparse

from diagnose.commands.options import Parser
from diagnose.commands.status import of_a_run, run_folder, running
from diagnose.errors import EXIT_OK, UsageError

_USAGE = "python -m diagnose snap [RUN]"
_DESCRIPTION = """\
Have a run that is watched recorded again, as it is now; its report tells what changed since its start. RUN is
its folder or the number of one of its processes; without it the run below ./diagnosis that goes on.
The same as `kill -USR1` to the process that trains.
"""
_EPILOG = """\
exit codes: 0 done, 2 wrong usage, or the run is not watched
"""


def parser() -> Parser:
    return of_a_run("snap", _USAGE, _DESCRIPTION, _EPILOG)


def run(options: argparse.Namespace) -> int:
    """Ask for it. Raises UsageError."""
    from diagnose.run.live import ask_for_snap, look_at

    folders = [run_folder(options.run)] if options.run else running()
    if len(folders) != 1:
        saw = f"{len(folders)} runs below ./diagnosis go on"
        raise UsageError("which run is to be recorded again?", saw=saw, do=_USAGE)
    live = look_at(folders[0])
    if live is None:
        raise UsageError(f"{folders[0]} does not run any more")
    ask_for_snap(live)
    print(f"asked {folders[0]} for a recording", flush=True)
    return EXIT_OK

"""`python -m diagnose status`: how a run goes that is recorded or watched now. Heavy imports wait."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from diagnose.commands.options import READS_NO_TRACE, WRITES_NOTHING, Parser
from diagnose.errors import EXIT_OK, UsageError

_USAGE = "python -m diagnose status [RUN]"
_DESCRIPTION = """\
Say how a run goes that is recorded or watched now: step, time of a step, input wait, memory. RUN is its
folder or the number of one of its processes; without it all runs below ./diagnosis that go on.
"""
_EPILOG = """\
exit codes: 0 done, 2 wrong usage
"""


def parser() -> Parser:
    return of_a_run("status", _USAGE, _DESCRIPTION, _EPILOG)


def of_a_run(command: str, usage: str, description: str, epilog: str) -> Parser:
    """Of a command that is about a run that goes on, which `run_folder` and `running` find."""
    parser = Parser(command, usage=usage, description=description, epilog=epilog)
    parser.add_argument("run", metavar="RUN", nargs="?")
    parser.refuse("--out", WRITES_NOTHING)
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Say it on stdout."""
    from diagnose.document.text import clean
    from diagnose.run.live import look_at

    folders = [run_folder(options.run)] if options.run else running()
    if not folders:
        print("No run below ./diagnosis goes on.", flush=True)
    for folder in folders:
        live = look_at(folder)
        if live is None:
            print(clean(f"{folder}: {_ending(folder)}"), flush=True)
            continue
        how = f"watching, {live.watching}" if live.watching else live.stage or "waiting for the first step"
        pids = f", process {', '.join(map(str, live.pids))}" if live.pids else ""
        print(clean(f"{folder}: {live.target}{pids}: {how}"), flush=True)
    return EXIT_OK


def run_folder(named: str) -> Path:
    """By its path or by a process of it. Raises UsageError."""
    from diagnose.run.live import folder_of

    if Path(named).is_dir():
        return Path(named)
    if named.isdecimal():
        return folder_of(int(named))
    raise UsageError(f"there is no run folder {named}", do=_USAGE)


def running() -> list[Path]:
    """The folders below ./diagnosis whose runs go on."""
    from diagnose.commands.outputs import RUNS
    from diagnose.run.live import look_at

    found = []
    for path in sorted(RUNS.glob("*/run.json")):
        try:
            if look_at(path.parent) is not None:
                found.append(path.parent)
        except (UsageError, OSError):
            continue
    return found


def _ending(folder: Path) -> str:
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    ended = record["ended"]
    return "its processes are gone" if ended == "running" else f"over, {ended}"

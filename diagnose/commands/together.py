"""`python -m diagnose trace.json ncu.csv train.prof`: recordings of one run in one report.

Heavy imports wait.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnose.commands.outputs import fresh_folder, open_output, out_folder, report_into, say
from diagnose.commands.table import COMMANDS
from diagnose.commands.targets import Kind, kind_of
from diagnose.document.queries import exit_code
from diagnose.errors import UsageError
from diagnose.trace.source import is_url, shown

_RANKS = (
    "put the traces of one job's ranks into a folder, and name that; or compare two: diagnose compare A B"
)


def report_together(options: argparse.Namespace) -> int:
    """One report of the trace, with what the other files tell; a second trace of another profiler has its
    own.
    """
    from diagnose.profiles.summarised import read_summary

    kinds = {name: kind_of(name, commands=COMMANDS) for name in (options.target, *options.beside)}
    main, *others = _traces(kinds)
    profiles = [Path(name) for name, kind in kinds.items() if kind == "profile"]
    beside = [read_summary(path, options.memory_limit) for path in profiles]
    in_place = Path(main) if kinds[main] == "run" else None
    with out_folder(options.out, in_place=in_place) as out, open_output(options) as output:
        document = report_into(_source(main), out, options, beside=beside)
        output.add(document)
        code = exit_code(document, options.fail_on)
        for other in others:
            folder = fresh_folder(out / f"of-{Path(other).name.partition('.')[0] or 'trace'}")
            say(f"{shown(other)} has a report of its own: clocks of two recordings are not aligned", options)
            output.add(report_into(_source(other), folder, options, brief=shown(other)))
    return code


def _source(name: str) -> str | Path:
    return name if is_url(name) else Path(name)


def _traces(kinds: dict[str, Kind]) -> list[str]:
    """The one that the report is of first. Raises UsageError for what cannot be told together."""
    for name, kind in kinds.items():
        if kind not in ("trace", "run", "profile"):
            raise UsageError(
                f"{shown(name)} is no recording of the same run",
                do="name a trace, and with it profiles of the CPU and tables of Nsight Compute",
            )
    traces = [name for name, kind in kinds.items() if kind != "profile"]
    if not traces:
        raise UsageError("no trace is among these files", do="name a trace with them, or each file alone")
    if len(traces) == 1:
        return traces
    from diagnose.trace.content import is_chrome_trace

    of_torch = [name for name in traces if kinds[name] == "run" or is_chrome_trace(_source(name))]
    if len(of_torch) != 1:
        raise UsageError(f"{len(traces)} traces, and not one that is torch's", do=_RANKS)
    return [*of_torch, *(name for name in traces if name not in of_torch)]

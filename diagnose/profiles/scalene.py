"""Scalene's JSON (`scalene run --outfile FILE.json`, before version 2 `scalene --json`): lines, with the
share of the time that each took in Python, in C and in the system.
"""

from __future__ import annotations

import math

import msgspec

from diagnose.profiles.kinds import OTHER, TITLES, kind_of_line
from diagnose.profiles.marshalled import Malformed
from diagnose.profiles.stacks import symptoms_of_line
from diagnose.profiles.table import Profile, Row, Site

_NOTES = (
    "Scalene counts what a library takes at the line of yours that called it. What kind of work that is, the "
    "text of the line tells.",
    "It samples what runs: waiting for loader workers, for locks and for files may be missing here.",
)


class _Line(msgspec.Struct):
    lineno: int
    line: str = ""
    n_cpu_percent_python: float = 0.0
    n_cpu_percent_c: float = 0.0
    n_sys_percent: float = 0.0
    start_function_line: int | None = None

    @property
    def share(self) -> float:
        parts = (self.n_cpu_percent_python, self.n_cpu_percent_c, self.n_sys_percent)
        return sum(max(0.0, part) for part in parts) / 100


class _Function(msgspec.Struct):
    line: str = ""
    lineno: int = 0


class _SourceFile(msgspec.Struct):
    lines: list[_Line] = []
    functions: list[_Function] = []


class _File(msgspec.Struct):
    elapsed_time_sec: float
    files: dict[str, _SourceFile]
    program: str = ""


def read(content: bytes) -> Profile:
    """Raises Malformed."""
    try:
        file = msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    lines = [(name, line) for name, source in file.files.items() for line in source.lines if line.share > 0]
    whole = sum(line.share for _, line in lines)
    if not (file.elapsed_time_sec > 0 and math.isfinite(file.elapsed_time_sec) and 0 < whole < math.inf):
        raise Malformed("no lines that took time")
    scale = file.elapsed_time_sec / max(1.0, whole)  # shares are rounded, and all of them at most 1
    kinds, costs, rows = dict.fromkeys(TITLES, 0.0), dict[str, float](), []
    for name, line in lines:
        site = Site(name, line.lineno, _function(file.files[name], line))
        seconds = line.share * scale
        kinds[kind_of_line(line.line) if site.is_own else OTHER] += seconds
        for rule in symptoms_of_line(line.line):
            costs[rule] = costs.get(rule, 0.0) + seconds
        if site.is_own:
            in_python = max(0.0, line.n_cpu_percent_python) / 100 * scale
            rows.append(Row(site, in_python, seconds, seconds))
    kinds[OTHER] += max(0.0, file.elapsed_time_sec - sum(kinds.values()))
    return Profile(
        profiler="Scalene",
        duration_s=file.elapsed_time_sec,
        is_sampled=True,
        what="line",
        rows=tuple(sorted(rows, key=lambda row: -row.with_libraries_s)),
        kinds=kinds,
        symptoms=costs,
        notes=_NOTES,
        script=file.program,
    )


def _function(source: _SourceFile, line: _Line) -> str:
    """The name of the function that the line is in, where it has one."""
    return next((one.line for one in source.functions if one.lineno == line.start_function_line), "")

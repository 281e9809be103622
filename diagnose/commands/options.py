"""What the command lines have in common: how they are read, and the options that several of them take."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from diagnose.errors import UsageError
from diagnose.integrations.trackers import TRACKERS
from diagnose.judge.terms import SEVERITIES
from diagnose.report import formats as report
from diagnose.report.formats import TEXT
from diagnose.report.languages import LANGUAGES

REPORT_FORMATS = (TEXT, *report.FORMATS)
FORMATS = (*REPORT_FORMATS, "markdown")
# Why a command refuses an option that others take.
WRITES_NOTHING = "its answer goes to stdout: leave the option out, and add > FILE to keep the answer"
READS_NO_TRACE = "it reads no trace: leave the option out"


class Parser(argparse.ArgumentParser):
    """Of a command, or of the first one, which has no name.

    Takes no abbreviations, keeps the lines of its texts, and raises UsageError.
    """

    def __init__(self, command: str = "", **texts: Any) -> None:
        super().__init__(
            prog=f"python -m diagnose {command}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **texts,
        )
        self.command = command
        self.formats: tuple[str, ...] = ()
        add = (self.add_argument_group() if command else self).add_argument
        add("--quiet", action="store_true", help="say nothing but errors and the result")
        about_debug = "show tracebacks of diagnose itself" if command else argparse.SUPPRESS
        add("--debug", action="store_true", help=about_debug)

    @property
    def flags(self) -> dict[str, bool]:
        """Whether a value follows, by the option."""
        return {flag: action.nargs != 0 for action in self._actions for flag in action.option_strings}

    def parse(self, argv: Sequence[str], earlier: argparse.Namespace | None = None) -> argparse.Namespace:
        """The options, in addition to earlier ones; `--help` and `--version` exit. Raises UsageError."""
        options, unknown = self.parse_known_args(argv, earlier)
        if unknown:
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)}", do=self.advice(unknown[0]))
        if self.formats:
            self._agree_on_format(options)
        return options

    def advice(self, unknown: str) -> str:
        """What to do about an argument that is not ours."""
        if near := difflib.get_close_matches(unknown.partition("=")[0], self.flags, n=1, cutoff=0.7):
            return f"did you mean {near[0]}?"
        if not self.command:
            return "options of the script stand after the script; see --help"
        return f"{self.prog} --help; a script called {self.command} is ./{self.command}"

    def refuse(self, flag: str, why: str) -> None:
        """Say in words why this command does not take an option that others do."""
        what = f"{self.command} has no {flag}"
        self.add_argument(
            flag, action=_Refuse, nargs="?", help=argparse.SUPPRESS, const=UsageError(what, do=why)
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, do=f"{self.prog} --help")

    def _agree_on_format(self, options: argparse.Namespace) -> None:
        if options.json and options.format not in ("text", "json"):
            raise UsageError(
                f"--json and --format {options.format} are two things", do="leave one of them out"
            )
        if options.format not in self.formats:
            raise UsageError(
                f"{self.command or 'a report'} has no --format {options.format}", do=f"{self.prog} --help"
            )
        options.format = "json" if options.json else options.format
        options.json = options.format == "json"


class _Refuse(argparse.Action):
    def __call__(self, *given: object) -> NoReturn:
        raise self.const


# ---- options of several commands


def add_format_options(parser: Parser, formats: tuple[str, ...], meaning: str) -> None:
    """What programs read on stdout."""
    parser.formats = formats
    parser.add_argument("--format", choices=FORMATS, default="text", metavar="FORMAT", help=meaning)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)  # short for --format json


def add_output_options(parser: Parser) -> None:
    """Where a report goes beside its folder, and what a finding does to the exit code."""
    add_format_options(parser, REPORT_FORMATS, f"also on stdout: {', '.join(report.FORMATS)}; --json")
    parser.add_argument(
        "--language", choices=LANGUAGES, metavar="LANGUAGE", help="of the report: en, zh (中文)"
    )
    parser.add_argument(
        "--track", choices=TRACKERS, metavar="TRACKER", help=f"also into {', '.join(TRACKERS)}"
    )
    parser.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        metavar="SEVERITY",
        help="exit with 4 for a finding of at least low, medium, high",
    )


def add_out_option(parser: Parser) -> None:
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="a new folder for the report (default diagnosis/<time>)"
    )


def add_reading_options(parser: Parser) -> None:
    """How much of a trace is read; `reading_limits` has them as the readers take them."""
    parser.add_argument(
        "--memory-limit",
        type=byte_count,
        metavar="SIZE",
        help="refuse a trace above 8G, 500M … (default half the free)",
    )
    parser.add_argument(
        "--no-size-limit",
        dest="trusted",
        action="store_true",
        help=argparse.SUPPRESS,  # the error that it lifts names it
    )


def add_rules_option(parser: Parser) -> None:
    parser.add_argument(
        "--rules", type=Path, metavar="FOLDER", help="a folder of your own rules, used with ours"
    )


def reading_limits(options: argparse.Namespace) -> dict[str, Any]:
    return {"memory_limit": options.memory_limit, "trusted": options.trusted}


# ---- values of options


def with_ratio(given: str) -> tuple[str, float]:
    """`python=0.5`. A pattern may hold an equals sign itself."""
    name, _, number = given.rpartition("=")
    try:
        ratio = float(number)
    except ValueError:
        ratio = -1.0
    if not name or not 0 <= ratio <= 1:
        raise argparse.ArgumentTypeError(f"{given!r} is no name and a ratio from 0 to 1, as in python=0.5")
    return name, ratio


def positive_number(number: type) -> Any:
    def positive(given: str) -> Any:
        try:
            value = number(given)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{given!r} is not a positive number")
        return value

    return positive


def byte_count(given: str) -> int:
    """The bytes in `8G`, `1.5MiB` or `500000`; units are powers of 1024."""
    size = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)([KMGT]?)(?:I?B)?", given.upper())
    count = int(float(size[1]) * 1024 ** "-KMGT".find(size[2])) if size else 0
    if count <= 0:
        raise argparse.ArgumentTypeError(f"{given!r} is no size such as 8G, 500M or a number of bytes")
    return count


def share(given: str) -> float:
    """0.02 of `2%` or `0.02`."""
    try:
        value = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{given!r} is no share such as 2% or 0.02")
    return value


def share_above_0(given: str) -> float:
    """The same, but not 0."""
    if not (value := share(given)):
        raise argparse.ArgumentTypeError(f"{given!r} is no share above 0 such as 2% or 0.02")
    return value

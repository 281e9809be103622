"""Parts that the command lines are made of."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from diagnose.errors import UsageError

FORMATS = ("text", "json", "github", "sarif")


class Parser(argparse.ArgumentParser):
    """Takes no abbreviations, keeps the lines of its texts, and raises UsageError."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **given)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, do=f"{self.prog} --help")


def add_output_options(add: Any) -> None:
    """What goes to stdout, and whether anything is said on stderr;
    `with_format` makes one of the first two.
    """
    formats = "the result on stdout as well: json, github, sarif"
    add("--format", choices=FORMATS, default="text", metavar="FORMAT", help=formats)
    add("--json", action="store_true", help="short for --format json")
    add("--quiet", action="store_true", help="say nothing but errors")


def with_format(given: argparse.Namespace) -> argparse.Namespace:
    """`format` and `json` agree. Raises UsageError where they were given and do not."""
    if given.json and given.format not in ("text", "json"):
        raise UsageError(f"--json and --format {given.format} are two things", do="leave one of them out")
    given.format = "json" if given.json else given.format
    given.json = given.format == "json"
    return given


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

"""Parts that the command lines are made of."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from diagnose.errors import UsageError


class Parser(argparse.ArgumentParser):
    """Takes no abbreviations, keeps the lines of its texts, and raises UsageError."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **given)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, do=f"{self.prog} --help")


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

"""The commands by their names. One more is a line here and a file of that name beside this one."""

from __future__ import annotations

import argparse
import importlib
from typing import Protocol, cast

from diagnose.commands.options import Parser

# The name, and what `--help` says of it.
COMMANDS = {
    "verify": "try the fixes of a run on its script, and measure what each gains",
    "ab": "measure whether one commit is slower than another",
    "compare": "show what changed from one run to another",
    "whatif": "predict how long a step takes with changes made",
    "memory": "tell what fills a GPU's memory, by a snapshot of it",
    "status": "say how a run goes that is recorded or watched now",
    "snap": "have a watched run recorded again, as it is now",
    "fleet": "find the late rank among thousands, on a Dask cluster",
    "mcp": "serve coding agents (Model Context Protocol)",
    "rules": "list the rules, explain one, start your own",
    "metrics": "list the metrics",
    "accuracy": "list predicted savings beside those that `verify` measured",
}


class Command(Protocol):
    """What the file of a command holds. Only the standard library is imported before `run`."""

    def parser(self) -> Parser:
        """Its options and its help."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit code. Raises DiagnoseError."""


def command(name: str) -> Command:
    return cast(Command, importlib.import_module(f"diagnose.commands.{name}"))

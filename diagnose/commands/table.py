"""The commands by their names. One more is a line here and a file of that name beside this one."""

from __future__ import annotations

import argparse
import importlib
from typing import Protocol, cast

from diagnose.commands.options import Parser

# The name, and what `--help` says of it.
COMMANDS = {
    "verify": "try the fixes of a run on its script, and measure what each gains",
    "compare": "what changed from one run to another",
    "whatif": "predict what a step would take with changes made",
    "fleet": "thousands of ranks as one job, on a Dask cluster",
    "rules": "list what is looked for, explain a rule, start one of your own",
    "metrics": "list what is measured",
    "accuracy": "what fixes were predicted to save, beside what `verify` measured",
}


class Command(Protocol):
    """What the file of a command holds. Only the standard library is imported before `run`."""

    def parser(self) -> Parser:
        """Its options and its help."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit code. Raises DiagnoseError."""


def command(name: str) -> Command:
    return cast(Command, importlib.import_module(f"diagnose.commands.{name}"))

"""`python -m diagnose mcp`: a server for coding agents, on stdin and stdout. Heavy imports wait."""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnose.commands.options import READS_NO_TRACE, Parser
from diagnose.errors import EXIT_OK, UsageError

_USAGE = "python -m diagnose mcp [FOLDER …]"
_DESCRIPTION = """\
Serve the Model Context Protocol on stdin and stdout: a coding agent then diagnoses, explains, verifies and
compares by itself. Only files inside FOLDER are read or run (default: the current one).
"""
_EPILOG = """\
examples:
  claude mcp add diagnose -- python -m diagnose mcp
  python -m diagnose mcp ~/project ~/traces

docs/agents.md says what an agent can ask, and what it may claim.

exit codes: 0 the client has gone, 2 wrong usage, or the package mcp is not installed
"""


def parser() -> Parser:
    parser = Parser("mcp", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("folders", metavar="FOLDER", nargs="*", type=Path, default=[Path()])
    parser.refuse("--out", "runs go into diagnosis/ of the first folder: leave the option out")
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve until stdin ends."""
    for folder in options.folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder", do=_USAGE)
    try:
        from diagnose.agents.server import server
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic", "anyio"):
            raise
        raise UsageError(
            "the package mcp is not installed", do="pip install 'torch-diagnose[mcp]'"
        ) from error
    server(options.folders).run("stdio")
    return EXIT_OK

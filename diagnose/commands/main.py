"""The command line: which command is asked for, and which exit code it ends with.

Only the standard library is imported before something has to be done: `--help` must feel instant.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from diagnose.commands import report
from diagnose.commands.options import Parser
from diagnose.commands.outputs import failed
from diagnose.commands.table import COMMANDS, Command, command
from diagnose.errors import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, DiagnoseError, UsageError
from diagnose.report.languages import ENGLISH, LANGUAGES, speaking
from diagnose.run.child.writing import is_full

LANGUAGE = "DIAGNOSE_LANGUAGE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = None
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        if getattr(options, "rules", None) is not None:
            from diagnose.judge.own import use_rules

            use_rules(options.rules)
        asked: Command = options.command
        with speaking(getattr(options, "language", None) or _usual_language()):
            return asked.run(options)
    except DiagnoseError as error:
        return failed(f"diagnose: {error}", error.exit_code, options)
    except KeyboardInterrupt:
        return failed("diagnose: interrupted", EXIT_INTERRUPTED, options)
    except BrokenPipeError:  # `diagnose rules | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        if is_full(error):
            return failed(f"diagnose: {error}\n  do:  make room where the output goes", EXIT_FAILURE, options)
        advice = "  do:  run again with --debug for the traceback, and please report it"
        return failed(f"diagnose failed: {type(error).__name__}: {error}\n{advice}", EXIT_FAILURE, options)


def _usual_language() -> str:
    """What the environment asks for. Raises UsageError where no report speaks it."""
    language = os.environ.get(LANGUAGE) or ENGLISH
    if language not in LANGUAGES:
        raise UsageError(f"{LANGUAGE}={language} is no language of the reports", do=" or ".join(LANGUAGES))
    return language


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options and the `command` they are for; without one `target`, `module` and
    `args` (the script's own).

    Raises UsageError; `--help` and `--version` exit.
    """
    first = report.parser()
    own, target, args = _split(argv, first)
    if target in COMMANDS and "-m" not in own:
        asked = command(target)
        options = asked.parser().parse([*own, *args])
        options.command = asked
        return options
    options = first.parse(own)
    if target is None:
        raise UsageError("TARGET is missing", do=f"{report.USAGE}; --help shows examples")
    options.command, options.target, options.args = report, target, args
    return report.with_options_behind(options) if args else options


def _split(argv: Sequence[str], parser: Parser) -> tuple[list[str], str | None, list[str]]:
    """Our own options, each with its value in one piece, the target, and what follows it."""
    flags = parser.flags
    own: list[str] = []
    rest = iter(argv)
    for token in rest:
        if token == "--":
            return own, next(rest, None), list(rest)
        if not token.startswith("-"):
            return own, token, list(rest)
        flag, has_value, _ = token.partition("=")
        if flag not in flags:
            raise UsageError(f"unknown option {flag}", do=parser.advice(flag))
        value = next(rest, None) if flags[flag] and not has_value else None
        own.append(token if value is None else f"{token}={value}")
    return own, None, []

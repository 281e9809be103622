"""fixes.sh beside the report: starts the script with what was measured to make it faster and has to be there
before Python is.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from diagnose.document.model import Document, FixResult
from diagnose.document.queries import start_command
from diagnose.report.verification import CORES, START, call, faster_starts, verdict


def write_start(document: Document, out: Path) -> None:
    """Into ``out``; without anything to start differently an older one goes. Raises OSError."""
    path, text = out / START, start_script(document)
    if not text:
        path.unlink(missing_ok=True)
        return
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def start_script(document: Document) -> str:
    """Empty without such a fix, or where no command starts the script."""
    command, faster = start_command(document), faster_starts(document)
    if not (command and faster):
        return ""
    told = [f"#   {call(result)}: {verdict(result)}" for result in faster]
    variables = [
        f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
        for name, value in sorted(_of_all(faster).items())
    ]
    cores = next((result.arguments["cores"] for result in faster if result.intervention == CORES), None)
    bound = f"taskset --cpu-list {','.join(map(str, cores))} " if cores else ""
    return "\n".join(
        (
            "#!/bin/sh",
            "# Starts the script with what diagnose measured to make its step faster:",
            *told,
            f"cd {shlex.quote(document.run.cwd or '.')} || exit",
            *variables,
            f'exec {bound}{command} "$@"',
            "",
        )
    )


def _of_all(faster: list[FixResult]) -> dict[str, str | None]:
    """In a search the last one's, which was measured beside all the others."""
    return max(faster, key=lambda result: len(result.beside)).environment

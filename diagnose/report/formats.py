"""What goes to stdout, for programs."""

from __future__ import annotations

from typing import Literal

from diagnose.document.model import Document
from diagnose.document.stored import to_json
from diagnose.judge.terms import Severity
from diagnose.report.github import workflow_commands
from diagnose.report.sarif import sarif

Format = Literal["text", "json", "github", "sarif"]


class Output:
    """Prints documents as they come; SARIF, which is one for all of them, at the end; nothing for
    `text`, which people read on stderr.
    """

    def __init__(
        self, wanted: Format, fail_on: Severity | None = None, *, after_script: bool = False
    ) -> None:
        """`fail_on`: the severity of findings that are errors; `after_script`: stdout may stand in
        the middle of a line of the script's.
        """
        self._wanted, self._fail_on = wanted, fail_on
        self._lead = "\n" if after_script else ""
        self._kept: list[Document] = []

    def add(self, document: Document) -> None:
        """JSON is a line for each document, GitHub's annotations one for each finding of the plan."""
        if self._wanted == "json":
            self._print(to_json(document))
        elif self._wanted == "github" and (lines := workflow_commands(document, self._fail_on)):
            self._print(lines)
        elif self._wanted == "sarif":
            self._kept.append(document)

    def close(self) -> None:
        if self._kept:
            self._print(to_json(sarif(self._kept, self._fail_on)))
            self._kept = []

    def _print(self, lines: str) -> None:
        printable = lines.encode("utf-8", "replace").decode()  # names can hold halves of characters
        print(f"{self._lead}{printable}", flush=True)
        self._lead = ""

"""What goes to stdout, for programs. One more format is a function and a line in `FORMATS`.

Nothing heavy is imported before a format is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnose.document.model import Document
    from diagnose.judge.terms import Severity

TEXT = "text"  # what people read, on stderr


@dataclass(frozen=True)
class Format:
    """``render``: documents and the severity of findings that are errors (``--fail-on``) to text; of no
    text nothing is printed. ``together``: all documents make one text, printed at the end.
    """

    render: Callable[[Sequence[Document], Severity | None], str]
    together: bool = False


def _json(documents: Sequence[Document], fail_on: Severity | None) -> str:
    """A document a line."""
    from diagnose.document.stored import to_json

    return "\n".join(map(to_json, documents))


def _brief(documents: Sequence[Document], fail_on: Severity | None) -> str:
    """What a coding agent needs to act, a document a line."""
    from diagnose.document.stored import to_json
    from diagnose.report.brief import brief

    return "\n".join(to_json(brief(document)) for document in documents)


def _github(documents: Sequence[Document], fail_on: Severity | None) -> str:
    """An annotation for each finding of the plan."""
    from diagnose.report.github import workflow_commands

    return "\n".join(filter(None, (workflow_commands(document, fail_on) for document in documents)))


def _sarif(documents: Sequence[Document], fail_on: Severity | None) -> str:
    from diagnose.document.stored import to_json
    from diagnose.report.sarif import sarif

    return to_json(sarif(documents, fail_on)) if documents else ""


FORMATS = {
    "json": Format(_json),
    "brief": Format(_brief),
    "github": Format(_github),
    "sarif": Format(_sarif, together=True),
}


class Output:
    """Prints documents as they come, or all together at the end; nothing for `TEXT`."""

    def __init__(self, wanted: str, fail_on: Severity | None = None, *, after_script: bool = False) -> None:
        """``wanted``: one of `FORMATS`, or `TEXT`; ``after_script``: stdout may stand in the middle of a line
        of the script's.
        """
        self._format, self._fail_on = FORMATS.get(wanted), fail_on
        self._lead = "\n" if after_script else ""
        self._kept: list[Document] = []
        self.added: list[Document] = []

    def add(self, document: Document) -> None:
        self.added.append(document)
        self._kept.append(document)
        if self._format is not None and not self._format.together:
            self._print()

    def close(self) -> None:
        self._print()

    def _print(self) -> None:
        documents, self._kept = self._kept, []
        text = self._format.render(documents, self._fail_on) if self._format else ""
        if text:
            printable = text.encode("utf-8", "replace").decode()  # names can hold halves of characters
            print(f"{self._lead}{printable}", flush=True)
            self._lead = ""

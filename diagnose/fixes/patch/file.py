"""One file of the user's with the changes that the findings want of it."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence
from pathlib import Path

from diagnose.fixes.patch.script import BYTE_ORDER_MARK, Change, NoPatch, Script


class EditedFile:
    """``before`` is what was read. Raises NoPatch if it cannot be read as Python."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.before, self._encoding, text = _read(path)
        self.script = Script(text)
        self._lines = [line.strip() for line in io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline=None)]
        self._taken: list[tuple[Change, str]] = []  # with the rule that wants it

    def line(self, number: int) -> str:
        """The line's text without indentation, as the document has it; empty beyond the end."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def take(self, rule: str, changes: Sequence[Change]) -> None:
        """Raises NoPatch, and takes none, where an earlier finding wants one of them
        otherwise or wants them all as well.
        """
        makers = {self._maker(change) for change in changes}
        if not makers & {rule, ""}:
            raise NoPatch(f"the fix of `{min(makers)}` makes the same change")
        self._taken += [(change, rule) for change in changes if not self._maker(change)]

    def after(self) -> bytes:
        return self.script.changed(change for change, _ in self._taken).encode(self._encoding)

    def _maker(self, change: Change) -> str:
        """The rule whose change it is already, empty if it is new.

        Raises NoPatch if that rule wants it otherwise.
        """
        for taken, rule in self._taken:
            if (taken.node, taken.what) == (change.node, change.what):
                if taken.value != change.value:
                    raise NoPatch(
                        f"the fix of `{rule}`, which comes first, gives `{change.what}` another value"
                    )
                return rule
        return ""


def _read(path: Path) -> tuple[bytes, str, str]:
    """The file's bytes, their encoding, and the text with its line ends and
    a byte order mark, if there is one.
    """
    try:
        content = path.read_bytes()
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0].replace("utf-8-sig", "utf-8")
        return content, encoding, content.decode(encoding)
    except OSError:
        raise NoPatch("the file is not at hand") from None
    except (SyntaxError, ValueError, LookupError):
        raise NoPatch("the file's encoding is not known") from None

"""The result document as report.json holds it: written, and read again without trust."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from diagnose.document.model import SCHEMA, Document
from diagnose.document.schema import problems
from diagnose.document.text import clean
from diagnose.errors import DiagnoseError

REPORT = "report.json"
EARLIEST = 1  # schema that is still read


class NotOurs(DiagnoseError):
    """JSON that another program wrote."""


def read_document(content: bytes, name: str = REPORT, *, again: str = "") -> Document:
    """The document in a report of this schema or an earlier one; keys that we do not know are passed over.

    ``name``: of the file, and ``again``: how to get it anew, both for errors. Raises NotOurs, and
    DiagnoseError for what is damaged or of a later schema.
    """
    try:
        raw = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DiagnoseError(f"{name} is damaged.", saw=clean(str(error), 200), do=again) from error
    tool = raw.get("tool") if isinstance(raw, dict) else None
    if not isinstance(tool, dict) or tool.get("name") != "diagnose":
        raise NotOurs(f"{name} is no result document.", do=again)
    schema = raw.get("schema")
    if not (isinstance(schema, int) and EARLIEST <= schema <= SCHEMA):
        has = f"{name} has format {_shown(schema)} (written by diagnose {_shown(tool.get('version'))})"
        raise DiagnoseError(f"{has}; this version reads formats {EARLIEST} to {SCHEMA}.", do=again)
    try:
        document = msgspec.convert(_upgraded(raw), Document)
        wrong = next(iter(problems(document)), "")
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        wrong = f"{where.rstrip('`')}: {what}" if where else what
    if wrong:
        saw = clean(wrong, 200)
        raise DiagnoseError(f"{name} is damaged, or of another version of diagnose.", saw=saw, do=again)
    return document


def _shown(value: object) -> str:
    return clean(str(value), 20)


def _upgraded(raw: dict[str, Any]) -> dict[str, Any]:
    """The same as this schema has it: in the first one notes had no codes, `false_positives` was called
    `innocent`, and the headline `verdict`.
    """
    if "verdict" in raw and "headline" not in raw:  # the earliest of schema 2 still had that name, too
        raw = {("headline" if key == "verdict" else key): value for key, value in raw.items()}
    if raw["schema"] > 1:
        return raw
    notes, findings = raw.get("notes"), raw.get("findings")
    if isinstance(notes, list):
        notes = [{"code": "", "text": note} if isinstance(note, str) else note for note in notes]
    if isinstance(findings, list):
        findings = [_renamed(finding) if isinstance(finding, dict) else finding for finding in findings]
    parts = {"notes": notes, "findings": findings, "schema": SCHEMA}
    return raw | {name: part for name, part in parts.items() if name in raw}


def _renamed(finding: dict[str, Any]) -> dict[str, Any]:
    return {("false_positives" if key == "innocent" else key): value for key, value in finding.items()}


Wanted = TypeVar("Wanted")


def part(value: object, wanted: type[Wanted]) -> Wanted:
    """A part of the document, from a dataclass with the same names."""
    return msgspec.convert(msgspec.to_builtins(value, enc_hook=_builtin), wanted)


def checked(content: object, wanted: type[Wanted], name: str) -> Wanted:
    """The same from a file of the run's folder. Raises DiagnoseError if the file holds something else."""
    try:
        return msgspec.convert(content, wanted)
    except msgspec.ValidationError as error:
        what = f"{name} is damaged, or of another version of diagnose"
        raise DiagnoseError(what, saw=str(error), do="run the script again") from error


def to_json(value: object, indent: int | None = None) -> str:
    """Strict JSON of a document, or of any value: numbers that are not finite become null, for JSON
    has no name for them.
    """
    return json.dumps(
        _finite(msgspec.to_builtins(value, enc_hook=_builtin)),
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
    )


def _builtin(value: object) -> float:
    """numpy's numbers are kinds of float that msgspec does not know."""
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"a {type(value).__name__}")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value


def write_text(text: str, path: Path) -> None:
    """The whole file or none of it, so that a reader never sees half a report. Raises OSError."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8", errors="replace")
    os.replace(unfinished, path)

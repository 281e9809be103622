"""What one folder of a run holds, read without trust: whoever wrote a log
folder may have written anything into it.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import zlib
from datetime import datetime
from pathlib import Path

from diagnose.document.model import Document
from diagnose.document.stored import REPORT, read_document
from diagnose.document.text import clean
from diagnose.errors import DiagnoseError

RUN = "run.json"
PICTURE = "picture.json.gz"
TRACES = (  # best first: the trace with our findings in it, the recorded one, the one that was given to us
    "annotated.trace.json.gz",
    "rank0/timeline.pt.trace.json.gz",
    "tb/trace/rank0.pt.trace.json.gz",
    "tb/trace/rank0.pt.trace.json",
)
LARGEST_BYTES = 64 * 2**20  # a hundred times a usual report, ten times the largest picture


def document_in(folder: Path) -> Document:
    """The result document in a folder.

    Raises DiagnoseError where there is none that this version can show, and NotOurs.
    """
    return read_document(_content(_file(folder, REPORT), REPORT), again=_again(folder))


def in_one_line(error: DiagnoseError) -> str:
    """The error's three parts in the tab; commands in it stand between back-ticks."""
    what = f"{error.what.removesuffix('.')} ({error.saw})." if error.saw else error.what
    return f"{what} {error.do}".rstrip()


def picture_in(folder: Path) -> bytes:
    """The picture in a folder, as JSON. Raises DiagnoseError if there is none that can be read."""
    compressed = _content(_file(folder, PICTURE), PICTURE)
    inflater = zlib.decompressobj(wbits=31)  # gzip
    try:
        plain = inflater.decompress(compressed, LARGEST_BYTES)
    except zlib.error as error:
        raise _damaged(PICTURE, str(error), folder) from error
    if not inflater.eof:
        saw = "more than 64 MiB" if inflater.unconsumed_tail else "it ends early"
        raise _damaged(PICTURE, saw, folder)
    return plain


def trace_in(folder: Path) -> Path | None:
    """The trace to download from a folder; None if it holds none."""
    for name in TRACES:
        try:
            return _file(folder, name)
        except DiagnoseError:
            continue
    return None


def started_at(folder: Path) -> float | None:
    """When the run began, seconds since 1970; None of a trace that somebody else recorded."""
    try:
        run = json.loads(_content(_file(folder, RUN), RUN))
        return datetime.fromisoformat(run["started_at"]).timestamp()
    except (DiagnoseError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _file(folder: Path, name: str) -> Path:
    """A regular file of the folder that is really in it, wherever links point. Raises DiagnoseError."""
    try:
        path = (folder / name).resolve(strict=True)
        regular = stat.S_ISREG(path.stat().st_mode)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, until Python 3.12
        raise DiagnoseError(
            f"{name} cannot be read.", saw=getattr(error, "strerror", None) or "a loop of links"
        ) from error
    if not regular or not path.is_relative_to(folder.resolve()):
        raise DiagnoseError(f"{name} cannot be read.", saw="no file of this folder")
    return path


def _content(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise DiagnoseError(f"{name} cannot be read.", saw=error.strerror or "") from error
    if len(content) > LARGEST_BYTES:
        raise DiagnoseError(f"{name} is too large to be shown.", saw="more than 64 MiB")
    return content


def _damaged(name: str, saw: str, folder: Path) -> DiagnoseError:
    return DiagnoseError(f"{name} is damaged.", saw=clean(saw, 200), do=_again(folder))


def _again(folder: Path) -> str:
    """How to get the report anew; empty where the recording is not there."""
    command = f"python -m diagnose {shlex.quote(clean(os.fspath(folder), 400))}"
    return f"`{command}` writes it again." if (folder / RUN).exists() else ""

"""`annotated.trace.json.gz`: a recorded trace with our events in front of its own,
which stay as they are, byte by byte.

Nothing of the file is decoded but its head and its end, so that a trace of any
size passes through a few MB of memory.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from diagnose.errors import TraceUnreadable
from diagnose.trace.content import Content
from diagnose.trace.source import Source

try:  # packs five times faster
    from isal import isal_zlib as zlib
except ImportError:
    import zlib

LEVEL = 1  # level 3 takes a tenth longer for files that are a tenth smaller
GZIP = 31  # what zlib takes for "with a gzip header"; it writes no time into it
END_BYTES = 2**18  # enough for the last event and what follows the list
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)  # text (cut off, too), brackets
_LIST_OF_KEY = re.compile(rb"\s*:\s*\[")
_BORDER = re.compile(rb'\}\s*,\s*(?=\{\s*")')
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def write_annotated(source: Source, events: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the trace at `source` with these events put in front of its own: gzip, the whole
    file or none. Decimals become numbers.

    Without events there is nothing to show: no file is left. A trace without its end is closed
    behind its last whole event. Raises TraceUnreadable where no list of events begins, UsageError
    where the source cannot be opened, OSError.
    """
    if not events:
        path.unlink(missing_ok=True)
        return
    # whoever has these events has read it, within the limits
    content = Content(source, max_bytes=math.inf, max_ratio=math.inf)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with unfinished.open("wb") as file:
            packer = zlib.compressobj(LEVEL, wbits=GZIP)
            for piece in _annotated(content, _ENCODER.encode(events)[1:-1]):
                file.write(packer.compress(piece))
            file.write(packer.flush())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _annotated(content: Content, ours: bytes) -> Iterator[bytes]:
    blocks = content.blocks()
    head, rest = _parted(blocks)
    if not head:
        raise TraceUnreadable(f"{content.name} has no list of events to put others into.")
    yield head
    yield ours
    if not rest.lstrip().startswith(b"]"):
        yield b",\n"
    is_whole = True
    for block in blocks:
        rest += block
        if len(rest) >= 2 * END_BYTES:
            yield bytes(rest[:-END_BYTES])
            del rest[:-END_BYTES]
            is_whole = False
    yield _ended(bytes(rest), b"[" if head.lstrip().startswith(b"[") else b'{"traceEvents":[', is_whole)


def _parted(blocks: Iterable[bytes]) -> tuple[bytes, bytearray]:
    """The file up to the bracket that opens its list of events, and the beginning of the
    list; no head if there is no such list.
    """
    text = bytearray()
    enough = 1
    for block in blocks:
        text += block
        if len(text) < enough:
            continue
        start = list_start(text)
        if start is not None and text[start:].strip():
            return bytes(text[:start]), text[start:]
        enough = 2 * len(text)
    start = list_start(text) or 0
    return bytes(text[:start]), text[start:]


def list_start(text: bytes | bytearray) -> int | None:
    """Where the list of events begins, behind its bracket: the whole file's or that of
    `traceEvents` in its outermost object.
    """
    depth = 0
    for token in _TOKEN.finditer(text):
        if depth == 0 and token[0] == b"[":
            return token.end()
        if depth == 1 and token[0] == b'"traceEvents"' and (opened := _LIST_OF_KEY.match(text, token.end())):
            return opened.end()
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
    return None


def _ended(end: bytes, opening: bytes, is_whole: bool) -> bytes:
    """The end of the file; if it is cut off, up to its last whole event and closed there.
    ``is_whole``: the list begins with ``end``.

    What looks like a border between events can lie inside an event or behind the list,
    so they are tried from the last on.
    """
    if is_whole and _is_json(opening + end):
        return end
    borders = [border.end() for border in _BORDER.finditer(end)]
    for start in reversed([0, *borders] if is_whole else borders):
        text = end[start:].decode("utf-8", "replace")
        if length := _event_length(text):
            return (
                end
                if _is_json(opening + end[start:])
                else end[:start] + text[:length].encode() + (b"]" if opening == b"[" else b"]}")
            )
    return end


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _event_length(text: str) -> int:
    """Characters of the event that the text begins with; 0 if it begins with none, or with a part of one."""
    blank = len(text) - len(text.lstrip())
    try:
        value, length = json.JSONDecoder(strict=False).raw_decode(text, blank)
    except (ValueError, RecursionError):
        return 0
    return length if isinstance(value, dict) and "ph" in value else 0

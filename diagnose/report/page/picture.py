"""The picture as the page carries it: packed, and no larger than a page may be."""

from __future__ import annotations

import base64
import gzip
import heapq
import json
from typing import Any

HASTY, SMALL = 1, 6  # levels of gzip
FEWEST_EVENTS = 500  # a version; fewer would show nothing

Picture = dict[str, Any]


def packed(picture: Picture, most_bytes: int) -> str:
    """gzip and base64. Where that is more than `most_bytes`, only the longest events
    of each version stay, as many as fit.
    """
    most = max((len(version["events"]["dur"]) for version in picture["versions"]), default=0)
    written = _written(picture)
    while (size := _size(written)) > most_bytes and most > FEWEST_EVENTS:
        most = int(0.9 * most * max(0.1, most_bytes / size))  # bytes are roughly in proportion to events
        picture = {**picture, "versions": [_longest(version, most) for version in picture["versions"]]}
        written = _written(picture)
    return base64.b64encode(gzip.compress(written, SMALL, mtime=0)).decode()


def _written(picture: Picture) -> bytes:
    return json.dumps(picture, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "replace"
    )


def _size(written: bytes) -> int:
    """In base64, in haste and so rather too much than too little."""
    return len(gzip.compress(written, HASTY)) * 4 // 3


def _longest(version: dict[str, Any], most: int) -> dict[str, Any]:
    """The version with its `most` longest events, and what that leaves out."""
    columns, dur = version["events"], version["events"]["dur"]
    if len(dur) <= most:
        return version
    kept = sorted(heapq.nlargest(most, range(len(dur)), key=dur.__getitem__))
    left_out = {
        "count": version["left_out"]["count"] + len(dur) - most,
        "shorter_than_us": max(version["left_out"]["shorter_than_us"], min(dur[index] for index in kept)),
    }
    return {
        **version,
        "events": {name: [column[index] for index in kept] for name, column in columns.items()},
        "left_out": left_out,
    }

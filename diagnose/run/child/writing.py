"""Files that are there completely or not at all, and files that are memory."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

GIVEN_UP = "was given up: it would have taken too much memory."  # after the name of a phase
STOPPED_BY_FULL_DISK = (
    "The disk was full, so the recording stopped early."  # a note, by which the report knows
)


def is_full(error: BaseException) -> bool:
    """Whether a file found no room."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def reserve(descriptor: int, size: int) -> None:
    """Make room for a file that is then mapped: a page of it that finds no room on a full disk
    would end the process by SIGBUS. Raises OSError.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def write_json(path: str, value: Any) -> None:
    """Replace `path` in one go. Raises OSError."""
    unfinished = path + ".unfinished"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(value, file, default=str)  # the script's own objects stand for numbers now and then
    os.replace(unfinished, path)

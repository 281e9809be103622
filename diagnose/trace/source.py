"""Where a trace lies: at a path, behind an fsspec URL, or in an open binary file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO

from diagnose.errors import DiagnoseError, UsageError

Source = str | Path  # a URL is text: a Path would collapse its slashes
Readable = str | os.PathLike[str] | IO[bytes]

_URL = re.compile(r"\w+://\S+")
# user and password; signatures and tokens stand in the query
_SECRET = re.compile(r"(?<=://)[^/?#\s]*@|[?#].*", re.DOTALL)


def is_url(source: object) -> bool:
    """Whether fsspec has to open it."""
    return isinstance(source, str) and "://" in source


def shown(source: Readable) -> str:
    """The source's name as it may stand in a report: of a URL neither user, password nor query."""
    if not isinstance(source, (str, os.PathLike)):
        return str(getattr(source, "name", "the given file object"))
    return _SECRET.sub("", os.fspath(source)) if is_url(source) else os.fspath(source)


@contextmanager
def opened(source: Readable) -> Iterator[IO[bytes]]:
    """The source as a binary file; one that was given stays open.

    Raises UsageError if it cannot be opened or read.
    """
    try:
        with _file(source) as file:
            yield file
    except DiagnoseError:
        raise
    except Exception as error:
        if not isinstance(error, OSError) and not is_url(
            source
        ):  # the packages behind fsspec raise errors of their own
            raise
        saw = getattr(error, "strerror", None) or str(error) or type(error).__name__
        do = (
            "Check the address and this machine's access to it."
            if is_url(source)
            else "Check the path and its permissions."
        )
        raise UsageError(
            f"Cannot read {shown(source)}.", saw=_URL.sub(lambda url: shown(url[0]), saw), do=do
        ) from error


def _file(source: Readable) -> AbstractContextManager[IO[bytes]]:
    if not isinstance(source, (str, os.PathLike)):
        return nullcontext(source)
    if not is_url(source):
        return open(source, "rb")
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError(
            f"Reading {shown(source)} needs the package fsspec.", do="pip install fsspec"
        ) from error
    try:
        file: AbstractContextManager[IO[bytes]] = fsspec.open(source, "rb")
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"Cannot open {shown(source)}.", saw=str(error), do="Install the fsspec package of that protocol."
        ) from error
    return file

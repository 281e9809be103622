"""TOML files as data. The bundled rules are parsed once per installation, as Python does with modules: what
came of it is kept beside this module's bytecode, and holds for the text that it was made from.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from diagnose.errors import DiagnoseError

KEPT = Path(__file__).parent / "__pycache__" / "rules.json"

Data = dict[str, Any]


def parsed_files(paths: Iterable[Path], kept: Path | None = None) -> dict[Path, Data]:
    """The data of each file. ``kept``: where what is parsed is kept, if anywhere.

    Raises DiagnoseError for a file that cannot be read, and for one that is no TOML.
    """
    known = _kept_in(kept) if kept is not None else {}
    texts = {path: _text_of(path) for path in paths}
    digests = {path: _digest(text) for path, text in texts.items()}
    data = {path: known.get(digests[path]) or _loaded(path, text) for path, text in texts.items()}
    if kept is not None and not sys.dont_write_bytecode and not known.keys() >= set(digests.values()):
        with contextlib.suppress(OSError, msgspec.EncodeError):  # others may have installed it
            _keep({digests[path]: data[path] for path in data}, kept)
    return data


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DiagnoseError(f"{path} cannot be read", saw=str(error)) from error


def _loaded(path: Path, text: str) -> Data:
    try:
        return _parsed(text)
    except tomllib.TOMLDecodeError as error:
        raise DiagnoseError(f"{path} is not valid TOML", saw=str(error)) from error


_parsed = lru_cache(maxsize=1024)(tomllib.loads)  # a text is parsed once, however many traces are judged


@lru_cache(maxsize=2)
def _decoded(content: bytes) -> dict[str, Data]:
    return msgspec.json.decode(content, type=dict[str, Data])


def _kept_in(kept: Path) -> dict[str, Data]:
    """By the digest of the text; empty if there is none, or none that can be read."""
    try:
        return _decoded(kept.read_bytes())
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}


def _keep(data: dict[str, Data], kept: Path) -> None:
    kept.parent.mkdir(exist_ok=True)
    beside = kept.with_suffix(f".{os.getpid()}")
    beside.write_bytes(msgspec.json.encode(data))
    beside.replace(kept)

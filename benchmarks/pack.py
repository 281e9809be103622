"""A folder of results in a file that can be carried: what is brought from a machine that is taken
away, and taken up again by the next.

`results.tar.gz`, and where that would grow too large `results-2.tar.gz`, …: each can be unpacked by itself.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

SUFFIX = ".tar.gz"
MOST_BYTES = 15 * 2**20  # of a part
MARGIN_BYTES = 2**17  # what is still in the compressor's hands
LEFT_BEHIND = {"work", "packages"}  # what can be made again
COMPRESSION = 1  # recordings are packed already


def parts_of(pack: Path) -> list[Path]:
    """Those that there are, the first one first."""
    found: list[Path] = []
    while _part(pack, len(found) + 1).is_file():
        found.append(_part(pack, len(found) + 1))
    return found


def _part(pack: Path, number: int) -> Path:
    return pack if number == 1 else pack.with_name(f"{pack.name.removesuffix(SUFFIX)}-{number}{SUFFIX}")


def told_by(pack: Path, name: str) -> dict[str, Any] | None:
    """A JSON file of the pack; None if it is in no part.

    Raises OSError, ValueError for one that cannot be read.
    """
    for part in parts_of(pack):
        for member, read in _files(part):
            if member == PurePosixPath(name):
                return json.loads(read())
    return None


def take_up(pack: Path, out: Path) -> int:
    """Put what the pack holds into the folder, but for files that are there; how many.

    Raises OSError, ValueError if it cannot be read.
    """
    taken = 0
    for part in parts_of(pack):
        for member, read in _files(part):
            target = out / member
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(read())
                taken += 1
    return taken


def _files(part: Path) -> Iterator[tuple[PurePosixPath, Any]]:
    """The name of each file in it, and what reads it.

    Names that lead out of the folder are nothing that we wrote.
    """
    try:
        with tarfile.open(part) as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts:
                    raise ValueError(f"{part} holds {member.name}, which leads out of it")
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield name, file.read
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{part} cannot be read: {error}") from error


def refresh(pack: Path, out: Path) -> list[str]:
    """Pack the folder as it is now; the earlier pack stays until the new one is complete.

    Returns the files too large for any part.
    """
    pack.parent.mkdir(parents=True, exist_ok=True)
    too_large: list[str] = []
    left = _to_pack(out)
    number = 0
    while left or not number:
        number += 1
        unfinished = pack.with_name(f"{pack.name}.unfinished")
        left = _packed(unfinished, out, left, too_large)
        unfinished.replace(_part(pack, number))
    for part in parts_of(pack)[number:]:
        part.unlink()
    return too_large


def _to_pack(out: Path) -> list[Path]:
    """The machine's own file first, then the oldest, so that a full part stays as it is."""
    files = [
        file
        for file in out.rglob("*")
        if file.is_file() and not LEFT_BEHIND & set(file.relative_to(out).parts)
    ]
    return sorted(files, key=lambda file: (file.parent != out, file.stat().st_mtime_ns, str(file)))


def _packed(target: Path, out: Path, files: list[Path], too_large: list[str]) -> list[Path]:
    """Write as many as go into a part; the others."""
    with (
        target.open("wb") as raw,
        tarfile.open(fileobj=raw, mode="w:gz", compresslevel=COMPRESSION) as archive,
    ):
        for number, file in enumerate(files):
            size = file.stat().st_size + MARGIN_BYTES
            if size > MOST_BYTES:
                too_large.append(str(file.relative_to(out)))
            elif raw.tell() + size > MOST_BYTES:
                return files[number:]
            else:
                archive.add(file, str(file.relative_to(out)))
    return []

"""The bytes of a trace: from a path, an open file or an fsspec URL; plain, gzip or zstd, told apart by content.

They come a block at a time: a trace of several GB never lies in memory as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO

from diagnose.errors import TraceUnreadable, UsageError

try:  # several times faster, see docs/decisions.md
    from isal import isal_zlib as zlib
except ImportError:
    import zlib

# A torch trace of 8 GiB holds some 30 million events, more than a machine that reports on it has memory for.
MAX_BYTES = 8 * 2**30
# Real traces shrink 10 to 40 times; deflate cannot pass 1030. A file that inflates this much beyond the free part is no recording.
MAX_RATIO = 400
RATIO_FREE_BYTES = 256 * 2**20
BLOCK = 2**20
_PACKED_BLOCK = 2**13
_START = 4096

_FOREIGN_STARTS = (
    (b"SQLite format 3", "This is an Nsight Systems export (an SQLite database), not a trace of torch.profiler."),
    (b"QDSTRM", "This is an Nsight Systems recording, not a trace of torch.profiler."),
    (b"PK\x03\x04", "This is a zip archive, not a trace."),
    (b"\x80", "This looks like a Python pickle, not a trace."),
    (b"\x89HDF", "This is an HDF5 file, not a trace."),
    (b"{'", "This is Python's own notation (single quotes), not JSON."),
    (b"[{'", "This is Python's own notation (single quotes), not JSON."),
)
RECORD_HINT = "Record one with torch.profiler and export_chrome_trace(), or run: python -m diagnose train.py"


class Content:
    """The uncompressed bytes of a trace, to be read once. While that goes on, ``progress`` is told the share of the file that is read."""

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes],
        max_bytes: int = MAX_BYTES,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.name = _name(source)
        self.start = b""  # the first bytes, uncompressed
        self.cut_off = False  # the compressed file is cut off or damaged
        self.share = 0.0  # of the file that is read; 0 where its size is unknown
        self._source = source
        self._max_bytes = max_bytes
        self._progress = progress

    def blocks(self) -> Iterator[bytes]:
        """Everything in the source, uncompressed, in order.

        Raises UsageError if it cannot be opened, TraceUnreadable if it is empty, no JSON by its start, or inflates beyond
        ``max_bytes`` or `MAX_RATIO`.
        """
        try:
            with _opened(self._source, self.name) as file:
                yield from self._checked(_Counted(file))
        except OSError as error:
            saw = error.strerror or str(error)
            raise UsageError(f"Cannot read {self.name}.", saw=saw, do="Check the path and its permissions.") from error

    def _checked(self, packed: _Counted) -> Iterator[bytes]:
        if not packed.first:
            raise TraceUnreadable(f"{self.name} is empty.", do=RECORD_HINT)
        blocks = self._whole(packed)
        self.start = start = _start(blocks)
        _refuse_foreign(start, self.name)
        yield start
        count = len(start)
        for block in blocks:
            count += len(block)
            _refuse_bomb(count, packed.count, self.name, self._max_bytes)
            if packed.size:
                self.share = packed.count / packed.size
                if self._progress:
                    self._progress(self.share)
            yield block
        _refuse_bomb(count, packed.count, self.name, self._max_bytes)

    def _whole(self, packed: _Counted) -> Iterator[bytes]:
        try:
            yield from _inflated(packed, self.name)
        except (EOFError, zlib.error):
            self.cut_off = True


def _name(source: str | os.PathLike[str] | IO[bytes]) -> str:
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "the given file object"))


def _opened(source: str | os.PathLike[str] | IO[bytes], name: str) -> AbstractContextManager[IO[bytes]]:
    if not isinstance(source, (str, os.PathLike)):
        return nullcontext(source)
    if "://" not in name:
        return open(source, "rb")
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError(f"Reading {name} needs the package fsspec.", do="pip install fsspec") from error
    try:
        opened: AbstractContextManager[IO[bytes]] = fsspec.open(name, "rb")
    except (ImportError, ValueError) as error:
        raise UsageError(f"Cannot open {name}.", saw=str(error), do="Install the fsspec package of that protocol.") from error
    return opened


def _start(blocks: Iterator[bytes]) -> bytes:
    """The first blocks, enough of them to tell what the file is; without a byte order mark."""
    start = b""
    for block in blocks:
        start += block
        if len(start) >= _START:
            break
    return start.removeprefix(b"\xef\xbb\xbf")


class _Counted:
    """A binary file that counts what was read of it and whose first block can be looked at beforehand."""

    def __init__(self, file: IO[bytes]) -> None:
        self.size = _size(file)  # 0 if unknown
        self._file = file
        self.first = file.read(BLOCK)
        self._pending = self.first
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        block = self._pending[:size] if size >= 0 else self._pending
        self._pending = self._pending[len(block) :]
        block = block or self._file.read(size)
        self.count += len(block)
        return block


def _size(file: IO[bytes]) -> int:
    try:
        here = file.tell()
        size = file.seek(0, os.SEEK_END) - here
        file.seek(here)
    except (OSError, AttributeError, ValueError):
        return 0
    return size


def _inflated(packed: _Counted, name: str) -> Iterator[bytes]:
    if packed.first.startswith(b"\x1f\x8b"):
        return _gunzipped(packed)
    if packed.first.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            import zstandard
        except ImportError as error:
            raise UsageError(f"Reading {name} needs the package zstandard.", do="pip install zstandard") from error
        inflating = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)  # type: ignore[arg-type]
        return iter(lambda: inflating.read1(BLOCK), b"")
    return iter(lambda: packed.read(BLOCK), b"")


def _gunzipped(packed: _Counted) -> Iterator[bytes]:
    """The members of a gzip file. Where it is damaged, all but the last `_PACKED_BLOCK` bytes before that has been yielded."""
    waiting = packed.read(_PACKED_BLOCK)
    while waiting:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if block := member.decompress(waiting, BLOCK):
                yield block
            waiting = member.unconsumed_tail or (member.unused_data if member.eof else packed.read(_PACKED_BLOCK))
            if not waiting and not block and not member.eof:
                raise EOFError
        waiting = waiting.lstrip(b"\0") or packed.read(_PACKED_BLOCK).lstrip(b"\0")  # members may be padded


def _refuse_bomb(inflated: int, packed: int, name: str, max_bytes: int) -> None:
    if inflated > max_bytes:
        raise TraceUnreadable(
            f"{name} is too large.", saw=f"more than {max_bytes / 2**30:.3g} GiB uncompressed", do="Record fewer steps, or no stacks."
        )
    if inflated > RATIO_FREE_BYTES and inflated > MAX_RATIO * packed:
        raise TraceUnreadable(
            f"{name} inflates like no recording does.",
            saw=f"{inflated / 2**20:.0f} MiB from {packed / 2**20:.1f} MiB read so far (over {MAX_RATIO} times)",
            do="If you trust the file, uncompress it first and pass the result.",
        )


def _refuse_foreign(data: bytes, name: str) -> None:
    """Raises TraceUnreadable for what does not begin like JSON."""
    start = data.lstrip()[:64]
    for magic, what in _FOREIGN_STARTS:
        if start.startswith(magic):
            raise TraceUnreadable(f"{name} cannot be read. {what}", saw=f"it starts with {start[:16]!r}", do=RECORD_HINT)
    if not start:
        raise TraceUnreadable(f"{name} holds no JSON.", saw="nothing but blanks at its start", do=RECORD_HINT)
    if start[:1] not in (b"{", b"["):
        raise TraceUnreadable(f"{name} is no JSON trace.", saw=f"it starts with {start[:16]!r}", do=RECORD_HINT)

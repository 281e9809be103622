"""The bytes of a trace: from a path, an open file or an fsspec URL; plain,
gzip or zstd, told apart by content.

They come a block at a time: a trace of several GB never lies in memory as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO

from diagnose.errors import TraceUnreadable, UsageError
from diagnose.trace.formats import CHROME, START_BYTES
from diagnose.trace.other_files import RECORD_HINT
from diagnose.trace.source import Readable, opened, shown

try:  # several times faster, see docs/decisions.md
    from isal import isal_zlib as zlib
except ImportError:
    import zlib

# A torch trace of 8 GiB holds some 30 million events, more than a machine that reports on it has memory for.
MAX_BYTES = 8 * 2**30
# Real traces shrink 10 to 40 times; deflate cannot pass 1030. A file that inflates this much
# beyond the free part is no recording.
MAX_RATIO = 400
RATIO_FREE_BYTES = 256 * 2**20
BLOCK = 2**20
_PACKED_BLOCK = 2**13
# of a compressed file; four bytes of it may become 128 KiB, and zstandard returns all that a piece becomes
_ZSTD_PIECE = 2**9


class Content:
    """The uncompressed bytes of a trace, to be read once.

    While that goes on, ``progress`` is told about it.
    """

    def __init__(
        self,
        source: Readable,
        max_bytes: float = MAX_BYTES,
        max_ratio: float = MAX_RATIO,
        progress: Callable[[Content], None] | None = None,
    ) -> None:
        self.name = shown(source)
        self.start = b""  # the first bytes, uncompressed
        self.cut_off = False  # the compressed file is cut off or damaged
        self.read_bytes = 0  # of the file as it is, compressed or not
        self.share = 0.0  # of the file that is read; 0 where its size is unknown
        self._source = source
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self._progress = progress

    def blocks(self) -> Iterator[bytes]:
        """Everything in the source, uncompressed, in order.

        Raises UsageError if it cannot be opened, TraceUnreadable if it is empty, damaged from its start
        on, or inflates beyond ``max_bytes``, or from `RATIO_FREE_BYTES` on beyond ``max_ratio`` times what
        was read.
        """
        with opened(self._source) as file:
            yield from self._checked(_Counted(file))

    def _checked(self, packed: _Counted) -> Iterator[bytes]:
        if not packed.first:
            raise TraceUnreadable(f"{self.name} is empty.", do=RECORD_HINT)
        blocks = self._whole(packed)
        self.start = start = _start(blocks)
        if self.cut_off and not start:
            raise TraceUnreadable(
                f"{self.name} is cut off or damaged.",
                saw="nothing in it could be uncompressed",
                do=RECORD_HINT,
            )
        self._tell(packed)
        yield start
        count = len(start)
        for block in blocks:
            count += len(block)
            self._refuse_bomb(count, packed.count)
            self._tell(packed)
            yield block
        self._refuse_bomb(count, packed.count)

    def _whole(self, packed: _Counted) -> Iterator[bytes]:
        try:
            yield from _inflated(packed, self.name)
        except (EOFError, zlib.error):
            self.cut_off = True

    def _tell(self, packed: _Counted) -> None:
        self.read_bytes = packed.count
        self.share = packed.count / packed.size if packed.size else 0.0
        if self._progress:
            self._progress(self)

    def _refuse_bomb(self, inflated: int, packed: int) -> None:
        if inflated > self._max_bytes:
            raise TraceUnreadable(
                f"{self.name} is too large.",
                saw=f"more than {self._max_bytes / 2**30:.3g} GiB uncompressed",
                do="Record fewer steps, or no stacks; or read it all the same with --no-size-limit.",
            )
        if inflated > RATIO_FREE_BYTES and inflated > self._max_ratio * packed:
            raise TraceUnreadable(
                f"{self.name} inflates like no recording does.",
                saw=f"{inflated / 2**20:.0f} MiB from {packed / 2**20:.1f} MiB read so far (over "
                f"{self._max_ratio:.0f} times)",
                do="If you trust the file, pass --no-size-limit, or uncompress it first and pass the result.",
            )


def _start(blocks: Iterator[bytes]) -> bytes:
    """The first blocks, enough of them to tell what the file is; without a byte order mark."""
    start = b""
    for block in blocks:
        start += block
        if len(start) >= START_BYTES:
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
        return _unzstded(packed, name)
    return iter(lambda: packed.read(BLOCK), b"")


def _gunzipped(packed: _Counted) -> Iterator[bytes]:
    """The members of a gzip file.

    Where it is damaged, all but the last `_PACKED_BLOCK` bytes before that has been yielded.
    """
    waiting = packed.read(_PACKED_BLOCK)
    while waiting:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if block := member.decompress(waiting, BLOCK):
                yield block
            waiting = member.unconsumed_tail or (
                member.unused_data if member.eof else packed.read(_PACKED_BLOCK)
            )
            if not waiting and not block and not member.eof:
                raise EOFError
        waiting = waiting.lstrip(b"\0") or packed.read(_PACKED_BLOCK).lstrip(b"\0")  # members may be padded


def _unzstded(packed: _Counted, name: str) -> Iterator[bytes]:
    """The frames of a zstd file. Raises EOFError where it is damaged or ends within one."""
    try:
        import zstandard
    except ImportError as error:
        raise UsageError(
            f"Reading {name} needs the package zstandard.", do="pip install zstandard"
        ) from error
    waiting = packed.read(_PACKED_BLOCK)
    while waiting:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            try:
                block = frame.decompress(waiting[:_ZSTD_PIECE])
            except zstandard.ZstdError as error:
                raise EOFError from error
            if block:
                yield block
            waiting = frame.unused_data + waiting[_ZSTD_PIECE:] or packed.read(_PACKED_BLOCK)
            if not waiting and not frame.eof:
                raise EOFError


def is_chrome_trace(source: Readable) -> bool:
    """Whether other tools can open it as such. Raises UsageError if it cannot be opened, TraceUnreadable if
    nothing can be read.
    """
    return CHROME.fits(next(Content(source).blocks()))

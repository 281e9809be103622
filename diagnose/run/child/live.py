"""The page of memory that the parent and the processes of one run share: what to do, and how far the recording is."""

from __future__ import annotations

import mmap
import os
import struct

_SIZE = 4096
_STATE, _STOP, _ATTENTION, _WORDS, _TEXT = 0, 1, 2, 8, 64
_TEXT_ROOM = 200

_DONE, _NO_GPU = 1, 2  # states; 0 while the recording goes on


class Live:
    """Single bytes and aligned 8-byte words only, so that no lock is needed."""

    FILE = "live"

    def __init__(self, folder: str) -> None:
        """Open the page in `folder`, creating it. Raises OSError."""
        descriptor = os.open(os.path.join(folder, self.FILE), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if os.fstat(descriptor).st_size < _SIZE:
                os.ftruncate(descriptor, _SIZE)
            self._page = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)

    @property
    def attention(self) -> bool:
        """There is something to obey: a stop is requested or the last tick is set. One byte, because it is read at every tick."""
        return self._page[_ATTENTION] != 0

    @property
    def stop_requested(self) -> bool:
        """The parent asks for an end at the next tick."""
        return self._page[_STOP] != 0

    def request_stop(self) -> None:
        self._page[_STOP] = 1
        self._page[_ATTENTION] = 1

    @property
    def done(self) -> bool:
        """Every result is on disk and the script is being stopped."""
        return self._page[_STATE] == _DONE

    def set_done(self) -> None:
        self._page[_STATE] = _DONE

    @property
    def no_gpu(self) -> bool:
        """A GPU was asked for and torch sees none."""
        return self._page[_STATE] == _NO_GPU

    def set_no_gpu(self) -> None:
        self._page[_STATE] = _NO_GPU

    @property
    def recorder_pid(self) -> int:
        """The process that is recorded; 0 before the first tick."""
        return self._word(0)

    @recorder_pid.setter
    def recorder_pid(self, pid: int) -> None:
        self._set_word(0, pid)

    @property
    def last_tick(self) -> int:
        """The tick at which every rank stops; 0 while the run goes on."""
        return self._word(1)

    @last_tick.setter
    def last_tick(self, number: int) -> None:
        self._set_word(1, number)
        self._page[_ATTENTION] = 1

    @property
    def ranks(self) -> int:
        """How many processes tick."""
        return self._word(2)

    @ranks.setter
    def ranks(self, count: int) -> None:
        self._set_word(2, count)

    @property
    def phase(self) -> str:
        raw = self._page[_TEXT : _TEXT + _TEXT_ROOM]
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")

    @phase.setter
    def phase(self, text: str) -> None:
        raw = text.encode()[: _TEXT_ROOM - 1]
        self._page[_TEXT : _TEXT + _TEXT_ROOM] = raw.ljust(_TEXT_ROOM, b"\0")

    def _word(self, index: int) -> int:
        return int(struct.unpack_from("<q", self._page, _WORDS + 8 * index)[0])

    def _set_word(self, index: int, value: int) -> None:
        struct.pack_into("<q", self._page, _WORDS + 8 * index, value)

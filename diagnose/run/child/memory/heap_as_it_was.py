"""malloc's heap around recordings: held still where the script's steps give memory back.

Steps that give nothing back have no page faults, or lose them as malloc learns. Held still it would learn no
more, and they would have them for ever (71 ms of a transformer's steps were 80, with 3,000 faults each). So
there malloc goes on learning, and as much lies free at the heap's end after a recording as before it.
"""

from __future__ import annotations

from ..guard import guarded
from .heap import FAULTS_AT_LEAST, free_at_the_end, give_back, is_as_it_comes, keep_thresholds, trim
from .memory import peak_resident_bytes, resident_bytes

_GIVEN_BACK_BYTES = 1 << 20


class HeapAsItWas:
    """`look` before anything is recorded; then told of each recording's begin, its end, and that it is
    gone.
    """

    def __init__(self) -> None:
        self._gives_back: bool | None = None  # None: nobody has looked
        self._free_bytes = 0  # at the heap's end, before the recording

    @guarded("looking whether memory is given back", False)
    def look(self) -> bool:
        """Whether the process has held more than it does now. Asked again, the first answer holds."""
        if self._gives_back is None:
            self._gives_back = (
                is_as_it_comes() and peak_resident_bytes() - resident_bytes() >= _GIVEN_BACK_BYTES
            )
        return self._gives_back

    def count(self, page_faults: float) -> None:
        """Of a step before anything was recorded: a better answer."""
        self._gives_back = page_faults >= FAULTS_AT_LEAST

    def recording_begins(self) -> None:
        self._free_bytes = free_at_the_end()

    def recording_ends(self) -> None:
        """Before torch writes it and frees it."""
        if self._gives_back:
            keep_thresholds()

    def recording_is_gone(self) -> None:
        """All that it took has been freed."""
        if self._gives_back:
            give_back()
        else:
            trim(self._free_bytes)

"""A run once all is recorded: watched to its end, and recorded again when its steps have become slower or
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..guard import guarded
from ..places import Places
from ..shared_state import SharedState
from .changes import Change
from .watch import Watch

if TYPE_CHECKING:
    from .snap import Snap

SNAPS_AT_MOST = 3  # that nobody asked for
_ASKED_AT_MOST = 20


class WatchedRun:
    """``begin`` and ``tick`` in the thread that trains.

    ``new_snap``: makes a recording of that number, which writes into its `snap_folder`.
    ``leads``: whether this rank speaks for all.
    """

    def __init__(
        self,
        rank_folder: str,
        new_snap: Callable[[int], Snap],
        *,
        places: Places,
        shared: SharedState,
        leads: bool,
        period: int,
        ticks: int,
    ) -> None:
        """Raises OSError."""
        self._watch = Watch(rank_folder, places, period, ticks, self._tell, self._slower)
        self._shared, self._leads, self._new_snap = shared, leads, new_snap
        self._snap: Snap | None = None
        self._snaps = self._own_snaps = 0
        self._asked = shared.snaps_asked
        self._due = ""  # why a recording is to begin

    def begin(self) -> None:
        self._watch.begin()

    def tick(self, now_ns: int, source: object) -> None:
        """All that a step pays for is here and in `Watch`."""
        self._watch.tick(now_ns)
        if self._snap is not None:
            self._step_of_snap(source)
        elif self._due:
            self._begin_snap()

    @guarded("recording what has changed")
    def _begin_snap(self) -> None:
        reason, self._due = self._due, ""
        self._snaps += 1
        self._watch.pause(reason, self._snaps)
        try:
            self._snap = self._new_snap(self._snaps)
            self._snap.begin()
        except BaseException:
            self._end_snap()
            raise

    def _step_of_snap(self, source: object) -> None:
        snap = self._snap
        assert snap is not None
        snap.tick(source)
        if snap.done:
            self._end_snap()

    @guarded("ending a recording")
    def _end_snap(self) -> None:
        snap, self._snap = self._snap, None
        try:
            if snap is not None:
                snap.end()
        finally:
            self._watch.resume()

    def optimizer_stepped(self) -> None:
        if self._snap is not None:
            self._snap.optimizer_stepped()

    def end(self) -> None:
        """Write what there is. Harmless when repeated."""
        self._end_snap()
        self._watch.end()

    def forked(self) -> None:
        self._snap = None
        self._watch.forked()

    # beside the thread that trains

    def _tell(self, words: str) -> None:
        """A window has ended."""
        if self._leads:
            self._shared.live = words
        asked = self._shared.snaps_asked
        if asked > self._asked and self._snap is None:
            self._asked = asked
            self._want_snap("asked for", _ASKED_AT_MOST)

    def _slower(self, change: Change) -> None:
        more = change.ratio - 1
        longer = f"{change.ratio:.2g} times as long" if more >= 1 else f"{100 * more:.0f} % longer"
        words = f"steps take {longer} since step {change.where['first']:,}"
        if self._leads:
            self._shared.alert(f"{words}: {change.before:.3g} → {change.after:.3g} ms a step")
        if self._own_snaps < SNAPS_AT_MOST and self._snap is None:
            self._own_snaps += 1
            self._want_snap(words, _ASKED_AT_MOST)

    def _want_snap(self, reason: str, at_most: int) -> None:
        if self._snaps < at_most:
            self._due = reason

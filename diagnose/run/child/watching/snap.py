"""A recording in the midst of a watched run, into a run folder of its own."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from ..session import Session
from ..shared_state import SharedState

if TYPE_CHECKING:
    from ..accelerator import Activities
    from ..session import Plan
    from ..steps.clock import Clock


class Snap(Session):
    """Its ticks are those of the session that watches, whose clock it shares."""

    def __init__(self, plan: Plan, rank: int, clock: Clock, activities: Activities) -> None:
        """Raises OSError."""
        os.makedirs(plan.folder, exist_ok=True)
        super().__init__(plan, clock, activities)
        self._rank = rank

    def begin(self) -> None:
        """Raises OSError."""
        os.makedirs(self._rank_folder, exist_ok=True)
        self.record_this_process()
        self._foreign.install()
        self.facts.install()

    @property
    def done(self) -> bool:
        """All is recorded."""
        return self._finished

    def end(self) -> None:
        """Write what there is and take the hooks away. Harmless when repeated."""
        self.flush()
        self.remove()
        with contextlib.suppress(OSError):
            os.remove(os.path.join(self.plan.folder, SharedState.FILE))

    def remove(self) -> None:
        self._marks.remove()
        self.facts.plain.end(0)
        self._parts.end()
        self._foreign.remove()
        self.facts.remove()
        self.facts.close()

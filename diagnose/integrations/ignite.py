"""A handler for PyTorch-Ignite:

    from diagnose.integrations.ignite import DiagnoseHandler

    DiagnoseHandler().attach(trainer)

It records some iterations of the training that runs anyway, and writes a report once it has them.
"""

from __future__ import annotations

from typing import Any

from ignite.engine import Engine, Events

from diagnose.integrations.window import Window


class DiagnoseHandler:
    """``options``: those of `diagnose.integrations.window.Window`; every rank records itself, rank 0 writes
    the report. ``window``: has `document` and `report`.
    """

    def __init__(self, **options: Any) -> None:
        self.window = Window(**options)

    def attach(self, trainer: Engine) -> None:
        """Record the iterations of that engine."""
        trainer.add_event_handler(Events.ITERATION_STARTED, self._before)
        trainer.add_event_handler(Events.ITERATION_COMPLETED, self.window.after_step)
        for end in (Events.COMPLETED, Events.TERMINATE, Events.INTERRUPT):
            trainer.add_event_handler(end, self.window.close)

    def _before(self, trainer: Engine) -> None:
        self.window.before_step(trainer.state.iteration - 1)

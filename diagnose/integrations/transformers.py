"""A callback for the Trainer of Hugging Face transformers:

    from diagnose.integrations.transformers import DiagnoseCallback

    Trainer(..., callbacks=[DiagnoseCallback()])

It records some steps of the training that runs anyway, and writes a report once it has them.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from diagnose.integrations.window import Window


class DiagnoseCallback(TrainerCallback):
    """``options``: those of `diagnose.integrations.window.Window`; every rank records itself, rank 0 writes
    the report. ``window``: has `document` and `report`.
    """

    def __init__(self, **options: Any) -> None:
        self.window = Window(**options)

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.window.before_step(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.window.after_step()

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.window.close()

"""A callback for Lightning:

    from diagnose.integrations.lightning import DiagnoseCallback

    Trainer(callbacks=[DiagnoseCallback()])

It records some steps of the training that runs anyway, and writes a report once it has them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from diagnose.integrations.window import Window

if TYPE_CHECKING or "pytorch_lightning" not in sys.modules or "lightning.pytorch" in sys.modules:
    from lightning.pytorch import Callback
else:  # the same under its older name
    from pytorch_lightning import Callback


class DiagnoseCallback(Callback):
    """``options``: those of `diagnose.integrations.window.Window`; every rank records itself, rank 0 writes
    the report. ``window``: has `document` and `report`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.window = Window(**options)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self.window.before_step(trainer.global_step)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.window.after_step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.window.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.window.close()

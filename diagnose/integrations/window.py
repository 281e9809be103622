"""Some steps of a training that runs anyway: a block that opens at a step and closes once all is recorded."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.errors import UsageError
from diagnose.in_process import Device, Recorder, block_settings

if TYPE_CHECKING:
    from diagnose.document.model import Document


class Window:
    """Records from the step ``start`` on (the first is 0): `before_step` and `after_step` around each,
    `close` at the end. Steps end where `python -m diagnose` would see them end, with the optimizer's.

    Nothing is ever raised while the training runs: what fails is said on stderr.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        start: int = 10,
        steps: int | None = None,
        plain_steps: int | None = None,
        stacks: bool = True,
        device: Device = "auto",
        watch: bool = False,
    ) -> None:
        """``out`` and the rest: as of `diagnose.record`; ``watch``: as `diagnose.watch`, until the training
        ends. Raises UsageError.
        """
        if not isinstance(start, int) or start < 0:
            raise UsageError("start must be a whole number from 0 on", saw=repr(start))
        settings = block_settings(steps, plain_steps, stacks=stacks, device=device, watch=watch)
        self._start = start
        self._recorder = Recorder(Path(out) if out is not None else None, settings, _program())
        self._is_open = self._is_over = False

    @property
    def document(self) -> Document | None:
        """The result document once all is recorded; None before, and on ranks that write no report."""
        return self._recorder.document

    @property
    def report(self) -> Path | None:
        """The report to open, likewise."""
        return self._recorder.report

    def before_step(self, step: int) -> None:
        """Step number ``step`` is about to begin."""
        if self._is_over or self._is_open or step < self._start:
            return
        try:
            self._recorder.__enter__()
        except Exception as error:
            self._is_over = True
            print(f"diagnose: nothing is recorded: {error}", file=sys.stderr)
            return
        self._is_open = True
        atexit.register(self.close)  # an exception may end the training

    def after_step(self) -> None:
        """A step has ended."""
        if self._is_open and self._recorder.done:
            self.close()

    def close(self) -> None:
        """Keep what was recorded, and report. Harmless when repeated."""
        if not self._is_open:
            return
        self._is_open, self._is_over = False, True
        atexit.unregister(self.close)
        try:
            self._recorder.__exit__(None, None, None)
        except Exception as error:
            print(f"diagnose: the report failed: {error!r}", file=sys.stderr)


def _program() -> str:
    """The file of the program that trains."""
    return str(getattr(sys.modules.get("__main__"), "__file__", None) or sys.argv[0] or "<program>")

"""What is going on, how far it is and how long it will take: whole lines,
and bars where the terminal is ours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from diagnose.document import text
from diagnose.report.console import obeys, stderr_console, telling

if TYPE_CHECKING:
    from rich.console import Console

    from diagnose.run.stage import Stage
    from diagnose.trace.content import Content
    from diagnose.verify.verification import VerifyProgress

REMARK_S = 2  # of reading: long enough to wonder whether anything happens
STAGE_REMARK_S = 5  # of recording: the lines stand between the script's own
WATCH_REMARK_S = 60  # of a run that is watched
_ERASE_LINE = "\r\x1b[K"
_BAR_WIDTH = 20

Clock = Callable[[], float]


class Progress:
    """Says what is going on, a whole line at a time.

    The script owns the terminal meanwhile: a line of ours that updated itself would be torn apart
    by its output. In a terminal a half-drawn progress bar of the script's is erased first; it
    draws itself again on the next line.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream, self._quiet = stream or sys.stderr, quiet
        self._lead = _ERASE_LINE if obeys(self._stream) else ""

    def __call__(self, what: str, how_far: str = "") -> None:
        if self._quiet or not what:
            return
        with telling(self._stream):
            self._stream.write(f"{self._lead}diagnose: {text.clean(what)} … {how_far}".rstrip() + "\n")
            self._stream.flush()


class RecordingProgress:
    """A line when a phase begins, and where it takes long one every `STAGE_REMARK_S`
    seconds, as long as steps are made; of a run that is watched one a minute, and its news at once.
    """

    def __init__(self, progress: Progress, clock: Clock = time.monotonic) -> None:
        self._progress, self._clock = progress, clock
        self._said: Stage | None = None
        self._due = 0.0

    def __call__(self, stage: Stage) -> None:
        now, said = self._clock(), self._said
        if stage.live:
            if said is None or stage.alerts > said.alerts or now >= self._due:
                self._said, self._due = stage, now + WATCH_REMARK_S
                self._progress("watching", stage.live)
            return
        begins = said is None or stage.text != said.text
        if begins or (now >= self._due and stage.done > (said.done if said else 0)):
            self._said, self._due = stage, now + STAGE_REMARK_S
            self._progress(
                stage.text or "waiting for the first step", _budget(stage) if begins else _step(stage)
            )


def _budget(stage: Stage) -> str:
    """`20 steps, about 6 s`."""
    steps = f"{text.count(stage.steps)} step{'s' if stage.steps > 1 else ''}" if stage.steps else ""
    return ", ".join(filter(None, [steps, _about(stage.left_s)]))


def _step(stage: Stage) -> str:
    """`step 12 of 20, about 3 s left`."""
    step = f"step {text.count(stage.done)}" + (f" of {text.count(stage.steps)}" if stage.steps else "")
    return ", ".join(filter(None, [step, _left(stage.left_s)]))


def _about(value: float | None) -> str:
    return "" if value is None else text.seconds(value) if value < 1 else f"about {text.seconds(value)}"


def _left(value: float | None) -> str:
    return "" if value is None else f"{_about(value)} left"


# ---- reading a trace


@contextmanager
def reading_progress(*, quiet: bool = False) -> Iterator[Callable[[Content], None]]:
    """Says how much of a trace is read, where that takes long: a bar in a terminal, lines elsewhere."""
    console = stderr_console(quiet=quiet)
    if not _draws(console):
        yield ReadingLines(Progress(quiet=quiet))
        return
    bar = ReadingBar(console)
    try:
        yield bar
    finally:
        bar.close()


class Reading:
    """How far the file that is being read is, told every `every_s` seconds, the first time after
    `REMARK_S`.
    """

    def __init__(self, every_s: float, clock: Clock) -> None:
        self._every_s, self._clock = every_s, clock
        self._content: Content | None = None
        self._began = self._due = 0.0

    def __call__(self, content: Content) -> None:
        now = self._clock()
        if content is not self._content:
            self._content, self._began, self._due = content, now, now + REMARK_S
        if now < self._due:
            return
        self._due = now + self._every_s
        done = text.share(content.share) if content.share else text.size(content.read_bytes)
        left_s = (now - self._began) * (1 - content.share) / content.share if content.share else None
        self._tell(
            f"reading {Path(content.name).name}",
            content.share,
            ", ".join(filter(None, [done, _left(left_s)])),
        )

    def _tell(self, what: str, share: float, how_far: str) -> None:
        raise NotImplementedError


class ReadingLines(Reading):
    def __init__(self, progress: Progress, clock: Clock = time.monotonic) -> None:
        super().__init__(REMARK_S, clock)
        self._progress = progress

    def _tell(self, what: str, share: float, how_far: str) -> None:
        self._progress(what, how_far)


class ReadingBar(Reading):
    """Gone when the file is read."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        super().__init__(0.1, clock)
        self._console = console
        self._bar: Any = None

    def __call__(self, content: Content) -> None:
        if content is not self._content or content.share >= 1:
            self.close()
        if content.share < 1:
            super().__call__(content)

    def _tell(self, what: str, share: float, how_far: str) -> None:
        if self._bar is None:
            self._bar = _bar(self._console)
            self._bar.add_task(
                f"diagnose: {text.clean(what)}",
                total=1.0 if share else None,
                completed=share,
                how_far=how_far,
            )
            self._bar.start()
        self._bar.update(0, completed=share, how_far=how_far, refresh=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


# ---- verify


@contextmanager
def verify_progress(*, quiet: bool = False) -> Iterator[Callable[[VerifyProgress], None]]:
    """Says which run it is at and how much of the budget is left: a bar in a terminal, where scripts
    print into a file; lines elsewhere.
    """
    console = stderr_console(quiet=quiet)
    if not _draws(console):
        lines = Progress(quiet=quiet)
        yield lambda going: lines(going.label, f"{_place(going)}, {_at_most(going.left_s)}")
        return
    with _bar(console, below=True) as bar:
        task = bar.add_task("", total=1.0, how_far="")

        def tell(going: VerifyProgress) -> None:
            until = time.monotonic() + going.left_s
            left = _Countdown(lambda: f"{_place(going)}, {_at_most(until - time.monotonic())}")
            share = 1 - going.left_s / going.budget_s
            bar.update(task, description=text.clean(going.label), completed=share, how_far=left)

        yield tell


class _Countdown:
    """Words that are made anew whenever they are shown."""

    def __init__(self, words: Callable[[], str]) -> None:
        self._words = words

    def __format__(self, how: str) -> str:
        return self._words()


def _place(going: VerifyProgress) -> str:
    """`run 14, fix 2 of 3`."""
    return f"run {text.count(going.run)}" + (f", fix {going.fix} of {going.fixes}" if going.fix else "")


def _at_most(left_s: float) -> str:
    return f"at most {text.seconds(max(1.0, left_s))} left" if left_s > 0 else "its time is used up"


# ---- bars


def _draws(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal and not console.quiet


def _bar(console: Console, *, below: bool = False) -> Any:
    """What, a bar, how far, which may stand `below`; it then moves by itself, else only when told to.

    It leaves nothing behind.
    """
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    what, how_far = "{task.description}", "{task.fields[how_far]}"
    wide = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    if below:
        columns = [
            SpinnerColumn(),
            TextColumn(f"{what}\n{how_far}", markup=False, table_column=wide),
            BarColumn(_BAR_WIDTH),
        ]
    else:
        end = TextColumn(how_far, markup=False, table_column=Column(no_wrap=True))
        columns = [TextColumn(what, markup=False, table_column=wide), BarColumn(_BAR_WIDTH), end]
    return Bar(
        *columns, console=console, transient=True, auto_refresh=below, refresh_per_second=4, expand=True
    )

"""Signals: what they are called, and who hears those that come to a launcher."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterable, Iterator

Handler = Callable[[int, object], None]


def _there_are(*names: str) -> tuple[signal.Signals, ...]:
    """Windows has few of them."""
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


ENDING = _there_are("SIGTERM", "SIGHUP", "SIGQUIT")
FOR_THE_SCRIPT = (*ENDING, *_there_are("SIGUSR1", "SIGUSR2"))  # if somebody sends them to us


def signal_name(number: int) -> str:
    """Also of a signal for real time, for which Python has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def signal_number(name: str) -> int:
    known = signal.Signals.__members__
    return known[name] if name in known else int(name.removeprefix("SIG"))


@contextlib.contextmanager
def heard_by(handlers: dict[signal.Signals, Handler]) -> Iterator[None]:
    """Signal handlers for as long as the child runs; only the main thread may have any.

    A signal that is ignored stays so, for the child inherits that.
    """
    before = {}
    try:
        with contextlib.suppress(ValueError):
            for number in _not_ignored(handlers):
                before[number] = signal.signal(number, handlers[number])
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


def overhear() -> None:
    """From now on none of these signals ends this process. Children start as if nothing had been done, while
    they would inherit that a signal is ignored.
    """
    for number in _not_ignored((signal.SIGINT, *FOR_THE_SCRIPT)):
        signal.signal(number, lambda number, frame: None)


def _not_ignored(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Those that Python can give a handler, and back the one that is there."""
    return [number for number in numbers if signal.getsignal(number) not in (signal.SIG_IGN, None)]

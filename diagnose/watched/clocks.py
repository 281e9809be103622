"""The GPU's clock over a watched run, as nvidia-smi told it each second."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from diagnose.run.gpu_state import CLOCKS_FILE
from diagnose.watched.levels import Cause, Level
from diagnose.watched.log import WatchLog

_BYTES_AT_MOST = 20_000_000
FELL = 0.05  # of the clock before: less is its usual play
_ENOUGH = 5  # samples of a level


class Clock(NamedTuple):
    """``at``: seconds since 1970."""

    at: float
    mhz: float
    reasons: list[str]


def read_clocks(run: Path) -> list[Clock]:
    """As they came; empty where none were kept. What cannot be read ends it."""
    try:
        with (run / CLOCKS_FILE).open("rb") as file:
            texts = file.read(_BYTES_AT_MOST).splitlines()
    except OSError:
        return []
    found: list[Clock] = []
    for text in texts:
        try:
            found.append(msgspec.json.decode(text, type=Clock))
        except msgspec.MsgspecError:
            break
    return found


def fallen(clocks: list[Clock], before: Level, after: Level, log: WatchLog) -> list[Cause]:
    """That the GPU ran slower in the later level; empty where it did not, or nobody knows."""
    spans = [_in_level(clocks, level, log) for level in (before, after)]
    if min(map(len, spans)) < _ENOUGH:
        return []
    earlier, later = (median(clock.mhz for clock in span) for span in spans)
    if later > (1 - FELL) * earlier:
        return []
    reasons = sorted(
        {reason for clock in spans[1] for reason in clock.reasons}
        - {reason for clock in spans[0] for reason in clock.reasons}
    )
    ms = after.mean_ms * (1 - later / earlier)  # at most: what is computed at that clock
    return [Cause("clocks", ms, before=earlier, after=later, told=", ".join(reasons))]


def _in_level(clocks: list[Clock], level: Level, log: WatchLog) -> list[Clock]:
    if log.began_at is None:
        return []
    begin = log.began_at + level.windows[0].at_s
    end = log.began_at + level.windows[-1].at_s + level.windows[-1].s
    return [clock for clock in clocks if begin <= clock.at < end]

"""A file of another profiler, read and told."""

from __future__ import annotations

from pathlib import Path

from diagnose.profiles.counters import CountersSummary, counters_summary
from diagnose.profiles.ncu import Counters
from diagnose.profiles.reading import read_profile
from diagnose.profiles.summary import ProfileSummary, summary


def read_summary(path: Path, memory_limit: int | None = None) -> ProfileSummary | CountersSummary:
    """Raises as `read_profile` does."""
    found = read_profile(path, memory_limit)
    return counters_summary(found, path.name) if isinstance(found, Counters) else summary(found, path.name)

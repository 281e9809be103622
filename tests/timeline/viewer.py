"""What a viewer makes of a Chrome trace, after Perfetto's importer: events by time, equal ones as in the
file; slices open and close; an arrow's end belongs to the innermost slice that is open on its track.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Any, NamedTuple

Json = dict[str, Any]


class Slice(NamedTuple):
    name: str
    start_us: Decimal
    end_us: Decimal


class Seen(NamedTuple):
    """``tracks``: slices by pid and tid; ``arrows``: the names at both ends; ``faults``:
    what a viewer would drop or show wrong.
    """

    tracks: dict[tuple[Any, Any], list[Slice]]
    arrows: list[tuple[str, str]]
    faults: list[str]


def seen(events: list[Json], checked_pid: Any = None) -> Seen:
    """``events`` with numbers as Decimal or int.

    Nesting is checked for one process, the rest is as somebody recorded it.
    """
    tracks: dict[tuple[Any, Any], list[Slice]] = defaultdict(list)
    stacks: dict[tuple[Any, Any], list[Slice]] = defaultdict(list)
    begun: dict[tuple[Any, Any, Any], str] = {}
    arrows, faults = [], []
    for event in sorted(
        (one for one in events if one.get("ph") in ("X", "s", "f") and "ts" in one),
        key=lambda one: Decimal(one["ts"]),
    ):
        track, ts = (event.get("pid"), event.get("tid")), Decimal(event["ts"])
        stack = stacks[track]
        while stack and stack[-1].end_us <= ts:
            stack.pop()
        if event["ph"] == "X":
            one = Slice(event.get("name", ""), ts, ts + Decimal(event.get("dur", 0)))
            if stack and stack[-1].end_us < one.end_us and event["pid"] == checked_pid:
                faults.append(f"{one} begins in {stack[-1]} and ends behind it")
            stack.append(one)
            tracks[track].append(one)
        elif event.get("cat") == "diagnose":
            key = (event["cat"], event["name"], event["id"])
            if not stack:
                faults.append(f"{event} is in no slice")
            elif event["ph"] == "s":
                if key in begun:
                    faults.append(f"{event} begins twice")
                begun[key] = stack[-1].name
            elif key not in begun:
                faults.append(f"{event} ends before it begins")
            else:
                arrows.append((begun.pop(key), stack[-1].name))
    return Seen(tracks, arrows, faults + [f"{key} has no end" for key in begun])


def thread_names(events: list[Json], pid: Any) -> dict[str, tuple[Any, Any]]:
    """Track by thread name, of one process."""
    return {
        one["args"]["name"]: (pid, one["tid"])
        for one in events
        if one.get("name") == "thread_name" and one["pid"] == pid
    }

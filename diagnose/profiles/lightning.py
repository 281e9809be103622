"""What Lightning's profilers print: SimpleProfiler's table of actions, AdvancedProfiler's of functions.

An action may run inside another: `run_training_epoch` holds nearly all the others.
"""

from __future__ import annotations

import re

from diagnose.profiles.kinds import OTHER, TITLES, kind_of
from diagnose.profiles.marshalled import Malformed
from diagnose.profiles.table import Profile, Row, Site

_ACTION = re.compile(
    r"^\|\s+(?P<name>[^|\s][^|]*)\|\s+(?P<mean>[\d.e+-]+)\s*\|\s+(?P<calls>\d+)\s*\|\s+(?P<total>[\d.e+-]+)\s*\|"
)
_SHORT_ACTION = re.compile(
    r"^\|\s+(?P<name>[^|\s][^|]*)\|\s+(?P<mean>[\d.e+-]+)\s*\|\s+(?P<total>[\d.e+-]+)\s*\|"
)
_WHOLE = re.compile(r"^\|\s+Total\s*\|\s+-\s*\|\s+\d+\s*\|\s+(?P<total>[\d.e+-]+)\s*\|")
_TABLE = re.compile(r"^Profile stats for: (?P<name>.{1,300})$")
_LONGEST_LINE = 2_000  # characters: no name of a hook or a function is nearly as long
_FUNCTION = re.compile(
    r"^\s*(?P<calls>\d+)(?:/\d+)?\s+(?P<self>[\d.]+)\s+\S+\s+(?P<total>[\d.]+)\s+\S+\s+(?P<where>\S.*)$"
)
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+)\((?P<function>.+)\)$")

# Those that hold no other of these, and what they are.
_KINDS = (
    ("loader", r"dataloader_next$|\.\w+_next$|^get_\w+_batch$|\b\w+_dataloader$"),
    ("copies", r"\bbatch_to_device$"),
    ("forward", r"^\[Strategy\]\w+\.(training|validation|test|predict)_step$"),
    ("backward", r"^\[Strategy\]\w+\.backward$|^backward$"),
    ("saving", r"\.(on_)?save_checkpoint$|^save_checkpoint$"),
    ("telling", r"\b(log_metrics|log_graph|ProgressBar\.\w+|Logger\.\w+)$"),
)
_STEP = re.compile(r"^\[LightningModule\]\w+\.optimizer_step$|^optimizer_step(_and_closure)?(_\d+)?$")
_IN_STEP = re.compile(r"^\[Strategy\]\w+\.(training_step|backward)$")  # both run in the optimizer's closure
_SIMPLE_NOTES = (
    "Lightning's actions lie inside each other: shares in the table of actions add up to more than 100 %.",
    "These are hooks, not lines: which line of a hook takes the time is not in it.",
)
_ADVANCED_NOTES = (
    "AdvancedProfiler writes no folders and no callers: your functions and those of libraries look the same.",
    "It profiles hook by hook with cProfile: what no hook of Lightning's holds is missing.",
)


def read(content: bytes) -> Profile:
    """Raises Malformed."""
    lines = [line for line in content.decode("utf-8", "replace").splitlines() if len(line) <= _LONGEST_LINE]
    if any(_TABLE.match(line) for line in lines):
        return _advanced(lines)
    return _simple(lines)


def _simple(lines: list[str]) -> Profile:
    actions: dict[str, tuple[float, int | None]] = {}
    duration = 0.0
    for line in lines:
        if whole := _WHOLE.match(line):
            duration += _seconds(whole["total"])
        elif found := _ACTION.match(line):
            actions[found["name"].rstrip()] = (_seconds(found["total"]), int(found["calls"][:15]))
        elif found := _SHORT_ACTION.match(line):
            actions[found["name"].rstrip()] = (_seconds(found["total"]), None)
    if not actions:
        raise Malformed("no actions with their times")
    duration = max(duration, *(seconds for seconds, _ in actions.values()))
    if duration <= 0:
        raise Malformed("no times above 0")
    rows = [
        Row(Site("", 0, name), seconds, seconds, seconds, calls) for name, (seconds, calls) in actions.items()
    ]
    return Profile(
        profiler="Lightning's SimpleProfiler",
        duration_s=duration,
        is_sampled=False,
        what="action",
        rows=tuple(sorted(rows, key=lambda row: -row.total_s)),
        kinds=_kinds({name: seconds for name, (seconds, _) in actions.items()}, duration),
        symptoms=_symptoms(actions),
        notes=_SIMPLE_NOTES,
    )


def _kinds(actions: dict[str, float], duration: float) -> dict[str, float]:
    """Of actions that do not hold each other; what is left is Lightning's, and the hooks' own."""
    found = dict.fromkeys(TITLES, 0.0)
    for name, seconds in actions.items():
        if kind := _kind_of(name):
            found[kind] += seconds
    step = max((seconds for name, seconds in actions.items() if _STEP.match(name)), default=0.0)
    in_step = sum(seconds for name, seconds in actions.items() if _IN_STEP.match(name))
    found["optimizer"] = max(0.0, step - in_step)
    found[OTHER] = max(0.0, duration - sum(found.values()))
    if (whole := sum(found.values())) > duration:  # some did lie inside each other
        found = {kind: seconds * duration / whole for kind, seconds in found.items()}
    return found


def _symptoms(actions: dict[str, tuple[float, int | None]]) -> dict[str, float]:
    wait = sum(seconds for name, (seconds, _) in actions.items() if name.endswith("_next"))
    moved = sum(
        seconds for name, (seconds, _) in actions.items() if re.search(r"\]\w+\.batch_to_device$", name)
    )
    return {"input-wait": wait, "blocking-htod-copies": moved}


def _kind_of(action: str) -> str:
    """Empty for those that hold others, and for what nothing is known of."""
    return next((kind for kind, pattern in _KINDS if re.search(pattern, action)), "")


def _advanced(lines: list[str]) -> Profile:
    costs: dict[Site, list[float]] = {}
    kinds = dict.fromkeys(TITLES, 0.0)
    action = ""
    for line in lines:
        if table := _TABLE.match(line):
            action = table["name"]
        if (found := _FUNCTION.match(line)) is None:
            continue
        own, whole = _seconds(found["self"]), _seconds(found["total"])
        site = _site(found["where"])
        known = costs.setdefault(site, [0.0, 0.0, 0.0])
        for number, more in enumerate((own, whole, float(found["calls"][:15]))):
            known[number] += more
        kinds[_kind_in(action, site)] += own
    duration = sum(own for own, _, _ in costs.values())
    if duration <= 0:
        raise Malformed("no functions with their times")
    rows = [Row(site, own, own, whole, int(calls)) for site, (own, whole, calls) in costs.items() if whole]
    return Profile(
        profiler="Lightning's AdvancedProfiler",
        duration_s=duration,
        is_sampled=False,
        what="any function",
        rows=tuple(sorted(rows, key=lambda row: -row.self_s)),
        kinds=kinds,
        notes=_ADVANCED_NOTES,
    )


def _site(where: str) -> Site:
    if place := _PLACE.match(where):
        return Site(place["file"], int(place["line"][:9]), place["function"])
    return Site("", 0, re.sub(r"^\{(.*)\}$", r"<\1>", where))


def _kind_in(action: str, site: Site) -> str:
    """What a function in C does is known by its name; else it is what the action does."""
    by_name = kind_of(site.callee) if not site.file else None
    if by_name is not None and by_name.rank > 1:
        return by_name.name
    return _kind_of(action) or ("optimizer" if _STEP.match(action) else OTHER)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError as error:
        raise Malformed(f"{text[:20]!r} is no time") from error
    if not 0 <= found < 1e12:
        raise Malformed(f"{text[:20]!r} is no time")
    return found

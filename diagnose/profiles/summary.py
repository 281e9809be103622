"""What a profile of the CPU tells: where the time goes, the user's lines, and which rules advise."""

from __future__ import annotations

import msgspec

from diagnose.judge.rules import Rule, load_rules
from diagnose.profiles.kinds import TITLES
from diagnose.profiles.symptoms import AT_LEAST
from diagnose.profiles.table import Profile, Row

_MOST_ROWS = 100
_MOST_ADVICE = 6
_SCRIPT = "YOUR_SCRIPT.py"


class Called(msgspec.Struct):
    """What a line or function called: as Python or a library names it."""

    name: str
    seconds: float


class Spent(msgspec.Struct):
    """A function, a line or an action; ``line`` 0 where none is known. ``self_s``: in it alone;
    ``with_libraries_s``: and in library code that it called; ``total_s``: from its call to its end.
    """

    file: str
    line: int
    function: str
    self_s: float
    with_libraries_s: float
    share: float
    total_s: float
    total_share: float
    calls: int | None
    mostly: list[Called]


class KindRow(msgspec.Struct):
    """A part of the duration; all rows together are that."""

    row: str
    title: str
    seconds: float
    share: float


class Advised(msgspec.Struct):
    """What a rule advises, and what its symptom takes here: no fix gains more than that."""

    rule: str
    symptom: str
    title: str
    how: str
    at_most_s: float
    at_most_share: float


class ProfileSummary(msgspec.Struct):
    """Of a recording of the CPU alone; times are seconds. ``script``: what to run for the GPU."""

    file: str
    profiler: str
    duration_s: float
    sampled: bool
    what: str
    script: str
    account: list[KindRow]
    rows: list[Spent]
    advice: list[Advised]
    notes: list[str]
    schema: int = 1


def summary(profile: Profile, file: str) -> ProfileSummary:
    whole = profile.duration_s
    return ProfileSummary(
        file=file,
        profiler=profile.profiler,
        duration_s=whole,
        sampled=profile.is_sampled,
        what=profile.what,
        script=_script(profile),
        account=_account(profile),
        rows=[_spent(row, whole) for row in profile.rows[:_MOST_ROWS]],
        advice=_advice(profile),
        notes=list(profile.notes),
    )


def _script(profile: Profile) -> str:
    """What ran, or the user's file that ran longest as a script."""
    if profile.script:
        return profile.script
    ran = [row for row in profile.rows if row.site.is_script and row.site.file.endswith(".py")]
    return max(ran, key=lambda row: row.total_s).site.file if ran else _SCRIPT


def _account(profile: Profile) -> list[KindRow]:
    rows = [
        KindRow(kind, title, profile.kinds[kind], profile.kinds[kind] / profile.duration_s)
        for kind, title in TITLES.items()
        if profile.kinds.get(kind, 0.0) > 0
    ]
    return sorted(rows, key=lambda row: -row.seconds)


def _spent(row: Row, whole: float) -> Spent:
    total = min(row.total_s, whole)  # a function that calls itself may be counted twice
    return Spent(
        row.site.file,
        row.site.line,
        row.site.function,
        row.self_s,
        row.with_libraries_s,
        row.with_libraries_s / whole,
        total,
        total / whole,
        row.calls,
        [Called(name, seconds) for name, seconds in row.mostly],
    )


def _advice(profile: Profile) -> list[Advised]:
    """What costs most first."""
    rules = load_rules()
    costs = sorted(profile.symptoms.items(), key=lambda one: -one[1])
    return [
        _advised(rules[rule], seconds, profile.duration_s)
        for rule, seconds in costs
        if rule in rules and seconds >= AT_LEAST * profile.duration_s
    ][:_MOST_ADVICE]


def _advised(rule: Rule, seconds: float, whole: float) -> Advised:
    fix = rule.fix
    return Advised(rule.id, rule.symptom, fix.title, fix.unmeasured, seconds, min(1.0, seconds / whole))

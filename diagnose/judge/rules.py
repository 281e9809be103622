"""Rules are data: one TOML file a rule in ``rules/``. A file's existence is its registration.

``load_rules`` checks every name a file uses (keys, metrics, selectors, what it refines)
and fails with the nearest valid one.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from diagnose.errors import DiagnoseError, known_name
from diagnose.fixes import all as fixes
from diagnose.judge.own import own_folders
from diagnose.judge.parsed import KEPT, parsed_files
from diagnose.judge.terms import SEVERITIES, Framework, Op, Safety, Scope, Severity, Status
from diagnose.measure.areas.user_code import CallTime
from diagnose.measure.ledger import TITLES
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.metrics import METRICS, add_calls
from diagnose.measure.selection import SELECTORS
from diagnose.trace.collector import collector_at_rest

OPS: tuple[Op, ...] = get_args(Op)
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
STATUSES: tuple[Status, ...] = get_args(Status)
SAFETIES: tuple[Safety, ...] = get_args(Safety)
EDITS = ("remove", "quicken", "shrink", "unblock", "retime", "fuse", "release", "overlap", "inline", "none")
# What an edit leaves of the events' time if the rule says nothing: best guess, at best, at worst.
LEFT = {
    "remove": (0.0, 0.0, 0.1),
    "quicken": (0.0, 0.0, 0.1),
    "unblock": (1.0, 1.0, 1.0),
    "fuse": (1.0, 0.8, 1.0),
    "release": (0.0, 0.0, 1.0),
}
BECAUSE = {
    "remove": "the recorded work is removed; a little may take its place",
    "quicken": "the step as measured with the setting changed",
    "unblock": "the work stays, but the host no longer waits for it",
    "fuse": "the GPU's work stays, but the host launches it at once",
    "release": "the GPU runs queued work at once, if what holds it up can be removed at all",
    "overlap": "loading as measured runs beside the recorded step, on the cores that this leaves",
    "inline": "loading as measured runs in the training thread, and nothing is handed over",
}
FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16")
# What a `because` may name instead of saying it again.
REASONS = {"noise": "below 5 % of the step the gain is lost in run-to-run noise"}
LAST = "last"  # of `rest`
WHOLE_STEP = "step"  # what a rule refines that cuts across the ledger's rows
SCOPES: tuple[Scope, ...] = get_args(Scope)
IN_MS = ("step", "average")  # those whose saving is ms per step


@dataclass(frozen=True)
class Condition:
    """``metric op value``, and why the value is what it is."""

    metric: str
    op: Op
    value: float | int | bool | str
    because: str


@dataclass(frozen=True)
class Advice:
    """What a rule's ``[fix]`` says.

    ``how`` may hold ``{metric}`` names; ``otherwise`` is said instead where one of them is unknown.

    ``call``: the function whose call in the script the remedy changes (``DataLoader``,
    ``zero_grad``); empty if there is no such call. ``before``, ``after``: the same few lines of code
    without and with the remedy; both or neither. ``after`` may hold ``{metric}`` names too.
    ``intervention``: the automatic fix that makes it (`diagnose.fixes.all`), empty if there is none; its
    ``arguments`` are values or the names of metrics.
    """

    title: str
    how: str
    otherwise: str
    safety: Safety
    intervention: str
    caution: str
    call: str = ""
    before: str = ""
    after: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unmeasured(self) -> str:
        """What to do where nothing was measured: no name of a metric is in it."""
        return self.otherwise or self.how


@dataclass(frozen=True)
class Instead:
    """Advice for recordings in which the condition holds, in place of the rule's own: what is compiled
    already is not to be compiled. Where it lies is the same, and so is what there is to gain.
    """

    when: Condition
    advice: Advice


@dataclass(frozen=True)
class Saving:
    """``edit``: what the fix does to the selector's events
    (`diagnose.predict.edits`); ``scope``: see ``SCOPES``.

    ``ratio``: what is left of their time, best guess, a number or the name of a metric; ``between``: at best
    and at worst, None where no more can go than the metric says; ``because``: how that is known.

    ``tried``: the metric that stands for both where the run has tried the fix; empty in a finding where it
    has not.

    ``within``: rules about all of what only some steps have, of which this is about a part; it counts once.

    step: the saving is time of every step. average: of some steps only, so of the average step but not of the
    usual one. component: what is gained is not known in step time. hypothetical: costs nothing on this
    machine, would on a GPU. information: nothing is wrong.
    """

    edit: str
    scope: Scope
    ratio: float | str = 0.0
    between: tuple[float, float] | None = (0.0, 0.0)
    because: str = ""
    formats: tuple[str, str] | None = None
    tried: str = ""
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """``rest``: of its lines only those count that no other rule that fires blames most; `LAST`: it gives way
    to others with ``rest`` too; a rule's id: it gives way to that one alone.

    ``severity``: at least, whatever a run measures; such a finding is planned also below the noise. For
    what is never right in a loop that trains.

    ``frameworks``: whose recordings it is judged on. What it advises is to be typed there.
    """

    id: str
    status: Status
    refines: str
    cause: str
    symptom: str
    why: str
    false_positives: str
    references: tuple[str, ...]
    when: tuple[Condition, ...]
    selector: str
    fix: Advice
    saving: Saving
    instead: tuple[Instead, ...] = ()
    rest: bool | str = False
    severity: Severity | None = None
    frameworks: tuple[Framework, ...] = ("torch",)

    def gives_way_to(self, other: str) -> bool:
        """Whether a line that the rule of that id blames most is not its own."""
        return self.rest in (True, LAST, other)


def rules_folder() -> Path:
    """``rules/``: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parent / "rules"


@collector_at_rest()
def load_rules(*folders: Path) -> dict[str, Rule]:
    """Every rule in the folders by id; of no folder: the bundled ones and the user's own
    (`diagnose.judge.own`). Their events become selectors.

    Raises DiagnoseError for a file that is wrong, naming the file and the nearest valid name, and for two
    rules of one id.
    """
    bundled = rules_folder()
    data: dict[str, dict[str, Any]] = {}
    selectors: set[str] = set()
    for folder in folders or (bundled, *own_folders()):
        of_folder = parsed_files(_files_in(folder), KEPT if folder == bundled else None)
        for path, table in of_folder.items():
            if path.stem in data:
                raise DiagnoseError(f"two rules are called {path.stem}", do=f"choose another id for {path}")
            data[path.stem] = table
            _add_events(table, path.stem, selectors)
    rules = {rule_id: parse_rule(table, rule_id) for rule_id, table in data.items()}
    for rule in rules.values():
        known_name(rule.refines, [WHOLE_STEP, *TITLES, *rules], f"{rule.id}: refines")
        if isinstance(rule.rest, str):
            known_name(rule.rest, [LAST, *rules], f"{rule.id}: rest")
        for whole in rule.saving.within:
            known_name(whole, rules, f"{rule.id}: within")
    return rules


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.toml") if not path.name.endswith(".cases.toml"))


def _add_events(data: Mapping[str, Any], where: str, taken: set[str]) -> None:
    """The calls of the script's own lines that a rule is about, as the selector of its culprits."""
    events, culprits = data.get("events"), data.get("culprits", {})
    if events is None:
        return
    where = f"{where}: [events]"
    _keys(events, {"calls", "meaning"}, {"time"}, where)
    calls = events["calls"]
    pattern = calls if isinstance(calls, str) else "|".join(calls)
    time = known_name(events.get("time", "exposed"), get_args(CallTime), f"{where}: time")
    name = culprits.get("selector", "")
    if name in taken:
        raise DiagnoseError(f"{where}: two kinds of events are called {name}", do="choose another name")
    taken.add(name)
    try:
        add_calls(name, pattern, events["meaning"], cast(CallTime, time))
    except DiagnoseError as error:
        raise DiagnoseError(f"{where}: {error.what}", saw=error.saw, do=error.do) from error


def lineage(rule: Rule, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules above this one, nearest first; the last of them (or the rule itself) refines a
    row of the ledger or the whole step.
    """
    above: list[Rule] = []
    while (rule.refines in rules) and rules[rule.refines] not in above:
        rule = rules[rule.refines]
        above.append(rule)
    return above


def parse_rule(data: Mapping[str, Any], expected_id: str) -> Rule:
    """A rule from its TOML data.

    Raises DiagnoseError for a missing or unknown key, metric, selector or value.
    """
    where = expected_id
    _keys(
        data,
        {"id", "status", "refines", "symptom", "why", "references", "when", "culprits", "fix", "saving"},
        {"cause", "events", "false_positives", "frameworks", "severity"},
        where,
    )
    if data["id"] != expected_id:
        raise DiagnoseError(f"{where}: its id is {data['id']!r}", do="id and file name must be the same")
    _keys(data["culprits"], {"selector"}, {"rest"}, f"{where}: [culprits]")
    fix = {key: value for key, value in data["fix"].items() if key != "instead"}
    return Rule(
        id=data["id"],
        status=known_name(data["status"], STATUSES, f"{where}: status"),
        refines=data["refines"],
        cause=data.get("cause", data["id"].replace("-", " ").capitalize()),
        symptom=data["symptom"].strip(),
        why=data["why"].strip(),
        false_positives=data.get("false_positives", "").strip(),
        references=tuple(data["references"]),
        when=tuple(_condition(one, where) for one in data["when"]),
        selector=known_name(
            data["culprits"]["selector"], [*SELECTORS, *FACT_SELECTORS], f"{where}: selector"
        ),
        fix=_fix(fix, where),
        saving=_saving(data["saving"], where),
        instead=tuple(_instead(one, where) for one in data["fix"].get("instead", ())),
        rest=data["culprits"].get("rest", False),
        severity=known_name(data["severity"], SEVERITIES, f"{where}: severity")
        if "severity" in data
        else None,
        frameworks=tuple(
            known_name(one, FRAMEWORKS, f"{where}: frameworks") for one in data.get("frameworks", ["torch"])
        ),
    )


def _condition(data: Mapping[str, Any], where: str) -> Condition:
    _keys(data, {"metric", "op", "value", "because"}, set(), f"{where}: [[when]]")
    return Condition(
        metric=known_name(data["metric"], METRICS, f"{where}: metric"),
        op=known_name(data["op"], OPS, f"{where}: op"),
        value=data["value"],
        because=REASONS.get(data["because"], data["because"].strip()),
    )


def _fix(data: Mapping[str, Any], where: str) -> Advice:
    optional = {"intervention", "arguments", "caution", "otherwise", "call", "before", "after"}
    _keys(data, {"title", "how", "safety"}, optional, f"{where}: [fix]")
    if "intervention" in data:
        fixes.check(data["intervention"], data.get("arguments", {}), where)
    if placeholders(data["how"]) and "otherwise" not in data:
        raise DiagnoseError(
            f"{where}: [fix] 'otherwise' is missing",
            do="say what to do where the numbers in 'how' are unknown",
        )
    if ("before" in data) != ("after" in data):
        raise DiagnoseError(f"{where}: [fix] has only one of 'before' and 'after'")
    for name in placeholders(data["how"]):
        known_name(name, METRICS, f"{where}: {{{name}}} in fix.how")
    return Advice(
        title=data["title"],
        how=data["how"].strip(),
        otherwise=data.get("otherwise", "").strip(),
        safety=known_name(data["safety"], SAFETIES, f"{where}: safety"),
        intervention=data.get("intervention", ""),
        caution=data.get("caution", "").strip(),
        call=data.get("call", ""),
        before=data.get("before", "").strip("\n"),
        after=data.get("after", "").strip("\n"),
        arguments=data.get("arguments", {}),
    )


def _instead(data: Mapping[str, Any], where: str) -> Instead:
    if "when" not in data:
        raise DiagnoseError(f"{where}: [[fix.instead]] 'when' is missing")
    advice = {key: value for key, value in data.items() if key != "when"}
    return Instead(_condition(data["when"], where), _fix(advice, where))


def _saving(data: Mapping[str, Any], where: str) -> Saving:
    where = f"{where}: [saving]"
    _keys(data, {"edit", "scope"}, {"ratio", "between", "because", "formats", "tried", "within"}, where)
    given = {"ratio", "between"} & set(data)
    if given and "because" not in data:
        raise DiagnoseError(
            f"{where} 'because' is missing", do="say how it is known what is left of the time"
        )
    ratio = data.get("ratio", LEFT[data["edit"]][0] if data["edit"] in LEFT else 0.0)
    if isinstance(ratio, str):
        known_name(ratio, METRICS, f"{where}: ratio")
    usual = (
        LEFT[data["edit"]][1:]
        if not given and data["edit"] in LEFT
        else None
        if isinstance(ratio, str)
        else (ratio, ratio)
    )
    between = data.get("between", usual)
    if between is not None:
        best, worst = between
        if not 0 <= best <= worst <= 1 or (not isinstance(ratio, str) and not best <= ratio <= worst):
            raise DiagnoseError(
                f"{where}: 'between' is not two numbers from 0 to 1 around the ratio",
                do="between = [best, worst]",
            )
    return Saving(
        edit=known_name(data["edit"], EDITS, f"{where}: edit"),
        scope=known_name(data["scope"], SCOPES, f"{where}: scope"),
        ratio=ratio,
        between=None if between is None else (float(between[0]), float(between[1])),
        because=data.get("because", BECAUSE.get(data["edit"], "")).strip(),
        formats=_formats(data["formats"], where) if "formats" in data else None,
        tried=known_name(data["tried"], METRICS, f"{where}: tried") if "tried" in data else "",
        within=tuple(data.get("within", ())),
    )


def _formats(names: Sequence[str], where: str) -> tuple[str, str]:
    now, then = (known_name(name, FORMATS, f"{where}: formats") for name in names)
    return now, then


def placeholders(text: str) -> list[str]:
    """The ``{metric}`` names in a text; doubled braces are literal."""
    return [name for _, name, _, _ in string.Formatter().parse(text) if name]


def filled(snippet: str, shown: Callable[[str], str | None]) -> str:
    """Code with the names of metrics in braces replaced by their values, or by N where one is unknown.

    Other braces are the code's own.
    """
    return re.sub(
        r"\{(\w+)\}", lambda found: (shown(found[1]) or "N") if found[1] in METRICS else found[0], snippet
    )


def _keys(data: Mapping[str, Any], required: set[str], optional: set[str], where: str) -> None:
    for key in required - set(data):
        raise DiagnoseError(f"{where}: {key!r} is missing")
    for key in set(data) - required:
        known_name(key, required | optional, f"{where}: key")

"""Rules are data: one TOML file a rule in ``rules/``. A file's existence is its registration.

``load_rules`` checks every name a file uses (keys, metrics, selectors, what it refines)
and fails with the nearest valid one.
"""

from __future__ import annotations

import difflib
import re
import string
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from diagnose.errors import DiagnoseError
from diagnose.judge.terms import Op, Safety, Scope, Status
from diagnose.measure.ledger import TITLES
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.metrics import METRICS
from diagnose.measure.selection import SELECTORS

OPS: tuple[Op, ...] = get_args(Op)
STATUSES: tuple[Status, ...] = get_args(Status)
SAFETIES: tuple[Safety, ...] = get_args(Safety)
EDITS = ("remove", "shrink", "unblock", "retime", "fuse", "overlap", "none")
# What an edit leaves of the events' time if the rule says nothing: best guess, at best, at worst.
LEFT = {"remove": (0.0, 0.0, 0.1), "unblock": (1.0, 1.0, 1.0), "fuse": (1.0, 0.8, 1.0)}
BECAUSE = {
    "remove": "the recorded work goes entirely; a little may take its place",
    "unblock": "the work stays, the host only stops waiting for it",
    "fuse": "the GPU's work stays, the host launches it at once",
    "overlap": "loading as measured, beside the step as recorded, on the cores there are",
}
# The fixes that a rerun can make by itself, one class each in
# `diagnose.run.child.interventions`, with the arguments they take.
INTERVENTIONS: dict[str, tuple[str, ...]] = {
    "affinity": ("cores",),
    "allocator": ("library",),
    "anomaly_mode_off": (),
    "autocast": ("dtype",),
    "backend_flags": (
        "allow_tf32",
        "cudnn_benchmark",
        "cudnn_sdp",
        "flash_sdp",
        "math_sdp",
        "matmul_precision",
        "mem_efficient_sdp",
    ),
    "channels_last": (),
    "compile": ("backend", "mode"),
    "dataloader": ("batch_size", "num_workers", "persistent_workers", "pin_memory", "prefetch_factor"),
    "ddp": ("bucket_cap_mb", "find_unused_parameters", "gradient_as_bucket_view", "static_graph"),
    "empty_cache_off": (),
    "expandable_segments": (),
    "fold_conv_norm": (),
    "gc_freeze": (),
    "inference_mode": (),
    "launch_blocking_off": (),
    "non_blocking": (),
    "optimizer": ("foreach", "fused"),
    "own_profiler_off": (),
    "threads": ("count",),
    "zero_grad": (),
}
# Without any of its arguments these would change nothing.
NEED_ARGUMENTS = {
    "affinity",
    "allocator",
    "autocast",
    "backend_flags",
    "dataloader",
    "ddp",
    "optimizer",
    "threads",
}
FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16")
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
class Fix:
    """``how`` may hold ``{metric}`` names; ``otherwise`` is said instead where one of them is unknown.

    ``call``: the function whose call in the script the remedy changes (``DataLoader``,
    ``zero_grad``); empty if there is no such call. ``before``, ``after``: the same few lines of code
    without and with the remedy; both or neither. ``after`` may hold ``{metric}`` names too.
    ``intervention``: the fix's automatic form (`diagnose.run.child.interventions`), empty if it has
    none; its ``arguments`` are values or the names of metrics.
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


@dataclass(frozen=True)
class Saving:
    """``edit``: what the fix does to the selector's events
    (`diagnose.predict.edits`); ``scope``: see ``SCOPES``.

    ``ratio``: what is left of their time, best guess, a number or the name of a metric; ``between``: at best
    and at worst, None where no more can go than the metric says; ``because``: how that is known.

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


@dataclass(frozen=True)
class Rule:
    id: str
    status: Status
    refines: str
    symptom: str
    why: str
    innocent: str
    references: tuple[str, ...]
    when: tuple[Condition, ...]
    selector: str
    fix: Fix
    saving: Saving


def rules_folder() -> Path:
    """``rules/``: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parent / "rules"


def load_rules(folder: Path | None = None) -> dict[str, Rule]:
    """Every rule in the folder, by id.

    Raises DiagnoseError for a file that is wrong, naming the file and the nearest valid name.
    """
    files = sorted(
        path for path in (folder or rules_folder()).glob("*.toml") if not path.name.endswith(".cases.toml")
    )
    rules = {rule.id: rule for rule in map(_load, files)}
    for rule in rules.values():
        _known(rule.refines, [WHOLE_STEP, *TITLES, *rules], f"{rule.id}: refines")
    return rules


def lineage(rule: Rule, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules above this one, nearest first; the last of them (or the rule itself) refines a
    row of the ledger or the whole step.
    """
    above: list[Rule] = []
    while (rule.refines in rules) and rules[rule.refines] not in above:
        rule = rules[rule.refines]
        above.append(rule)
    return above


def _load(path: Path) -> Rule:
    try:
        return parse_rule(tomllib.loads(path.read_text(encoding="utf-8")), path.stem)
    except tomllib.TOMLDecodeError as error:
        raise DiagnoseError(f"{path} is not valid TOML", saw=str(error)) from error


def parse_rule(data: Mapping[str, Any], expected_id: str) -> Rule:
    """A rule from its TOML data.

    Raises DiagnoseError for a missing or unknown key, metric, selector or value.
    """
    where = expected_id
    _keys(
        data,
        {"id", "status", "refines", "symptom", "why", "references", "when", "culprits", "fix", "saving"},
        {"innocent"},
        where,
    )
    if data["id"] != expected_id:
        raise DiagnoseError(f"{where}: its id is {data['id']!r}", do="id and file name must be the same")
    _keys(data["culprits"], {"selector"}, set(), f"{where}: [culprits]")
    return Rule(
        id=data["id"],
        status=_known(data["status"], STATUSES, f"{where}: status"),
        refines=data["refines"],
        symptom=data["symptom"].strip(),
        why=data["why"].strip(),
        innocent=data.get("innocent", "").strip(),
        references=tuple(data["references"]),
        when=tuple(_condition(one, where) for one in data["when"]),
        selector=_known(data["culprits"]["selector"], [*SELECTORS, *FACT_SELECTORS], f"{where}: selector"),
        fix=_fix(data["fix"], where),
        saving=_saving(data["saving"], where),
    )


def _condition(data: Mapping[str, Any], where: str) -> Condition:
    _keys(data, {"metric", "op", "value", "because"}, set(), f"{where}: [[when]]")
    return Condition(
        metric=_known(data["metric"], METRICS, f"{where}: metric"),
        op=_known(data["op"], OPS, f"{where}: op"),
        value=data["value"],
        because=data["because"].strip(),
    )


def _fix(data: Mapping[str, Any], where: str) -> Fix:
    optional = {"intervention", "arguments", "caution", "otherwise", "call", "before", "after"}
    _keys(data, {"title", "how", "safety"}, optional, f"{where}: [fix]")
    if "intervention" in data:
        check_intervention(data["intervention"], data.get("arguments", {}), where)
    if placeholders(data["how"]) and "otherwise" not in data:
        raise DiagnoseError(
            f"{where}: [fix] 'otherwise' is missing",
            do="say what to do where the numbers in 'how' are unknown",
        )
    if ("before" in data) != ("after" in data):
        raise DiagnoseError(f"{where}: [fix] has only one of 'before' and 'after'")
    for name in placeholders(data["how"]):
        _known(name, METRICS, f"{where}: {{{name}}} in fix.how")
    return Fix(
        title=data["title"],
        how=data["how"].strip(),
        otherwise=data.get("otherwise", "").strip(),
        safety=_known(data["safety"], SAFETIES, f"{where}: safety"),
        intervention=data.get("intervention", ""),
        caution=data.get("caution", "").strip(),
        call=data.get("call", ""),
        before=data.get("before", "").strip("\n"),
        after=data.get("after", "").strip("\n"),
        arguments=data.get("arguments", {}),
    )


def check_intervention(name: str, arguments: Collection[str], where: str) -> None:
    """Raises DiagnoseError if there is no such fix, if it takes no argument of such
    a name, or needs one and gets none.
    """
    _known(name, INTERVENTIONS, f"{where}: intervention")
    for argument in arguments:
        _known(argument, INTERVENTIONS[name], f"{where}: argument of {name}")
    if name in NEED_ARGUMENTS and not arguments:
        raise DiagnoseError(
            f"{where}: {name} needs arguments", do=f"it takes {', '.join(INTERVENTIONS[name])}"
        )


def _saving(data: Mapping[str, Any], where: str) -> Saving:
    where = f"{where}: [saving]"
    _keys(data, {"edit", "scope"}, {"ratio", "between", "because", "formats"}, where)
    given = {"ratio", "between"} & set(data)
    if given and "because" not in data:
        raise DiagnoseError(
            f"{where} 'because' is missing", do="say how it is known what is left of the time"
        )
    ratio = data.get("ratio", LEFT[data["edit"]][0] if data["edit"] in LEFT else 0.0)
    if isinstance(ratio, str):
        _known(ratio, METRICS, f"{where}: ratio")
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
        edit=_known(data["edit"], EDITS, f"{where}: edit"),
        scope=_known(data["scope"], SCOPES, f"{where}: scope"),
        ratio=ratio,
        between=None if between is None else (float(between[0]), float(between[1])),
        because=data.get("because", BECAUSE.get(data["edit"], "")).strip(),
        formats=_formats(data["formats"], where) if "formats" in data else None,
    )


def _formats(names: Sequence[str], where: str) -> tuple[str, str]:
    now, then = (_known(name, FORMATS, f"{where}: formats") for name in names)
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
        _known(key, required | optional, f"{where}: key")


Name = TypeVar("Name", bound=str)


def _known(name: str, valid: Iterable[Name], where: str) -> Name:
    valid = list(valid)
    for one in valid:
        if one == name:
            return one
    near = difflib.get_close_matches(name, valid, n=1)
    raise DiagnoseError(
        f"{where}: {name!r} is unknown",
        do=f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(sorted(valid))}",
    )

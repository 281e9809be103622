"""Settings that slow every step a little, and so have no events of their own: what the run found when it
tried a few steps without them (`diagnose.run.child.trials.setting_trials`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diagnose.measure.ledger import TORCH_ROWS
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_FACTS, NO_STEPS, ONLY_IN_A_RUN, Missing
from diagnose.trace.columns import among

NOT_TRIED = Missing("the run did not try it, or ended before", in_trace=ONLY_IN_A_RUN)
ONLY_NOISE = Missing("the steps tried without it were not clearly shorter", in_trace=ONLY_IN_A_RUN)
IN_VARIABLES = 0.1  # of the graphs of many calls: variables hold the last ones, and a loss holds all it needs
PAIRS_AT_LEAST = 4  # of a step as it is and one with the setting changed
# What disturbs a step makes it longer, never shorter: the shorter steps of each kind are compared.
QUANTILE = 0.25
SURE = 2.0  # standard deviations by which Mann and Whitney's statistic must exceed that of mere noise
# × the plain step, from which steps as they are were disturbed while a number of threads was tried: beside
# other programs several threads wait for each other, and one does not
DISTURBED = 1.3
OTHERS_BUSY = 0.1  # of the machine, from which they delay several threads
# where nothing was tried: the loader or other programs easily take fewer idle cores
SPARE_CORES = 3
# where nothing was tried: short operators are not split among threads, or gain nothing from it
LONG_OP_SHARE = 0.3
_ENGINE = "autograd::engine::evaluate_function"
_NAN_CHECKS = ("aten::isnan", "aten::_is_any_true", "aten::any")  # of every gradient, under anomaly detection


@metric("framework", "", "Whose recording it is: torch, tensorflow or jax")
def _framework(measured: Measured) -> Value | Missing:
    return measured.framework


def tried_share(measured: Measured, setting: str) -> float | Missing:
    """Share of a step that goes with the setting changed; missing where the trial shows only noise."""
    trial = trial_of(measured, setting)
    return NOT_TRIED if trial is None else shorter_share(trial)


def shorter_share(trial: dict[str, Any]) -> float | Missing:
    """Of `as_is_ms`, as a share; missing where there are few, or `changed_ms` are not surely shorter."""
    if min(len(trial["as_is_ms"]), len(trial["changed_ms"])) < PAIRS_AT_LEAST:
        return NOT_TRIED
    as_is, changed = np.array(trial["as_is_ms"]), np.array(trial["changed_ms"])
    gain = float(1 - np.quantile(changed, QUANTILE) / np.quantile(as_is, QUANTILE))
    return gain if is_shorter(changed, as_is) and gain > 0 else ONLY_NOISE


def trial_of(measured: Measured, setting: str) -> dict[str, Any] | None:
    """What the run tried of it (docs/architecture.md, `setting_trials`); None where it did not."""
    trials = measured.recording.facts.get("setting_trials") or []
    return next((trial for trial in trials if trial["setting"] == setting), None)


def _was_disturbed(measured: Measured, setting: str) -> bool:
    """Whether other programs were busy while it was tried, or steps as they are took far longer than the
    plain ones.
    """
    plain_ms = measured.metric("plain_step_ms")
    trial = trial_of(measured, setting)
    if trial is None or not trial["as_is_ms"]:
        return False
    has_workers = measured.number("loader_worker_count") > 0  # which are no other programs
    if not has_workers and (trial.get("others_share") or 0.0) >= OTHERS_BUSY:
        return True
    if isinstance(plain_ms, Missing):
        return False
    return bool(np.quantile(trial["as_is_ms"], QUANTILE) > DISTURBED * float(plain_ms))


def is_shorter(changed: np.ndarray, as_is: np.ndarray) -> bool:
    """Mann and Whitney's test: how often a step of the one kind is shorter than one of the other."""
    n, m = len(changed), len(as_is)
    wins = np.count_nonzero(changed[:, None] < as_is[None, :])
    return bool(wins - n * m / 2 >= SURE * np.sqrt(n * m * (n + m + 1) / 12))


def tried_ms(measured: Measured, setting: str) -> float | None:
    """That share of the plain step; None where it was not tried."""
    share = tried_share(measured, setting)
    return None if isinstance(share, Missing) else share * measured.number("step_ms")


def _nan_checks_ms(measured: Measured) -> float | None:
    """What anomaly detection takes at least, where no trial tells: the engine asks of every gradient whether
    it holds a NaN. The traceback that each forward operator keeps is not in it. None where it asked of none.
    """
    view = measured.timeline
    if view is None or not measured.recording.facts.get("anomaly_mode"):
        return None
    asked = view.named(among(view.name, _NAN_CHECKS))
    around = view.host["parent"].to_numpy()[asked]
    by_engine = np.append(view.name_matches(f"^{_ENGINE}"), False)[around]  # row -1: no parent
    return measured.timeline_ms(view.host_intervals(asked[by_engine])) if by_engine.any() else None


def _mode(name: str, setting: str, meaning: str, tried: str = "") -> None:
    """A selector of a setting: the line that switches it, and what it was found to cost when that was
    ``tried``.
    """

    def places(measured: Measured) -> list[FactPlace] | Missing:
        facts = measured.recording.facts
        if not facts:
            return NO_FACTS
        place = (facts.get("modes") or {}).get(setting) or {"file": "", "line": -1, "function": ""}
        cost_ms = tried_ms(measured, tried or setting)
        if cost_ms is None and setting == "anomaly_mode":
            cost_ms = _nan_checks_ms(measured)
        return [FactPlace(**place, count_per_step=1.0, ms_per_step=cost_ms)]

    fact_selector(name, meaning)(places)


_mode("anomaly_detection", "anomaly_mode", "autograd's anomaly detection")
_mode("deterministic_mode", "deterministic", "deterministic algorithms")
_mode("thread_setting", "threads", "the number of threads")
_mode("several_threads", "threads", "computing with several threads", tried="one_thread")


@metric(
    "one_thread_gain_share", "share", "Share of the step that one thread alone saves, as tried in this run"
)
def _one_thread_gain_share(measured: Measured) -> Value | Missing:
    share = _share_of_computing(measured, "one_thread")
    return 0.0 if share is ONLY_NOISE else share


def _share_of_computing(measured: Measured, setting: str) -> float | Missing:
    """What was tried of a setting of torch's own work, which gains no more than this work takes: more is
    chance, as where a step sleeps until its time is over and so makes up for what the one before lost.
    """
    share, view = tried_share(measured, setting), measured.timeline
    if _was_disturbed(measured, setting):
        return ONLY_NOISE
    if view is None or view.has_device:
        return share
    torch_ms = sum(measured.row_ms(row) for row in TORCH_ROWS)
    is_more = not isinstance(share, Missing) and share * measured.number("step_ms") > torch_ms
    return ONLY_NOISE if is_more else share


@metric(
    "more_threads_share",
    "share",
    "Share of the step that one thread per core saves, as tried in this run; else by the operators' lengths",
)
def _more_threads_share(measured: Measured) -> Value | Missing:
    threads, cores = measured.needed("thread_count"), measured.needed("cpu_core_count")
    if threads >= cores:
        return 0.0
    share = _share_of_computing(measured, "threads")
    if share is ONLY_NOISE:
        return 0.0
    if not isinstance(share, Missing):
        return share
    spare, long_ops = measured.needed("spare_core_count"), measured.needed("long_op_share")
    return long_ops * spare / (threads + spare) if spare >= SPARE_CORES and long_ops >= LONG_OP_SHARE else 0.0


@fact_selector("unused_gradients", "what autograd keeps for a backward that never runs")
def _unused_gradients(measured: Measured) -> list[FactPlace] | Missing:
    """By the lines that call the model."""
    view, cost_ms = measured.timeline, tried_ms(measured, "gradients")
    if view is None:
        return NO_STEPS
    forwards = view.host.iloc[view.named(view.marked("forward"))]
    if not len(forwards):
        return [FactPlace("", -1, "", 0.0, cost_ms)]
    lines = forwards.groupby(["file", "line", "function"], observed=True)["dur_ns"].agg(["size", "sum"])
    whole_ns = max(int(lines["sum"].sum()), 1)
    return [
        FactPlace(
            str(file),
            int(line),
            str(function),
            int(calls) / view.step_count,
            None if cost_ms is None else cost_ms * int(dur_ns) / whole_ns,
        )
        for (file, line, function), calls, dur_ns in lines.itertuples()
    ]


@fact_selector("thrown_graphs", "model calls in training whose graph no backward uses")
def _thrown_graphs(measured: Measured) -> list[FactPlace] | Missing:
    view, graphs = measured.timeline, measured.recording.facts.get("graphs")
    if view is None:
        return NO_STEPS
    if graphs is None:
        return NO_FACTS
    thrown = [
        one
        for one in graphs
        if not one["used_count"] and one["kept_count"] <= IN_VARIABLES * one["built_count"]
    ]
    places = []
    for one in thrown:
        at_line = (view.host["file"] == one["file"]) & (view.host["line"] == one["line"])
        rows = view.named(view.marked("forward") & at_line.to_numpy())
        ms = measured.timeline_ms(view.host_intervals(rows))
        places.append(FactPlace(one["file"], one["line"], one["function"], len(rows) / view.step_count, ms))
    return places

"""Steps from ranges that a program or a framework marks again and again: `step[DECODE bs=32]`, `iteration 7`.

A range that repeats may also be a layer, or a part of a step. So one name has to cover most of the recording
in ranges that lie beside each other on the training thread, and nothing may hold two of them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import among
from diagnose.trace.quirks import ANNOTATION_PREFIXES
from diagnose.trace.repetition import MIN_REPETITIONS

Rows = NDArray[np.int64]

LEAST_COVERED = 0.5  # of the host's recorded time: what takes less is not most of what the program does
# Ranges whose names differ in numbers are the same work if so many have about as many operators, or calls, as
# the median (half to twice as many): sections of a program are numbered, too.
LEAST_ALIKE = 0.5
# What torch writes around parts of a step, and words for parts of a model.
_TORCHS_OWN = re.compile(
    "|".join(re.escape(prefix) for prefix in ANNOTATION_PREFIXES)
    + r"|nccl:|gloo:|c10d::|record_param_comms|FSDP::"
    r"|## Call CompiledFxGraph|Torch-Compiled|TorchDynamo|CUDAGraph"
)
_PARTS = re.compile(
    r"layer|block|attention|attn|mlp|expert|head|embed|norm|conv|stage|micro_?batch|"
    r"backward|optimi[sz]er|zero_grad|data_?load|capture",
    re.IGNORECASE,
)
# A range called so is a step even where one range holds the whole loop.
STEP_WORDS = re.compile(r"(?<![a-z])(step|iter|iteration|batch|request)s?(?![a-z])", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
# Steps of servers, whose names say what they hold: SGLang's, and those of vLLM, whose two counts are of
# requests in their prefill and in their decode.
_SERVER_STEP = re.compile(r"step\[(?P<kind>[A-Za-z_]+)")
_SERVER_CALL = re.compile(
    r"execute_(?:\w*?context_(?P<context>\d+)\(.*generation_(?P<generation>\d+)"
    r"|new_(?P<new>\d+)_cached_(?P<cached>\d+))"
)
_SERVER_PHASE = re.compile(r"\b(prefill|decode|extend)\b", re.IGNORECASE)


class Ranges(NamedTuple):
    """Host rows of the ranges that are steps, in order, the kind of each, and what they are called."""

    rows: Rows
    kind: NDArray[np.str_]
    name: str


def repeated_ranges(host: pd.DataFrame, thread: int) -> Ranges | None:
    """The family of annotations of this thread that covers most of the recording; None if none is sure to be
    the steps.
    """
    start = host["start_ns"].to_numpy()
    end = start + host["dur_ns"].to_numpy()
    on_thread = ((host["kind"] == "annotation") & (host["tid"] == thread)).to_numpy()
    rows = np.flatnonzero(on_thread)
    if len(rows) < MIN_REPETITIONS:
        return None
    works = among(host["kind"].array, ("op", "runtime"))
    span_ns = int(end[works | on_thread].max() - start[works | on_thread].min())
    families: dict[str, list[int]] = {}
    for row, name in zip(rows.tolist(), host["name"].to_numpy()[rows].tolist(), strict=True):
        if not _TORCHS_OWN.match(name):
            families.setdefault(_family(name), []).append(row)
    covered = {
        family: int((end[members] - start[members]).sum())
        for family, members in families.items()
        if len(members) >= MIN_REPETITIONS and not _PARTS.search(family)
    }
    for family in sorted(covered, key=lambda family: -covered[family]):
        found = np.array(families[family], dtype=np.int64)
        if covered[family] >= LEAST_COVERED * span_ns and _are_steps(host, found, start, end):
            names = host["name"].to_numpy()[found].tolist()
            return Ranges(found, np.array([_kind(name) for name in names]), names[0])
    return None


def _family(name: str) -> str:
    """What ranges of the same work have in common: the name without numbers; of servers without the kind."""
    for server in (_SERVER_STEP, _SERVER_CALL):
        if match := server.match(name):
            return match.group().partition("[" if server is _SERVER_STEP else "_")[0]
    return _NUMBERS.sub("#", _SERVER_PHASE.sub("", name))


def _kind(name: str) -> str:
    """`decode`, `prefill` or what else the name says the step holds; empty where steps are of one kind."""
    if match := _SERVER_STEP.match(name):
        kind = match["kind"].lower()
        return "prefill" if kind == "extend" else kind
    if match := _SERVER_CALL.match(name):
        new = match["context"] if match["context"] is not None else match["new"]
        running = match["generation"] if match["context"] is not None else match["cached"]
        return "decode" if int(new) == 0 else "prefill" if int(running) == 0 else "mixed"
    if match := _SERVER_PHASE.search(name):
        kind = match.group().lower()
        return "prefill" if kind == "extend" else kind
    return ""


def _are_steps(host: pd.DataFrame, rows: Rows, start: Rows, end: Rows) -> bool:
    """Whether they lie beside each other in no other range that holds two, and do the same work."""
    if (start[rows[1:]] < end[rows[:-1]]).any():
        return False
    names = host["name"].to_numpy()[rows]
    if len(set(names.tolist())) == 1 or any(_kind(str(name)) for name in names):
        return True
    on_thread = (host["tid"] == host["tid"].iat[rows[0]]).to_numpy()
    for kind in ("op", "runtime"):  # not every profiler records operators
        begun = np.sort(start[on_thread & (host["kind"] == kind).to_numpy()])
        inside = np.searchsorted(begun, end[rows]) - np.searchsorted(begun, start[rows])
        if inside.any():
            break
    median = float(np.median(inside))
    alike = (inside >= median / 2) & (inside <= median * 2)
    return bool(median > 0 and alike.mean() >= LEAST_ALIKE)


def most_time(ranges: Ranges, spans: NDArray[np.int64]) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Which of these steps (start and end, ns) are of the kind that takes most time; notes for the report."""
    took_ms = np.diff(spans).reshape(-1) / 1e6
    kinds, index, count = np.unique(ranges.kind, return_inverse=True, return_counts=True)
    total_ms = np.bincount(index.reshape(-1), took_ms)
    most = int(np.argmax(total_ms))
    note = f"No ProfilerStep marks the steps. The {len(spans):,} ranges `{ranges.name}` or alike do."
    if len(kinds) == 1:
        return np.ones(len(spans), dtype=bool), (note,)
    mean_ms = total_ms / count
    others = "; ".join(
        f"{number:,} {kind or 'other'} ({mean:.3g} ms each, {part:.0%} of the time)"
        for kind, number, mean, part in zip(kinds, count, mean_ms, total_ms / total_ms.sum(), strict=True)
        if kind != kinds[most]
    )
    of_kind = (
        f"They are of {len(kinds)} kinds. Judged are the {count[most]:,} {kinds[most] or 'other'} steps, "
        f"which take most time ({mean_ms[most]:.3g} ms each). Beside them: {others}."
    )
    return np.asarray(index.reshape(-1) == most), (note, of_kind)

"""Fetching: what is done to fetch a batch, in the main process or in the loader's workers."""

from __future__ import annotations

import math
import re
from collections import defaultdict

import numpy as np
import pandas as pd

from diagnose.measure.areas.input import feeding_loader, loop_line
from diagnose.measure.areas.user_code import CALLS, PLACE, LineTime, line_times, loader_time, short_callee
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, NO_STEPS, Missing, known
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.sources import Sources
from diagnose.measure.traced_lines import loading_lines
from diagnose.measure.view import Rows, category_matches, once, started_in
from diagnose.trace.intervals import total

LOOKS_AT_LEAST = 30  # of so many a share of a half is good to a sixth
WORTH_NAMING, MOST_NAMED = 0.1, 4
NO_LOOKS = Missing("the workers were not looked at while they loaded")
NO_FRAME = "its own work, or a function in C"  # what a line does that calls no function in Python
BUSY_WORKERS = 0.8  # the share of their time from which workers do not keep up with the steps
MOST_OF_FETCH = 0.5  # of it: a line that takes less is not the first thing to change
SOME_OF_FETCH = 0.25  # a line that takes less does not stand for the rest
CONVERTS_ITEM = r"^<built-in method (tensor|as_tensor) of type object"
DECODES = (
    r"^PIL/Image(File)?\.py: (convert|load|draft|thumbnail)$|^<built-in \w+ "
    r"(imdecode|decompress)\b|^(decord|av|cv2|gzip|imageio|tifffile|scipy/io|pydicom|nibabel|librosa/core/audio)/"
    r"|^(wave|aifc)\.py: "
)
STORED_ITEM_OP, STACKING_OP = r"^aten::select$", r"^aten::(stack|cat)$"


@once
def fetch_lines(measured: Measured) -> list[LineTime] | Missing:
    """The script's lines by their share of the fetch, in workers where there are any."""
    if measured.number("loader_worker_count") > 0:
        return lines_of_workers(measured)
    lines = _lines_of_calls(measured)
    return lines if isinstance(lines, Missing) else loading_lines(lines, measured)


def _lines_of_calls(measured: Measured, pattern: str = "") -> list[LineTime] | Missing:
    """As far as the calls in them tell, of those that match alone if a pattern is given."""
    view = measured.detail
    if view is None or not len(view.calls):
        return NO_CALLS_SEEN
    fetching = loader_time(view)
    inside = view.calls_in_steps & started_in(view.calls, fetching)
    if pattern:
        inside &= category_matches(view.calls["callee"].array, pattern)
    return line_times(view, np.flatnonzero(inside), fetching)


@once
def _looks_at_workers(measured: Measured) -> pd.DataFrame:
    """Of the plain steps, if there are enough."""
    looks, phase = measured.recording.worker_lines, measured.recording.phase("plain")
    if phase is None:
        return looks
    inside = looks["until_ns"].between(phase["tick_ns"][0], phase["tick_ns"][-1])
    return looks[inside] if looks["count"][inside].sum() >= LOOKS_AT_LEAST else looks


def lines_of_workers(measured: Measured) -> list[LineTime] | Missing:
    """The script's lines by their share of the fetches in workers, costliest first. How often they run is
    not known: looks do not count.
    """
    looks = _looks_at_workers(measured)
    whole = float(looks["count"].sum())
    if whole < LOOKS_AT_LEAST:
        return NO_LOOKS
    found = []
    for _, there in looks[looks["file"] != ""].groupby(PLACE):
        file, line, function = there[PLACE].iloc[0]
        calls = str(there.groupby("calls")["count"].sum().idxmax()) or NO_FRAME
        share = float(there["count"].sum()) / whole
        found.append(LineTime(file, int(line), function, math.nan, share, share, calls))
    return sorted(found, key=lambda line: -line.share)


@metric("worker_work", "", "What the workers do most of the time that they load")
def _worker_work(measured: Measured) -> Value | Missing:
    looks = _looks_at_workers(measured)
    if looks["count"].sum() < LOOKS_AT_LEAST:
        return NO_LOOKS
    sources = Sources(measured.recording)
    what = [
        f"{sources.shown(file)}:{line}" if file else short_callee(calls)
        for file, line, calls in zip(looks["file"], looks["line"], looks["calls"], strict=True)
    ]
    shares = looks["count"].groupby(np.array(what)).sum().sort_values(ascending=False, kind="stable")
    shares = shares / shares.sum()
    told = shares[shares >= WORTH_NAMING].head(MOST_NAMED)
    if not len(told):
        return Missing("the workers do many things, and none of them often")
    return ", ".join(f"`{what}` ({round(100 * share)} %)" for what, share in told.items())


@once
def _converting_lines(measured: Measured) -> list[LineTime] | Missing:
    return _lines_of_calls(measured, CONVERTS_ITEM)


@once
def _slow_item(measured: Measured) -> list[LineTime]:
    """The line that takes most of the fetch; if none takes half, the lines of the function that
    does most of it beside reading files.

    Raises Unknown where the calls were not recorded.
    """
    lines = known(fetch_lines(measured))
    if lines and lines[0].share >= MOST_OF_FETCH:
        return lines[:1]
    by_function: dict[tuple[str, str], list[LineTime]] = defaultdict(list)
    for line in lines:
        if not _reads_file(line):
            by_function[line.file, line.function].append(line)
    return max(by_function.values(), key=_fetch_share, default=lines[:1])


def _fetch_share(lines: list[LineTime]) -> float:
    return sum(line.share for line in lines)


def _reads_file(line: LineTime) -> bool:
    return re.search(f"{CALLS['file_calls'].pattern}|{DECODES}", line.callee) is not None


@fact_selector("slow_item_line", "the costliest line or function of your Dataset or its transforms")
def _slow_item_line(measured: Measured) -> list[FactPlace] | Missing:
    lines = _slow_item(measured)
    share = _fetch_share(lines)
    return [line.place(_step_without_ms(measured, share) / share) for line in lines if share > 0]


def _step_without_ms(measured: Measured, share: float) -> float:
    """ms of the step that end with this share of loading. Workers that load all the time hold up the whole
    step, not the wait alone, which is over as soon as they keep up.
    """
    late_ms, busy_share = _late_ms(measured), measured.number("worker_busy_share")
    busy_ms = busy_share * measured.number("step_ms") if busy_share >= BUSY_WORKERS else 0.0
    return min(late_ms, share * max(late_ms, busy_ms))


def _late_ms(measured: Measured) -> float:
    """ms a step that are waited for loading. Workers that keep up with the steps are late with slow batches
    alone: the rest of the wait is the hand-over.
    """
    wait_ms = measured.number("input_wait_ms")
    keep_up = measured.number("worker_busy_share") < BUSY_WORKERS
    if measured.number("loader_worker_count") > 0 and keep_up:
        return min(wait_ms, measured.number("input_bursts_ms"))
    return wait_ms


@metric("slow_item_fetch_share", "share", "Share of loading time spent in this line or function")
def _slow_item_fetch_share(measured: Measured) -> Value | Missing:
    return _fetch_share(_slow_item(measured))


@metric("slow_item_where", "", "One line, or several lines of which function")
def _slow_item_where(measured: Measured) -> Value | Missing:
    lines = _slow_item(measured)
    return "one line" if len(lines) < 2 else f"{len(lines)} lines of `{lines[0].function}`"


@metric("slow_item_callee", "", "Costliest function that this line calls")
def _slow_item_callee(measured: Measured) -> Value | Missing:
    lines = _slow_item(measured)
    return short_callee(lines[0].callee) if lines else Missing("the loader calls no line of your code")


@metric("slow_item_reads_files", "yes/no", "This line reads a file or decodes what was read")
def _slow_item_reads_files(measured: Measured) -> Value | Missing:
    return any(map(_reads_file, _slow_item(measured)))


@fact_selector("sample_reads", "lines of your Dataset that read or decode files")
def _sample_reads(measured: Measured) -> list[FactPlace] | Missing:
    lines = [line for line in known(fetch_lines(measured)) if _reads_file(line) and line.share > 0]
    share = _fetch_share(lines)
    return [line.place(_step_without_ms(measured, share) / share) for line in lines]


def _of_samples(measured: Measured, lines: list[LineTime]) -> list[LineTime]:
    """Those outside of the script's own function that collates."""
    loader = feeding_loader(measured)
    collated = {} if isinstance(loader, Missing) else loader.get("collated") or {}
    function = collated.get("file"), collated.get("function")
    return [line for line in lines if (line.file, line.function) != function]


@fact_selector("item_work", "what loads the samples in the main process: the costliest line of your Dataset")
def _item_work(measured: Measured) -> list[FactPlace] | Missing:
    found = fetch_lines(measured)
    lines = _of_samples(measured, [] if isinstance(found, Missing) else found)
    where = _where_a_sample_is_made(measured) if lines and lines[0].share < SOME_OF_FETCH else None
    if where is None:
        where = (lines[0].file, lines[0].line, lines[0].function) if lines else _loader_line(measured)
    ms = measured.number("loading_ms") * measured.needed("sampling_share")
    return [FactPlace(*where, measured.fetches_per_step, ms)]


def _loader_line(measured: Measured) -> tuple[str, int, str]:
    """Where the loader of a library's Dataset is made; the loop over it if that is not the user's code."""
    loader = feeding_loader(measured)
    if isinstance(loader, Missing) or not loader.get("file"):
        return loop_line(measured)
    return loader["file"], loader["line"], loader["function"]


@fact_selector(
    "loading_work",
    "what loads batches: lines of your Dataset, or where it makes a sample if none takes much; "
    "the loop for the rest",
)
def _loading_work(measured: Measured) -> list[FactPlace] | Missing:
    found, late_ms = fetch_lines(measured), _late_ms(measured)
    lines = [] if isinstance(found, Missing) else found
    rest_ms = max(0.0, measured.number("input_wait_ms") - _fetch_share(lines) * late_ms)
    loop = FactPlace(*loop_line(measured), measured.fetches_per_step, rest_ms)
    no_line_stands_out = (
        max((line.share for line in lines), default=1.0) < SOME_OF_FETCH
        and _fetch_share(_slow_item(measured)) < MOST_OF_FETCH
    )
    sample = _where_a_sample_is_made(measured)
    if not no_line_stands_out or sample is None:
        return [*(line.place(late_ms) for line in lines), loop]
    of_samples = _of_samples(measured, lines)
    others = [line.place(late_ms) for line in lines if line not in of_samples]
    samples_ms = _fetch_share(of_samples) * late_ms
    return [FactPlace(*sample, measured.fetches_per_step, samples_ms), *others, loop]


def _where_a_sample_is_made(measured: Measured) -> tuple[str, int, str] | None:
    """The line of the user's Dataset under which most time goes in making one; where it begins to if no
    calls of it were recorded.
    """
    loader, view = feeding_loader(measured), measured.detail
    made = None if isinstance(loader, Missing) else loader.get("sample_made")
    if not made:
        return None
    line = int(made["line"])
    if view is not None and len(view.calls):
        its_own = (view.calls["file"] == made["file"]) & (view.calls["function"] == made["function"])
        calls = view.calls[
            np.asarray(its_own) & view.calls_in_steps & started_in(view.calls, loader_time(view))
        ]
        took = calls.groupby("line")["dur_ns"].sum()
        line = int(took.idxmax()) if len(took) else line
    return made["file"], line, made["function"]


@fact_selector("worker_loading", "loading in workers, on cores which the computing needs")
def _worker_loading(measured: Measured) -> list[FactPlace] | Missing:
    ms = measured.needed("cores_taken_share") * measured.needed("step_ms")
    lines = lines_of_workers(measured)
    if not isinstance(lines, Missing) and lines:
        return [line.place(ms / _fetch_share(lines)) for line in lines]
    loader = known(feeding_loader(measured))
    made = loader.get("sample_made") or loader
    place = made.get("file") or "", int(made.get("line") or -1), made.get("function") or ""
    return [FactPlace(*place, math.nan, ms)]


@fact_selector("item_conversions", "calls of `torch.tensor` for single items of a batch, in the main process")
def _item_conversions(measured: Measured) -> list[FactPlace] | Missing:
    return [one.place(measured.number("input_wait_ms")) for one in known(_converting_lines(measured))]


@metric("item_conversions_part", "share", "Share of your code's loading time spent in these calls")
def _item_conversions_part(measured: Measured) -> Value | Missing:
    converting, lines = known(_converting_lines(measured)), known(fetch_lines(measured))
    whole = sum(line.share for line in lines)
    return sum(one.share for one in converting) / whole if whole else 0.0


@selector(
    "stored_items",
    "rows of tensors in memory that the loader takes one by one, in the main process",
    attributed=ledger_row("input_wait"),
)
def _stored_items(view: Selection) -> Rows:
    return _loader_ops(view, STORED_ITEM_OP)


def _loader_ops(view: Selection, pattern: str) -> Rows:
    """Operators that the loader, or the data set, calls itself."""
    found = view.named((view.kind == "op") & view.on_training_thread & view.name_matches(pattern))
    parent = view.host["parent"].to_numpy()[found]
    outermost = (parent < 0) | (view.kind != "op")[np.maximum(parent, 0)]
    return found[outermost & started_in(view.host, loader_time(view))[found]]


@metric(
    "stored_items_fetch_share",
    "share",
    "Share of loading time spent taking and stacking these rows, without Python",
)
def _stored_items_fetch_share(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    fetching = total(loader_time(view))
    rows = _loader_ops(view, f"{STORED_ITEM_OP}|{STACKING_OP}")
    return total(view.host_intervals(rows)) / fetching if fetching else 0.0

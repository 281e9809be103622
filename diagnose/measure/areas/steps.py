"""Steps: how long they take, and how far that can be told from noise."""

from __future__ import annotations

import math

import numpy as np

from diagnose.measure.areas.input import loop_line
from diagnose.measure.areas.input_rhythm import at_epoch_ends, slow_fetches_ms, steps_into_epoch
from diagnose.measure.areas.recurring import (
    explained_steps,
    left_of,
    looked_at,
    places_of_work,
    steps_of_another_rhythm,
    usual_lines,
    works_at_epoch_ends,
)
from diagnose.measure.areas.user_code import LineTime, line_times, places_of
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_FACTS, NO_PLAIN_STEPS, NO_STEPS, ONLY_IN_A_RUN, Missing
from diagnose.measure.periods import SLOW_STEP, period_of, spread
from diagnose.measure.selection import Selection
from diagnose.measure.spread import batch_share
from diagnose.measure.view import Intervals, started_in
from diagnose.trace.intervals import total

NO_LINE = ("", -1, "")
NO_LOSSES = Missing("no loss was recorded")


@metric("plain_step_ms", "ms", "Mean time of typical steps without a profiler, less what other programs took")
def _plain_step_ms(measured: Measured) -> Value | Missing:
    steps, parts = measured.plain_steps, measured.parts
    if steps is None:
        return NO_PLAIN_STEPS
    # Of steps that were all delayed some parts were not, and these make a whole one.
    return parts.step_ms if steps.delayed and parts is not None else steps.mean_ns / 1e6


@metric("untypical_ms", "ms", "Time that untypical steps add to the average step")
def _untypical_ms(measured: Measured) -> Value | Missing:
    steps, view = measured.plain_steps, measured.timeline
    if steps is not None:
        return max(0.0, float(steps.lengths_ns.mean()) - steps.mean_ns) / 1e6
    return max(0.0, float(view.complete_ns.mean()) - view.step_ns) / 1e6 if view is not None else NO_STEPS


@metric("delayed_share", "share", "Share of plain step time in which the script's threads waited for a core")
def _delayed_share(measured: Measured) -> Value | Missing:
    return measured.delayed_share


@metric("timeline_step_ms", "ms", "Mean time of a typical step in the timeline")
def _timeline_step_ms(measured: Measured) -> Value | Missing:
    return measured.timeline.step_ns / 1e6 if measured.timeline else NO_STEPS


@metric("step_ms", "ms", "Time of a step, without a profiler where that was measured")
def _step_ms(measured: Measured) -> Value | Missing:
    plain = measured.metric("plain_step_ms")
    return measured.metric("timeline_step_ms") if isinstance(plain, Missing) else plain


@metric(
    "noise_ms",
    "ms",
    "Noise of the step time: twice the standard error of the median plain step, less what batches explain, "
    "at least 1 % of the step",
)
def _noise_ms(measured: Measured) -> Value | Missing:
    step_ms = measured.metric("step_ms")
    if isinstance(step_ms, Missing):
        return step_ms
    steps = (
        measured.plain_steps.lengths_ns[measured.plain_steps.chosen] / 1e6
        if measured.plain_steps
        else np.empty(0)
    )
    if len(steps) < 3:
        return 0.01 * float(step_ms)
    mad = spread(steps, measured.plain_steps.place) if measured.plain_steps else 0.0
    mad *= math.sqrt(1 - batch_share(measured))
    # 1.4826 turns a MAD into a standard deviation, 1.2533 a mean's standard error into
    # a median's (both for normal noise).
    return max(0.01 * float(step_ms), 2 * 1.2533 * 1.4826 * mad / math.sqrt(len(steps)))


@metric("gpu_in_use", "yes/no", "The recorded steps ran work on a GPU")
def _gpu_in_use(measured: Measured) -> Value | Missing:
    return measured.timeline.has_device if measured.timeline else NO_STEPS


# ---- steps that take much longer than the others

SHAPES_AT_MOST = 2  # of the model's input: the usual one, and that of an epoch's last batch


@metric(
    "shapes_differ",
    "yes/no",
    "In training the model got more than two shapes of batches (no if not recorded)",
)
def _shapes_differ(measured: Measured) -> Value | Missing:
    forward = measured.recording.facts.get("forward") or {}
    count = forward.get("training_shape_count") or forward.get("shape_count") or 1
    return count > SHAPES_AT_MOST


@metric(
    "input_elements_spread", "ratio", "Largest model input of a step ÷ the median one, in tensor elements"
)
def _input_elements_spread(measured: Measured) -> Value | Missing:
    elements = measured.recording.input_elements("timeline")
    given = elements[elements > 0]
    return (
        float(given.max() / np.median(given))
        if len(given)
        else Missing("the size of the model's input was not recorded", in_trace=ONLY_IN_A_RUN)
    )


@metric("plain_step_count", "count", "Number of steps timed without a profiler")
def _plain_step_count(measured: Measured) -> Value | Missing:
    return len(measured.recording.step_ns("plain"))


@fact_selector(
    "slow_steps",
    "slow steps beyond the median (1.5 times it or more and far from the others, epoch ends left out,"
    " several in a row count once)",
)
def _slow_steps(measured: Measured) -> list[FactPlace] | Missing:
    steps_ms = _settled_ns(measured) / 1e6
    if not len(steps_ms):
        return NO_PLAIN_STEPS
    if measured.metric("disturbed"):
        return Missing("other processes kept every core busy, which makes steps slow at random")
    if measured.metric("waits_in_vain"):
        return Missing("threads often had no core, which makes steps slow at random")
    if measured.metric("shapes_differ"):
        return Missing("batches differ in shape, so step times differ anyway")
    slow = _unexplained(measured)
    beyond_ms = float((steps_ms[slow] - np.median(steps_ms)).sum()) / len(steps_ms)
    if _explained_ms(measured) >= beyond_ms / 2:
        return []
    line = _line_of_the_slow_step(measured)
    if looked_at(measured) and line == NO_LINE and period_of(steps_ms) == 1:
        return []  # now and then and in no line of its own: that is chance
    return [FactPlace(*line, len(_occasions(measured)) / len(steps_ms), beyond_ms)]


def _settled_ns(measured: Measured) -> np.ndarray:
    """The plain steps but the first, into which the end of the recording before it may reach."""
    return measured.plain_steps.lengths_ns[1:] if measured.plain_steps else np.empty(0)


def _is_slow(measured: Measured) -> np.ndarray:
    """Which of these steps take 1.5 times their median or more."""
    steps = _settled_ns(measured)
    return steps >= SLOW_STEP * np.median(steps) if len(steps) else np.zeros(0, bool)


def _far_out(measured: Measured) -> np.ndarray:
    """Which of these lie outside of what steps that all differ take: beyond Tukey's outer fence (Exploratory
    Data Analysis, 1977: three times the quartiles' distance beyond the upper one). The upper half is taken
    for as wide as the lower one, in which no slow step is.
    """
    steps = _settled_ns(measured)
    lower, median = np.percentile(steps, [25, 50]) if len(steps) else (0.0, 0.0)
    return np.asarray(steps > median + 7 * (median - lower))


def _unexplained(measured: Measured) -> np.ndarray:
    """Which of these are slow and far out, and neither an epoch's end nor do what only some steps do."""
    slow = _is_slow(measured) & _far_out(measured)
    return slow & ~at_epoch_ends(measured)[1:] & ~explained_steps(measured)[1:]


def _occasions(measured: Measured) -> np.ndarray:
    """Positions of the slow steps left to explain that follow none: what takes two steps is one occasion."""
    slow = _unexplained(measured)
    return np.flatnonzero(slow & ~np.append(False, slow[:-1]))


@metric("slow_step_distance", "steps", "Median number of steps from one slow step to the next")
def _slow_step_distance(measured: Measured) -> Value | Missing:
    first = _occasions(measured)
    return int(np.median(np.diff(first))) if len(first) > 1 else Missing("no two slow steps were recorded")


@metric("slow_step_ms", "ms", "Median time of a slow step (of several in a row, the first)")
def _slow_step_ms(measured: Measured) -> Value | Missing:
    first = _occasions(measured)
    return (
        float(np.median(_settled_ns(measured)[first])) / 1e6
        if len(first)
        else Missing("no slow step was recorded")
    )


def _explained_ms(measured: Measured) -> float:
    """What other rules say about such steps, ms per step: an epoch's start,
    batches slow to fetch, garbage collection.
    """
    gc_ms = (measured.recording.facts.get("gc") or {}).get("ms_per_step") or 0.0
    return float(np.nansum([slow_fetches_ms(measured), gc_ms, measured.number("epoch_starts_ms")]))


def _line_of_the_slow_step(measured: Measured) -> tuple[str, int, str]:
    """The line whose calls make one step of the detail phase much longer
    than another; no line if there is none.
    """
    view = measured.detail
    if view is None or not len(view.calls) or view.step_count < 2:
        return NO_LINE
    took = view.host_windows[:, 1] - view.host_windows[:, 0]
    beyond = int(took.max() - np.median(took)) if view.step_count > 2 else int(took.max() - took.min())
    if took.max() < SLOW_STEP * took.min():
        return NO_LINE
    slowest = view.host_windows[[int(np.argmax(took))]]
    there, all_there = (
        {(line.file, line.line, line.function): line for line in _times_in(view, span)}
        for span in (slowest, view.host_span)
    )
    for key, one in there.items():
        own_ns = one.share * total(slowest)
        elsewhere_ns = all_there[key].share * total(view.host_span) - own_ns if key in all_there else 0.0
        if own_ns - elsewhere_ns / (view.step_count - 1) >= beyond / 2:
            return NO_LINE if _is_part(view, key) else key
    return NO_LINE


def _is_part(view: Selection, line: tuple[str, int, str]) -> bool:
    """Whether the line calls the model, the backward or the optimizer, which every step does: that one took
    long is chance.
    """
    parts = view.host.loc[view.marked("forward", "backward", "optimizer"), ["file", "line"]]
    return bool(((parts["file"] == line[0]) & (parts["line"] == line[1])).any())


def _times_in(view: Selection, span: Intervals) -> list[LineTime]:
    return line_times(view, np.flatnonzero(started_in(view.calls, span)), span)


# ---- what happens between two epochs


@metric("epoch_ends_seen", "count", "Number of epoch ends among the plain steps")
def _epoch_ends_seen(measured: Measured) -> Value | Missing:
    return int((steps_into_epoch(measured)[1:] < 1).sum())


@metric(
    "epoch_end_ms",
    "ms",
    "Time beyond the median step at the end of an epoch, the step after it included if that is slow",
)
def _epoch_end_ms(measured: Measured) -> Value | Missing:
    seen, steps_ms = measured.needed("epoch_ends_seen"), _settled_ns(measured) / 1e6
    at_ends = _is_slow(measured) & at_epoch_ends(measured)[1:] & ~steps_of_another_rhythm(measured)[1:]
    into_epoch = steps_into_epoch(measured)
    if len(into_epoch) > 1 and into_epoch[0] < 1 <= into_epoch[1]:  # it follows an end that is not counted
        at_ends[0] = False
    return (
        float((steps_ms[at_ends] - np.median(steps_ms)).sum()) / seen
        if seen
        else Missing("no epoch ended in the plain steps")
    )


@fact_selector(
    "epoch_ends", "the end of each epoch but for starting and ending workers, spread over the epoch's steps"
)
def _epoch_ends(measured: Measured) -> list[FactPlace] | Missing:
    per_epoch = measured.needed("epoch_step_count")
    of_workers_ms = np.nansum(
        [measured.number(f"{name}_ms") for name in ("epoch_starts", "other_loader_starts")]
    )
    cost_ms = max(0.0, measured.needed("epoch_end_ms") / per_epoch - float(of_workers_ms))
    works = works_at_epoch_ends(measured)
    known_ms = sum(work.ms_per_occasion for work in works) / per_epoch
    if not known_ms:
        return [FactPlace(*loop_line(measured), 1 / per_epoch, cost_ms)]
    # what the lines were seen to take is theirs, and no more than the steps are longer by
    part, usual = min(1.0, cost_ms / known_ms), usual_lines(measured)
    return [
        place
        for work in works
        for place in places_of_work(work, usual, 1 / per_epoch, part * work.ms_per_occasion / per_epoch)
    ]


@metric(
    "epoch_ends_run_share", "share", "Share of the run spent at epoch ends, which the median step leaves out"
)
def _epoch_ends_run_share(measured: Measured) -> Value | Missing:
    return measured.needed("epoch_ends_ms") / (measured.number("step_ms") + measured.needed("epoch_ends_ms"))


@metric("epoch_ends_left", "ratio", "Part of an epoch's end that is left once it is mended")
def _epoch_ends_left(measured: Measured) -> Value | Missing:
    return left_of(works_at_epoch_ends(measured))


# ---- the first steps


@metric("warmup_excess_s", "s", "Time that the first steps took beyond ordinary steps")
def _warmup_excess_s(measured: Measured) -> Value | Missing:
    first, plain_ms = measured.recording.step_ns("warmup"), measured.metric("plain_step_ms")
    if not len(first) or isinstance(plain_ms, Missing):
        return NO_PLAIN_STEPS
    return max(0.0, float(first.sum()) / 1e9 - len(first) * float(plain_ms) / 1e3)


@metric("warmup_excess_steps", "steps", "The same, in ordinary steps")
def _warmup_excess_steps(measured: Measured) -> Value | Missing:
    return measured.needed("warmup_excess_s") * 1e3 / measured.needed("plain_step_ms")


@metric("compiles", "yes/no", "torch.compile is in use")
def _compiles(measured: Measured) -> Value | Missing:
    if not measured.recording.facts:
        return NO_FACTS
    return bool((measured.recording.facts.get("compile") or {}).get("frame_count"))


# ---- the losses


def _losses(measured: Measured) -> list[float] | Missing:
    """Of the plain phase; not-a-number where JSON holds none."""
    losses = measured.fact("losses", NO_LOSSES)
    return (
        losses
        if isinstance(losses, Missing)
        else [math.nan if loss is None else float(loss) for loss in losses]
    )


@metric("loss_count", "count", "Number of losses recorded in the plain phase")
def _loss_count(measured: Measured) -> Value | Missing:
    losses = _losses(measured)
    return losses if isinstance(losses, Missing) else len(losses)


@metric("distinct_loss_count", "count", "Number of different finite losses among them")
def _distinct_loss_count(measured: Measured) -> Value | Missing:
    losses = _losses(measured)
    return losses if isinstance(losses, Missing) else len(set(filter(math.isfinite, losses)))


@metric("loss_not_finite_count", "count", "Number of recorded losses that are infinite or NaN")
def _loss_not_finite_count(measured: Measured) -> Value | Missing:
    losses = _losses(measured)
    return losses if isinstance(losses, Missing) else sum(not math.isfinite(loss) for loss in losses)


@fact_selector("loss_lines", "calls of backward on a loss")
def _loss_lines(measured: Measured) -> list[FactPlace] | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    return places_of(view, view.named(view.marked("backward")))

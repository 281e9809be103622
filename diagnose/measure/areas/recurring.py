"""What only some steps do, by kind: evaluations, checkpoints, figures, anything else."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

import numpy as np

from diagnose.measure.areas.input import loop_line
from diagnose.measure.areas.input_rhythm import at_epoch_ends
from diagnose.measure.areas.user_code import lines_of_every_step, lines_trained_on
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_PLAIN_STEPS, NOT_RECORDED, Missing
from diagnose.measure.recurring import TRAINS, Line, Recurring
from diagnose.measure.sources import Sources
from diagnose.measure.view import once

WorkKind = Literal["evaluation", "checkpoint", "figure", "training", "gathering", "work"]

SAVES = (
    r"^(torch/serialization\.py|safetensors\b.*|joblib\b.*|.*/?pickle\.py): (save|dump|save_file|_save)\b"
    r"|: save_(pretrained|checkpoint|model)$"
)
DRAWS = (
    r"^(matplotlib|seaborn|plotly|bokeh|imageio|pandas/plotting)\b|^torchvision/utils\.py: "
    r"|^PIL/Image\.py: save$"
)
SENDS = r"^multiprocessing/(connection|queues|managers)\.py: "  # or receives
CALLS_MODEL = r"^torch/nn/modules/module\.py: _?(wrapped_call_impl|call_impl)$"
# what names of functions and text say of work that is no part of training, and of what training waits for
# of a function that is called, whatever it is given: to evaluate a policy takes an environment too
IS_EVALUATION = r"^_?(eval|valid|test)"
EVALUATES = r"eval|valid|(?<![a-z])val(?![a-z])|(?<![a-z])test|metric|accura|predict|sampl|generat"
GATHERS = (
    r"rollout|collect|episode|explor|replay|(?<![a-z])envs?(?![a-z])|(?<![a-z])act(ion)?s?(?![a-z])"
    r"|rewards?(?![a-z])|(?<![a-z])(dones?|terminated|truncated|obs|observations?)(?![a-z])"
    # observation, reward, end = anything.step(action)
    r"|\w+, *\w+, *\w+.*= *[\w.\[\]]+\.step\(\w"
)
# What is expected to be left of a work, done less often or in a better way: half; more of the model's calls,
# of which an evaluation consists (decisions 179 and 188)
LEFT, MODEL_LEFT = 0.5, 0.75
MOSTLY = 0.5  # of the looks at a work, from which they tell its kind
PARTLY = 0.1
SELDOM = 0.5  # of the times that a condition tells: where it came less often, it counts no steps
LARGE = 0.25  # of a work, from which a line in it is told beside the work's own
# the lines of a work: given the work, the lines of every step, how often it comes a step, and what it takes
_Places = Callable[[Recurring, Collection[tuple[str, int]], float, float], list[FactPlace]]
IFS_ABOVE = 40  # lines from a call up to the condition it depends on, at most


def _calls(lines: Iterable[Line], pattern: str) -> bool:
    """Whether one of them calls such a function."""
    return any(re.search(pattern, line.callee) for line in lines)


def _share(work: Recurring, pattern: str) -> float:
    """Of the looks at the work, those that saw a line calling such a function."""
    found = sum(count for stack, count in work.looks.items() if _calls(stack, pattern))
    return found / sum(work.looks.values())


def kind_of(work: Recurring, source: str, *, is_trained_on: bool = False) -> WorkKind:
    """evaluation, checkpoint, figure, training, gathering (of what is trained on), or work. ``source``: the
    text of the line that calls it; ``is_trained_on``: it makes what a training is given.
    """
    if _share(work, SAVES) >= MOSTLY:
        return "checkpoint"
    if _share(work, DRAWS) >= MOSTLY:
        return "figure"
    names = " ".join([source, *(line.callee.rpartition(" ")[2] for line in work.calls)]).lower()
    called = work.calls[0].callee.rpartition(" ")[2].lower()
    trains, asks_model = _share(work, TRAINS) >= PARTLY, _share(work, CALLS_MODEL) >= PARTLY
    is_evaluation = asks_model and not trains
    if is_evaluation and re.search(IS_EVALUATION, called):
        return "evaluation"
    if re.search(GATHERS, names):
        return "gathering"
    if is_evaluation and re.search(EVALUATES, names):
        return "gathering" if is_trained_on else "evaluation"
    return "training" if trains else "work"


def _at_ends(work: Recurring, measured: Measured) -> bool:
    """It is done where epochs end, and there only."""
    return bool(at_epoch_ends(measured)[work.steps].all())


@once
def _kinds(measured: Measured) -> list[tuple[Recurring, WorkKind]]:
    """The works that are no part of taking a batch, with their kinds. What every step of the detail phase
    does is none: in plain steps it took long by chance.
    """
    if not measured.recurring:
        return []
    sources, loop, usual = Sources(measured.recording), loop_line(measured), usual_lines(measured)
    calls = ((work, work.calls[0]) for work in measured.recurring)
    trained_on = lines_trained_on(measured)
    return [
        (work, kind_of(work, sources.line(call.file, call.line), is_trained_on=call[:2] in trained_on))
        for work, call in calls
        if call[:2] != loop[:2] and call[:2] not in usual
    ]


def usual_lines(measured: Measured) -> set[tuple[str, int]]:
    """The script's lines (file, line) that every step runs, as far as a recording of lines tells."""
    return lines_of_every_step(measured.detail) if measured.detail is not None else set()


def places_of_work(
    work: Recurring, usual: Collection[tuple[str, int]], count_per_step: float, ms_per_step: float
) -> list[FactPlace]:
    """The line that calls the work and, where one that it comes to takes most of it, that one: each with its
    part; and the lines that this one comes to next, if they take much. Not the one that calls
    the model, of which an evaluation consists, nor any other that does what every step does, too (``usual``:
    the lines that these run).
    """
    of_all = sum(work.looks.values())
    outer, part = work.calls[0], 0.0
    inner: Line | None = None
    for line, called in itertools.zip_longest(work.calls[1:], work.calls[2:]):
        if line[:2] in usual or (called and called[:2] in usual):
            break
        share = (
            sum(count for stack, count in work.looks.items() if line[:2] in {one[:2] for one in stack})
            / of_all
        )
        if share < MOSTLY or re.search(CALLS_MODEL, line.callee):
            break
        inner, part = line, share
    below = _large_parts(work, inner or outer, usual)
    below_part = sum(share for _, share in below)
    inside = [(inner, max(0.0, part - below_part)), *below] if inner else below
    outer_part = 1 - part if inner else 1 - below_part
    return [
        FactPlace(line.file, line.line, line.function, count_per_step, ms_per_step * share)
        for line, share in [(outer, outer_part), *inside]
    ]


def _large_parts(
    work: Recurring, leads: Line, usual: Collection[tuple[str, int]]
) -> list[tuple[Line, float]]:
    """The lines that this line of the work comes to next, with the part of the work that each takes: those
    that take a quarter; where none does, as in a loop, those that take a tenth of a function that takes half.
    """
    looks: Counter[tuple[str, int]] = Counter()
    of_function: Counter[tuple[str, str]] = Counter()
    lines: dict[tuple[str, int], Line] = {}
    for stack, count in work.looks.items():
        there = [depth for depth, line in enumerate(stack) if line[:2] == leads[:2]]
        below = stack[there[-1] + 1 :] if there else ()
        if below and not _calls(below, CALLS_MODEL) and not any(line[:2] in usual for line in below[:2]):
            looks[below[0][:2]] += count
            of_function[below[0].file, below[0].function] += count
            lines.setdefault(below[0][:2], below[0])
    of_all = sum(work.looks.values())
    large = [place for place, count in looks.most_common() if count >= LARGE * of_all]
    if not large and of_function:
        (function, count), *_ = of_function.most_common(1)
        large = [
            place
            for place, of_line in looks.most_common()
            if (lines[place].file, lines[place].function) == function
            and count >= MOSTLY * of_all
            and of_line >= PARTLY * of_all
        ]
    return [(lines[place], looks[place] / of_all) for place in large]


def lines_of_work(
    work: Recurring, usual: Collection[tuple[str, int]], count_per_step: float, ms_per_step: float
) -> list[FactPlace]:
    """The lines that it comes to, each with its part, but for those of the model, which has its own rules."""
    looks: Counter[tuple[str, int, str]] = Counter()
    for stack, count in work.looks.items():
        if not _calls(stack, CALLS_MODEL):
            looks[stack[-1].file, stack[-1].line, stack[-1].function] += count
    of_all = sum(work.looks.values())
    return [
        FactPlace(file, line, function, count_per_step, ms_per_step * count / of_all)
        for (file, line, function), count in looks.most_common()
    ]


def left_of(works: Collection[Recurring]) -> float:
    """The part of their time that is expected to be left once they are mended."""
    whole_ms = sum(float(work.ms.sum()) for work in works)
    asking_ms = sum(_share(work, CALLS_MODEL) * float(work.ms.sum()) for work in works)
    return LEFT + (MODEL_LEFT - LEFT) * (asking_ms / whole_ms if whole_ms else 0.0)


def works_at_epoch_ends(measured: Measured) -> list[Recurring]:
    return [work for work, _ in _kinds(measured) if _at_ends(work, measured)]


def evaluations(measured: Measured) -> Iterator[tuple[Recurring, float]]:
    """Those at the ends of epochs and between steps, as far as it is known after how many steps they come
    back: with that number.
    """
    for work, kind, steps in seldom(measured):
        if kind == "evaluation":
            yield work, steps


def seldom(measured: Measured) -> Iterator[tuple[Recurring, str, float]]:
    """What only some steps do, with its kind, and after how many steps it comes back, as far as that is
    known.
    """
    for work, kind in _kinds(measured):
        at_ends = _at_ends(work, measured)
        steps = measured.number("epoch_step_count") if at_ends else every(work, measured)
        if steps and steps > 0:
            yield work, kind, steps


def steps_of_another_rhythm(measured: Measured) -> np.ndarray:
    """Which plain steps do what mostly comes where no epoch ends, and may meet an end by chance."""
    at_ends = at_epoch_ends(measured)
    found = np.zeros(len(at_ends), bool)
    for work, _ in _kinds(measured):
        if at_ends[work.steps[work.occasions]].mean() <= MOSTLY:
            found[work.steps] = True
    return found


def explained_steps(measured: Measured) -> np.ndarray:
    """Which plain steps do what only some do, the taking of a batch left out."""
    steps = np.zeros(len(measured.recording.step_ns("plain")), bool)
    for work, _ in _kinds(measured):
        steps[work.steps] = True
    return steps


def looked_at(measured: Measured) -> bool:
    """Whether the lines of plain steps were looked at."""
    return bool((measured.recording.facts.get("line_samples") or {}).get("ns"))


def every(work: Recurring, measured: Measured) -> int | None:
    """After how many steps it comes back, as seen, else as the condition above it says: by the numbers that
    its variables held, or by what the source gives them. None if nothing tells, and where it came far more
    seldom: such a condition counts epochs, or rounds of many steps.
    """
    if work.every:
        return work.every
    told = _by_variables(work, measured) or _by_condition(work, Sources(measured.recording))
    step_count = len(measured.recording.step_ns("plain"))
    return told if told and len(work.occasions) >= SELDOM * (step_count // told) else None


def _by_variables(work: Recurring, measured: Measured) -> int | None:
    file, line, *_ = work.calls[0]
    for told in measured.recording.facts.get("rare_work") or []:
        if told["every"] and told["file"] == file and told["line"] <= line <= told["last_line"]:
            return int(told["every"])
    return None


def _by_condition(work: Recurring, sources: Sources) -> int | None:
    """``if step % 50 == 0:`` above the call, or above the line that it is called from."""
    call = work.calls[0]
    text = sources.lines(call.file)
    if not 0 < call.line <= len(text):
        return None
    indent = _indent(text[call.line - 1])
    for line in reversed(text[max(0, call.line - 1 - IFS_ABOVE) : call.line]):
        if not line.strip() or (_indent(line) >= indent and line is not text[call.line - 1]):
            continue
        indent = _indent(line)
        if re.match(r"\s*(for|while|def|class)\b", line):
            return None
        if found := re.match(r"\s*(?:el)?if\b[^#]*%\s*([\w.]+)", line):
            modulus = found[1].rpartition(".")[2]
            return (int(modulus) if modulus.isdecimal() else set_to(modulus, "\n".join(text))) or None
    return None


def set_to(name: str, text: str) -> int | None:
    """The number that the file gives a name: as an option's default, a keyword's, or by an assignment."""
    option = rf"--{name.replace('_', '[-_]')}['\"][^)]*?\bdefault\s*=\s*(\d+)\b"
    assigned = rf"\b{name}['\"]?\s*(?::\s*int\s*)?[=:]\s*(\d+)\b"
    found = re.search(option, text, re.DOTALL) or re.search(assigned, text)
    return int(found[1]) if found else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _works_of(kind: str, measured: Measured) -> list[Recurring]:
    return [
        work
        for work, its_kind in _kinds(measured)
        if its_kind == kind and every(work, measured) is not None and not _at_ends(work, measured)
    ]


def _selector(name: str, kind: str, meaning: str, places_in: _Places = places_of_work) -> None:
    @fact_selector(name, meaning)
    def places(measured: Measured) -> list[FactPlace] | Missing:
        if measured.plain_steps is None:
            return NO_PLAIN_STEPS
        if not looked_at(measured):
            return NOT_RECORDED
        found, usual = [], usual_lines(measured)
        for work in _works_of(kind, measured):
            steps = every(work, measured) or 1
            found += places_in(work, usual, 1 / steps, work.ms_per_occasion / steps)
        return found

    metric(f"{name}_whole_ms", "ms", f"Time of the average step in the calls that hold these: {meaning}")(
        _whole(kind)
    )
    metric(f"{name}_average_share", "share", f"Share of the average step taken by {meaning}")(
        _of_average(name)
    )
    metric(f"{name}_interval", "steps", f"Steps from one to the next, of the costliest: {meaning}")(
        _interval(kind)
    )
    metric(f"{name}_occasion_ms", "ms", f"Time that one takes, of the costliest: {meaning}")(_occasion(kind))


def _of_average(name: str) -> Callable[[Measured], Value | Missing]:
    def share(measured: Measured) -> Value | Missing:
        cost_ms = measured.needed(f"{name}_ms")
        return cost_ms / (average_without_ms(measured) + measured.needed(f"{name}_whole_ms"))

    return share


def _whole(kind: str) -> Callable[[Measured], Value | Missing]:
    def whole_ms(measured: Measured) -> Value | Missing:
        if measured.plain_steps is None:
            return NO_PLAIN_STEPS
        if not looked_at(measured):
            return NOT_RECORDED
        works = _works_of(kind, measured)
        return sum(work.ms_per_occasion / (every(work, measured) or 1) for work in works)

    return whole_ms


def average_without_ms(measured: Measured) -> float:
    """The average plain step without what only some steps do, ms; at least some part of a step."""
    steps = measured.plain_steps
    assert steps is not None  # there would be no such work
    others = steps.lengths_ns[~explained_steps(measured)]
    return float(others.mean() if len(others) else steps.lengths_ns.min()) / 1e6


def average_with_evaluations_ms(measured: Measured) -> float:
    """The same with the evaluations that were seen."""
    return average_without_ms(measured) + sum(
        work.ms_per_occasion / steps for work, steps in evaluations(measured)
    )


def _interval(kind: str) -> Callable[[Measured], Value | Missing]:
    def interval(measured: Measured) -> Value | Missing:
        works = _works_of(kind, measured)
        return (every(works[0], measured) or 1) if works else Missing("no such work was seen")

    return interval


def _occasion(kind: str) -> Callable[[Measured], Value | Missing]:
    def occasion_ms(measured: Measured) -> Value | Missing:
        works = _works_of(kind, measured)
        return works[0].ms_per_occasion if works else Missing("no such work was seen")

    return occasion_ms


@metric("recurring_evaluations_left", "ratio", "Part of these evaluations that is left once they are mended")
def _recurring_evaluations_left(measured: Measured) -> Value | Missing:
    return left_of(_works_of("evaluation", measured))


_selector("recurring_evaluations", "evaluation", "evaluations that come back after some steps")
_selector("recurring_checkpoints", "checkpoint", "checkpoints that come back after some steps")
_selector("recurring_figures", "figure", "figures that come back after some steps")
_selector("recurring_work", "work", "work that comes back after some steps")
_selector(
    "gathering_lines",
    "gathering",
    "lines that collect data after some steps, the model's left out",
    lines_of_work,
)


@metric("gathering_average_share", "share", "Share of the average step in which data is collected")
def _gathering_average_share(measured: Measured) -> Value | Missing:
    whole_ms = measured.needed("gathering_lines_whole_ms")
    return whole_ms / (average_without_ms(measured) + whole_ms)


@metric(
    "gathering_messages_share",
    "share",
    "Share of collecting data, the model's left out, that sends and receives",
)
def _gathering_messages_share(measured: Measured) -> Value | Missing:
    """To and from processes of the script's own."""
    looks: Counter[bool] = Counter()
    for work in _works_of("gathering", measured):
        for stack, count in work.looks.items():
            if not _calls(stack, CALLS_MODEL):
                looks[_calls(stack[-1:], SENDS)] += count
    return looks[True] / looks.total() if looks else Missing("no such work was seen")

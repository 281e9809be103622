"""The result document, key by key: what each is, in which unit, and when it is null.

These definitions are its types, its JSON and docs/report.schema.json at once (`diagnose.document.stored`,
`diagnose.document.schema`). Keys are only ever added, with a default for documents that lack them; one that
changes its meaning or goes needs another number in `schema`. Times are ms of a plain step unless a key says
otherwise.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from diagnose.document.watched_model import Watched
from diagnose.judge.terms import Confidence, Group, Op, Safety, Scope, Severity, State, Status
from diagnose.measure.job import Pattern
from diagnose.run.child.step_clock import StepClock
from diagnose.trace.notes import Note

SCHEMA: Literal[2] = 2  # of the result document; another number where a key changes its meaning
VERIFICATION_SCHEMA: Literal[1] = 1
# Badges that other code asks for.
GPU_NOT_RECORDED = "GPU not recorded"
NOISY_RUN = "noisy run"
DISK_FULL = "disk full"
SAVINGS_UNKNOWN = "savings unknown"
DISTORTED = "distorted"
CUT_RECORDING = "cut recording"
DAMAGED_RECORDING = "damaged recording"

Scalar = bool | int | float | str | None
SpenderKind = Literal["line", "annotation", "module", "operator", "function", "call", "kernel", "gap"]
TrialState = Literal["measured", "not_held", "failed", "not_tried", "no_time"]
Verdict = Literal[
    "faster",
    "slower",
    "no_change",
    "no_such_gain",
    "less_work",
    "too_noisy",
    "changes_result",
    "not_held",
    "failed",
]


def _is(description: str) -> Meta:
    return Meta(description=description)


class Tool(Struct, kw_only=True):
    """What wrote the document."""

    name: Annotated[str, _is("Always diagnose.")]
    version: Annotated[str, _is("Its version.")]


class Run(Struct, kw_only=True):
    """What was recorded, and how it ended."""

    target: Annotated[
        str, _is("The script or module as it was typed, or the name of the trace or its URL without secrets.")
    ]
    argv: Annotated[list[str], _is("The script and its own arguments; empty for a trace.")]
    module: Annotated[bool, _is("Whether it was run with -m.")] = False
    cwd: Annotated[
        str | None, _is("The folder it ran in, which relative paths start from; null for a trace.")
    ] = None
    wall_s: Annotated[float | None, _is("Seconds that the recorded run took; null for a trace.")] = None
    ended: Annotated[
        Literal["stopped", "finished", "crashed", "killed", "interrupted", "timeout", "running"],
        _is(
            "stopped: by diagnose, once everything was recorded; finished: the script's own end; crashed: "
            "exit code not 0; killed: by a signal; interrupted: Ctrl-C; timeout: by --timeout; running: "
            "nobody saw its end."
        ),
    ]
    exit_code: Annotated[int | None, _is("The script's; null if a signal ended it, and for a trace.")]
    signal: Annotated[str | None, _is("The name of the signal that ended it, else null.")] = None
    recorded_by_us: Annotated[bool, _is("False for a trace that another profiler recorded.")] = True
    torch_imported: Annotated[
        bool | None,
        _is("Whether a process of the script imported torch; null where that is not known, as of a trace."),
    ] = None
    launchers: Annotated[int, _is("How many torchrun started, one a rank; 1 without it.")] = 1
    launchers_here: Annotated[
        int | None, _is("How many of them on the machine that kept the run's record; null: all.")
    ] = None
    in_process: Annotated[bool, _is("A block of a program recorded itself: diagnose.record().")] = False
    device: Annotated[str, _is("cpu, or cuda where GPU work was recorded.")]
    environment: Annotated[
        dict[str, Scalar],
        _is("Versions, hardware, loader settings, environment variables, by name, as far as known."),
    ]


class Spread(Struct, kw_only=True):
    """Times of steps, ms."""

    median: Annotated[float, _is("ms")]
    mad: Annotated[float, _is("Median absolute deviation from it, ms.")]


class Steps(Struct, kw_only=True):
    """Which steps were seen, and how long they took."""

    clock: Annotated[
        StepClock,
        _is(
            "What ended a step: the loop's own word (step), optimizer.step(), backward(), the model's "
            "forward, a CUDA graph's replay, nothing that was seen, or what the trace says."
        ),
    ]
    step_source: Annotated[
        str | None, _is("What the timeline's steps were read from; null without a timeline.")
    ] = None
    complete: Annotated[int, _is("Whole steps of the timeline.")]
    ticks_per_step: Annotated[int, _is("Ends of the clock's kind in a step: two optimizers make two.")] = 1
    phases: Annotated[
        dict[str, int], _is("Steps by phase: warmup, plain, timeline, detail; empty for a trace.")
    ]
    cold: Annotated[
        bool, _is("The timeline comes from the script's very first steps, for there were no others.")
    ] = False
    after_session: Annotated[
        bool,
        _is(
            "The plain steps came after a profiler had recorded the GPU, and may take longer than without it."
        ),
    ] = False
    per_step: Annotated[
        dict[str, float | None], _is("Calls in a step, by kind: backward, fetch, forward.")
    ] = {}
    typical_ms: Annotated[
        float | None,
        _is(
            "The step that all shares are of: the mean of the typical plain steps; of the recorded ones if "
            "none was timed."
        ),
    ] = None
    untypical_count: Annotated[
        int,
        _is(
            "Plain steps that do not count (recorded ones if none was timed): far longer or shorter than the "
            "others, or delayed."
        ),
    ] = 0
    untypical_ms: Annotated[
        float | None, _is("What those that are far longer add to the average step, ms.")
    ] = None
    delayed_share: Annotated[
        float | None,
        _is(
            "Of the plain steps' time: the script's threads were ready to run and had no core, 0–1. Not in "
            "any other time here."
        ),
    ] = None
    plain_ms: Annotated[Spread | None, _is("The steps without a profiler. Null where none was timed.")]
    timeline_ms: Annotated[
        Spread | None, _is("The step as recorded, with the profiler's cost. Null without a timeline.")
    ]
    distortion: Annotated[float | None, _is("The typical recorded step ÷ the typical plain step.")]
    detail_distortion: Annotated[
        float | None, _is("The same for the slower recording that finds source lines.")
    ] = None
    plain_series_ms: Annotated[
        list[float], _is("Each plain step, in order, ms; without delays where they are known.")
    ]
    timeline_series_ms: Annotated[list[float], _is("Each recorded step, in order, ms.")]
    noise_ms: Annotated[float | None, _is("A saving below this cannot be told from noise.")] = None
    samples_per_step: Annotated[
        float | None,
        _is(
            "Of one process: the loader's batch size × its batches in a step; without a loader the first "
            "dimension of the model's input × its calls. Null where neither is known."
        ),
    ] = None
    samples_per_s: Annotated[
        float | None, _is("Samples of one process ÷ the typical step (the GPU's, where that is longer).")
    ] = None
    model_flop: Annotated[
        float | None,
        _is("FLOP of the model in a step without recomputation, from operators' shapes; null if not known."),
    ] = None
    mfu: Annotated[
        float | None,
        _is("Model FLOPs utilisation, 0–1: model_flop ÷ the same step ÷ the GPU's peak in mfu_format."),
    ] = None
    mfu_format: Annotated[
        str | None, _is("The number format that most of the FLOP are computed in: bf16, tf32, …")
    ] = None


class LedgerRow(Struct, kw_only=True):
    """A part of the step. All rows together are the whole step, nothing counted twice."""

    row: Annotated[str, _is("Its name, which `whatif` takes.")]
    title: Annotated[str, _is("The same for people.")]
    meaning: Annotated[str, _is("What the time was spent on.")]
    ms_per_step: Annotated[float, _is("ms")]
    share: Annotated[float, _is("Of the step, 0–1.")]
    noise_ms: Annotated[
        float | None,
        _is("Standard error of its mean over the recorded steps, ms; null for fewer than three."),
    ] = None


class Spender(Struct, kw_only=True):
    """Who spends a part of a row of the ledger, by the best name there is."""

    name: Annotated[
        str,
        _is(
            "`train.py:41`, the name of a range, a module, an operator, a function, a kernel; `after …` "
            "where nothing runs that was recorded, `backward of …` where autograd works for it."
        ),
    ]
    kind: Annotated[SpenderKind, _is("Of what it is the name; gap: of what ran before.")]
    mostly: Annotated[
        str, _is("The operator, function or kernel in it that takes more than half of it; may be empty.")
    ] = ""
    file: Annotated[str | None, _is("Of a line, relative to run.cwd where it lies below it.")] = None
    line: Annotated[int | None, _is("From 1; null for other names.")] = None
    ms_per_step: Annotated[float, _is("What it spends of the row, ms.")]
    share: Annotated[float, _is("Of the step, 0–1.")]
    count_per_step: Annotated[float, _is("How many of its events there are in a step.")]
    headroom_ms: Annotated[
        float | None,
        _is(
            "What the step would take less if it took no time at all, in any row, by replay: more than any "
            "fix can gain. Null where nothing could be replayed, as of a line inside the model."
        ),
    ]


class RowAccount(Struct, kw_only=True):
    """A row of the ledger of 5 % of the step and more, and who spends it."""

    row: Annotated[str, _is("As in the ledger.")]
    spenders: Annotated[list[Spender], _is("Those of 1 % of the step and more, five at most, largest first.")]


class DevicePart(Struct, kw_only=True):
    """A row of one device's ledger."""

    row: Annotated[str, _is("Its name.")]
    title: Annotated[str, _is("The same for people.")]
    share: Annotated[float, _is("Of the recorded step, 0–1.")]


class Device(Struct, kw_only=True):
    """What one of several devices did while the steps were recorded."""

    device: Annotated[str, _is("Its name, as in `ledger_device`.")]
    busy_share: Annotated[float, _is("Time in which anything ran on it, of the recorded step, 0–1.")]
    rows: Annotated[list[DevicePart], _is("Its own ledger, largest first; together 1.")]


class Evidence(Struct, kw_only=True):
    """A condition of a rule, with what was measured."""

    metric: Annotated[str, _is("`python -m diagnose metrics` lists them.")]
    meaning: Annotated[str, _is("What the metric says.")] = ""
    value: Annotated[Scalar, _is("As measured; null where it is not a finite number.")]
    op: Annotated[Op, _is("How value and threshold are compared.")]
    threshold: Annotated[Scalar, _is("What the rule asks for.")]
    unit: Annotated[str, _is("Of value and threshold: ms, share, count, bytes, … or empty.")]
    because: Annotated[str, _is("Why the threshold is what it is.")]


class Culprit(Struct, kw_only=True):
    """A line of the user's own code that a finding blames."""

    file: Annotated[str, _is("Relative to run.cwd where it lies below it.")]
    line: Annotated[int, _is("From 1.")]
    function: Annotated[str, _is("The function the line stands in.")]
    source: Annotated[str, _is("The line's text; empty where the file is not at hand.")]
    calls_per_step: Annotated[float, _is("How often it does what the finding is about.")]
    ms_per_step: Annotated[float, _is("What that takes, ms.")]
    via: Annotated[
        str,
        _is("The library's function that does it on the line's behalf; empty if the line does it itself."),
    ] = ""


class CallSite(Struct, kw_only=True):
    """A call whose arguments the fix changes."""

    file: Annotated[str, _is("As in culprits.")]
    line: Annotated[int, _is("From 1.")]
    source: Annotated[str, _is("The line's text.")]


class Fix(Struct, kw_only=True):
    """What to do. Of rules that do not fire only the title and the safety are filled in."""

    title: Annotated[str, _is("In a few words.")]
    how: Annotated[str, _is("What to type, with this run's numbers.")] = ""
    caution: Annotated[str, _is("What to look out for; may be empty.")] = ""
    safety: Annotated[
        Safety,
        _is(
            "exact: results stay as they are; numerics: their last digits change; manual: depends on how it "
            "is done."
        ),
    ] = "manual"
    intervention: Annotated[
        str, _is("The name under which `verify` makes the fix; empty if only people can.")
    ] = ""
    arguments: Annotated[
        dict[str, Any] | None, _is("The intervention's arguments; null where one of them is unknown.")
    ] = None
    before: Annotated[str, _is("Code as it is; may be empty.")] = ""
    after: Annotated[str, _is("The same with the fix; may be empty.")] = ""
    call_sites: Annotated[list[CallSite], _is("The calls to change, as far as they were found.")] = []


class Predicted(Struct, kw_only=True):
    """What the recorded steps take less when they are replayed with the fix made, ms per step."""

    best_guess: Annotated[float, _is("ms")]
    low: Annotated[float, _is("If the fix turns out badly, ms.")]
    high: Annotated[float, _is("If it turns out well, ms.")]


class Measured(Struct, kw_only=True):
    """What `verify` measured the fix to save, ms per step; negative where the step became slower."""

    best_guess: Annotated[float, _is("ms")]
    low: Annotated[float, _is("Lower end of the interval, ms.")]
    high: Annotated[float, _is("Upper end of the interval, ms.")]
    of_ms: Annotated[float, _is("The step without the fix in those runs, ms.")]


class Saving(Struct, kw_only=True):
    """What the fix gains alone."""

    at_most_ms: Annotated[
        float | None,
        _is("What it cannot gain more than, side effects included; null where the cost is not known."),
    ]
    scope: Annotated[
        Scope,
        _is(
            "step: of every step; average: some steps only, ms of the average one; component: of a part that "
            "is no step time; hypothetical: on a GPU; information: nothing to fix."
        ),
    ]
    predicted_ms: Annotated[Predicted | None, _is("Null where it cannot be predicted.")]
    confidence: Annotated[Confidence | None, _is("How narrow the predicted range is.")]
    reason: Annotated[str | None, _is("Why the range is as wide as it is.")]
    measured_ms: Annotated[Measured | None, _is("Null where it was not measured, or no change was found.")]
    verdict: Annotated[Verdict | None, _is("What came of `verify`; null if the fix was not tried.")]


class Lacking(Struct, kw_only=True):
    """What a rule, or a metric, could not do without."""

    reason: Annotated[str, _is("What was missing.")]
    option: Annotated[str, _is("What would record it; may be empty.")]


class Finding(Struct, kw_only=True):
    """One rule, whether or not it fires."""

    rule: Annotated[str, _is("`python -m diagnose rules ID` explains it.")]
    status: Annotated[Status, _is("stable: proven on real recordings; preview: not yet.")]
    state: Annotated[
        State,
        _is(
            "fires: all its conditions hold; quiet: one does not; abstains: something was not recorded; "
            "error: it failed."
        ),
    ]
    group: Annotated[
        Group | None,
        _is(
            "Of a rule that fires. plan: worth acting on; alternative: another way to gain what a fix of the "
            "plan gains; minor: below the noise floor, or explained better by another; hypothetical: costs "
            "nothing here, would on a GPU; information: nothing to fix."
        ),
    ]
    severity: Annotated[
        Severity | None,
        _is("Of a rule that fires, by the share at stake: high from 20 %, medium from 5 %, low below."),
    ]
    refines: Annotated[str | None, _is("The row of the ledger, or the more general rule, that it explains.")]
    cause: Annotated[str, _is("What is wrong, in a few words.")] = ""
    symptom: Annotated[str, _is("What is wrong, in one sentence.")]
    why: Annotated[str, _is("Why that is slow.")]
    false_positives: Annotated[str, _is("When it is fine all the same; may be empty.")] = ""
    references: Annotated[list[str], _is("Where this is known from, mostly URLs.")]
    ms_per_step: Annotated[
        float | None, _is("What the finding's events take; null where that is not known in ms.")
    ]
    share: Annotated[
        float | None,
        _is("Of the step at stake, 0–1: of the predicted saving, else of at_most_ms, else of ms_per_step."),
    ]
    evidence: Annotated[list[Evidence], _is("The conditions that were judged.")]
    culprits: Annotated[list[Culprit], _is("The lines to blame, costliest first.")]
    fix: Annotated[Fix, _is("What to do.")]
    saving: Annotated[Saving, _is("What that gains.")]
    because_of: Annotated[str | None, _is("The rule that explains the same time better.")]
    alternative_to: Annotated[
        str | None, _is("Of an alternative: the rule in the plan that gains the same time.")
    ] = None
    abstains_for: Annotated[Lacking | None, _is("Why a rule abstains, else null.")]
    error: Annotated[str | None, _is("How a rule failed, else null.")]


class PlanRow(Struct, kw_only=True):
    """A finding worth acting on. Rows are in the order in which to act."""

    rule: Annotated[str, _is("The finding's.")]
    fix: Annotated[str, _is("The fix's title.")]
    where: Annotated[str | None, _is("file:line to look at; null if no line is known.")]
    severity: Annotated[Severity, _is("The finding's.")]
    at_most_ms: Annotated[float | None, _is("The finding's.")]
    share: Annotated[float | None, _is("The finding's.")]
    alone_ms: Annotated[
        float | None, _is("What the fix saves alone, best guess; null where nothing is predicted.")
    ]
    cumulative_ms: Annotated[float | None, _is("What it saves with all rows above: not their sum.")]
    step_ms_after: Annotated[float | None, _is("The step then; the average one if a row's scope is average.")]


class Line(Struct, kw_only=True):
    """What a line of the user's own code costs, whether or not a rule knows about it."""

    file: Annotated[str, _is("As in culprits.")]
    line: Annotated[int, _is("From 1.")]
    function: Annotated[str, _is("The function the line stands in.")]
    source: Annotated[str, _is("The line's text.")]
    self_ms: Annotated[float, _is("Without what other lines of the user's own code take that it calls, ms.")]
    total_ms: Annotated[float, _is("With them, ms.")]
    backward_ms: Annotated[
        float,
        _is("What autograd takes for its operators, ms; it lies under the line that calls the backward."),
    ] = 0.0
    share: Annotated[float, _is("total_ms of the step, 0–1.")]
    calls_per_step: Annotated[float, _is("Calls made from it.")]
    is_part: Annotated[bool, _is("It calls the backward or the optimizer's step.")] = False


class Operator(Struct, kw_only=True):
    """What an operator costs the host in a step, whatever calls it."""

    name: Annotated[str, _is("As the recording calls it.")]
    self_ms: Annotated[float, _is("Without the operators that it calls, ms.")]
    share: Annotated[float, _is("self_ms of the step, 0–1.")]
    calls_per_step: Annotated[float, _is("Calls per step.")]
    mean_ms: Annotated[float, _is("self_ms of one call, ms.")]


class Kernel(Struct, kw_only=True):
    """What the busiest GPU spends on kernels of one short name and number format, or on copies or sets."""

    name: Annotated[str, _is("Shortened: without namespaces, template arguments and parameters.")]
    kind: Annotated[Literal["kernel", "communication", "copy", "set"], _is("What the GPU does.")]
    ms_per_step: Annotated[
        float,
        _is("ms. While several run, time counts once: rows add up to the busy GPU's in the ledger at most."),
    ]
    share: Annotated[float, _is("ms_per_step of the step, 0–1.")]
    count_per_step: Annotated[float, _is("How many start in a step.")]
    mean_ms: Annotated[float, _is("How long one takes, whatever runs beside it, ms.")]
    number_format: Annotated[
        str | None,
        _is("fp64, fp32, tf32, bf16, fp16, fp8 or int8, by its name, else its operator's inputs; else null."),
    ]
    tensor_cores: Annotated[
        bool | None, _is("Whether it uses them, by its name; null where that does not tell.")
    ]
    roofline_share: Annotated[
        float | None, _is("The least time by the GPU's peaks ÷ the time taken, 0–1; null where not known.")
    ]
    limited_by: Annotated[
        str | None,
        _is(
            "What limits it, as a table of Nsight Compute tells that was given: compute, memory, compute and "
            "memory, latency; else null."
        ),
    ] = None


class MemoryPart(Struct, kw_only=True):
    """A part of what a device's memory holds at the peak. All parts together are all that is held."""

    part: Annotated[str, _is("Its name.")]
    title: Annotated[str, _is("The same for people.")]
    bytes: Annotated[int, _is("bytes")]
    share: Annotated[float, _is("Of all that is held, 0–1.")]


class MemoryHolder(Struct, kw_only=True):
    """A line of the user's own code and what it holds at the peak, or what no line is known of."""

    file: Annotated[str | None, _is("As in lines; null where no line is known.")] = None
    line: Annotated[int | None, _is("From 1; null where no line is known.")] = None
    function: Annotated[str, _is("The function the line stands in.")] = ""
    source: Annotated[str, _is("The line's text; empty where the file is not at hand.")] = ""
    module: Annotated[str, _is("The innermost that ran, or the parameter; empty for several or none.")] = ""
    part: Annotated[str, _is("As in parts.")]
    bytes: Annotated[int, _is("bytes")]
    share: Annotated[float, _is("Of what tensors hold, 0–1.")]
    count: Annotated[int, _is("Of tensors.")]


class MemoryRemedy(Struct, kw_only=True):
    """What would lower the peak, by replaying how storages come and go."""

    name: Annotated[str, _is("checkpoint, fused, eight_bits, zero_grad_first or autocast.")]
    title: Annotated[str, _is("In a few words.")]
    what: Annotated[str, _is("What it is done to; may be empty.")] = ""
    peak_bytes: Annotated[int, _is("What tensors then hold at most.")]
    frees_bytes: Annotated[int, _is("What that is less.")]
    costs_ms: Annotated[float | None, _is("What a step takes longer, at most; null if nothing.")] = None


class MemoryCurve(Struct, kw_only=True):
    """What tensors hold over the step of the peak, cut into equal numbers of tensors that come and go."""

    bytes: Annotated[list[int], _is("The most in each part, in order; 200 parts at most.")]
    peak: Annotated[int, _is("Number of the part with the peak, from 0.")]
    backward: Annotated[
        tuple[int, int] | None, _is("First and last part of the backward; null where there is none.")
    ] = None


class MemoryPeak(Struct, kw_only=True):
    """What fills one device's memory when most is held, within two steps that were looked at."""

    device: Annotated[str, _is("cpu, or the accelerator's name.")]
    during: Annotated[str, _is("The part that was being made: forward, backward, optimizer, …")]
    tensors_bytes: Annotated[int, _is("What tensors hold.")]
    parts: Annotated[list[MemoryPart], _is("Largest first.")]
    holders: Annotated[list[MemoryHolder], _is("Those of 1 % of the tensors and more, largest first.")]
    remedies: Annotated[
        list[MemoryRemedy], _is("What frees 5 % and more of 256 MiB and more, most first.")
    ] = []
    curve: Annotated[MemoryCurve | None, _is("Over a step; null where no step was seen.")] = None


class Average(Struct, kw_only=True):
    """A row of torch's own table of operators, per recorded step, with the profiler's cost."""

    name: Annotated[str, _is("The operator.")]
    calls: Annotated[float, _is("Per step.")]
    self_cpu_ms: Annotated[float, _is("ms per step")]
    cpu_ms: Annotated[float, _is("With the operators it calls, ms per step.")]
    self_device_ms: Annotated[float | None, _is("ms per step; null without a GPU.")]


class Averages(Struct, kw_only=True):
    """torch's own table of operators."""

    rows: Annotated[list[Average], _is("Costliest first; empty for a trace.")]
    note: Annotated[str, _is("What is missing from it; may be empty.")]


class Metric(Struct, kw_only=True):
    """A measured number, or why there is none."""

    value: Annotated[Scalar | UnsetType, _is("As measured; null where it is not a finite number.")] = UNSET
    unit: Annotated[str | UnsetType, _is("Its unit.")] = UNSET
    missing: Annotated[str | UnsetType, _is("Why it was not measured.")] = UNSET
    option: Annotated[str | UnsetType, _is("What would record it; may be empty.")] = UNSET

    @property
    def known(self) -> Scalar:
        """The value; None where there is none."""
        return None if isinstance(self.value, UnsetType) else self.value


class Comparison(Struct, kw_only=True):
    """Runs with a fix against runs without it.

    Shares are of the step as it is, negative where the fix is faster.
    """

    pairs: Annotated[int, _is("Of runs, that were used.")]
    outliers: Annotated[int, _is("Pairs that were set aside.")]
    change: Annotated[float, _is("Of the step time, a share.")]
    low: Annotated[float, _is("Lower end of its interval.")]
    high: Annotated[float, _is("Upper end of its interval.")]
    noise: Annotated[float, _is("By how much averages of the very same script differ by chance, a share.")]
    before_ms: Annotated[float, _is("The step as it is, ms.")]
    after_ms: Annotated[float, _is("The step with the fix, ms.")]
    saved_ms: Annotated[tuple[float, float, float], _is("Least, best guess, most.")]
    drift: Annotated[
        float, _is("By how much runs of the same arm moved from the first half to the second, a share.")
    ] = 0.0


class Results(Struct, kw_only=True):
    """Whether the script's losses, or what its model returns, stay as they are."""

    agreement: Annotated[
        Literal["same", "close", "differ", "other_data", "unsteady", "unknown"],
        _is(
            "same: to the bit; close: within the tolerance; differ: not; other_data: the script sees other "
            "batches with the fix; unsteady: it differs from run to run without it; unknown: nothing to "
            "compare."
        ),
    ]
    compared: Annotated[int, _is("Losses that were compared.")]
    deviation: Annotated[float | None, _is("The largest, as a share; null where it is not known.")]
    tolerance: Annotated[float, _is("Up to which results count as close, a share.")]


class Peak(Struct, kw_only=True):
    """A peak of memory, bytes."""

    before: Annotated[float | None, _is("As it is; null where this memory is not used.")]
    after: Annotated[float | None, _is("With the fix.")]


class Curve(Struct, kw_only=True):
    """A search for the number that a fix needs."""

    argument: Annotated[str, _is("Which number.")]
    ms: Annotated[dict[str, float], _is("The step by the number tried, ms.")]
    best: Annotated[int, _is("The number with the shortest step.")]
    knee: Annotated[int, _is("The smallest that is as good within the noise: the one that is advised.")]
    peak_bytes: Annotated[
        dict[str, float],
        _is("The most memory by the number tried: of the GPU in use, else of the host's process."),
    ] = {}


class FixResult(Struct, kw_only=True):
    """What came of trying a fix."""

    rule: Annotated[
        str, _is("Whose fix it is; empty for one named by hand; several, with commas, of all together.")
    ]
    title: Annotated[str, _is("In a few words.")]
    intervention: Annotated[str, _is("Its name.")]
    arguments: Annotated[dict[str, Any], _is("Its arguments.")]
    safety: Annotated[str, _is("As in a finding's fix.")]
    state: Annotated[
        TrialState,
        _is(
            "not_held: it changed nothing in the process; failed: a run with it failed; no_time: the budget "
            "was used up."
        ),
    ]
    why: Annotated[str, _is("More about the state; may be empty.")] = ""
    predicted_ms: Annotated[Predicted | None, _is("As predicted when it was tried.")] = None
    predicted_of_ms: Annotated[float | None, _is("Of a step of so many ms; null where not known.")] = None
    predicted_with: Annotated[
        dict[str, Any] | None, _is("The arguments it was predicted for; null if those it was measured with.")
    ] = None
    verdict: Annotated[
        Verdict | None,
        _is(
            "no_such_gain: too noisy to say more, but it does not gain what was predicted; less_work: too "
            "noisy to say, but it takes less processor time; null if it was not measured."
        ),
    ] = None
    change: Annotated[Comparison | None, _is("Null if it was not measured.")] = None
    environment: Annotated[
        dict[str, str | None],
        _is("Variables that were set before Python started, or removed: for this fix and those beside it."),
    ] = {}
    beside: Annotated[
        list[str],
        _is("Rules or titles of what a search had kept: what was compared has these fixes in both arms."),
    ] = []
    work: Annotated[
        Comparison | None,
        _is("The same for the processor time of the script's processes; null if not known, or on a GPU."),
    ] = None
    results: Annotated[Results | None, _is("Null if it was not measured.")] = None
    memory: Annotated[
        dict[str, Peak] | None,
        _is(
            "By kind: peak_allocated_bytes and peak_reserved_bytes of the GPU, peak_resident_bytes of the "
            "host."
        ),
    ] = None
    curve: Annotated[Curve | None, _is("Null if no number was searched for.")] = None
    batch_sizes: Annotated[
        tuple[int | None, int | None] | None, _is("As it is, and with a fix that changes it; else null.")
    ] = None
    step_from: Annotated[int | None, _is("The first step compared, from 1.")] = None
    step_to: Annotated[int | None, _is("The last step compared.")] = None


class Verification(Struct, kw_only=True):
    """What `verify` measured, as in verify.json."""

    schema: Annotated[Literal[1], _is("Of this part.")] = VERIFICATION_SCHEMA
    tool: Annotated[Tool, _is("What wrote it.")]
    step_ms: Annotated[float | None, _is("The script's step without any fix or profiler.")] = None
    same_losses: Annotated[
        bool | None,
        _is("Whether two runs of the script as it is gave the same; null if there was nothing to compare."),
    ] = None
    seeded_batches: Annotated[
        bool,
        _is("Whether random numbers of items had to be seeded by batch to give both arms the same data."),
    ] = False
    noise: Annotated[float | None, _is("Median noise of comparisons of four pairs and more, a share.")] = None
    tried: Annotated[list[FixResult], _is("Each fix.")] = []
    together: Annotated[FixResult | None, _is("All that are faster, at once; null if there are not two.")] = (
        None
    )
    searched: Annotated[bool, _is("Whether each was tried beside those that had been faster.")] = False
    warnings: Annotated[list[str], _is("What makes the measurement doubtful.")] = []
    interrupted: Annotated[bool, _is("Whether it was ended early.")] = False
    runs: Annotated[int, _is("Runs of the script that came to their end.")] = 0
    wall_s: Annotated[float, _is("Seconds.")] = 0.0


class RankRow(Struct, kw_only=True):
    """One rank of a job. Ranks come in their order."""

    rank: Annotated[int, _is("Its number.")]
    source: Annotated[str, _is("The folder or file it was read from.")]
    host: Annotated[str, _is("The machine it ran on; empty if unknown.")]
    step_ms: Annotated[float | None, _is("Its step, ms.")]
    ledger: Annotated[dict[str, float], _is("The rows of its own ledger, ms per step.")]
    offset_ms: Annotated[
        float | None, _is("How far its clock is ahead of the lowest rank's; null if it could not be aligned.")
    ]
    offset_error_ms: Annotated[float | None, _is("How far that may be wrong.")]
    lateness_ms: Annotated[
        float | None, _is("How much later it comes to its collectives than the median rank, ms per step.")
    ]
    held_up_ms: Annotated[float | None, _is("What all wait for this rank and no other, ms per step.")]
    last_share: Annotated[float | None, _is("Of the steps, 0–1: those in which all wait longest for it.")]
    lateness_series_ms: Annotated[list[float], _is("lateness_ms of each step, in order.")]
    peak_memory_bytes: Annotated[
        int | None, _is("Of its GPU's memory, what tensors filled at the worst moment.")
    ]
    memory_bytes: Annotated[int | None, _is("What its GPU has.")]


class Collective(Struct, kw_only=True):
    """The collectives of one kind and process group that were found on all ranks."""

    kind: Annotated[str, _is("all_reduce, all_gather, …")]
    lane: Annotated[
        str, _is("The process group by its name, else the number of the stream that carries the collectives.")
    ]
    count_per_step: Annotated[float, _is("How many.")]
    bytes_per_step: Annotated[float | None, _is("What a rank puts in; null if sizes were not recorded.")]
    ms_per_step: Annotated[float, _is("From the arrival of the last rank on.")]
    waiting_ms_per_step: Annotated[float, _is("Until then, mean of the ranks.")]
    exposed_ms_per_step: Annotated[
        float | None, _is("Of both what no computation hides, mean of the ranks; null without a GPU.")
    ]
    bus_gb_per_s: Annotated[float | None, _is("What each link carries meanwhile.")]
    size: Annotated[int | None, _is("How many ranks the group has.")]
    best_gb_per_s: Annotated[
        float | None, _is("The same for the fastest of those of 16 MiB and more; null if there is none.")
    ]
    on_one_host: Annotated[bool, _is("Whether all ranks of the group were compared, and are on one machine.")]


class PathPart(Struct, kw_only=True):
    """A part of the critical path of a job's step."""

    rank: Annotated[int | None, _is("Whose work it is; null for collectives.")]
    name: Annotated[str, _is("The row of the ledger, or the kind of collective.")]
    ms: Annotated[float, _is("How long, as recorded.")]


class Passage(Struct, kw_only=True):
    """A piece of a rank's time in that step."""

    rank: Annotated[int, _is("Whose it is.")]
    what: Annotated[
        Literal["work", "wait", "collective"],
        _is("On the way to a collective, waiting in it for the last rank, or in it with all."),
    ]
    name: Annotated[
        str, _is("Of work the row of the ledger that takes most of it, else the kind of collective.")
    ]
    start_ms: Annotated[float, _is("From the step's beginning.")]
    ms: Annotated[float, _is("How long.")]
    on_path: Annotated[bool, _is("Whether the step's length hangs on it.")]


class JobStep(Struct, kw_only=True):
    """A step of median length of all ranks, from the last collective of the step before to its own last."""

    number: Annotated[int, _is("Its number.")]
    ms: Annotated[float, _is("Its length, as recorded.")]
    path: Annotated[
        list[PathPart], _is("What its length hangs on, the longest part first; they add up to it.")
    ]
    passages: Annotated[list[Passage], _is("What the ranks on the path and some others do.")]


class Ranks(Struct, kw_only=True):
    """The ranks of a job together."""

    world_size: Annotated[int, _is("How many the job had.")]
    recorded: Annotated[list[int], _is("Those that were read.")]
    missing: Annotated[list[int], _is("Those that were not.")]
    duplicates: Annotated[list[int], _is("Those given more than once; the first recording counts.")]
    representative: Annotated[int, _is("The rank that all the rest of the document is about.")]
    steps: Annotated[int, _is("Steps found on all ranks.")]
    matched: Annotated[int, _is("Collectives found on all ranks.")]
    unmatched: Annotated[int, _is("Collectives of the lowest rank that were not.")]
    pattern: Annotated[
        Pattern,
        _is(
            "Who comes last: always the same rank, changing ones, nobody in particular; unknown: too little "
            "was found on all ranks."
        ),
    ]
    late_rank: Annotated[int | None, _is("The rank that holds up the others; null if none does.")]
    held_up_ms: Annotated[
        float | None, _is("What all wait for the last rank, against the one in the middle, ms per step.")
    ]
    cause: Annotated[
        str | None, _is("The row of the ledger that takes the late rank longer than the median rank.")
    ]
    cause_ms: Annotated[float | None, _is("By how much, ms per step.")]
    causes_ms: Annotated[dict[str, float], _is("The same for all rows; negative where it spends less.")]
    gain_ms: Annotated[
        float | None,
        _is(
            "What all gain per step if the cause took it as long as the median rank, by a replay of "
            "all ranks."
        ),
    ]
    longest_last_share: Annotated[
        float | None,
        _is(
            "Of the steps that some rank holds up, those in which its batch was the longest, 0–1; null if "
            "lengths are unknown."
        ),
    ]
    step: Annotated[
        JobStep | None, _is("A median step of all ranks; null if no collectives were found on all.")
    ]
    rows: Annotated[list[RankRow], _is("The ranks.")]
    collectives: Annotated[list[Collective], _is("Their collectives.")]
    notes: Annotated[list[str], _is("What was lost or assumed, in sentences.")]


class Patch(Struct, kw_only=True):
    """What fixes.diff beside the report holds."""

    patched: Annotated[list[str], _is("Rules whose fix is in it.")]
    unpatched: Annotated[dict[str, str], _is("Why the fix of a rule is not in it.")]
    lines: Annotated[
        dict[str, list[str]],
        _is("What the fix of each of these rules changes: lines with - or + before them."),
    ] = {}


class Written(Struct, kw_only=True):
    """Where a document was written, and what can be typed there."""

    folder: Annotated[str, _is("The folder of the reports.")]
    run: Annotated[str | None, _is("The run folder, which `verify` takes; null for a trace.")]
    python: Annotated[str, _is("What starts the Python that wrote it: python, or its path.")]
    has_script: Annotated[bool, _is("Whether the script is there, so that it can be run again.")]


class BesideKind(Struct, kw_only=True):
    """A kind of work in a profile of the CPU."""

    title: Annotated[str, _is("What it is.")]
    share: Annotated[float, _is("Of that recording, 0–1; all kinds together are 1.")]


class BesideRow(Struct, kw_only=True):
    """A function or line of the user's in a profile of the CPU."""

    file: Annotated[str, _is("As that recording has it; empty where it has none.")]
    line: Annotated[int, _is("Its line; 0 where it has none.")]
    function: Annotated[str, _is("Its function, or an action of Lightning's.")]
    share: Annotated[float, _is("Of that recording, 0–1: in it and in library code that it called.")]
    total_share: Annotated[float, _is("The same, with your other code that it called.")]


class BesideProfile(Struct, kw_only=True):
    """What a profile of the CPU tells that was given beside the trace."""

    file: Annotated[str, _is("Its name.")]
    profiler: Annotated[str, _is("What recorded it.")]
    duration_s: Annotated[float, _is("Seconds that its shares are of.")]
    kinds: Annotated[list[BesideKind], _is("What its time went to, the most first.")]
    rows: Annotated[list[BesideRow], _is("The user's own functions, lines or actions, the most first.")]


class Document(Struct, kw_only=True):
    """The result of one diagnosis: report.json, and what --json prints."""

    schema: Annotated[Literal[2], _is("Of the document.")] = SCHEMA
    tool: Annotated[Tool, _is("What wrote it.")]
    headline: Annotated[
        str, _is("What slows the script, what share it takes, at which line, what fixing it gains.")
    ]
    badge: Annotated[
        str, _is("Two or three words where the numbers are doubtful, `noisy run`; else empty.")
    ] = ""
    doubt: Annotated[str, _is("The badge as one sentence, with what to do about it; else empty.")] = ""
    run: Annotated[Run, _is("What was recorded.")]
    steps: Annotated[Steps, _is("Its steps.")]
    ledger: Annotated[list[LedgerRow], _is("Where a step's time goes; empty without a whole step.")]
    ledger_device: Annotated[str | None, _is("The device the ledger is of; null without one.")] = None
    account: Annotated[list[RowAccount], _is("Who spends each row of the ledger; small rows have none.")] = []
    named_share: Annotated[
        float | None, _is("Of the step, 0–1: what has a name in the account. Null without a step.")
    ] = None
    devices: Annotated[
        list[Device], _is("Each device, where more than one has events; empty otherwise.")
    ] = []
    findings: Annotated[list[Finding], _is("All rules, those that fire first.")]
    plan: Annotated[list[PlanRow], _is("What to do, best first.")]
    self_replay_error: Annotated[
        float | None, _is("How far the replay of the steps as they are ends from the recording, 0–1.")
    ]
    prediction_missing: Annotated[str | None, _is("Why no saving is predicted; null if savings are.")]
    upper_bound_ms: Annotated[
        float | None, _is("The step if the host took no time at all; null without a GPU.")
    ]
    ranks: Annotated[Ranks | None, _is("All ranks of a distributed job; null for one rank.")] = None
    verification: Annotated[Verification | None, _is("What `verify` measured; null before.")] = None
    patch: Annotated[Patch | None, _is("What fixes.diff holds; null before it is written.")] = None
    written: Annotated[Written | None, _is("Where it was written; null before.")] = None
    lines: Annotated[list[Line], _is("The user's own lines, costliest first.")]
    operators: Annotated[list[Operator], _is("The costliest on the host, by their own time.")] = []
    kernels: Annotated[list[Kernel], _is("The costliest kernels, copies and sets of the busiest GPU.")] = []
    memory: Annotated[
        list[MemoryPeak], _is("What fills memory, of each accelerator, else of the host; empty if not seen.")
    ] = []
    watched: Annotated[Watched | None, _is("The whole run, with --watch; null where it was not watched.")] = (
        None
    )
    beside: Annotated[list[BesideProfile], _is("Profiles of the CPU that were given beside the trace.")] = []
    key_averages: Annotated[Averages, _is("torch's own table of operators.")]
    metrics: Annotated[dict[str, Metric], _is("By name, as `python -m diagnose metrics` explains them.")]
    notes: Annotated[list[Note], _is("What was lost, repaired or assumed, and what makes numbers doubtful.")]


Place = Culprit | CallSite | Line
"""What stands at a line of the user's own code."""

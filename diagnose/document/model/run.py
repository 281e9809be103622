"""What was recorded: the run, its steps, and where their time goes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from diagnose.document.model.described import Scalar, described
from diagnose.run.child.steps.step_clock import StepClock

SpenderKind = Literal["line", "annotation", "module", "operator", "function", "call", "kernel", "gap"]


class Tool(Struct, kw_only=True):
    """What wrote the document."""

    name: Annotated[str, described("Always diagnose.")]
    version: Annotated[str, described("Its version.")]


class Run(Struct, kw_only=True):
    """What was recorded, and how it ended."""

    target: Annotated[
        str,
        described(
            "The script or module as it was typed, or the name of the trace or its URL without secrets."
        ),
    ]
    argv: Annotated[list[str], described("The script and its own arguments; empty for a trace.")]
    module: Annotated[bool, described("Whether it was run with -m.")] = False
    cwd: Annotated[
        str | None, described("The folder it ran in, which relative paths start from; null for a trace.")
    ] = None
    wall_s: Annotated[float | None, described("Seconds that the recorded run took; null for a trace.")] = None
    ended: Annotated[
        Literal["stopped", "finished", "crashed", "killed", "interrupted", "timeout", "running"],
        described(
            "stopped: by diagnose, once everything was recorded; finished: the script's own end; crashed: "
            "exit code not 0; killed: by a signal; interrupted: Ctrl-C; timeout: by --timeout; running: "
            "nobody saw its end."
        ),
    ]
    exit_code: Annotated[int | None, described("The script's; null if a signal ended it, and for a trace.")]
    signal: Annotated[str | None, described("The name of the signal that ended it, else null.")] = None
    recorded_by_us: Annotated[bool, described("False for a trace that another profiler recorded.")] = True
    torch_imported: Annotated[
        bool | None,
        described(
            "Whether a process of the script imported torch; null where that is not known, as of a trace."
        ),
    ] = None
    launchers: Annotated[int, described("How many torchrun started, one a rank; 1 without it.")] = 1
    launchers_here: Annotated[
        int | None, described("How many of them on the machine that kept the run's record; null: all.")
    ] = None
    in_process: Annotated[bool, described("A block of a program recorded itself: diagnose.record().")] = False
    device: Annotated[str, described("cpu, or cuda where GPU work was recorded.")]
    environment: Annotated[
        dict[str, Scalar],
        described("Versions, hardware, loader settings, environment variables, by name, as far as known."),
    ]


class Spread(Struct, kw_only=True):
    """Times of steps, ms."""

    median: Annotated[float, described("ms")]
    mad: Annotated[float, described("Median absolute deviation from it, ms.")]


class Steps(Struct, kw_only=True):
    """Which steps were seen, and how long they took."""

    clock: Annotated[
        StepClock,
        described(
            "What ended a step: the loop's own word (step), optimizer.step(), backward(), the model's "
            "forward, a CUDA graph's replay, nothing that was seen, or what the trace says."
        ),
    ]
    step_source: Annotated[
        str | None, described("What the timeline's steps were read from; null without a timeline.")
    ] = None
    complete: Annotated[int, described("Whole steps of the timeline.")]
    ticks_per_step: Annotated[
        int, described("Ends of the clock's kind in a step: two optimizers make two.")
    ] = 1
    phases: Annotated[
        dict[str, int], described("Steps by phase: warmup, plain, timeline, detail; empty for a trace.")
    ]
    cold: Annotated[
        bool, described("The timeline comes from the script's very first steps, for there were no others.")
    ] = False
    after_session: Annotated[
        bool,
        described(
            "The plain steps came after a profiler had recorded the GPU, and may take longer than without it."
        ),
    ] = False
    per_step: Annotated[
        dict[str, float | None], described("Calls in a step, by kind: backward, fetch, forward.")
    ] = {}
    typical_ms: Annotated[
        float | None,
        described(
            "The step that all shares are of: the mean of the typical plain steps; of the recorded ones if "
            "none was timed."
        ),
    ] = None
    untypical_count: Annotated[
        int,
        described(
            "Plain steps that do not count (recorded ones if none was timed): far longer or shorter than the "
            "others, or delayed."
        ),
    ] = 0
    untypical_ms: Annotated[
        float | None, described("What those that are far longer add to the average step, ms.")
    ] = None
    delayed_share: Annotated[
        float | None,
        described(
            "Of the plain steps' time: the script's threads were ready to run and had no core, 0–1. Not in "
            "any other time here."
        ),
    ] = None
    page_faults_ms: Annotated[
        float,
        described(
            "That a step's page faults take by itself, and no more since a recording has left something in "
            "the heap; part of every time here."
        ),
    ] = 0.0
    plain_ms: Annotated[Spread | None, described("The steps without a profiler. Null where none was timed.")]
    timeline_ms: Annotated[
        Spread | None, described("The step as recorded, with the profiler's cost. Null without a timeline.")
    ]
    distortion: Annotated[float | None, described("The typical recorded step ÷ the typical plain step.")]
    detail_distortion: Annotated[
        float | None, described("The same for the slower recording that finds source lines.")
    ] = None
    plain_series_ms: Annotated[
        list[float], described("Each plain step, in order, ms; without delays where they are known.")
    ]
    timeline_series_ms: Annotated[list[float], described("Each recorded step, in order, ms.")]
    noise_ms: Annotated[float | None, described("A saving below this cannot be told from noise.")] = None
    samples_per_step: Annotated[
        float | None,
        described(
            "Of one process: the loader's batch size × its batches in a step; without a loader the first "
            "dimension of the model's input × its calls. Null where neither is known."
        ),
    ] = None
    samples_per_s: Annotated[
        float | None,
        described("Samples of one process ÷ the typical step (the GPU's, where that is longer)."),
    ] = None
    model_flop: Annotated[
        float | None,
        described(
            "FLOP of the model in a step without recomputation, from operators' shapes; null if not known."
        ),
    ] = None
    mfu: Annotated[
        float | None,
        described("Model FLOPs utilisation, 0–1: model_flop ÷ the same step ÷ the GPU's peak in mfu_format."),
    ] = None
    mfu_format: Annotated[
        str | None, described("The number format that most of the FLOP are computed in: bf16, tf32, …")
    ] = None


class LedgerRow(Struct, kw_only=True):
    """A part of the step. All rows together are the whole step, nothing counted twice."""

    row: Annotated[str, described("Its name, which `whatif` takes.")]
    title: Annotated[str, described("The same for people.")]
    meaning: Annotated[str, described("What the time was spent on.")]
    ms_per_step: Annotated[float, described("ms")]
    share: Annotated[float, described("Of the step, 0–1.")]
    noise_ms: Annotated[
        float | None,
        described("Standard error of its mean over the recorded steps, ms; null for fewer than three."),
    ] = None


class Spender(Struct, kw_only=True):
    """Who spends a part of a row of the ledger, by the best name there is."""

    name: Annotated[
        str,
        described(
            "`train.py:41`, the name of a range, a module, an operator, a function, a kernel; `after …` "
            "where nothing runs that was recorded, `backward of …` where autograd works for it."
        ),
    ]
    kind: Annotated[SpenderKind, described("Of what it is the name; gap: of what ran before.")]
    mostly: Annotated[
        str,
        described("The operator, function or kernel in it that takes more than half of it; may be empty."),
    ] = ""
    file: Annotated[str | None, described("Of a line, relative to run.cwd where it lies below it.")] = None
    line: Annotated[int | None, described("From 1; null for other names.")] = None
    ms_per_step: Annotated[float, described("What it spends of the row, ms.")]
    share: Annotated[float, described("Of the step, 0–1.")]
    count_per_step: Annotated[
        float | None, described("How many of its events there are in a step; null where not known.")
    ]
    headroom_ms: Annotated[
        float | None,
        described(
            "What the step would take less if it took no time at all, in any row, by replay: more than any "
            "fix can gain. Null where nothing could be replayed, as of a line inside the model."
        ),
    ]
    rule: Annotated[
        str | None, described("The plan's rule that is about most of what it does; null if none is.")
    ] = None


class RowAccount(Struct, kw_only=True):
    """A row of the ledger of 5 % of the step and more, and who spends it."""

    row: Annotated[str, described("As in the ledger.")]
    spenders: Annotated[
        list[Spender], described("Those of 1 % of the step and more, five at most, largest first.")
    ]


class SeldomWork(Struct, kw_only=True):
    """What only some steps do, and no fix is about: of the average step, not of the typical one."""

    file: Annotated[str, described("Where it is called.")]
    line: Annotated[int, described("Where it is called.")]
    kind: Annotated[str, described("evaluation, checkpoint, figure, training, gathering (of data) or work.")]
    every: Annotated[float, described("It comes back after so many steps.")]
    ms_per_step: Annotated[float, described("Of the average step.")]
    share: Annotated[float, described("Of the average step, 0–1.")]
    mostly: Annotated[str | None, described("The costliest line inside, `file.py:41`; null if none is.")]


class DevicePart(Struct, kw_only=True):
    """A row of one device's ledger."""

    row: Annotated[str, described("Its name.")]
    title: Annotated[str, described("The same for people.")]
    share: Annotated[float, described("Of the recorded step, 0–1.")]


class Device(Struct, kw_only=True):
    """What one of several devices did while the steps were recorded."""

    device: Annotated[str, described("Its name, as in `ledger_device`.")]
    busy_share: Annotated[float, described("Time in which anything ran on it, of the recorded step, 0–1.")]
    rows: Annotated[list[DevicePart], described("Its own ledger, largest first; together 1.")]

"""The whole document."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from diagnose.document.model.costs import Averages, Kernel, Line, MemoryPeak, Metric, Operator
from diagnose.document.model.described import described
from diagnose.document.model.findings import Finding, Patch, PlanRow
from diagnose.document.model.ranks import Ranks
from diagnose.document.model.run import Device, LedgerRow, RowAccount, Run, SeldomWork, Steps, Tool
from diagnose.document.model.verification import Verification
from diagnose.document.model.watched import Watched
from diagnose.trace.notes import Note

SCHEMA: Literal[2] = 2  # of the result document; another number where a key changes its meaning


class Written(Struct, kw_only=True):
    """Where a document was written, and what can be typed there."""

    folder: Annotated[str, described("The folder of the reports.")]
    run: Annotated[str | None, described("The run folder, which `verify` takes; null for a trace.")]
    python: Annotated[str, described("What starts the Python that wrote it: python, or its path.")]
    has_script: Annotated[bool, described("Whether the script is there, so that it can be run again.")]


class BesideKind(Struct, kw_only=True):
    """A kind of work in a profile of the CPU."""

    title: Annotated[str, described("What it is.")]
    share: Annotated[float, described("Of that recording, 0–1; all kinds together are 1.")]


class BesideRow(Struct, kw_only=True):
    """A function or line of the user's in a profile of the CPU."""

    file: Annotated[str, described("As that recording has it; empty where it has none.")]
    line: Annotated[int, described("Its line; 0 where it has none.")]
    function: Annotated[str, described("Its function, or an action of Lightning's.")]
    share: Annotated[float, described("Of that recording, 0–1: in it and in library code that it called.")]
    total_share: Annotated[float, described("The same, with your other code that it called.")]


class BesideProfile(Struct, kw_only=True):
    """What a profile of the CPU tells that was given beside the trace."""

    file: Annotated[str, described("Its name.")]
    profiler: Annotated[str, described("What recorded it.")]
    duration_s: Annotated[float, described("Seconds that its shares are of.")]
    kinds: Annotated[list[BesideKind], described("What its time went to, the most first.")]
    rows: Annotated[list[BesideRow], described("The user's own functions, lines or actions, the most first.")]


class Document(Struct, kw_only=True):
    """The result of one diagnosis: report.json, and what --json prints."""

    schema: Annotated[Literal[2], described("Of the document.")] = SCHEMA
    tool: Annotated[Tool, described("What wrote it.")]
    headline: Annotated[
        str, described("What slows the script, what share it takes, at which line, what fixing it gains.")
    ]
    badge: Annotated[
        str, described("Two or three words where the numbers are doubtful, `noisy run`; else empty.")
    ] = ""
    doubt: Annotated[str, described("The badge as one sentence, with what to do about it; else empty.")] = ""
    run: Annotated[Run, described("What was recorded.")]
    steps: Annotated[Steps, described("Its steps.")]
    ledger: Annotated[list[LedgerRow], described("Where a step's time goes; empty without a whole step.")]
    ledger_device: Annotated[str | None, described("The device the ledger is of; null without one.")] = None
    account: Annotated[
        list[RowAccount], described("Who spends each row of the ledger; small rows have none.")
    ] = []
    named_share: Annotated[
        float | None,
        described("Of the step, 0–1: what has a name, listed in the account or not. Null without a step."),
    ] = None
    seldom: Annotated[
        list[SeldomWork],
        described("What only some steps do, a tenth of the average step and more, where no fix is about it."),
    ] = []
    devices: Annotated[
        list[Device], described("Each device, where more than one has events; empty otherwise.")
    ] = []
    findings: Annotated[list[Finding], described("All rules, those that fire first.")]
    plan: Annotated[list[PlanRow], described("What to do, best first.")]
    self_replay_error: Annotated[
        float | None, described("How far the replay of the steps as they are ends from the recording, 0–1.")
    ]
    prediction_missing: Annotated[str | None, described("Why no saving is predicted; null if savings are.")]
    upper_bound_ms: Annotated[
        float | None, described("The step if the host took no time at all; null without a GPU.")
    ]
    ranks: Annotated[Ranks | None, described("All ranks of a distributed job; null for one rank.")] = None
    verification: Annotated[Verification | None, described("What `verify` measured; null before.")] = None
    patch: Annotated[Patch | None, described("What fixes.diff holds; null before it is written.")] = None
    written: Annotated[Written | None, described("Where it was written; null before.")] = None
    lines: Annotated[list[Line], described("The user's own lines, costliest first.")]
    operators: Annotated[list[Operator], described("The costliest on the host, by their own time.")] = []
    kernels: Annotated[
        list[Kernel], described("The costliest kernels, copies and sets of the busiest GPU.")
    ] = []
    memory: Annotated[
        list[MemoryPeak],
        described("What fills memory, of each accelerator, else of the host; empty if not seen."),
    ] = []
    watched: Annotated[
        Watched | None, described("The whole run, with --watch; null where it was not watched.")
    ] = None
    beside: Annotated[
        list[BesideProfile], described("Profiles of the CPU that were given beside the trace.")
    ] = []
    key_averages: Annotated[Averages, described("torch's own table of operators.")]
    metrics: Annotated[
        dict[str, Metric], described("By name, as `python -m diagnose metrics` explains them.")
    ]
    notes: Annotated[
        list[Note], described("What was lost, repaired or assumed, and what makes numbers doubtful.")
    ]

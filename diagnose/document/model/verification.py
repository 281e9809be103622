"""What fixes gained when the script ran with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Struct

from diagnose.document.model.described import Verdict, described
from diagnose.document.model.findings import Predicted
from diagnose.document.model.run import Tool

TrialState = Literal["measured", "not_held", "failed", "not_comparable", "not_tried", "no_time"]
VERIFICATION_SCHEMA: Literal[1] = 1


class Comparison(Struct, kw_only=True):
    """Runs with a fix against runs without it.

    Shares are of the step as it is, negative where the fix is faster.
    """

    pairs: Annotated[int, described("Of runs, that were used.")]
    outliers: Annotated[int, described("Pairs that were set aside.")]
    change: Annotated[float, described("Of the step time, a share.")]
    low: Annotated[float, described("Lower end of its interval.")]
    high: Annotated[float, described("Upper end of its interval.")]
    noise: Annotated[
        float, described("By how much averages of the very same script differ by chance, a share.")
    ]
    before_ms: Annotated[float, described("The step as it is, ms.")]
    after_ms: Annotated[float, described("The step with the fix, ms.")]
    saved_ms: Annotated[tuple[float, float, float], described("Least, best guess, most.")]
    drift: Annotated[
        float, described("By how much runs of the same arm moved from the first half to the second, a share.")
    ] = 0.0


class Results(Struct, kw_only=True):
    """Whether the script's losses, or what its model returns, stay as they are."""

    agreement: Annotated[
        Literal["same", "close", "differ", "other_data", "unsteady", "unknown"],
        described(
            "same: to the bit; close: within the tolerance; differ: not; other_data: the script sees other "
            "batches with the fix; unsteady: it differs from run to run without it; unknown: nothing to "
            "compare."
        ),
    ]
    compared: Annotated[int, described("Losses that were compared.")]
    deviation: Annotated[float | None, described("The largest, as a share; null where it is not known.")]
    tolerance: Annotated[float, described("Up to which results count as close, a share.")]


class Peak(Struct, kw_only=True):
    """A peak of memory, bytes."""

    before: Annotated[float | None, described("As it is; null where this memory is not used.")]
    after: Annotated[float | None, described("With the fix.")]


class Curve(Struct, kw_only=True):
    """A search for the number that a fix needs."""

    argument: Annotated[str, described("Which number.")]
    ms: Annotated[dict[str, float], described("The step by the number tried, ms.")]
    best: Annotated[int, described("The number with the shortest step.")]
    knee: Annotated[int, described("The smallest that is as good within the noise: the one that is advised.")]
    peak_bytes: Annotated[
        dict[str, float],
        described("The most memory by the number tried: of the GPU in use, else of the host's process."),
    ] = {}


class FixResult(Struct, kw_only=True):
    """What came of trying a fix."""

    rule: Annotated[
        str, described("Whose fix it is; empty for one named by hand; several, with commas, of all together.")
    ]
    title: Annotated[str, described("In a few words.")]
    intervention: Annotated[str, described("Its name.")]
    arguments: Annotated[dict[str, Any], described("Its arguments.")]
    safety: Annotated[str, described("As in a finding's fix.")]
    state: Annotated[
        TrialState,
        described(
            "not_held: it changed nothing in the process; failed: a run with it failed; not_comparable: "
            "the runs tell nothing about it, as where the script fails without it as well; no_time: the "
            "budget was used up."
        ),
    ]
    why: Annotated[str, described("More about the state; may be empty.")] = ""
    predicted_ms: Annotated[Predicted | None, described("As predicted when it was tried.")] = None
    predicted_of_ms: Annotated[float | None, described("Of a step of so many ms; null where not known.")] = (
        None
    )
    predicted_with: Annotated[
        dict[str, Any] | None,
        described("The arguments it was predicted for; null if those it was measured with."),
    ] = None
    verdict: Annotated[
        Verdict | None,
        described(
            "no_such_gain: too noisy to say more, but it does not gain what was predicted; less_work: too "
            "noisy to say, but it takes less processor time; null if it was not measured."
        ),
    ] = None
    change: Annotated[Comparison | None, described("Null if it was not measured.")] = None
    environment: Annotated[
        dict[str, str | None],
        described(
            "Variables that were set before Python started, or removed: for this fix and those beside it."
        ),
    ] = {}
    beside: Annotated[
        list[str],
        described(
            "Rules or titles of what a search had kept: what was compared has these fixes in both arms."
        ),
    ] = []
    work: Annotated[
        Comparison | None,
        described(
            "The same for the processor time of the script's processes; null if not known, or on a GPU."
        ),
    ] = None
    results: Annotated[Results | None, described("Null if it was not measured.")] = None
    memory: Annotated[
        dict[str, Peak] | None,
        described(
            "By kind: peak_allocated_bytes and peak_reserved_bytes of the GPU, peak_resident_bytes of the "
            "host."
        ),
    ] = None
    curve: Annotated[Curve | None, described("Null if no number was searched for.")] = None
    batch_sizes: Annotated[
        tuple[int | None, int | None] | None,
        described("As it is, and with a fix that changes it; else null."),
    ] = None
    step_from: Annotated[int | None, described("The first step compared, from 1.")] = None
    step_to: Annotated[int | None, described("The last step compared.")] = None


class Verification(Struct, kw_only=True):
    """What `verify` measured, as in verify.json."""

    schema: Annotated[Literal[1], described("Of this part.")] = VERIFICATION_SCHEMA
    tool: Annotated[Tool, described("What wrote it.")]
    step_ms: Annotated[float | None, described("The script's step without any fix or profiler.")] = None
    same_losses: Annotated[
        bool | None,
        described(
            "Whether two runs of the script as it is gave the same; null if there was nothing to compare."
        ),
    ] = None
    seeded_batches: Annotated[
        bool,
        described(
            "Whether random numbers of items had to be seeded by batch to give both arms the same data."
        ),
    ] = False
    noise: Annotated[
        float | None, described("Median noise of comparisons of four pairs and more, a share.")
    ] = None
    tried: Annotated[list[FixResult], described("Each fix.")] = []
    together: Annotated[
        FixResult | None, described("All that are faster, at once; null if there are not two.")
    ] = None
    searched: Annotated[bool, described("Whether each was tried beside those that had been faster.")] = False
    warnings: Annotated[list[str], described("What makes the measurement doubtful.")] = []
    interrupted: Annotated[bool, described("Whether it was ended early.")] = False
    runs: Annotated[int, described("Runs of the script that came to their end.")] = 0
    wall_s: Annotated[float, described("Seconds.")] = 0.0

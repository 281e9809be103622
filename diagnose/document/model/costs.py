"""What lines, operators, kernels and memory cost."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from diagnose.document.model.described import Scalar, described


class Line(Struct, kw_only=True):
    """What a line of the user's own code costs, whether or not a rule knows about it."""

    file: Annotated[str, described("As in culprits.")]
    line: Annotated[int, described("From 1.")]
    function: Annotated[str, described("The function the line stands in.")]
    source: Annotated[str, described("The line's text.")]
    self_ms: Annotated[
        float, described("Without what other lines of the user's own code take that it calls, ms.")
    ]
    total_ms: Annotated[float, described("With them, ms.")]
    backward_ms: Annotated[
        float,
        described(
            "What autograd takes for its operators, ms; it is not in self_ms of the line that calls it."
        ),
    ] = 0.0
    share: Annotated[float, described("self_ms and backward_ms of the step, 0–1.")]
    calls_per_step: Annotated[float, described("Calls made from it.")]
    is_part: Annotated[bool, described("It calls the backward or the optimizer's step.")] = False


class Operator(Struct, kw_only=True):
    """What an operator costs the host in a step, whatever calls it."""

    name: Annotated[str, described("As the recording calls it.")]
    self_ms: Annotated[float, described("Without the operators that it calls, ms.")]
    share: Annotated[float, described("self_ms of the step, 0–1.")]
    calls_per_step: Annotated[float, described("Calls per step.")]
    mean_ms: Annotated[float, described("self_ms of one call, ms.")]


class Kernel(Struct, kw_only=True):
    """What the busiest GPU spends on kernels of one short name and number format, or on copies or sets."""

    name: Annotated[str, described("Shortened: without namespaces, template arguments and parameters.")]
    kind: Annotated[Literal["kernel", "communication", "copy", "set"], described("What the GPU does.")]
    ms_per_step: Annotated[
        float,
        described(
            "ms. While several run, time counts once: rows add up to the busy GPU's in the ledger at most."
        ),
    ]
    share: Annotated[float, described("ms_per_step of the step, 0–1.")]
    count_per_step: Annotated[float, described("How many start in a step.")]
    mean_ms: Annotated[float, described("How long one takes, whatever runs beside it, ms.")]
    number_format: Annotated[
        str | None,
        described(
            "fp64, fp32, tf32, bf16, fp16, fp8 or int8, by its name, else its operator's inputs; else null."
        ),
    ]
    tensor_cores: Annotated[
        bool | None, described("Whether it uses them, by its name; null where that does not tell.")
    ]
    roofline_share: Annotated[
        float | None,
        described("The least time by the GPU's peaks ÷ the time taken, 0–1; null where not known."),
    ]
    limited_by: Annotated[
        str | None,
        described(
            "What limits it, as a table of Nsight Compute tells that was given: compute, memory, compute and "
            "memory, latency; else null."
        ),
    ] = None


class MemoryPart(Struct, kw_only=True):
    """A part of what a device's memory holds at the peak. All parts together are all that is held."""

    part: Annotated[str, described("Its name.")]
    title: Annotated[str, described("The same for people.")]
    bytes: Annotated[int, described("bytes")]
    share: Annotated[float, described("Of all that is held, 0–1.")]


class MemoryHolder(Struct, kw_only=True):
    """A line of the user's own code and what it holds at the peak, or what no line is known of."""

    file: Annotated[str | None, described("As in lines; null where no line is known.")] = None
    line: Annotated[int | None, described("From 1; null where no line is known.")] = None
    function: Annotated[str, described("The function the line stands in.")] = ""
    source: Annotated[str, described("The line's text; empty where the file is not at hand.")] = ""
    module: Annotated[
        str, described("The innermost that ran, or the parameter; empty for several or none.")
    ] = ""
    part: Annotated[str, described("As in parts.")]
    bytes: Annotated[int, described("bytes")]
    share: Annotated[float, described("Of what tensors hold, 0–1.")]
    count: Annotated[int, described("Of tensors.")]


class MemoryRemedy(Struct, kw_only=True):
    """What would lower the peak, by replaying how storages come and go."""

    name: Annotated[str, described("checkpoint, fused, eight_bits, zero_grad_first or autocast.")]
    title: Annotated[str, described("In a few words.")]
    what: Annotated[str, described("What it is done to; may be empty.")] = ""
    peak_bytes: Annotated[int, described("What tensors then hold at most.")]
    frees_bytes: Annotated[int, described("What that is less.")]
    costs_ms: Annotated[float | None, described("What a step takes longer, at most; null if nothing.")] = None


class MemoryCurve(Struct, kw_only=True):
    """What tensors hold over the step of the peak, cut into equal numbers of tensors that come and go."""

    bytes: Annotated[list[int], described("The most in each part, in order; 200 parts at most.")]
    peak: Annotated[int, described("Number of the part with the peak, from 0.")]
    backward: Annotated[
        tuple[int, int] | None, described("First and last part of the backward; null where there is none.")
    ] = None


class MemoryPeak(Struct, kw_only=True):
    """What fills one device's memory when most is held, within two steps that were looked at."""

    device: Annotated[str, described("cpu, or the accelerator's name.")]
    during: Annotated[str, described("The part that was being made: forward, backward, optimizer, …")]
    tensors_bytes: Annotated[int, described("What tensors hold.")]
    parts: Annotated[list[MemoryPart], described("Largest first.")]
    holders: Annotated[list[MemoryHolder], described("Those of 1 % of the tensors and more, largest first.")]
    remedies: Annotated[
        list[MemoryRemedy], described("What frees 5 % and more of 256 MiB and more, most first.")
    ] = []
    curve: Annotated[MemoryCurve | None, described("Over a step; null where no step was seen.")] = None


class Average(Struct, kw_only=True):
    """A row of torch's own table of operators, per recorded step, with the profiler's cost."""

    name: Annotated[str, described("The operator.")]
    calls: Annotated[float, described("Per step.")]
    self_cpu_ms: Annotated[float, described("ms per step")]
    cpu_ms: Annotated[float, described("With the operators it calls, ms per step.")]
    self_device_ms: Annotated[float | None, described("ms per step; null without a GPU.")]


class Averages(Struct, kw_only=True):
    """torch's own table of operators."""

    rows: Annotated[list[Average], described("Costliest first; empty for a trace.")]
    note: Annotated[str, described("What is missing from it; may be empty.")]


class Metric(Struct, kw_only=True):
    """A measured number, or why there is none."""

    value: Annotated[Scalar | UnsetType, described("As measured; null where it is not a finite number.")] = (
        UNSET
    )
    unit: Annotated[str | UnsetType, described("Its unit.")] = UNSET
    missing: Annotated[str | UnsetType, described("Why it was not measured.")] = UNSET
    option: Annotated[str | UnsetType, described("What would record it; may be empty.")] = UNSET

    @property
    def known(self) -> Scalar:
        """The value; None where there is none."""
        return None if isinstance(self.value, UnsetType) else self.value

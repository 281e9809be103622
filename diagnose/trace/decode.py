"""Chrome trace JSON to typed events: only the fields the tables need, checked while they are decoded."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

Number = int | float | str | None  # some writers quote numbers
NO_TEXT = Raw(b"")
_START = 2**20


class Args(Struct, gc=False):
    """What an event's ``args`` may tell. Numbers that are absent are -1; Raw fields keep the JSON text."""

    correlation: Number = -1
    external_id: Number = field(default=-1, name="External id")
    external_id_old: Number = field(default=-1, name="external id")
    sequence: Number = field(default=-1, name="Sequence number")
    dims: Raw = field(default=NO_TEXT, name="Input Dims")
    dims_old: Raw = field(default=NO_TEXT, name="Input dims")
    types: Raw = field(default=NO_TEXT, name="Input type")
    call_stack: str | None = field(default=None, name="Call stack")
    device: Number = -1
    stream: Number = -1
    bytes: Number = -1
    size: Number = -1
    direction: Number = None
    kind: Number = None
    collective: Number = field(default=None, name="Collective name")
    group: Number = field(default=None, name="Process Group Name")
    group_description: Number = field(default=None, name="Process Group Description")
    group_ranks: Raw = field(default=NO_TEXT, name="Process Group Ranks")
    group_size: Number = field(default=-1, name="Group size")
    number_type: Number = field(default=None, name="dtype")
    in_count: Number = field(default=-1, name="In msg nelems")
    finished: bool | None = None
    name: Number = None
    wait_on_stream: Number = -1
    wait_on_record: Number = field(default=-1, name="wait_on_cuda_event_record_corr_id")
    device_type: Number = field(default=-1, name="Device Type")
    device_id: Number = field(default=-1, name="Device Id")
    change: Number = field(default=0, name="Bytes")
    allocated: Number = field(default=-1, name="Total Allocated")
    reserved: Number = field(default=-1, name="Total Reserved")
    # of TensorFlow and JAX (`diagnose.trace.xla_chrome`)
    correlation_id: Number = None
    hlo_module: Number = None
    hlo_op: Number = None
    memcpy_details: Number = None
    step_num: Number = None
    tf_op: Number = None


class Event(Struct, gc=False):
    """One event of a Chrome trace. ``ts`` and ``dur`` are µs."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Number = None
    tid: Number = None
    ts: float | str | None = None
    dur: float | str | None = 0.0
    args: Args | None = None


class DecimalEvent(Event, gc=False):
    """The same with the digits of ``ts`` kept, quoted or not (see `diagnose.trace.clock`)."""

    ts: Decimal | None = None  # type: ignore[assignment]


class BareEvent(DecimalEvent, gc=False):
    """The same with arguments of any form, for events whose arguments are not as expected."""

    args: Any = None


class TraceFile(Struct):
    """The top level of a trace file: the events, and what `Trace.info` passes on."""

    events: list[Event] | None = field(default=None, name="traceEvents")
    schemaVersion: Any = None
    deviceProperties: Any = None
    computeProperties: Any = None
    distributedInfo: Any = None
    baseTimeNanoseconds: Any = None
    displayTimeUnit: Any = None
    traceName: Any = None
    trace_id: Any = None
    framework: Any = None  # of a recording that is not torch's: "tensorflow", "jax"
    host_name: Any = None
    record_shapes: Any = None
    profile_memory: Any = None
    with_stack: Any = None
    with_flops: Any = None
    with_modules: Any = None
    cuda_runtime_version: Any = None
    cuda_driver_version: Any = None
    cupti_version: Any = None
    hip_runtime_version: Any = None
    hip_driver_version: Any = None
    roctracer_version: Any = None
    rocprofiler_sdk_version: Any = field(default=None, name="rocprofiler-sdk_version")
    xpu_runtime_version: Any = None
    xpu_driver_version: Any = None


class DecimalTraceFile(TraceFile):
    """The same with `DecimalEvent`."""

    events: list[DecimalEvent] | None = field(default=None, name="traceEvents")  # type: ignore[assignment]


_DECODERS: dict[tuple[str, bool], msgspec.json.Decoder[Any]] = {
    ("event", False): msgspec.json.Decoder(Event),
    ("event", True): msgspec.json.Decoder(DecimalEvent),
    ("bare event", True): msgspec.json.Decoder(BareEvent),
    ("list", False): msgspec.json.Decoder(list[Event]),
    ("list", True): msgspec.json.Decoder(list[DecimalEvent]),
    ("object", False): msgspec.json.Decoder(TraceFile),
    ("object", True): msgspec.json.Decoder(DecimalTraceFile),
}


def is_list(data: bytes | bytearray) -> bool:
    """Whether the top level is a bare list, as in torch 1.8's first traces."""
    return data[:_START].lstrip()[:1] == b"["


def decode_file(data: bytes | bytearray, decimals: bool = False) -> TraceFile:
    """The whole file at once, a bare list of events included; raises DECODE_ERRORS where it is damaged."""
    if is_list(data):
        return TraceFile(events=_DECODERS["list", decimals].decode(data))
    file: TraceFile = _DECODERS["object", decimals].decode(data)
    return file


def decode_events(text: bytes | memoryview, decimals: bool = False) -> list[Event]:
    """A list of events; raises DECODE_ERRORS."""
    events: list[Event] = _DECODERS["list", decimals].decode(text)
    return events


def decode_event(text: bytes, decimals: bool = False) -> Event:
    """One event; raises DECODE_ERRORS."""
    event: Event = _DECODERS["event", decimals].decode(text)
    return event


def decode_without_args(text: bytes) -> Event:
    """One event whose arguments are passed over; raises DECODE_ERRORS."""
    event: BareEvent = _DECODERS["bare event", True].decode(text)
    event.args = None
    return event


# msgspec raises UnicodeDecodeError (a ValueError) for invalid UTF-8 and RecursionError for deep nesting.
DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)

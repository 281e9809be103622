"""What rocprofv3 writes for AMD's GPUs (`--output-format json`), to typed tables. A reader: see
`diagnose.trace.formats`.

Its names are told in AMD's *Using rocprofv3*, *Output formats*, and by the tests of ROCm/rocprofiler-sdk. A
version may lack any part but times and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from diagnose.errors import TraceUnreadable
from diagnose.trace.content import Content
from diagnose.trace.decode import Args, Event, TraceFile
from diagnose.trace.events import Lanes
from diagnose.trace.memory import Memory
from diagnose.trace.nvtx import range_of
from diagnose.trace.repair import Damage
from diagnose.trace.schema import Trace
from diagnose.trace.tables import trace_of

_AGAIN = "Record it again: rocprofv3 --runtime-trace --output-format json -- python train.py"
_TOLD = (
    "Recorded with rocprofv3, not with torch.profiler: source lines and shapes are not known, and operators "
    "only where torch marked them (torch.autograd.profiler.emit_nvtx)."
)
_NO_CALLS = "Calls of HIP were not recorded (rocprofv3 --hip-trace)."
_AT_ONCE = 10_000
_GPU = 2  # rocprofiler_agent_type_t
_DIRECTIONS = {
    "HOST_TO_DEVICE": "HtoD (Unknown -> Device)",
    "DEVICE_TO_HOST": "DtoH (Device -> Unknown)",
    "DEVICE_TO_DEVICE": "DtoD (Device -> Device)",
    "HOST_TO_HOST": "HtoH (Unknown -> Unknown)",
}


class _Id(Struct):
    handle: int = 0


class _Correlation(Struct):
    internal: int = -1


class _Metadata(Struct):
    pid: int = 0


class _Agent(Struct):
    id: _Id
    type: int = 0
    name: str = ""
    product_name: str = ""
    cu_count: int = 0
    logical_node_type_id: int | None = None


class _Names(Struct):
    kind: str = ""
    operations: list[str | None] = []


class _Marked(Struct):
    key: int
    value: str


class _Strings(Struct):
    buffer_records: list[_Names] = []
    marker_api: list[_Marked] = []


class _Symbol(Struct):
    kernel_id: int
    formatted_kernel_name: str = ""
    demangled_kernel_name: str = ""
    kernel_name: str = ""


class _Record(Struct):
    start_timestamp: int
    end_timestamp: int
    kind: int = -1
    operation: int = -1
    thread_id: int = 0
    correlation_id: _Correlation = field(default_factory=_Correlation)
    stream_id: _Id | None = None


class _DispatchInfo(Struct):
    kernel_id: int
    agent_id: _Id = field(default_factory=_Id)
    queue_id: _Id = field(default_factory=_Id)


class _Dispatch(_Record, kw_only=True):
    dispatch_info: _DispatchInfo


class _Copy(_Record):
    src_agent_id: _Id = field(default_factory=_Id)
    dst_agent_id: _Id = field(default_factory=_Id)
    bytes: int = -1


class _Records(Struct):
    kernel_dispatch: list[_Dispatch] = []
    kernel_dispatches: list[_Dispatch] = []  # before ROCm 6.4
    memory_copy: list[_Copy] = []
    hip_api: list[_Record] = []
    marker_api: list[_Record] = []


class _Process(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    agents: list[_Agent] = []
    strings: _Strings = field(default_factory=_Strings)
    kernel_symbols: list[_Symbol] = []
    buffer_records: _Records = field(default_factory=_Records)

    @property
    def dispatches(self) -> list[_Dispatch]:
        return [*self.buffer_records.kernel_dispatch, *self.buffer_records.kernel_dispatches]

    @property
    def gpu_ns(self) -> int:
        return sum(max(0, one.end_timestamp - one.start_timestamp) for one in self.dispatches)


class _File(Struct):
    processes: list[_Process] | _Process = field(name="rocprofiler-sdk-tool")


def read(content: Content, blocks: Iterator[bytes], memory: Memory, calls: Path | None) -> Trace:
    """See `diagnose.trace.formats.Reader`. The whole file is held: names stand behind what they name."""
    recording = _Recording(_decoded(_whole(content, blocks, memory), content.name))
    lanes = Lanes()
    for batch in memory.watched(content, recording.batches(), lambda: lanes.nbytes):
        lanes.add(batch)
    if not lanes.count:
        raise TraceUnreadable(f"{content.name} holds nothing that ran on a GPU.", do=_AGAIN)
    told = [_TOLD] if lanes.host.count else [_TOLD, _NO_CALLS]
    return trace_of(content.name, lanes, recording.about(), Damage((*told, *recording.left_out)))


def _whole(content: Content, blocks: Iterator[bytes], memory: Memory) -> bytearray:
    file = bytearray()
    for block in memory.watched(content, blocks, file.__len__):
        file.extend(block)
    return file


def _decoded(content: bytearray, name: str) -> list[_Process]:
    try:
        found = msgspec.json.decode(content, type=_File).processes
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        saw = str(error)
        raise TraceUnreadable(f"{name} is a damaged recording of rocprofv3.", saw=saw, do=_AGAIN) from error
    return found if isinstance(found, list) else [found]


Recorded = TypeVar("Recorded", bound=_Record)


class _Recording:
    """Of the process with most work on GPUs, as events of torch.profiler's."""

    def __init__(self, processes: list[_Process]) -> None:
        self._process = max(processes, key=lambda process: process.gpu_ns, default=_Process())
        others = sum(process.gpu_ns > 0 for process in processes) - 1
        self.left_out = (
            [f"The process with most work on GPUs is told of; {others} more are left out."]
            if others > 0
            else []
        )
        gpus = [agent for agent in self._process.agents if agent.type == _GPU]
        self._gpus = {agent.id.handle: number for number, agent in enumerate(gpus)}
        self._kernels = {
            symbol.kernel_id: symbol.formatted_kernel_name
            or symbol.demangled_kernel_name
            or symbol.kernel_name
            for symbol in self._process.kernel_symbols
        }
        self._marks = {mark.key: mark.value for mark in self._process.strings.marker_api}
        records = self._process.buffer_records
        times = (
            one.start_timestamp
            for some in (self._process.dispatches, records.memory_copy, records.hip_api, records.marker_api)
            for one in some
        )
        self._begin_ns = min(times, default=0)

    def about(self) -> TraceFile:
        gpus = [
            {"id": number, "name": agent.product_name or agent.name, "numSms": agent.cu_count}
            for agent in self._process.agents
            if (number := self._gpus.get(agent.id.handle)) is not None
        ]
        return TraceFile(events=[], deviceProperties=gpus or None, baseTimeNanoseconds=None)

    def batches(self) -> Iterator[list[Event]]:
        """Some at a time."""
        records = self._process.buffer_records
        yield from _some(records.marker_api, self._range)
        yield from _some(records.hip_api, self._call)
        yield from _some(self._process.dispatches, self._kernel)
        yield from _some(records.memory_copy, self._copy)

    def _range(self, record: _Record) -> Event | None:
        text = self._marks.get(record.correlation_id.internal) or self._operation(record)
        category, name, args = range_of(text)
        return self._on_host(category, name, record, args)

    def _call(self, record: _Record) -> Event | None:
        args = Args(correlation=record.correlation_id.internal)
        return self._on_host("cuda_runtime", self._operation(record), record, args)

    def _on_host(self, category: str, name: str, record: _Record, args: Args | None) -> Event | None:
        return self._event(category, name, record, self._process.metadata.pid, record.thread_id, args)

    def _kernel(self, record: _Dispatch) -> Event | None:
        info = record.dispatch_info
        name = self._kernels.get(info.kernel_id) or "kernel"
        return self._on_gpu("kernel", name.removesuffix(".kd"), record, info.agent_id, info.queue_id)

    def _copy(self, record: _Copy) -> Event | None:
        operation = self._operation(record).removeprefix("MEMORY_COPY_")
        name = f"Memcpy {_DIRECTIONS.get(operation, 'Unknown (Unknown -> Unknown)')}"
        gpu = record.src_agent_id if record.src_agent_id.handle in self._gpus else record.dst_agent_id
        return self._on_gpu("gpu_memcpy", name, record, gpu, _Id(), record.bytes)

    def _on_gpu(
        self, category: str, name: str, record: _Record, agent: _Id, queue: _Id, size: int = -1
    ) -> Event | None:
        device = self._gpus.get(agent.handle, 0)
        stream = record.stream_id.handle if record.stream_id and record.stream_id.handle else queue.handle
        correlation = record.correlation_id.internal
        args = Args(correlation=correlation, device=device, stream=stream, bytes=size)
        return self._event(category, name, record, device, stream, args)

    def _event(
        self, category: str, name: str, record: _Record, pid: Any, tid: Any, args: Args | None
    ) -> Event | None:
        """Nothing for times that are none."""
        length = record.end_timestamp - record.start_timestamp
        if length < 0:
            return None
        since = record.start_timestamp - self._begin_ns
        return Event("X", category, name, pid, tid, since / 1000, length / 1000, args)

    def _operation(self, record: _Record) -> str:
        kinds = self._process.strings.buffer_records
        operations = kinds[record.kind].operations if 0 <= record.kind < len(kinds) else []
        known = operations[record.operation] if 0 <= record.operation < len(operations) else None
        return known or "unknown"


def _some(records: list[Recorded], made: Callable[[Recorded], Event | None]) -> Iterator[list[Event]]:
    for first in range(0, len(records), _AT_ONCE):
        events = (made(record) for record in records[first : first + _AT_ONCE])
        yield [event for event in events if event is not None]

"""Exports of Nsight Systems (`nsys export --type sqlite`) to typed tables. A reader: see
`diagnose.trace.formats`.

Their tables and columns are told in NVIDIA's *Nsight Systems User Guide*, *SQLite Schema Reference*; they
differ between versions, so each column is looked for. Ranges of NVTX that torch makes
(`torch.autograd.profiler.emit_nvtx`, `nsys profile --pytorch=autograd-nvtx`) are its operators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from diagnose.errors import TraceUnreadable
from diagnose.trace.content import Content
from diagnose.trace.database import Database, opened, quoted
from diagnose.trace.decode import Args, Event, TraceFile
from diagnose.trace.events import Lanes
from diagnose.trace.memory import Memory
from diagnose.trace.nvtx import range_of
from diagnose.trace.repair import Damage
from diagnose.trace.schema import Trace
from diagnose.trace.tables import trace_of

EXPORT = "Export it again: nsys export --type sqlite RECORDING.nsys-rep"
_KERNELS, _COPIES, _SETS = (f"CUPTI_ACTIVITY_KIND_{what}" for what in ("KERNEL", "MEMCPY", "MEMSET"))
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"  # a row for each launch of a graph; its kernels are nowhere else
_CALLS, _RANGES = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
_OF_GPU = (_KERNELS, _COPIES, _SETS, _GRAPHS)
_PROCESS_SHIFT = 24  # a global thread number is that of its process and, in the lowest 24 bits, its own
_THREAD = 2**_PROCESS_SHIFT - 1

# CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind, as Nsight exports them
_DIRECTIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}
_MEMORIES = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}
_PUSHED, _STARTED = 59, 60  # NVTX_EVENTS.eventType of ranges that have ended
_VERSION = re.compile(r"_(v\d+|ptsz|ptds)$")  # of a function of CUDA's, at the end of its name


def read(content: Content, blocks: Iterator[bytes], memory: Memory, calls: Path | None) -> Trace:
    """See `diagnose.trace.formats.Reader`. Of several processes it is the one with most work on GPUs."""
    lanes = Lanes()
    with opened(blocks, content.name, EXPORT) as database:
        export = _Export(database, content.name)
        for batch in memory.watched(content, export.events(), lambda: lanes.nbytes + export.text_bytes):
            lanes.add(batch)
        file = export.about()
        graphs_whole = export.has_whole_graphs()
    told = [
        _RECORDED if lanes.host.count else _NO_CALLS,
        *export.left_out(),
        *([_GRAPHS_WHOLE] * graphs_whole),
    ]
    return trace_of(content.name, lanes, file, Damage(tuple(told)))


_RECORD = "Record with nsys profile --trace=cuda,nvtx, and export with nsys export --type sqlite."
_OF_ROCPROF = "This is rocprofv3's: of it JSON is read, rocprofv3 --runtime-trace --output-format json."
_RECORDED = (
    "Recorded with Nsight Systems, not with torch.profiler: source lines and shapes are not known, and "
    "operators only where torch marked them (torch.autograd.profiler.emit_nvtx)."
)
_NO_CALLS = f"{_RECORDED} Calls of CUDA were not recorded (nsys profile --trace=cuda,nvtx)."
_GRAPHS_WHOLE = (
    "CUDA graphs were recorded as a whole: which kernels run in them is not known. Record with nsys profile "
    "--cuda-graph-trace=node to know."
)


class _Process(NamedTuple):
    number: int  # as Nsight counts it; the lowest 24 bits are 0
    gpu_ns: int


class _Export:
    """What an export tells, as events of torch.profiler's. Raises TraceUnreadable where it is no export, or
    one of nothing that ran.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._tables = database, database.tables
        if "StringIds" not in self._tables or not self._tables.keys() & {*_OF_GPU, _CALLS, _RANGES}:
            raise TraceUnreadable(
                f"{name} is a database, but no export of Nsight Systems with work on a GPU.",
                saw=f"{len(self._tables)} tables, none of CUDA's activities",
                do=_OF_ROCPROF if any("rocpd" in table for table in self._tables) else _RECORD,
            )
        self._processes = self._found_processes()
        self._process = self._processes[0].number if self._processes else None
        self._texts = dict(self._all("StringIds", "id", "value"))
        self.text_bytes = sum(len(text) for text in self._texts.values() if isinstance(text, (str, bytes)))

    def _found_processes(self) -> list[_Process]:
        """Those with work on GPUs, that with most of it first."""
        gpu_ns: dict[int, int] = {}
        for table in _OF_GPU:
            for process, start, end in self._all(table, "globalPid", "start", "end"):
                if isinstance(process, int):
                    gpu_ns[process] = gpu_ns.get(process, 0) + _length(start, end)
        found = [_Process(number, taken) for number, taken in gpu_ns.items()]
        return sorted(found, key=lambda process: (-process.gpu_ns, process.number))

    def left_out(self) -> list[str]:
        """In words."""
        others = len(self._processes) - 1
        if others < 1:
            return []
        whom = f"{others} processes" if others > 1 else "process"
        return [
            f"The export holds {others + 1} processes with work on GPUs. The one with most is told of; the "
            f"other {whom} {'are' if others > 1 else 'is'} left out."
        ]

    def has_whole_graphs(self) -> bool:
        return any(process == self._process for (process,) in self._all(_GRAPHS, "globalPid"))

    def events(self) -> Iterator[list[Event]]:
        """All of the process, some at a time."""
        for rows in self._some(_RANGES, "start", "end", "eventType", "globalTid", "text", "textId"):
            yield _made(self._range(*row) for row in rows)
        for rows in self._some(_CALLS, "start", "end", "globalTid", "correlationId", "nameId"):
            yield _made(self._call(*row) for row in rows)
        of_gpu: dict[str, tuple[tuple[str, ...], Callable[..., Event | None]]] = {
            _KERNELS: (("demangledName", "shortName"), self._kernel),
            _COPIES: (("bytes", "copyKind", "srcKind", "dstKind"), self._copy),
            _SETS: (("bytes",), self._set),
            _GRAPHS: (("graphId",), self._graph),
        }
        for table, (columns, made) in of_gpu.items():
            for rows in self._some(table, "start", "end", *_ON_GPU, *columns):
                yield _made(made(start, end, row[:4], *row[4:]) for start, end, *row in rows)

    def about(self) -> TraceFile:
        """The machine's GPUs, and when the recording began."""
        gpus = [
            {
                "id": number,
                "name": name,
                "totalGlobalMem": total,
                "numSms": multiprocessors,
                "computeMajor": major,
                "computeMinor": minor,
            }
            for number, name, total, multiprocessors, major, minor in self._all(
                "TARGET_INFO_GPU", "id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor"
            )
            if isinstance(name, str)
        ]
        begun = [began for (began,) in self._all("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")]
        return TraceFile(
            events=[],
            deviceProperties=gpus or None,
            baseTimeNanoseconds=begun[0] if begun and isinstance(begun[0], int) else None,
        )

    def _all(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        for rows in self._some(table, *columns):
            yield from rows

    def _some(self, table: str, *columns: str) -> Iterator[list[tuple[Any, ...]]]:
        """NULL for columns that this version has not; nothing for a table that it has not."""
        if table not in self._tables:
            return iter(())
        known = self._tables[table]
        wanted = ", ".join(quoted(column) if column in known else "null" for column in columns)
        return self._database.rows(f"select {wanted} from {quoted(table)}")

    def _range(self, start: Any, end: Any, kind: Any, thread: Any, text: Any, text_id: Any) -> Event | None:
        if kind not in (_PUSHED, _STARTED) or end is None or not self._is_ours(thread):
            return None
        whole = text if isinstance(text, str) else self._texts.get(text_id, "")
        category, name, args = range_of(whole)
        return self._on_host(category, name, start, end, thread, args)

    def _call(self, start: Any, end: Any, thread: Any, correlation: Any, name: Any) -> Event | None:
        if not self._is_ours(thread):
            return None
        called = _VERSION.sub("", str(self._texts.get(name, "")))
        category = "cuda_runtime" if called.startswith("cuda") else "cuda_driver"
        return self._on_host(category, called, start, end, thread, Args(correlation=correlation))

    def _is_ours(self, thread: Any) -> bool:
        """Of the process that is told of; without work on a GPU there is no such one."""
        if not isinstance(thread, int):
            return False
        return self._process is None or thread >> _PROCESS_SHIFT == self._process >> _PROCESS_SHIFT

    def _on_host(
        self, category: str, name: str, start: Any, end: Any, thread: int, args: Args | None = None
    ) -> Event | None:
        pid, tid = (thread >> _PROCESS_SHIFT) & _THREAD, thread & _THREAD
        return _event(category, name, start, end, pid, tid, args)

    def _kernel(
        self, start: Any, end: Any, on_gpu: tuple[Any, ...], long_name: Any, short_name: Any
    ) -> Event | None:
        name = self._texts.get(long_name) or self._texts.get(short_name) or "kernel"
        return self._on_gpu("kernel", str(name), start, end, on_gpu)

    def _copy(
        self, start: Any, end: Any, on_gpu: tuple[Any, ...], size: Any, kind: Any, source: Any, target: Any
    ) -> Event | None:
        memories = f"({_MEMORIES.get(source, 'Unknown')} -> {_MEMORIES.get(target, 'Unknown')})"
        name = f"Memcpy {_DIRECTIONS.get(kind, 'Unknown')} {memories}"
        return self._on_gpu("gpu_memcpy", name, start, end, on_gpu, size)

    def _set(self, start: Any, end: Any, on_gpu: tuple[Any, ...], size: Any) -> Event | None:
        return self._on_gpu("gpu_memset", "Memset (Device)", start, end, on_gpu, size)

    def _graph(self, start: Any, end: Any, on_gpu: tuple[Any, ...], number: Any) -> Event | None:
        return self._on_gpu("kernel", f"CUDA graph {number}", start, end, on_gpu)

    def _on_gpu(
        self, category: str, name: str, start: Any, end: Any, on_gpu: tuple[Any, ...], size: Any = -1
    ) -> Event | None:
        process, device, stream, correlation = on_gpu
        if process != self._process:
            return None
        args = Args(correlation=correlation, device=device, stream=stream, bytes=size)
        return _event(category, name, start, end, device, stream, args)


_ON_GPU = ("globalPid", "deviceId", "streamId", "correlationId")


def _made(events: Iterable[Event | None]) -> list[Event]:
    return [event for event in events if event is not None]


def _event(
    category: str, name: str, start: Any, end: Any, pid: Any, tid: Any, args: Args | None
) -> Event | None:
    """Nothing for times that are none."""
    length = _length(start, end)
    if length < 0:
        return None
    return Event("X", category, name, pid, tid, start / 1000, length / 1000, args)


def _length(start: Any, end: Any) -> int:
    """-1 for times that are none."""
    known = isinstance(start, int) and isinstance(end, int) and end >= start
    return end - start if known else -1

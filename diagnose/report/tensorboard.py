"""`<out>/tb/`: a folder that TensorBoard opens. Written with TensorBoard's own record format,
without torch and without TensorFlow.

The recorded traces lie in one folder each, the layout that the PyTorch profiler plugin (torch_tb_profiler)
calls a run. XProf shows none of them: it reads no Chrome traces.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from diagnose.document import savings
from diagnose.document.model import Document
from diagnose.document.text import prose
from diagnose.report.languages.pages import markdown_spoken
from diagnose.report.markdown import markdown, plan_table
from diagnose.trace.content import is_chrome_trace
from diagnose.trace.source import Source, is_url, opened, shown

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary

_SUFFIX = ".diagnose"  # tells our event files from others in the folder
_RECORDED = "A step while the timeline was recorded, ms: the profiler slows it"
_PREDICTED = "A step with that many fixes of the plan made, predicted, ms"


def write_tensorboard(document: Document, picture: dict[str, Any] | None, source: Source, out: Path) -> Path:
    """Write `<out>/tb/` and return it; `source` is the run folder, the trace file or its
    URL, `picture` has the memory's curves.

    Raises OSError, and UsageError for a URL.
    """
    folder = out / "tb"
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(f"events.out.tfevents.*{_SUFFIX}"):
        stale.unlink()
    _write_events([*_of_document(document), *_of_memory(picture)], folder)
    for name, trace in _traces(source, document.ranks.representative if document.ranks else 0):
        _link(
            trace, folder / name / ("rank0.pt.trace.json" + (".gz" if shown(trace).endswith(".gz") else ""))
        )
    return folder


# ---- events: text and scalars


def _write_events(summaries: Iterable[tuple[int, Summary]], folder: Path) -> None:
    file, write = event_file(folder)
    with file:
        for step, summary in summaries:
            write(step, summary)


def event_file(folder: Path) -> tuple[IO[bytes], Callable[[int, Summary], None]]:
    """A new file of events in the folder, which is made, and what adds one to it. Raises OSError."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder.mkdir(parents=True, exist_ok=True)
    now = time.time()
    path = folder / f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.0{_SUFFIX}"
    file = path.open("wb")
    records = RecordWriter(file)
    records.write(Event(wall_time=now, file_version="brain.Event:2").SerializeToString())

    def write(step: int, summary: Summary) -> None:
        records.write(Event(wall_time=time.time(), step=step, summary=summary).SerializeToString())

    return file, write


def _of_document(document: Document) -> Iterator[tuple[int, Summary]]:
    yield 0, _text("diagnose/report", markdown_spoken(markdown(document, collapsible=False)))
    yield 0, _text("diagnose/findings", plan_table(document) or prose(document.headline))
    steps = document.steps
    yield from _curve("step_ms/plain", enumerate(steps.plain_series_ms), "A step without profiler, ms")
    yield from _curve("step_ms/recorded", enumerate(steps.timeline_series_ms), _RECORDED)
    yield from _curve("step_ms/predicted", enumerate(_with_fixes_ms(document)), _PREDICTED)


def _with_fixes_ms(document: Document) -> Iterator[float]:
    """The step as it is, and after each fix of the plan as far as that is predicted."""
    now_ms = savings.average_ms(document)
    if now_ms is not None:
        yield now_ms
    yield from (row.step_ms_after for row in document.plan if row.step_ms_after is not None)


def _of_memory(picture: dict[str, Any] | None) -> Iterator[tuple[int, Summary]]:
    for curve in (picture or {}).get("memory", []):
        if curve["x_title"] != "step":  # TensorBoard counts steps, not milliseconds
            continue
        name = re.sub(r"[^a-z0-9]+", "_", curve["title"].lower()).strip("_")
        points = zip(curve["x"], curve["bytes"], strict=True)
        yield from _curve(f"used_bytes/{name}", points, f"{curve['title']}, bytes")


def _curve(tag: str, points: Iterable[tuple[int, float]], description: str) -> Iterator[tuple[int, Summary]]:
    """A scalar by step; nothing of a single point, which would be a chart of one dot."""
    known = list(points)
    if len(known) > 1:
        yield from ((step, scalar(tag, value, description)) for step, value in known)


def _text(tag: str, body: str) -> Summary:
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING
    from tensorboard.plugins.text.metadata import create_summary_metadata

    tensor = TensorProto(dtype=DT_STRING, string_val=[body.encode("utf-8", "replace")])
    return Summary(
        value=[
            Summary.Value(
                tag=tag, tensor=tensor, metadata=create_summary_metadata(display_name=None, description="")
            )
        ]
    )


def scalar(tag: str, value: float, description: str) -> Summary:
    """A number under a name."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_FLOAT
    from tensorboard.plugins.scalar.metadata import create_summary_metadata

    tensor = TensorProto(dtype=DT_FLOAT, float_val=[value])
    return Summary(
        value=[
            Summary.Value(
                tag=tag,
                tensor=tensor,
                metadata=create_summary_metadata(display_name=None, description=prose(description)),
            )
        ]
    )


# ---- traces


def _traces(source: Source, rank: int) -> Iterator[tuple[str, Source]]:
    """The traces of that rank that a profiler plugin can read, by the name of the plugin's run."""
    if isinstance(source, Path) and source.is_dir():
        for path in sorted((source / f"rank{rank}").glob("*.pt.trace.json*")):
            yield path.name.split(".", 1)[0], path
    elif shown(source).endswith((".json", ".gz")) and is_chrome_trace(source):
        yield "trace", source


def _link(trace: Source, link: Path) -> None:
    """A hard link where the file system allows one: traces are large."""
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    if not is_url(trace):
        with suppress(OSError):
            os.link(Path(trace).resolve(), link)
            return
    with opened(trace) as file, link.open("wb") as copy:
        shutil.copyfileobj(file, copy)

"""Chrome traces, as torch.profiler writes them, to typed tables. A reader: see `diagnose.trace.formats`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from diagnose.errors import TraceUnreadable
from diagnose.trace.batches import Events
from diagnose.trace.content import Content
from diagnose.trace.decode import TraceFile
from diagnose.trace.events import Lanes
from diagnose.trace.memory import Memory
from diagnose.trace.other_files import RECORD_HINT
from diagnose.trace.repair import Damage
from diagnose.trace.schema import Trace
from diagnose.trace.tables import trace_of
from diagnose.trace.writers import refuse_other_writers
from diagnose.trace.xla_chrome import XlaChrome
from diagnose.trace.xla_events import TOLD


def read(content: Content, blocks: Iterator[bytes], memory: Memory, calls: Path | None) -> Trace:
    """See `diagnose.trace.formats.Reader`. Times keep the file's full precision (`diagnose.trace.clock`)."""
    lanes, file, damage = _lanes(content, blocks, memory)
    refuse_other_writers(lanes.others, content.name, lanes.count, lanes.host.count, lanes.device.count)
    return trace_of(content.name, lanes, file, damage, calls)


def _lanes(content: Content, blocks: Iterator[bytes], memory: Memory) -> tuple[Lanes, TraceFile, Damage]:
    """The file's events sorted into lanes, its top level, and what was lost."""
    lanes, of_xla = Lanes(), XlaChrome()
    events = Events(memory.watched(content, blocks, lambda: lanes.nbytes + events.waiting))
    for batch in events.batches():
        lanes.add(of_xla.translated(batch))
    lanes.add(of_xla.last())
    if events.file.events is None:
        start = content.start[:60].decode("utf-8", "replace")
        raise TraceUnreadable(
            f"{content.name} is JSON, but no trace: it has no traceEvents.",
            saw=f"it starts with {start!r}",
            do=RECORD_HINT,
        )
    damage = events.damage
    if content.cut_off:
        packed = "The compressed file is cut off or damaged: what came before that was read."
        damage = Damage((packed, *damage.sentences), damage.lost, cut_off=True)
    if of_xla.translation:
        events.file.framework = of_xla.translation.framework
        damage = damage._replace(sentences=(TOLD[of_xla.translation.framework], *damage.sentences))
    return lanes, events.file, damage

"""From a recording to its reports: the one way that every command goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from diagnose.analyse import analysis_of
from diagnose.errors import TraceUnreadable
from diagnose.patch.write import with_patch
from diagnose.picture.picture import write_picture
from diagnose.report.document import Document
from diagnose.report.write import write_reports
from diagnose.trace.source import Source

PICTURE, ANNOTATED = "picture.json.gz", "annotated.trace.json.gz"


def report(source: Source | Sequence[Source], out: Path, **reading: Any) -> Document:
    """Analyse a run folder, a trace file, its URL, or the traces of one job, write all reports into `out`, and return the result document.

    ``reading`` are options of `diagnose.trace.reader.read_trace`. Raises as `analysis_of` does, and OSError.
    """
    analysis = analysis_of(source, **reading)
    document = written(analysis.document, analysis.picture, analysis.source, out)
    with suppress(TraceUnreadable):  # the report says how the file is damaged
        analysis.write_annotated(out / ANNOTATED)
    return document


def written(document: Document, picture: dict[str, Any], source: Source, out: Path) -> Document:
    """Write what can be made of the two documents into `out`, the patch included, and return the result document. Raises OSError."""
    document = with_patch(document, out)
    write_reports(document, picture, source, out)
    write_picture(picture, out / PICTURE)
    return document

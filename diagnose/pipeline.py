"""From a recording to its analysis and its reports: the one way that every command goes.

What only files and watched runs need is imported there: a summary comes first, and somebody waits for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from diagnose.document.beside import with_beside
from diagnose.document.build import result_document
from diagnose.document.measurements import proven_ms, verification_in
from diagnose.document.model import Document
from diagnose.errors import DiagnoseError, TraceUnreadable
from diagnose.judge.findings import judge
from diagnose.judge.rules import load_rules
from diagnose.measure.account import RowAccount, account
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.measure.sources import Sources
from diagnose.predict.plan import Assessed, assess
from diagnose.predict.prediction import Prediction
from diagnose.profiles.counters import CountersSummary
from diagnose.profiles.summary import ProfileSummary
from diagnose.ranks.load import measured_rank
from diagnose.report.patch import with_patch
from diagnose.report.start import write_start
from diagnose.report.write import write_reports, written_into
from diagnose.trace.content import is_chrome_trace
from diagnose.trace.freed import give_back
from diagnose.trace.source import Source, is_url

PICTURE, ANNOTATED = "picture.json.gz", "annotated.trace.json.gz"


def analyse(source: Source | Sequence[Source], **reading: Any) -> Document:
    """The result document of a run folder, a trace, or the traces of one job.

    Raises as `analysis_of` does.
    """
    return analysis_of(source, **reading).document


def analysis_of(source: Source | Sequence[Source], **reading: Any) -> Analysis:
    """The analysis of a run folder, a trace, or the traces of one job; ``reading`` are options of
    `diagnose.trace.reader.read_trace`.

    Of several ranks it is that of the one which stands for the job. Raises TraceUnreadable or UsageError (a
    lone trace that cannot be read), DiagnoseError (damaged run files, no rank that can be read).
    """
    return Analysis(*measured_rank(source, **reading))


class Analysis:
    """All that reports are made of, each made when it is first asked for.

    ``source``: what was measured was read from it.
    """

    def __init__(self, measured: Measured, source: Source | None = None) -> None:
        self.source = measured.recording.source if source is None else source
        self._measured = measured
        self._prediction = Prediction(measured)
        self._sources = Sources(measured.recording)
        self._verification = verification_in(measured.recording.proof)

    @cached_property
    def document(self) -> Document:
        """The result document."""
        spent = self._account  # needs the most memory, and so comes before what the prediction keeps
        return result_document(
            self._measured, self._prediction, self._assessed, spent, self._sources, self._verification
        )

    @cached_property
    def picture(self) -> dict[str, Any]:
        """A step as a timeline, as it is and after each fix of the plan
        (docs/architecture.md, *The picture*).
        """
        from diagnose.report.timeline.timeline import picture

        return picture(self._measured, self._prediction, self._assessed, self._sources)

    def write_annotated(self, path: Path) -> None:
        """Write the timeline's trace with what was found in it; nothing where no complete step was recorded,
        and for a format that is no Chrome trace.

        A trace at a URL is fetched once more. Raises OSError, UsageError, and TraceUnreadable for a file so
        damaged that nothing can be put into it.
        """
        timeline = self._measured.recording.timeline
        if timeline is None:
            return
        trace = self.source if is_url(self.source) else Path(timeline.source)
        if is_chrome_trace(trace):  # others cannot hold them
            from diagnose.report.timeline.annotated import write_annotated
            from diagnose.report.timeline.annotations import annotation_events

            events = annotation_events(self._measured, self._assessed, self.document)
            write_annotated(trace, events, path)

    @cached_property
    def _account(self) -> list[RowAccount]:
        give_back()
        rows = account(self._measured)
        give_back()
        return rows

    @cached_property
    def _assessed(self) -> list[Assessed]:
        findings = judge(load_rules(), self._measured)
        give_back()
        assessed = assess(findings, self._measured, self._prediction, proven_ms(self._verification))
        give_back()
        return assessed


def report(
    source: Source | Sequence[Source],
    out: Path,
    tell: Callable[[Document], None] | None = None,
    beside: Sequence[ProfileSummary | CountersSummary] = (),
    **reading: Any,
) -> Document:
    """Analyse a run folder, a trace file, its URL, or the traces of one job, write all reports into
    `out`, and return the result document.

    ``tell`` gets the document before the files are made, which can take as long again. ``beside``: what
    other profilers recorded of the same run. ``reading`` are options of `diagnose.trace.reader.read_trace`.
    Raises as `analysis_of` does, and OSError.
    """
    analysis = analysis_of(source, **reading)
    document = with_beside(with_snaps(analysis.document, analysis.source), beside)
    document = with_commands(document, analysis.source, out)
    try:
        if tell is not None:
            tell(document)
    finally:  # whoever reads what is told may be gone
        write_files(document, analysis.picture, analysis.source, out)
        with suppress(TraceUnreadable):  # the report says how the file is damaged
            analysis.write_annotated(out / ANNOTATED)
    return document


def with_snaps(document: Document, source: Source) -> Document:
    """What the recordings in the midst of a watched run tell against its begin; each gets its own reports, in
    its own folder. One that cannot be read tells nothing.
    """
    if document.watched is None or is_url(source):
        return document
    from diagnose.compare.since import changed_since
    from diagnose.run.child.watching.windows import snap_folder
    from diagnose.run.record import write_record

    run, snaps = Path(source), []
    for snap in document.watched.snaps:
        folder = Path(snap_folder(str(run), snap.number))
        with suppress(DiagnoseError, OSError):
            if not (folder / "run.json").exists():
                about = json.loads((run / "run.json").read_text(encoding="utf-8"))
                write_record(folder, about | {"snap_of": run.name})
            begin, now = document, report(folder, folder)
            if document.watched.ranks:  # which may have other representatives in the two
                begin, now = (_of_rank(where, document.watched.rank) for where in (run, folder))
            snap = replace(snap, changed=changed_since(begin, now))
        snaps.append(snap)
    return replace(document, watched=replace(document.watched, snaps=snaps))


def _of_rank(run: Path, rank: int) -> Document:
    """Of that one alone. Raises as `load_recording` does."""
    return Analysis(Measured(load_recording(run, rank=rank)), run).document


def with_commands(document: Document, source: Source, out: Path) -> Document:
    """The document with what to type next; writes the patch and fixes.sh into `out`. Raises OSError."""
    document = replace(with_patch(document, out), written=written_into(out, source, document))
    write_start(document, out)
    return document


def write_files(document: Document, picture: dict[str, Any], source: Source, out: Path) -> None:
    """Write what can be made of the two documents into `out`. Raises OSError."""
    from diagnose.report.timeline.timeline import write_picture

    write_reports(document, picture, source, out)
    write_picture(picture, out / PICTURE)

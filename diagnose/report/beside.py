"""Other recordings of the same run, given beside the trace, as tables that every report can show."""

from __future__ import annotations

from diagnose.document.model import BesideProfile, BesideRow, Document
from diagnose.document.text import clean, share, significant
from diagnose.report.operators import Table

HEADING = "Beside this recording"
_MOST_KINDS = 5
_NOTE = (
    "These shares are of the other recording, start-up included, and not of a step. Share has the library "
    "code that was called in it; Total has your other code as well."
)


def tables(document: Document) -> list[Table]:
    """The user's functions or lines in each profile."""
    return [_table(profile) for profile in document.beside if profile.rows]


def _table(profile: BesideProfile) -> Table:
    whole = f"{significant(profile.duration_s)} s"
    kinds = ", ".join(
        f"{clean(kind.title).replace('`', '')} {share(kind.share)}" for kind in profile.kinds[:_MOST_KINDS]
    )
    return Table(
        f"{clean(profile.file)} ({clean(profile.profiler)}, {whole} on the CPU)",
        ("Your code", "Share", "Total"),
        [(_named(row), share(row.share), share(row.total_share)) for row in profile.rows],
        (f"Its time went to: {kinds}.", _NOTE),
    )


def _named(row: BesideRow) -> str:
    place = f"{row.file}:{row.line}" if row.line > 0 else row.file
    return f"{row.function} ({place})" if row.function and row.file else row.function or place

"""What the script does seldom, and did in no recorded step."""

from __future__ import annotations

from diagnose.document.text import count
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources
from diagnose.trace.notes import UNSEEN_WORK, Note

_MOST = 3


def unseen_work(recording: Recording, sources: Sources) -> list[Note]:
    """One for each of the loop's conditions that came true in no plain step."""
    unseen = [told for told in recording.facts.get("rare_work") or [] if not told["seen"]]
    return [
        Note(
            UNSEEN_WORK,
            f"What {sources.shown(told['file'])}:{told['line']} does {_when(told['every'])} is in no number "
            "here, for it came in no step that was timed: record once where it comes sooner.",
        )
        for told in sorted(unseen, key=lambda told: told["every"] or 0)[:_MOST]
    ]


def _when(every: int | None) -> str:
    return f"every {count(every)} steps" if every else "after each epoch"

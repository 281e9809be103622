"""What the script does seldom, and did in no recorded step."""

from __future__ import annotations

from diagnose.document.text import count
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources

_MOST = 3


def unseen_work(recording: Recording, sources: Sources) -> list[str]:
    """A sentence for each of the loop's conditions that came true in no plain step."""
    unseen = [told for told in recording.facts.get("rare_work") or [] if not told["seen"]]
    return [
        f"`{sources.line(told['file'], told['line']).strip()}` "
        f"({sources.shown(told['file'])}:{told['line']}) comes true every {count(told['every'])} steps, and "
        "did in none that was timed: what it does then is in no number here. Record once with a smaller "
        "number to see its cost."
        for told in sorted(unseen, key=lambda told: told["every"])[:_MOST]
    ]

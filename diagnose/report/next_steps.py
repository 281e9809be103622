"""What to type once a report is read: take the patch, measure the fixes, run again. Plain text."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

from diagnose.document.model import Document, Finding
from diagnose.document.queries import (
    automatic,
    framework,
    has_script,
    on_one_machine,
    python_of,
    recorded_by_us,
    recorded_inside,
    report_folder,
    run_command,
    run_folder,
    shell_line,
)


def patched(document: Document) -> str:
    """Which rows of the plan are in fixes.diff, and how to use it; empty if there is none."""
    rules = document.patch.patched if document.patch else []
    fixes = _numbered(rules, document)
    return f"`{patch_command(document)}` makes {fixes}; type it in `{document.run.cwd}`." if fixes else ""


def _numbered(rules: Collection[str], document: Document) -> str:
    """Those of them that are in the plan: `fix 2`, `fixes 1, 2 and 4`; empty where none is."""
    numbers = [str(number) for number, row in enumerate(document.plan, 1) if row.rule in rules]
    if len(numbers) < 2:
        return "".join(f"fix {number}" for number in numbers)
    return f"fixes {', '.join(numbers[:-1])} and {numbers[-1]}"


def patch_command(document: Document) -> str:
    """What to type to make the fixes of fixes.diff; empty if there is none."""
    if not document.patch or not document.patch.patched:
        return ""
    return shell_line(["git", "apply", str(PurePath(report_folder(document)) / "fixes.diff")])


def verify_command(document: Document) -> str:
    """What to type to learn what the fixes really gain; empty where none can be tried, or all have been: what
    was too noisy to say is measured on.
    """
    untried = _untried(document)
    if not untried or not _can_start(document):
        return ""
    folder = run_folder(document)  # without one it is the newest run
    options = ["--allow", "numerics"] if any(finding.fix.safety == "numerics" for finding in untried) else []
    return shell_line([python_of(document), "-m", "diagnose", "verify", *filter(None, [folder]), *options])


def _untried(document: Document) -> list[Finding]:
    """What `verify` can make, and has not told the saving of."""
    unclear = (None, "too_noisy", "less_work")
    return [finding for finding in automatic(document) if finding.saving.verdict in unclear]


def verifies(document: Document) -> str:
    """What that command does."""
    fixes = _numbered([finding.rule for finding in _untried(document)], document)
    return f"measures {fixes or 'alternatives to the plan'} by running the script as it is and changed"


def _can_start(document: Document) -> bool:
    """Whether a command can run the script again here, to its end."""
    by_command = recorded_by_us(document) and not recorded_inside(document) and on_one_machine(document)
    return by_command and has_script(document) and document.run.ended not in ("crashed", "killed")


def to_verify(document: Document) -> str:
    """The same as a sentence."""
    command = verify_command(document)
    return f"`{command}` {verifies(document)}." if command else ""


def then(document: Document) -> str:
    """What to do next; where there is a command for it, its introduction."""
    if framework(document) != "torch":
        return "Then record again; `python -m diagnose compare OLD NEW` says what changed."
    if not recorded_by_us(document):
        how = "`python -m diagnose YOUR_SCRIPT.py`"
        return f"For exact lines and measured fixes record the script itself: {how}."
    compare = shell_line([python_of(document), "-m", "diagnose", "compare", run_folder(document) or "OLD"])
    if recorded_inside(document):
        return f"Then run the block again, into another folder; `{compare} NEW` says what changed."
    if document.run.ended in ("crashed", "killed"):
        return f"First fix what ended the script, then run it again{':' if run_command(document) else '.'}"
    where = "" if has_script(document) else " where it was recorded"
    return f"Then run it again{where}; `{compare}` says what changed{'.' if where else ':'}"

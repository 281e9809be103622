"""fixes.diff beside the report, and what the report says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs, to_builtins

from diagnose.document.model import Document, Finding, Patch
from diagnose.document.queries import planned
from diagnose.document.text import clean
from diagnose.fixes.patch.unified import as_bytes

if TYPE_CHECKING:
    from diagnose.fixes.patch.diff import Patches

FILE = "fixes.diff"
NOT_VERIFIED = "it changes the last digits of results: `verify --allow numerics` tries it first"


def patches_of(document: Document) -> Patches:
    """The plan's fixes as changes of the script's files: those that leave results as
    they are, and those measured to help.
    """
    found = _diff_of([one for one in planned(document) if _is_safe(one)], document)
    numerics = {
        one.rule: NOT_VERIFIED for one in planned(document) if one.fix.intervention and not _is_safe(one)
    }
    return replace(found, unpatched=found.unpatched | numerics)


def verified_patches(document: Document) -> Patches:
    """Only of fixes that were measured to make the step faster, all of them at once."""
    faster = [one for one in planned(document) if one.saving.verdict == "faster"]
    together = _faster_together(faster, document)
    found = _diff_of(together, document)
    others = f"it was not measured to be faster together with {', '.join(one.rule for one in together)}"
    left = {one.rule: others for one in faster if one not in together}
    return replace(found, unpatched=found.unpatched | left)


def _faster_together(faster: list[Finding], document: Document) -> list[Finding]:
    """Those of the set that was measured as one; where that did not gain, the one that gains most alone."""
    proof = document.verification
    together = proof.together if proof else None
    if together and together.verdict == "faster":
        return [one for one in faster if one.rule in together.rule.split(", ")]
    beside = {tried.rule for tried in proof.tried if tried.beside} if proof else set()
    alone = [one for one in faster if one.rule not in beside]
    return sorted(alone, key=_measured_ms)[-1:]


def _measured_ms(finding: Finding) -> float:
    return finding.saving.measured_ms.best_guess if finding.saving.measured_ms else 0.0


def with_patch(document: Document, out: Path) -> Document:
    """Write fixes.diff into `out` if there is anything in it; the document with `patch` filled in.

    Raises OSError.
    """
    path = out / FILE
    patches = patches_of(document) if planned(document) and _is_at_hand(document) else None
    if patches is not None and patches.diff:
        path.write_bytes(as_bytes(patches.diff))
    else:
        path.unlink(missing_ok=True)
    told = (
        Patch(
            patched=list(patches.patched),
            unpatched=patches.unpatched,
            lines={rule: _changed_lines(rule, document) for rule in patches.patched},
        )
        if patches
        else Patch(patched=[], unpatched={})
    )
    return structs.replace(document, patch=told)


def first_change(document: Document, out: Path) -> list[str]:
    """The lines that fixes.diff in `out` takes away and adds for the plan's first fix, with their
    `-` and `+`; empty where it holds none for it.
    """
    plan = planned(document)
    if not plan or not document.patch or plan[0].rule not in document.patch.patched:
        return []
    try:
        diff = (out / FILE).read_text("utf-8", "replace")
    except OSError:
        return []
    sites = {(site.file, site.line) for site in plan[0].fix.call_sites}
    places = sites | {(culprit.file, culprit.line) for culprit in plan[0].culprits}
    return next((lines for touched, lines in _hunks(diff) if touched & places), [])


def _hunks(diff: str) -> Iterator[tuple[set[tuple[str, int]], list[str]]]:
    """Each hunk's old lines that change, as places, and its lines with `-` and `+`."""
    file = ""
    for part in re.split(r"^(?=--- |@@ )", diff, flags=re.MULTILINE):
        head, *lines = part.split("\n")
        if head.startswith("--- "):
            file = head.removeprefix("--- a/").rstrip("\t")
        elif found := re.match(r"@@ -(\d+)", head):
            old = enumerate((line for line in lines if line[:1] in ("-", " ")), int(found[1]))
            places = {(file, number) for number, line in old if line[0] == "-"}
            yield places, [line for line in lines if line[:1] in ("-", "+")]


def _diff_of(findings: list[Finding], document: Document) -> Patches:
    # and libcst, which is slow to import: most reports need none of it
    from diagnose.fixes.patch.diff import fixes_diff

    return fixes_diff(
        [to_builtins(finding) for finding in findings], Path(document.run.cwd or ""), document.run.target
    )


def _changed_lines(rule: str, document: Document) -> list[str]:
    """What the fix of one rule alone changes."""
    lines = _diff_of([one for one in planned(document) if one.rule == rule], document).diff.splitlines()
    changed = [line for line in lines if line[:1] in "+-" and line[:4] not in ("--- ", "+++ ")]
    return [line[: len(line) - len(line[1:].lstrip(" "))] + clean(line[1:]) for line in changed]


def _is_at_hand(document: Document) -> bool:
    """Whether the folder the script ran in is on this machine; a trace has none."""
    cwd = document.run.cwd
    return cwd is not None and cwd != "" and Path(cwd).is_dir()


def _is_safe(finding: Finding) -> bool:
    return finding.fix.safety == "exact" or finding.saving.verdict == "faster"

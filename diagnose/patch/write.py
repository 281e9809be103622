"""fixes.diff beside the report, and what the report says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diagnose.patch.diff import Patches, fixes_diff
from diagnose.patch.unified import as_bytes
from diagnose.report.document import Document, Finding, planned

FILE = "fixes.diff"
NOT_VERIFIED = "it changes the last digits of results: `verify --allow numerics` tries it first"


def patches_of(document: Document) -> Patches:
    """The plan's fixes as changes of the script's files: those that leave results as they are, and those measured to help."""
    cwd = document["run"].get("cwd")
    if not cwd or not Path(cwd).is_dir():
        return Patches("", (), {})
    found = fixes_diff([one for one in planned(document) if _is_safe(one)], Path(cwd), document["run"]["target"])
    numerics = {one["rule"]: NOT_VERIFIED for one in planned(document) if one["fix"]["intervention"] and not _is_safe(one)}
    return replace(found, unpatched=found.unpatched | numerics)


def verified_patches(document: Document) -> Patches:
    """Only of fixes that were measured to make the step faster."""
    faster = [one for one in planned(document) if one["saving"]["verdict"] == "faster"]
    return fixes_diff(faster, Path(document["run"]["cwd"]), document["run"]["target"])


def with_patch(document: Document, out: Path) -> Document:
    """Write fixes.diff into `out` if there is anything in it; the document with `patch` filled in. Raises OSError."""
    patches = patches_of(document)
    path = out / FILE
    if patches.diff:
        path.write_bytes(as_bytes(patches.diff))
    else:
        path.unlink(missing_ok=True)
    return document | {"patch": {"patched": list(patches.patched), "unpatched": patches.unpatched}}


def _is_safe(finding: Finding) -> bool:
    return finding["fix"]["safety"] == "exact" or finding["saving"]["verdict"] == "faster"

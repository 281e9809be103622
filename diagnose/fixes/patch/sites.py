"""Where the fix of a finding is made, or why nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from diagnose.fixes.all import FIXES
from diagnose.fixes.fix import SEE, Fix, Where
from diagnose.fixes.patch.script import ANYWHERE, NoPatch

# What `verify` says of a fix that is not worth making. One about which it could not tell is still in.
MEASURED = {
    "failed": "the script failed with it",
    "not_held": "it did not take hold when it was tried",
    "changes_result": "measured: the losses change",
    "no_change": "measured: the step takes as long",
    "no_such_gain": "measured: it does not gain what was predicted",
    "slower": "measured: the step takes longer",
}
WORTH_MAKING = (None, "faster", "less_work", "too_noisy")

Finding = dict[str, Any]  # of the result document


class Site(NamedTuple):
    file: str
    line: int
    source: str  # the line as recorded, without indentation; empty where not known

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def sites_of(finding: Finding, script: str) -> list[Site]:
    """The lines to change; a line of ANYWHERE where only the file is known.

    Raises NoPatch with the reason if there are none.
    """
    where = _checked(finding).where
    blamed = [_site(culprit) for culprit in finding["culprits"]]
    sites = [_site(call) for call in finding["fix"].get("call_sites", [])]
    if where is Where.PROCESS:
        sites = [Site((sites[0].file if sites else script), ANYWHERE, "")]
    elif where is Where.BLAMED_LINE:
        sites = sites or blamed
    elif where is Where.FILE:
        files = dict.fromkeys([script, *(site.file for site in blamed)])
        sites = sites or [Site(file, ANYWHERE, "") for file in files]
    sites = [site for site in dict.fromkeys(sites) if site.file]
    if not sites:
        raise NoPatch("where the script makes the call is not known")
    return sites


def name_in(folder: Path, file: str) -> str:
    """The file's real place below the folder, with slashes. Raises NoPatch if it lies elsewhere."""
    try:
        return (folder / file).resolve().relative_to(folder.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        raise NoPatch("the file is not below the folder that the script runs in") from None


def _checked(finding: Finding) -> Fix:
    """The finding's automatic fix. Raises NoPatch if it is not made at a line, or is not worth making."""
    advice, verdict = finding["fix"], finding["saving"].get("verdict")
    fix = FIXES.get(advice.get("intervention", ""))
    if fix is None or fix.by_hand:
        raise NoPatch(fix.by_hand if fix else f"it is made by hand: {SEE}")
    if verdict not in WORTH_MAKING:
        raise NoPatch(MEASURED.get(verdict, f"measured: {verdict}"))
    if advice.get("arguments", {}) is None:
        raise NoPatch("this recording does not show the value to set")
    return fix


def _site(place: dict[str, Any]) -> Site:
    return Site(place["file"], place["line"], place.get("source", ""))

"""Where the fix of a finding is made, or why nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from diagnose.fixes.patch.edits import BY_HAND, SEE
from diagnose.fixes.patch.script import ANYWHERE, NoPatch

AT_THE_BLAMED_LINE = ("inference_mode", "non_blocking")  # the line that costs is itself the call to change
# without a known line, all their calls in the files concerned
IN_THE_FILE = ("anomaly_mode_off", "ddp", "optimizer")
OF_THE_PROCESS = ("backend_flags", "threads")  # set once, in the file that sets it already or is run
# What `verify` says of a fix that is not worth making. One about which it could not tell is still in.
MEASURED = {
    "failed": "the script failed with it",
    "not_held": "it did not take hold when it was tried",
    "changes_result": "measured: the losses change",
    "no_change": "measured: the step takes as long",
    "slower": "measured: the step takes longer",
}
WORTH_MAKING = (None, "faster", "too_noisy")

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
    _check(finding)
    fix, blamed = finding["fix"], [_site(one) for one in finding["culprits"]]
    known = [_site(one) for one in fix.get("call_sites", [])]
    if fix["intervention"] in OF_THE_PROCESS:
        found = [Site((known[0].file if known else script), ANYWHERE, "")]
    elif fix["intervention"] in AT_THE_BLAMED_LINE:
        found = known or blamed
    elif fix["intervention"] in IN_THE_FILE:
        found = known or [
            Site(file, ANYWHERE, "") for file in dict.fromkeys([script, *(one.file for one in blamed)])
        ]
    else:
        found = known
    found = [one for one in dict.fromkeys(found) if one.file]
    if not found:
        raise NoPatch("where the script makes the call is not known")
    return found


def name_in(folder: Path, file: str) -> str:
    """The file's real place below the folder, with slashes. Raises NoPatch if it lies elsewhere."""
    try:
        return (folder / file).resolve().relative_to(folder.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        raise NoPatch("the file is not below the folder that the script runs in") from None


def _check(finding: Finding) -> None:
    """Raises NoPatch for a fix that is not made at a line, or is not worth making."""
    fix, verdict = finding["fix"], finding["saving"].get("verdict")
    if not fix.get("intervention"):
        raise NoPatch(f"it is made by hand: {SEE}")
    if fix["intervention"] in BY_HAND:
        raise NoPatch(BY_HAND[fix["intervention"]])
    if verdict not in WORTH_MAKING:
        raise NoPatch(MEASURED.get(verdict, f"measured: {verdict}"))
    if fix.get("arguments", {}) is None:
        raise NoPatch("the value to set cannot be told from this recording")


def _site(place: dict[str, Any]) -> Site:
    return Site(place["file"], place["line"], place.get("source", ""))

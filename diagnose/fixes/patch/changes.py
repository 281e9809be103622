"""The patch of a fix by its name."""

from __future__ import annotations

from pkgutil import resolve_name

from diagnose.fixes.all import FIXES
from diagnose.fixes.fix import SEE, Arguments
from diagnose.fixes.patch.script import Change, NoPatch, Script

ALREADY_SO = "it is already so"


def patched(source: str, line: int, name: str, arguments: Arguments) -> str:
    """The source with the fix made at a line. Raises NoPatch with the reason."""
    script = Script(source)
    return script.changed(changes(script, line, name, arguments))


def changes(script: Script, line: int, name: str, arguments: Arguments) -> list[Change]:
    """What the fix changes; a line of `ANYWHERE` stands for all calls of the file.

    Raises NoPatch with the reason.
    """
    fix = FIXES.get(name)
    if fix is None or not fix.patch:
        raise NoPatch(fix.by_hand if fix else f"it is made by hand: {SEE}")
    made: list[Change] = resolve_name(f"{__package__}.{fix.patch}")(script, line, fix, arguments)
    if not made:
        raise NoPatch(ALREADY_SO)
    return made

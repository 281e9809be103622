"""What a target is: a script, a trace, a folder of traces, a run folder or one of our own commands."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Literal, get_args

from diagnose.errors import UsageError
from diagnose.trace.source import TRACE_SUFFIXES, is_url

Command = Literal["rules", "metrics", "whatif", "verify", "compare", "fleet", "accuracy"]
Kind = Literal["module", "script", "run", "trace", "traces"] | Command
COMMANDS: tuple[Command, ...] = get_args(Command)
SCRIPT_SUFFIXES = (".py", ".pyw", ".pyc", ".pyz")


def kind_of(target: str, *, module: bool = False) -> Kind:
    """What the target is. Raises UsageError if it is nothing we can work on."""
    if module:
        return "module"
    if command := next((one for one in COMMANDS if one == target), None):
        return command
    if is_url(target):
        return "trace"
    path = Path(target)
    if path.is_dir():
        return _kind_of_folder(path)
    if not path.exists():
        raise UsageError(f"there is no {target}", saw=f"working directory {Path.cwd()}", do=_nearest(path))
    if path.suffix in SCRIPT_SUFFIXES:
        return "script"
    return "trace" if target.endswith(TRACE_SUFFIXES) or _holds_a_trace(path) else "script"


def _kind_of_folder(folder: Path) -> Kind:
    if (folder / "run.json").is_file():
        return "run"
    if traces_in(folder):
        return "traces"
    if (folder / "__main__.py").is_file():
        return "script"
    raise UsageError(
        f"no traces in this folder: {folder}", saw=_contents(folder), do=f"name a folder that holds {', '.join(TRACE_SUFFIXES)} files"
    )


def _contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "") if names else "nothing in it"


def traces_in(folder: Path) -> list[Path]:
    """The folder's trace files by their names, sorted."""
    return sorted(path for path in folder.iterdir() if path.name.endswith(TRACE_SUFFIXES) and path.is_file())


def _holds_a_trace(path: Path) -> bool:
    """By its first bytes: compressed, JSON, or binary. No script begins like any of these."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", saw=str(error)) from error
    return head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or head.lstrip()[:1] in (b"{", b"[") or b"\0" in head


def _nearest(path: Path) -> str:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {folder / near[0]}?" if near else "check the path"

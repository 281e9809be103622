"""What a target is: a script, a trace, a folder of traces, a run folder, another profiler's recording, or a
snapshot of memory.
"""

from __future__ import annotations

import ast
import difflib
import re
import traceback
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from diagnose.errors import UsageError
from diagnose.profiles.reading import profile_format
from diagnose.run.target import warnings_left_to_python
from diagnose.trace.formats import TRACE_SUFFIXES, XPLANE
from diagnose.trace.other_files import SHELL_SCRIPT, SNAPSHOT, START_BYTES, OtherFile, by_bytes, by_name
from diagnose.trace.source import is_url

Kind = Literal["module", "script", "run", "trace", "traces", "profile", "snapshot"]
SCRIPT_SUFFIXES = (".py", ".pyw", ".pyc", ".pyz")
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # by gzip or zstd
_OTHER_LANGUAGES = {
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "csh",
    "tcsh",
    "perl",
    "ruby",
    "node",
    "julia",
    "lua",
    "php",
    "Rscript",
}
_LONGEST_SCRIPT = 2**24  # bytes
# what a report puts beside each other, and the copy of the trace that it is of
_OF_A_REPORT = ("report.json", "brief.json", "picture.json.gz", "annotated.trace.json.gz")
_KEPT_TRACE = Path("tb", "trace")
# Where profiles of TensorFlow and JAX lie below a log folder: a folder a run, called by its time.
_PROFILES = ("plugins/profile/*", "*/plugins/profile/*", "profile/*")
_BESIDE = (".trace.json", ".memory_profile.json")  # what the same profiler writes beside one, with less in it


def kind_of(target: str, *, module: bool = False, commands: Iterable[str] = ()) -> Kind:
    """What the target is. Raises UsageError if it is nothing we can work on.

    `commands`: what may have been meant as well where there is no such file.
    """
    if module:
        return "module"
    if is_url(target):
        return "trace"
    path = Path(target)
    if path.is_dir():
        return _kind_of_folder(path)
    if not path.exists():
        others = () if "/" in target else commands
        raise UsageError(
            f"there is no {target}", saw=f"working directory {Path.cwd()}", do=_nearest(path, others)
        )
    return _kind_of_file(path, target)


def _kind_of_folder(folder: Path) -> Kind:
    if (folder / "run.json").is_file():
        return "run"
    if traces_in(folder):
        return "traces"
    if (folder / "__main__.py").is_file():
        return "script"
    raise UsageError(
        f"no traces in this folder: {folder}",
        saw=_contents(folder),
        do=f"name a folder that holds {', '.join(TRACE_SUFFIXES)} files",
    )


def _contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return (
        ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        if names
        else "nothing in it"
    )


def traces_in(folder: Path) -> list[Path]:
    """The folder's trace files by their names, sorted. Of a report on a trace the trace that it keeps for
    TensorBoard; of a log folder without any the last profile of TensorFlow's or JAX's in it.
    """
    found = _whole_profiles(
        sorted(path for path in folder.iterdir() if path.name.endswith(TRACE_SUFFIXES) and path.is_file())
    )
    if not found and (profiles := _profiles_below(folder)):
        return traces_in(profiles[-1])
    if not (folder / _OF_A_REPORT[0]).is_file():
        return found
    kept = folder / _KEPT_TRACE
    of_others = [path for path in found if path.name not in _OF_A_REPORT]
    return of_others or (traces_in(kept) if kept.is_dir() else [])


def _profiles_below(folder: Path) -> list[Path]:
    """Folders of one run each that hold a trace, the last one last."""
    found = [run for pattern in _PROFILES for run in folder.glob(pattern) if run.is_dir()]
    return sorted(
        (run for run in found if any(path.name.endswith(TRACE_SUFFIXES) for path in run.iterdir())),
        key=lambda run: run.name,
    )


def _whole_profiles(found: list[Path]) -> list[Path]:
    """Without what lies beside a profile and tells less of the same host."""
    hosts = {path.name.partition(XPLANE.suffix)[0] for path in found if XPLANE.suffix in path.name}
    beside = {f"{host}{suffix}" for host in hosts for suffix in _BESIDE}
    return [path for path in found if not any(path.name.startswith(one) for one in beside)]


def _kind_of_file(path: Path, target: str) -> Kind:
    """By its first bytes, where these tell nothing by its name, and of a text that is left
    by whether it is a program in Python.
    """
    start = _start(path)
    if profile_format(start):
        return "profile"
    foreign = by_bytes(start)
    if foreign is SNAPSHOT:
        return "snapshot"
    if foreign and not _is_runnable_archive(path):
        raise _refusal(target, foreign, f"it starts with {start[:16]!r}")
    interpreter = _interpreter(start)
    if path.suffix in SCRIPT_SUFFIXES or foreign or (interpreter and interpreter not in _OTHER_LANGUAGES):
        return "script"
    if interpreter:
        raise _refusal(
            target,
            SHELL_SCRIPT._replace(what=f"a script for {interpreter}"),
            f"it starts with {start[:16]!r}",
        )
    if target.endswith(TRACE_SUFFIXES) or start.startswith(_PACKED) or re.match(rb'\s*\{\s*"', start):
        return "trace"
    if foreign := by_name(path.name):
        raise _refusal(target, foreign, f"its name ends in {path.suffix}")
    if start.lstrip()[:1] in (b"{", b"[") or b"\0" in start:
        return "trace"
    _refuse_data(path, target)
    return "script"


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(START_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", saw=str(error)) from error


def _interpreter(start: bytes) -> str:
    """The program that the first line of a script names, `bash` for `#!/usr/bin/env -S
    bash -e`; empty without such a line.
    """
    if not start.startswith(b"#!"):
        return ""
    words = start[2:].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word.rpartition("/")[2] for word in words if not word.startswith("-")]
    return next((name for name in names if name != "env"), "")


def _is_runnable_archive(path: Path) -> bool:
    """A zip archive that Python runs, as zipapp makes them."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "__main__.py" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _refuse_data(path: Path, target: str) -> None:
    """Raises UsageError for a text that is no program: lines of numbers and names can be valid
    Python, but they import and call nothing.
    """
    saw = "it imports and calls nothing"
    try:
        if _does_something(path):
            return
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        saw = "as Python: " + traceback.format_exception_only(type(error), error)[-1].strip()
    raise UsageError(
        f"{target} is neither a script in Python nor a trace",
        saw=saw,
        do="name a script, a trace of torch.profiler or a run folder",
    )


def _does_something(path: Path) -> bool:
    """Whether there is an import or a call in it. Raises SyntaxError if it is no Python."""
    if path.stat().st_size > _LONGEST_SCRIPT:
        return False
    with warnings_left_to_python():
        program = ast.parse(path.read_bytes())
    return any(isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)) for node in ast.walk(program))


def _refusal(target: str, foreign: OtherFile, saw: str) -> UsageError:
    return UsageError(
        f"{target} is {foreign.what}, neither a script in Python nor a trace of torch.profiler",
        saw=saw,
        do=foreign.do,
    )


def _nearest(path: Path, commands: Iterable[str]) -> str:
    folder = path.parent
    meant = {name: name for name in commands}
    if folder.is_dir():
        meant |= {entry.name: str(folder / entry.name) for entry in folder.iterdir()}
    near = difflib.get_close_matches(path.name, meant, n=1)
    return f"did you mean {meant[near[0]]}?" if near else "check the path"

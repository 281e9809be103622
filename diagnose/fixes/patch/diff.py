"""The fixes that can be made by themselves, as one diff of the user's own files, and that diff applied."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.errors import DiagnoseError
from diagnose.fixes.patch.changes import ALREADY_SO, changes
from diagnose.fixes.patch.file import EditedFile
from diagnose.fixes.patch.script import ANYWHERE, NoPatch
from diagnose.fixes.patch.sites import Finding, Site, name_in, sites_of
from diagnose.fixes.patch.unified import file_diff


@dataclass(frozen=True)
class FileChange:
    name: str  # relative to the folder, with slashes
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Patches:
    """``diff`` goes into a file by `unified.as_bytes`.

    A rule is in both others if only some of its calls could be changed.
    """

    diff: str
    patched: tuple[str, ...]  # rule ids
    unpatched: dict[str, str]  # rule id → reason
    files: tuple[FileChange, ...] = ()


def fixes_diff(findings: Sequence[Finding], folder: Path, script: str = "") -> Patches:
    """The diff against ``folder``, the script's working directory. Of findings that want one argument
    otherwise, the first in order wins.

    ``script``: the file that was run (`run.target` of the document); settings
    of the whole process are made there.
    """
    files: dict[str, EditedFile] = {}
    made: list[str] = []
    unpatched: dict[str, str] = {}
    for finding in findings:
        is_made, reason = _make(finding, folder, script, files)
        made += [finding["rule"]] if is_made else []
        unpatched |= {finding["rule"]: reason} if reason else {}
    changed = [FileChange(one.name, one.before, one.after()) for _, one in sorted(files.items())]
    changed = [one for one in changed if one.after != one.before]
    return Patches(
        "".join(file_diff(one.name, one.before, one.after) for one in changed),
        tuple(made),
        unpatched,
        tuple(changed),
    )


def apply(patches: Patches, folder: Path) -> list[Path]:
    """Writes all files, or none, and returns them.

    Raises DiagnoseError if one is not as it was when the diff was made, or cannot be written.
    """
    paths = [folder / file.name for file in patches.files]
    for path, file in zip(paths, patches.files, strict=True):
        if not path.is_file() or path.read_bytes() != file.before:
            raise DiagnoseError(
                f"{path} has changed since the diff was made",
                saw="nothing was written",
                do="make the diff again",
            )
    staged: list[Path] = []
    replaced: list[tuple[Path, FileChange]] = []
    try:
        for path, file in zip(paths, patches.files, strict=True):
            staged.append(_staged(path, file.after))
        for new, path, file in zip(staged, paths, patches.files, strict=True):
            os.replace(new, path)
            replaced.append((path, file))
    except OSError as error:
        changed = [str(path) for path, file in replaced if not _is_put_back(path, file)]
        raise DiagnoseError(
            f"{error.filename2 or error.filename or folder} cannot be written",
            saw=f"{error}; {'changed already: ' + ', '.join(changed) if changed else 'nothing is changed'}",
        ) from error
    finally:
        for new in staged:
            new.unlink(missing_ok=True)
    return paths


def _staged(path: Path, content: bytes) -> Path:
    """A new file beside it that is to take its place, with its permissions. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        shutil.copymode(path, name)
    except OSError:
        os.unlink(name)
        raise
    return Path(name)


def _is_put_back(path: Path, file: FileChange) -> bool:
    try:
        os.replace(_staged(path, file.before), path)
    except OSError:
        return False
    return True


def _make(finding: Finding, folder: Path, script: str, files: dict[str, EditedFile]) -> tuple[bool, str]:
    """Whether anything changes for the finding, and why a call of it, or all of it, does not."""
    try:
        sites = sites_of(finding, script)
    except NoPatch as refused:
        return False, str(refused)
    results = {site: _make_at(site, finding, folder, files) for site in sites}
    is_made = "" in results.values()
    failed = {
        site: reason
        for site, reason in results.items()
        if reason and not (is_made and _is_no_matter(site, reason))
    }
    if not is_made and len(set(failed.values())) == 1:
        return False, next(iter(failed.values()))
    return is_made, "; ".join(f"{site}: {reason}" for site, reason in failed.items())


def _is_no_matter(site: Site, reason: str) -> bool:
    """Where one call is changed, others that need it not, and files without such a call, are no failure."""
    return site.line == ANYWHERE or reason == ALREADY_SO


def _make_at(site: Site, finding: Finding, folder: Path, files: dict[str, EditedFile]) -> str:
    """Takes the changes at a site; the reason if there are none."""
    fix = finding["fix"]
    try:
        name = name_in(folder, site.file)
        if name not in files:
            files[name] = EditedFile(folder / name, name)
        file = files[name]
        if site.source and site.source != file.line(site.line):
            raise NoPatch("the line is no longer as it was recorded")
        file.take(
            finding["rule"], changes(file.script, site.line, fix["intervention"], fix.get("arguments", {}))
        )
    except NoPatch as refused:
        return str(refused)
    return ""

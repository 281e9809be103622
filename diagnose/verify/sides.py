"""The two sides of an A/B comparison: commits of a repository, the tree as it is, or two scripts."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diagnose.errors import UsageError
from diagnose.run.settings import Target
from diagnose.run.target import check
from diagnose.verify.trial import Job

HERE = "."  # the tree as it is, changes included
_NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")  # those of the user are not meant for our checkouts


@dataclass(frozen=True)
class Side:
    """``name``: as it was typed; ``what``: what that is, for people."""

    name: str
    what: str
    job: Job


@contextmanager
def sides(
    names: Sequence[str],
    target: Target,
    *,
    links: Sequence[str] = (),
    environments: Sequence[Mapping[str, str]] = ({}, {}),
) -> Iterator[list[Side]]:
    """A side for each name: a Python file, `HERE`, or a revision, which is checked out into a folder of its
    own for as long as this lasts. ``target``: what is run there, as typed in the current folder; of a name
    that is a Python file only its arguments count. ``links``: files and folders beside the code that are in
    no commit, linked into every checkout. Raises UsageError.
    """
    with tempfile.TemporaryDirectory(prefix="diagnose-ab-") as kept:
        made: list[Path] = []
        try:
            found = []
            for number, (name, environment) in enumerate(zip(names, environments, strict=True)):
                if name.endswith(".py") and Path(name).is_file():
                    found.append(
                        _side(name, f"`{name}`", Path.cwd(), Target(name, False, target.args), environment)
                    )
                    continue
                if not target.script:
                    raise UsageError(
                        f"{name} is no script, and none is named to run there", do="name it behind --"
                    )
                if name == HERE:
                    found.append(_side(name, "the tree as it is", Path.cwd(), target, environment))
                    continue
                tree = Path(kept).resolve() / f"side{number}"
                others = [folder for folder in _work_trees() if not tree.is_relative_to(folder)]
                made.append(tree)
                commit = _checked_out(name, tree)
                inside = tree / _git("rev-parse", "--show-prefix")
                if not inside.is_dir():
                    raise UsageError(f"{name} has no folder {_git('rev-parse', '--show-prefix')}")
                _link(links, inside)
                own = {**environment, **_own_path({**os.environ, **environment}, tree)}
                found.append(_side(name, f"commit {commit}", inside, _relative(target), own, others))
            yield found
        finally:
            for tree in made:
                with contextlib.suppress(UsageError):  # the others go all the same, and its folder does too
                    _git("worktree", "remove", "--force", str(tree))


def _side(
    name: str,
    what: str,
    cwd: Path,
    target: Target,
    environment: Mapping[str, str],
    others: Sequence[Path] = (),
) -> Side:
    folder, foreign = check(target, cwd), tuple(map(str, others))
    job = Job(target, str(folder), str(cwd), sys.executable, environment=environment, foreign_folders=foreign)
    return Side(name, what, job)


def _work_trees() -> list[Path]:
    """All checkouts of the repository that there are."""
    lines = _git("worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]


def _own_path(environment: Mapping[str, str], tree: Path) -> dict[str, str]:
    """PYTHONPATH with what lies in the repository taken from the checkout; empty where none is set."""
    if "PYTHONPATH" not in environment:
        return {}
    top = Path(_git("rev-parse", "--show-toplevel"))
    entries = environment["PYTHONPATH"].split(os.pathsep)
    return {"PYTHONPATH": os.pathsep.join(_in_checkout(entry, top, tree) for entry in entries)}


def _in_checkout(entry: str, top: Path, tree: Path) -> str:
    """A folder of the repository as it lies in the checkout; any other as it is."""
    path = Path(entry)
    if not path.is_absolute() or not path.resolve().is_relative_to(top):
        return entry
    return str(tree / path.resolve().relative_to(top))


def _relative(target: Target) -> Target:
    """A script below the current folder, so that it is found in another checkout. Raises UsageError."""
    if target.module or not Path(target.script).is_absolute():
        return target
    path = Path(target.script).resolve()
    if not path.is_relative_to(Path.cwd()):
        raise UsageError(f"{target.script} is not below the current folder", do="type it from there")
    return Target(str(path.relative_to(Path.cwd())), False, target.args)


def _checked_out(revision: str, tree: Path) -> str:
    """The short name of the commit that now lies there."""
    commit = _git("rev-parse", "--verify", "--short", "--end-of-options", f"{revision}^{{commit}}")
    _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
    return commit


def _link(names: Sequence[str], folder: Path) -> None:
    for name in names:
        source, link = Path(name), folder / name
        if source.is_absolute() or not source.exists():
            raise UsageError(f"--link {name} is nothing below the current folder")
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source.resolve())


def _git(*words: str) -> str:
    """What git answers. Raises UsageError."""
    try:
        done = subprocess.run(["git", *_NO_HOOKS, *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError("git cannot be started", saw=str(error)) from error
    if done.returncode:
        raise UsageError(f"git {' '.join(words[:2])} failed", saw=done.stderr.strip()[-300:])
    return done.stdout.strip()

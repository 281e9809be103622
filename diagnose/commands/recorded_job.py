"""The script of a recorded run, as it can be started again. Heavy imports wait."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from diagnose.errors import DiagnoseError, UsageError
from diagnose.run.settings import Target

if TYPE_CHECKING:
    from diagnose.verify.trial import Job

# of the environment, what decides how many threads compute and how
_OF_THREADS = ("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_")
_BY_HAND = "make the change, record it again, and `compare` the two folders"


class _Started(TypedDict):
    """What run.json has to hold to start the script again."""

    target: str
    module: bool
    argv: list[str]
    cwd: str
    settings: dict[str, Any]


def how_started(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """run.json and the facts, for `job_of`. Raises UsageError if the run cannot be started again from here,
    DiagnoseError for a damaged file.
    """
    record, facts = _recorded(run), told_by_rank(run, "facts.json")
    _check_machines(record, facts, run)
    return record, facts


def told_by_rank(run: Path, name: str) -> dict[str, Any]:
    """facts.json or steps.json of the lowest rank that wrote it; empty if none did."""
    from diagnose.measure.recording import rank_folders

    for folder in rank_folders(run).values():
        try:
            told: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return told
    return {}


def _recorded(folder: Path) -> dict[str, Any]:
    """How the run was started. Raises UsageError if it cannot be started again, DiagnoseError for a damaged
    file.
    """
    from diagnose.document.stored import checked

    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise DiagnoseError("run.json is damaged", saw=str(error), do="run the script again") from error
    if isinstance(record, dict) and record.get("in_process"):
        raise UsageError("a block that recorded itself cannot be started from outside", do=_BY_HAND)
    checked(record, _Started, "run.json")
    return cast("dict[str, Any]", record)


def _check_machines(record: dict[str, Any], facts: dict[str, Any], run: Path) -> None:
    """Raises UsageError for a job whose ranks did not all run on one machine: those of
    others cannot be started from this one.
    """
    from diagnose.measure.recording import rank_folders

    launchers = record.get("launchers", 1)
    if launchers > 1:
        ranks, here = launchers, record.get("launchers_here", launchers)
    else:  # a script that starts its ranks by itself
        ranks, here = (facts.get("process_group") or {}).get("world_size", 1), len(rank_folders(run))
    if ranks > 1 and here < ranks:
        raise UsageError(
            "the ranks of a job on several machines cannot be started from one of them",
            saw=f"{here} of {ranks} ranks were recorded here",
            do=f"verify a run on one machine, or {_BY_HAND}",
        )


def job_of(record: dict[str, Any], facts: dict[str, Any]) -> Job:
    """The recorded run's script. Raises UsageError if it is no longer there."""
    from diagnose.run.job.torchrun import was_started_by_torchrun, without_launcher
    from diagnose.run.target import check
    from diagnose.verify.trial import Job

    target = Target(record["target"], bool(record["module"]), tuple(record["argv"][1:]))
    cwd = Path(record["cwd"])
    if not cwd.is_dir():
        raise UsageError(
            f"the folder the script ran in is gone: {cwd}", do="verify where the run was recorded"
        )
    folder = check(target, cwd)
    variables = facts.get("environment_variables") or {}
    launchers = record.get("launchers", 1)
    ranks = launchers if launchers > 1 or was_started_by_torchrun(variables) else 0
    recorded = without_launcher(variables)
    of_threads = {name: value for name, value in recorded.items() if name.startswith(_OF_THREADS)}
    environment = recorded if ranks else of_threads
    return Job(
        target, str(folder), str(cwd), _python(record), record["settings"]["device"], ranks, environment
    )


def _python(record: dict[str, Any]) -> str:
    """The Python that recorded it, if it is still there."""
    recorded = str(record.get("python") or "")
    return recorded if Path(recorded).is_file() else sys.executable

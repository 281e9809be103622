"""Tasks, one after the other, as far as the time goes. What was done is written down, so
that the next call goes on from there.

A task that fails costs only itself. It is tried again by the next call, after all that was not tried yet.
One that is still at work when the time is over is ended, with all that it started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import ROOT

RECORDS = "pieces"  # the folder's name in results that were brought from a GPU
TRACEBACK_CHARACTERS = 1500
SAID_CHARACTERS = 600  # of a task's line, on the screen
LONGEST_S = 1200.0  # of a task, where there is all the time in the world
TO_END_S = 3.0  # that a task is given to end by itself, before it is ended

ALL_DONE, SOME_FAILED, SOME_LEFT = 0, 1, 3  # exit codes; 2 is wrong usage


@dataclass(frozen=True)
class Task:
    """``do`` is given the seconds it may take and returns, in a line, what came of
    it; whatever it raises is its failure.

    ``guess_s``: how long it takes, before one of its stage was timed.
    """

    stage: str
    name: str
    guess_s: float
    do: Callable[[float], str]

    def __str__(self) -> str:
        return f"{self.stage}/{self.name}"


@dataclass(frozen=True)
class Record:
    """How a task went: ``said`` is its line, or why it failed."""

    stage: str
    name: str
    ok: bool
    said: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.stage}/{self.name}"


@dataclass(frozen=True)
class Outcome:
    """All tasks by how they stand after a call. ``stages``: in their order."""

    stages: list[str]
    done: list[Record]
    failed: list[Record]
    left: list[Task]

    @property
    def exit_code(self) -> int:
        return SOME_LEFT if self.left else SOME_FAILED if self.failed else ALL_DONE


class OutOfTime(BaseException):
    """The time is over. Not an Exception, so that what a task does about
    its own failures does not hold it up.
    """


def run_tasks(
    tasks: Sequence[Task], out: Path, seconds: float, after_each: Callable[[], object] = lambda: None
) -> Outcome:
    """Do what is not done yet, in the tasks' order; of those that take too long
    for the time left, none is started.
    """
    ends_at = time.monotonic() + seconds
    known = {str(record): record for record in records(out)}
    tried = [task for task in tasks if str(task) in known and not known[str(task)].ok]
    for task in [*(task for task in tasks if str(task) not in known), *tried]:
        left_s = ends_at - time.monotonic()
        if left_s >= expected_s(task, known.values()):
            known[str(task)] = _done(task, min(left_s, LONGEST_S))
            _keep(known[str(task)], out)
            after_each()
    mine = [(task, known.get(str(task))) for task in tasks]
    return Outcome(
        list(dict.fromkeys(task.stage for task in tasks)),
        [record for _, record in mine if record and record.ok],
        [record for _, record in mine if record and not record.ok],
        [task for task, record in mine if not record],
    )


def expected_s(task: Task, known: Iterable[Record]) -> float:
    """As long as the longest of its stage so far, and as it was given itself when it failed;
    another's failure says nothing of it.
    """
    took = [
        record.seconds
        for record in known
        if str(record) == str(task) or (record.stage == task.stage and record.ok)
    ]
    return max(took, default=task.guess_s)


def _done(task: Task, left_s: float) -> Record:
    started = time.monotonic()
    try:
        with _ended_after(left_s):
            ok, said = True, task.do(max(1.0, left_s - TO_END_S))
    except OutOfTime:
        _end_children()
        ok, said = False, f"ended after {left_s:.0f} s, when the time was over"
    except Exception as error:
        ok, said = False, f"{type(error).__name__}: {error}"[-TRACEBACK_CHARACTERS:]
    record = Record(task.stage, task.name, ok, said, round(time.monotonic() - started, 1))
    print(
        f"{record}: {'' if ok else 'FAILED: '}{said[:SAID_CHARACTERS]} ({record.seconds:.0f} s)", flush=True
    )
    return record


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Raises OutOfTime in the midst of whatever is done; and again, should that
    be where Python lets nothing through.
    """

    def over(number: int, frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, TO_END_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end_children() -> None:
    """What the task started goes with it."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()


def records(out: Path) -> list[Record]:
    """Of all tasks that were ever tried with this folder. A file that cannot be read counts for nothing."""
    found = []
    for file in sorted((out / RECORDS).glob("*/*.json")):
        try:
            found.append(Record(**json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            continue
    return found


def _keep(record: Record, out: Path) -> None:
    file = out / RECORDS / record.stage / f"{record.name.replace('/', '--')}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")


def summary(outcome: Outcome) -> str:
    """What is done, what failed and why, what is left and about how long it takes."""
    lines = []
    for stage in outcome.stages:
        done, failed = (
            [one for one in some if one.stage == stage] for some in (outcome.done, outcome.failed)
        )
        left = [task for task in outcome.left if task.stage == stage]
        left_s = sum(expected_s(task, done) for task in left)
        about = f" (at most about {left_s / 60:.0f} minutes)" if left else ""
        spent = sum(record.seconds for record in [*done, *failed])
        lines.append(
            f"{stage}: {len(done)} done, {len(failed)} failed, {len(left)} left{about}; {spent:.0f} s spent"
        )
    lines += [
        f"failed: {record}: {record.said.strip().splitlines()[-1] if record.said.strip() else ''}"
        for record in outcome.failed
    ]
    return "\n".join(lines)


def called(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command that may take so long; then it and all that it started are ended.

    Raises RuntimeError, with stderr's end, for that.
    """
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, complained = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end_group(process)
            _, complained = process.communicate()
            raise RuntimeError(
                f"took longer than {seconds:.0f} s\n{complained[-TRACEBACK_CHARACTERS:]}"
            ) from None
        except BaseException:
            _end_group(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, printed, complained)


def _end_group(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def diagnosed(*arguments: str, cwd: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """`python -m diagnose` with these arguments, from this source tree whether or not it is installed.

    Raises RuntimeError if it fails.
    """
    return _of_this_tree("diagnose", *arguments, cwd=cwd, seconds=seconds)


def recorded(
    *arguments: str, cwd: Path, seconds: float, judged: bool = False
) -> subprocess.CompletedProcess[str]:
    """The same as far as the recording: no report, or with ``judged`` report.json only (`recorder.py`)."""
    return _of_this_tree(
        "benchmarks.recorder", *["--judged"][: int(judged)], *arguments, cwd=cwd, seconds=seconds
    )


def _of_this_tree(
    module: str, *arguments: str, cwd: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    done = called([sys.executable, "-m", module, *arguments], cwd, environment_here(), seconds)
    if done.returncode:
        raise RuntimeError(
            f"exit code {done.returncode} of {module} "
            f"{' '.join(arguments)}\n{done.stderr[-TRACEBACK_CHARACTERS:]}"
        )
    return done


def environment_here() -> dict[str, str]:
    """Ours, with this source tree on Python's path."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}

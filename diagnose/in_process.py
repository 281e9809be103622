"""Record a loop from inside the program it belongs to, for what `python -m diagnose`
cannot launch: a notebook, a service.

with diagnose.record() as recorder:
    for batch in loader:
        …
        recorder.step()
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

from diagnose.errors import UsageError
from diagnose.run.child.cells import is_cell
from diagnose.run.record import new_record, numbered, write_record
from diagnose.run.settings import Settings
from diagnose.run.tree import MARKER

if TYPE_CHECKING:
    from diagnose.document.model import Document
    from diagnose.run.child.inner_session import InnerSession
    from diagnose.run.gpu_state import GpuState
    from diagnose.run.job.rendezvous import Rendezvous

Device = Literal["auto", "cpu", "cuda"]

# with other ranks that have still to write what they recorded
_PATIENCE_S, _PATIENCE_AFTER_ERROR_S = (60.0, 5.0)


def record(
    out: str | os.PathLike[str] | None = None,
    *,
    steps: int | None = None,
    plain_steps: int | None = None,
    stacks: bool = True,
    device: Device = "auto",
) -> Recorder:
    """A context manager that records the loop inside it and, when it is left,
    writes a report into the folder `out`.

    `out` is diagnosis/<time> unless given; a number is added to the name of a folder that holds something,
    nothing is overwritten. `steps` are those of the timeline, and the other phases scale with it;
    `plain_steps`: of the phase without a profiler, instead; `stacks`: also record which lines of source take
    the time; `device`: what to record. In a process group all ranks that call this record into the folder of
    rank 0, which writes the report. Raises UsageError.
    """
    settings = block_settings(steps, plain_steps, stacks=stacks, device=device)
    return Recorder(Path(out) if out is not None else None, settings, sys._getframe(1).f_code.co_filename)


def watch(
    out: str | os.PathLike[str] | None = None,
    *,
    steps: int | None = None,
    plain_steps: int | None = None,
    stacks: bool = True,
    device: Device = "auto",
) -> Recorder:
    """The same as `record`, and once all is recorded the block's steps are watched until it is left: the
    report tells when and why they became slower, and what a recording of that showed.
    """
    settings = block_settings(steps, plain_steps, stacks=stacks, device=device, watch=True)
    return Recorder(Path(out) if out is not None else None, settings, sys._getframe(1).f_code.co_filename)


def block_settings(
    steps: int | None,
    plain_steps: int | None,
    *,
    stacks: bool = True,
    device: str = "auto",
    watch: bool = False,
) -> Settings:
    """Of a block: the program goes on. Raises UsageError."""
    for name, value in (("steps", steps), ("plain_steps", plain_steps)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name} must be a whole number from 1 on", saw=repr(value))
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError("device must be auto, cpu or cuda", saw=repr(device))
    return Settings(
        steps=steps,
        plain_steps=plain_steps,
        stacks=stacks,
        device=cast(Device, device),
        keep_going=True,
        watch=watch,
    )


class Recorder:
    """What `record` returns. As the last value of a notebook's cell it shows what was found."""

    def __init__(self, out: Path | None, settings: Settings, caller: str) -> None:
        """`caller`: the file name of the code that opens the block."""
        self._out, self._settings, self._caller = out, settings, caller
        self._session: InnerSession | None = None
        self._rendezvous: Rendezvous | None = None
        self._record: dict[str, Any] = {}  # of the rank that leads
        self._pid = 0
        self._gpu: GpuState | None = None
        self._began, self._left = 0.0, False
        self._said = "nothing has been recorded yet"
        self.folder: Path | None = None  # where everything is written
        # the result document (report.json), once the block has been left
        self.document: Document | None = None
        self.report: Path | None = None  # the report to open

    # the block

    def __enter__(self) -> Recorder:
        """Raises UsageError if another block is being recorded, or there is no GPU although one is asked
        for.
        """
        if self._began:
            raise UsageError("this recorder has been used", do="call diagnose.record() for each block")
        self._began = time.monotonic()
        if reason := _left_alone():
            self._said = reason
            return self
        from diagnose.run.child.accelerator import gpu_count

        if self._settings.device == "cuda" and gpu_count() == 0:
            raise UsageError(
                "There is no GPU to record on.", saw="torch sees no GPU", do="Leave out device='cuda'."
            )
        from diagnose.run.job.rendezvous import NoRendezvous, Rendezvous

        try:
            self._rendezvous = Rendezvous()
            self.folder = _new_folder(self._out) if self._rendezvous.leads else self._rendezvous.folder()
        except NoRendezvous as reason:
            self._said = f"nothing was recorded on this rank: {reason}"
            print(f"diagnose: {self._said}", file=sys.stderr)
            return self
        try:
            self._begin(self.folder, self._rendezvous)
        except BaseException as error:
            if self._session is not None:
                self._session.end()
                self._session = None
            if self._rendezvous.leads:
                self._rendezvous.close()
                shutil.rmtree(self.folder, ignore_errors=True)  # it was empty before
            if not isinstance(error, OSError):
                raise
            self._said = f"nothing was recorded: {self.folder} cannot be written to ({error.strerror})"
            print(f"diagnose: {self._said}", file=sys.stderr)
        return self

    def step(self) -> None:
        """A step of the loop ends here.

        Without any such call a step ends as `python -m diagnose` finds it: with the optimizer's.
        """
        session = self._session
        if session is not None and not session.done:
            session.step()

    @property
    def done(self) -> bool:
        """All is recorded: the loop may end. It goes on at full speed if it does not.

        A block that is watched is done when it is left.
        """
        return self._session.done if self._session is not None else self._left

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, folder, rendezvous = self._session, self.folder, self._rendezvous
        if session is None or folder is None or rendezvous is None:
            return
        try:
            session.end()
        except Exception as failure:
            print(f"diagnose: what was recorded last is lost: {failure!r}", file=sys.stderr)
        finally:
            self._session, self._left = None, True
        if self._pid != os.getpid():  # the block is left by a forked child
            return
        if not rendezvous.leads:
            self._said = f"recorded as rank {rendezvous.rank}; rank 0 writes the report"
            return
        rendezvous.close()
        session.wait_for_others(_PATIENCE_S if error is None else _PATIENCE_AFTER_ERROR_S)
        self._write_end(folder, error)
        self._report(folder)

    def _begin(self, folder: Path, rendezvous: Rendezvous) -> None:
        from diagnose.run.child.inner_session import AnotherIsOpen, InnerSession
        from diagnose.run.child.session import Plan

        settings = self._settings
        plan = Plan(
            folder=str(folder),
            steps=settings.steps,
            plain_steps=settings.plain_steps,
            stacks=settings.stacks,
            keep_going=True,
            device=settings.device,
            script_folder=_own_folder(self._caller),
            cwd=os.getcwd(),
            wait_s=settings.wait_s,
            watch=settings.watch,
        )
        session = InnerSession(plan, rendezvous.rank)
        try:
            session.begin()
        except AnotherIsOpen:
            raise UsageError(
                "another block is being recorded in this process",
                do="leave it first: blocks cannot be nested",
            ) from None
        self._session, self._pid = session, os.getpid()
        if rendezvous.leads:
            self._record = _run_record(self._caller, settings)
            write_record(folder, self._record)
            self._gpu = _watched_gpu(settings, folder)
            rendezvous.announce(folder)

    # what comes of it

    def _write_end(self, folder: Path, error: BaseException | None) -> None:
        ended, exit_code = _ending(error)
        end = {
            "ended": ended,
            "exit_code": exit_code,
            "wall_s": time.monotonic() - self._began,
            "gpu_state": self._gpu.stop() if self._gpu is not None else None,
        }
        with contextlib.suppress(OSError):  # the disk is full: the analysis says what is missing
            write_record(folder, self._record | end)

    def _report(self, folder: Path) -> None:
        """A failure of ours must not cost the program what it has computed: it is said, not raised."""
        from diagnose.document.text import clean

        try:
            from diagnose.pipeline import report
            from diagnose.report import sentences

            self.document = report(folder, folder)
            self.report = next(
                path for name in ("report.html", "report.md") if (path := folder / name).exists()
            )
            shown = os.path.relpath(self.report)
        except Exception as error:
            again = f"`python -m diagnose {folder}` tries again"
            self._said = clean(f"the analysis failed ({type(error).__name__}: {error}); {again}")
            print(f"diagnose: {self._said}", file=sys.stderr)
            return
        said = (f"{self.document.headline}.", sentences.doubt(self.document), f"Report: {shown}")
        self._said = clean(" ".join(filter(None, said)))
        print(f"diagnose: the report is {shown}", file=sys.stderr)

    def __repr__(self) -> str:
        return f"<diagnose.record: {self._progress() or self._said}>"

    def _repr_html_(self) -> str:
        from diagnose.report.card import finished_card, plain_card

        if self.document is None or self.report is None:
            return plain_card(self._progress() or self._said)
        return finished_card(self.document, os.path.relpath(self.report))

    def _progress(self) -> str:
        """What is being recorded; empty unless the block is open."""
        session = self._session
        if session is None:
            return ""
        if session.live:
            return f"watching, {session.live}"
        return (
            f"{session.phase}, {session.tick_count} steps so far"
            if session.tick_count
            else "no step has ended yet"
        )


def _left_alone() -> str:
    """Why this process is not to be recorded by itself; empty if it is."""
    if MARKER in os.environ and "_diagnose_child" in sys.modules:
        return "nothing was recorded here, for the whole program runs under `python -m diagnose`"
    return ""


def _run_record(caller: str, settings: Settings) -> dict[str, Any]:
    """run.json at the begin of the recording."""
    target = _target(caller)
    is_program = os.path.abspath(caller) == os.path.abspath(
        str(getattr(sys.modules.get("__main__"), "__file__", ""))
    )
    argv = [target, *(sys.argv[1:] if is_program else [])]
    return new_record(target, argv, settings) | {"in_process": True, "pid": os.getpid()}


def _target(caller: str) -> str:
    """What is recorded: the file that opens the block, or the notebook by its name where that is known."""
    if os.path.isfile(caller) and not is_cell(caller):
        path = os.path.abspath(caller)
        return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    # set by jupyter_server for the kernels it starts; a variable that VS Code sets in its kernels
    names = (
        os.environ.get("JPY_SESSION_NAME"),
        getattr(sys.modules.get("__main__"), "__vsc_ipynb_file__", None),
    )
    return next(
        (os.path.basename(str(name)) for name in names if name), "notebook" if is_cell(caller) else "program"
    )


def _own_folder(caller: str) -> str:
    """The folder below which code is the user's own: that of the outermost package that the file belongs
    to.
    """
    if not os.path.isfile(caller) or is_cell(caller):
        return os.getcwd()
    folder = Path(caller).resolve().parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return str(folder)


def _watched_gpu(settings: Settings, folder: Path) -> GpuState | None:
    from diagnose.run.child.accelerator import gpu_count

    if settings.device == "cpu" or gpu_count() == 0:
        return None
    import psutil

    from diagnose.run.gpu_state import GpuState

    def own_pids() -> set[int]:
        return {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}

    gpu = GpuState(own_pids, folder if settings.watch else None)
    gpu.start()
    return gpu


def _ending(error: BaseException | None) -> tuple[str, int]:
    """How the block ended and the exit code that a script would have ended with."""
    if error is None:
        return "finished", 0
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        return "crashed" if code else "finished", code
    return "crashed", 1


def _new_folder(wanted: Path | None) -> Path:
    """The folder to write into, made here: one that is empty or new, with -2, -3 … at its end if need be.

    Raises UsageError.
    """
    first = wanted or Path("diagnosis") / time.strftime("%Y%m%d-%H%M%S")
    folder = next(
        name for name in numbered(first) if not name.exists() or (name.is_dir() and not any(name.iterdir()))
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be created", saw=str(error), do="name another folder") from error
    return folder.resolve()  # the program may change its working directory

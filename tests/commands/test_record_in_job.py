"""Under torchrun the exit code is the script's own: for another one torchrun ends or restarts all ranks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.commands import main as cli
from diagnose.commands import record
from diagnose.errors import DiagnoseError
from diagnose.run import launch as launching
from diagnose.run.job import heartbeat, lifecycle, peers
from diagnose.run.job.folder import JobFolder
from diagnose.run.settings import RunOutcome

FINISHED = RunOutcome("finished", 0, None, 1.0)
ENVIRONMENT = {  # of the one rank on the first of two machines
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "2",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "0",
    "GROUP_WORLD_SIZE": "2",
    "MASTER_ADDR": "node7",
    "MASTER_PORT": "29500",
}
Ended = Callable[..., int]


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """`ended(outcome, report=…, meanwhile=…)`: our exit code when the script of the job's last launcher ended
    like that. `report` stands for what writes it, `meanwhile` for what the script does to the folder.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(peers, "outlive_the_script", lambda: None)
    Path("train.py").write_text("print(1)")

    def run(
        outcome: RunOutcome,
        *given: str,
        report: Callable[..., int] = lambda *args, **kwargs: 0,
        meanwhile: Callable[[Path], None] = lambda out: None,
        **variables: str,
    ) -> int:
        def launch(target: object, settings: object, out: Path, told: object, job: JobFolder) -> RunOutcome:
            heartbeat.begin(job)
            meanwhile(out)
            return outcome

        for name, value in (ENVIRONMENT | variables).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(launching, "launch", launch)
        monkeypatch.setattr(record, "_report_recorded", report)
        return cli.main([*given, "--out", "out", "train.py"])

    return run


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (FINISHED, 0),
        (RunOutcome("stopped", None, "SIGTERM", 1.0), 0),
        (RunOutcome("crashed", 7, None, 1.0), 7),
        (RunOutcome("killed", None, "SIGKILL", 1.0), 137),
        (RunOutcome("interrupted", None, "SIGTERM", 1.0), 143),
    ],
)
@pytest.mark.parametrize("of_report", [0, 1])
def test_a_report_that_holds_nothing_changes_no_exit_code(
    outcome: RunOutcome, code: int, of_report: int, ended: Ended
) -> None:
    assert ended(outcome, report=lambda *args, **kwargs: of_report) == code


@pytest.mark.parametrize("error", [DiagnoseError("no trace"), OSError("no room"), ZeroDivisionError("ours")])
def test_nor_does_a_report_that_fails(
    error: Exception, ended: Ended, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(*args: object, **kwargs: object) -> int:
        raise error

    assert ended(FINISHED, report=report) == 0
    assert str(error) in capsys.readouterr().err


def test_nor_a_script_that_takes_our_folder_away(ended: Ended) -> None:
    assert ended(FINISHED, meanwhile=shutil.rmtree) == 0


@pytest.mark.parametrize("fails", [(heartbeat, "write_end"), (heartbeat, "_say"), (lifecycle, "end_record")])
def test_nor_a_full_disk(fails: tuple[object, str], ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    assert ended(FINISHED, meanwhile=lambda out: monkeypatch.setattr(*fails, full)) == 0


@pytest.mark.parametrize(("restarts", "code"), [("0", 4), ("1", 0)])
def test_a_finding_fails_the_job_if_that_is_asked_for_and_starts_it_never_again(
    restarts: str, code: int, ended: Ended
) -> None:
    asked = ("--fail-on", "high")
    left = {"TORCHELASTIC_MAX_RESTARTS": restarts}
    assert ended(FINISHED, *asked, report=lambda *args, **kwargs: 4, **left) == code

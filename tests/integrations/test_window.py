"""When a callback's block opens and closes, without a trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.errors import UsageError
from diagnose.integrations import window
from diagnose.integrations.window import Window


class Recorded:
    """In place of the recorder: all is recorded after three steps."""

    def __init__(self, *about: object) -> None:
        self.told: list[str] = []
        self.document = self.report = None

    def __enter__(self) -> None:
        self.told.append("begins")

    @property
    def done(self) -> bool:
        return self.told.count("step") >= 3

    def __exit__(self, *error: object) -> None:
        self.told.append("ends")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    monkeypatch.setattr(window, "Recorder", Recorded)
    return Recorded


def steps(made: Window, count: int) -> list[str]:
    told: list[str] = made._recorder.told  # type: ignore[attr-defined]
    for step in range(count):
        made.before_step(step)
        told.append("step" if "begins" in told and "ends" not in told else ".")
        made.after_step()
    return told


def test_it_opens_at_its_step_and_closes_once_all_is_recorded(recorded: type[Recorded]) -> None:
    made = Window(start=2)
    assert steps(made, 7) == [".", ".", "begins", "step", "step", "step", "ends", ".", "."]
    made.close()
    assert made._recorder.told.count("ends") == 1  # type: ignore[attr-defined]


def test_a_training_that_ends_before_is_kept_so_far(recorded: type[Recorded]) -> None:
    made = Window(start=0)
    told = steps(made, 2)
    made.close()
    made.before_step(9)
    assert told == ["begins", "step", "step", "ends"]


def test_a_failure_of_ours_is_said_and_the_training_goes_on(
    recorded: type[Recorded], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*error: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Recorded, "__enter__", fails)
    made = Window(start=0)
    steps(made, 3)
    monkeypatch.undo()
    monkeypatch.setattr(window, "Recorder", Recorded)
    monkeypatch.setattr(Recorded, "__exit__", fails)
    made = Window(start=0)
    steps(made, 4)
    assert capsys.readouterr().err.count("no space left") == 2


@pytest.mark.parametrize("wrong", [{"start": -1}, {"steps": 0}, {"plain_steps": 1.5}, {"device": "tpu"}])
def test_wrong_arguments_are_refused_before_the_training(wrong: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Window(tmp_path, **wrong)  # type: ignore[arg-type]

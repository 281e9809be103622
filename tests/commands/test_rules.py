"""Rules of one's own: started, checked, and counted in a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnose.commands.main import main
from diagnose.judge import own
from diagnose.measure.areas.user_code import CALLS
from diagnose.measure.metrics import METRICS
from diagnose.measure.selection import SELECTORS

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "checkpoint" / "sick"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    yield
    own.use_rules(None)
    for registered in (METRICS, SELECTORS, CALLS):
        for name in [name for name in registered if name.startswith("saving_twice")]:
            del registered[name]


def started(folder: str = "mine") -> Path:
    assert main(["rules", "new", "saving-twice", folder]) == 0
    return Path(folder)


def filled_in(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("TODO", "done"))


def test_a_new_rule_lies_where_it_is_wanted_and_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    folder = started()
    assert {path.name for path in folder.iterdir()} == {"saving-twice.toml", "saving-twice.cases.toml"}
    assert main(["rules", "check", "mine"]) == 1
    assert "fill in" in capsys.readouterr().out


def test_a_filled_in_rule_passes(capsys: pytest.CaptureFixture[str]) -> None:
    filled_in(started())
    capsys.readouterr()
    code = main(["rules", "check", "mine"])
    said = capsys.readouterr().out
    assert (code, said) == (0, "saving-twice: passes\n")


def judged(document: str) -> str:
    return next(one["state"] for one in json.loads(document)["findings"] if one["rule"] == "saving-twice")


def test_rules_count_by_an_option_and_by_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    filled_in(started())
    capsys.readouterr()
    target = ["--quiet", "--json", "--out", "out", str(SAMPLE)]
    assert main(["--rules", "mine", *target]) == 0
    assert judged(capsys.readouterr().out) == "fires"
    own.use_rules(None)
    Path("pyproject.toml").write_text('[tool.diagnose]\nrules = "mine"\n')
    target[3] = "again"
    assert main(target) == 0
    assert judged(capsys.readouterr().out) == "fires"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rules", "nowhere", "x.json"], "there is no folder nowhere"),
        (["rules", "check"], "rules check needs a folder"),
        (["rules", "check", "nowhere"], "rules check needs a folder, not nowhere"),
        (["rules", "check", "."], "no rule lies in ."),
    ],
)
def test_what_cannot_be_is_said(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_a_project_that_names_no_folder_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.diagnose]\nrules = "nowhere"\n')
    assert main(["rules"]) == 1
    assert "names a folder of rules that is not there" in capsys.readouterr().err


@pytest.mark.parametrize("settings", ["tool = 1", "[tool]\ndiagnose = true", "[tool.diagnose]", "[tool", ""])
def test_settings_without_rules_of_their_own_change_nothing(settings: str) -> None:
    Path("pyproject.toml").write_text(settings)
    assert main(["rules"]) == 0

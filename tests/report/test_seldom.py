"""What only some steps do and no rule knows a fix for has a name in the report, and the first place if it
takes most.
"""

from __future__ import annotations

from typing import get_args

import pytest

from diagnose.document.headline import headline_of
from diagnose.document.text import SELDOM
from diagnose.measure.areas.recurring import WorkKind
from diagnose.pipeline import Analysis
from diagnose.report import account
from tests.measure.test_recurring import ACTS, CRITIC, EVALUATE, looked_at

STEPS = [40.0 if number % 10 == 5 else 10 for number in range(30)]


def test_the_model_that_acts_between_updates_is_named() -> None:
    """30 ms after every tenth step of 10: 3 ms of a step of 13 on average."""
    document = Analysis(looked_at(STEPS, dict.fromkeys((5, 15, 25), ACTS))).document
    (work,) = document.seldom
    assert (work.file, work.line, work.kind, work.every) == ("train.py", 30, "gathering", 10)
    assert (work.ms_per_step, work.share) == (pytest.approx(3), pytest.approx(3 / 13))
    assert work.mostly == "train.py:14"
    assert account.looks(document)[0] == (
        "`train.py:30` (collecting data, mostly `train.py:14`): 3.00 ms of the average step, 23 %. It comes "
        "after every 10 steps; a step of this report is without it."
    )


def test_where_it_takes_most_it_leads() -> None:
    """90 ms after every tenth: 9 of 19."""
    steps = [100.0 if number % 10 == 5 else 10 for number in range(30)]
    busy = "main  0  1000  step  ProfilerStep#1\nmain  0  1000  op  aten::mm"
    document = Analysis(looked_at(steps, dict.fromkeys((5, 15, 25), ACTS), timeline=busy)).document
    assert headline_of(document) == (
        "train.py:30 takes 47 % of the average step (collecting data); no rule knows a fix"
    )


def test_what_a_rule_tells_is_not_told_twice() -> None:
    document = Analysis(looked_at(STEPS, dict.fromkeys((5, 15, 25), EVALUATE))).document
    fires = [finding.rule for finding in document.findings if finding.state == "fires"]
    assert "recurring-evaluation" in fires
    assert document.seldom == []


def test_every_kind_of_work_has_words() -> None:
    assert set(get_args(WorkKind)) == set(SELDOM)


def test_a_training_of_another_model_between_the_steps_is_named() -> None:
    """As a critic's after every tenth: what went backward in it makes it one."""
    document = Analysis(looked_at(STEPS, dict.fromkeys((5, 15, 25), CRITIC))).document
    (work,) = document.seldom
    assert work.kind == "training"
    assert "(training, mostly" in account.looks(document)[0]

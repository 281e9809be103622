"""How answers are counted, compared with targets and laid out, on hand-made answers."""

from dataclasses import replace

import pytest

from benchmarks.accuracy import (
    Answer,
    Share,
    answer_of,
    answer_of_torch,
    counts,
    healthy_table,
    missed_table,
    overall,
    page,
    pages,
    precision,
    recall,
    replay_table,
    rule_table,
    stable_on_healthy,
)
from benchmarks.samples import SAMPLES, Sample
from tests.report import documents
from tests.report.documents import changed, culprit, finding, plan_row


def sample(name="sick", rule="slow", also=(), case="a-case"):
    return Sample(case, name, "A disease.", "", rule, "line", also, True)


SICK, HEALTHY = sample(), sample("healthy", rule="")


def test_the_planted_rule_and_those_listed_are_true_and_all_others_false():
    answer = Answer(sample(also=("slower",)), ("slow", "slower", "slowest"))
    assert (answer.true, answer.false) == (["slow", "slower"], ["slowest"])


def test_counts_per_rule():
    counted = counts(
        [
            Answer(SICK, ("slow", "other"), abstained=frozenset({"blind"})),
            Answer(SICK, ("other",), abstained=frozenset({"blind"})),
            Answer(HEALTHY, ("slow",)),
        ]
    )
    assert counted.true == {"slow": 1}
    assert counted.false == {"other": 2, "slow": 1}
    assert counted.missed == {"slow": 1}
    assert counted.abstained == {"blind": 2}


def test_recall_counts_planted_diseases_only():
    listed = Answer(sample(also=("listed",)), ("listed",))
    assert recall([Answer(SICK, ("slow",)), listed, Answer(HEALTHY, ())]) == Share(1, 2)


def test_precision_counts_all_that_was_said():
    assert precision([Answer(SICK, ("slow", "other")), Answer(HEALTHY, ("slow",))]) == Share(1, 3)


def test_first_needs_the_top_of_the_plan():
    assert Answer(SICK, ("slow", "other")).first
    assert not Answer(SICK, ("other", "slow")).first


def test_the_planted_line_counts_only_where_it_is_named():
    planted = next(one for one in SAMPLES if one.rule)
    place = f"{planted.script.name}:{planted.line_number}"
    assert Answer(planted, (planted.rule,), place).at_its_line
    assert not Answer(planted, (planted.rule,), "elsewhere.py:1").at_its_line
    assert not Answer(planted, ("other", planted.rule), place).at_its_line


@pytest.mark.parametrize(
    ("share", "verdict"), [(Share(19, 20), "met"), (Share(18, 20), "missed"), (Share(0, 0), "missed")]
)
def test_a_target_is_met_or_missed(share, verdict):
    assert share.verdict(0.95) == verdict


def test_a_share_of_nothing_is_unknown():
    assert str(Share(0, 0)) == "–"
    assert str(Share(1, 4)) == "0.25 (1 of 4)"


def test_stable_rules_on_healthy_scripts_leave_out_what_is_true_there():
    twin = sample("healthy", rule="", also=("listed",))
    answer = Answer(twin, ("listed", "alarm", "hunch"), stable=frozenset({"listed", "alarm"}))
    assert stable_on_healthy([answer, Answer(SICK, ("alarm",), stable=frozenset({"alarm"}))]) == [
        (answer, "alarm")
    ]
    assert healthy_table([answer]).splitlines()[-1] == "| `a-case/healthy` | `alarm` | `hunch` | `listed` |"


def test_what_was_not_on_top_is_listed_with_what_was():
    assert (
        missed_table([Answer(SICK, ("other",), "sick.py:3")]).splitlines()[-1]
        == "| `a-case/sick` | `slow` | `other` | sick.py:3 |"
    )


def test_the_table_of_rules():
    assert rule_table(counts([Answer(SICK, ("other",), abstained=frozenset({"slow"}))])).splitlines()[2:] == [
        "| `other` | 0 | 1 | 0 | 0 |",
        "| `slow` | 0 | 0 | 1 | 1 |",
    ]


def test_an_answer_is_read_from_a_document():
    document = changed(
        documents.sick(),
        self_replay_error=0.004,
        plan=[plan_row("slow", "", "sick.py:3", None, None, "high")],
        findings=[
            changed(finding("slow"), status="stable"),
            changed(finding("small", group="minor"), status="stable"),
            finding("blind", state="abstains"),
        ],
    )
    document.run.environment = {"torch": "2.13.0", "gpu": "NVIDIA Test", "cores": 2}
    assert answer_of(SICK, document) == Answer(
        SICK,
        ("slow",),
        "sick.py:3",
        frozenset({"slow"}),
        frozenset({"blind"}),
        "torch 2.13.0, NVIDIA Test, 2 cores",
        "NVIDIA Test",
        0.004,
    )


def test_an_alternative_to_the_easier_fix_counts_as_first():
    blamed = changed(culprit(3, "", 1.0, 1.0), file="sick.py")
    slow = finding("slow", group="alternative", culprits=[blamed])
    document = changed(
        documents.sick(),
        plan=[
            plan_row("easy", "", "sick.py:9", None, None, "high"),
            plan_row("other", "", None, None, None, "high"),
        ],
        findings=[finding("easy"), changed(slow, alternative_to="easy")],
    )
    answer = answer_of(replace(SICK, easier="easy"), document)
    assert (answer.rules, answer.where, answer.first) == (("easy", "slow", "other"), "sick.py:3", True)
    assert not answer_of(SICK, document).first


def test_torchs_patterns_are_read_as_our_rules_once_each():
    said = [
        {"pattern": "FP32 MatMul Pattern", "text": "…"},
        {"pattern": "FP32 MatMul Pattern", "text": "…"},
        {"pattern": "New", "text": "…"},
    ]
    assert answer_of_torch(SICK, said) == Answer(SICK, ("fp32-matmul", "New"))
    assert answer_of_torch(SICK, {"error": "crashed"}) is None


def test_torchs_crashes_are_counted_and_its_blind_spots_are_not_held_against_its_patterns():
    known = Answer(sample(rule="fp32-matmul"), ("fp32-matmul",))
    lines = overall([], [known, Answer(SICK, ()), None]).splitlines()
    assert lines[2].endswith("| 0.50 (1 of 2) |")
    assert lines[-2].endswith("| 1.00 (1 of 1) |")
    assert lines[-1].endswith("| 0.33 (1 of 3) |")


def test_the_page_names_the_machines_and_what_waits():
    written = page([Answer(HEALTHY, ("slow",), on="torch 2.13.0, no GPU, 2 cores")], [], judged=SAMPLES[1:])
    assert "1 on torch 2.13.0, no GPU, 2 cores." in written
    waiting = written.partition("## Waiting for a recording")[2]
    assert f"`{SAMPLES[0]}`" in waiting
    assert f"`{SAMPLES[1]}`" not in waiting


def test_each_gpu_has_a_part_of_its_own(tmp_path):
    here, there = Answer(SICK, ("other", "slow")), Answer(HEALTHY, (), gpu="NVIDIA Test")
    assert {
        heading: "| 1.00 (1 of 1) |" in part for heading, part in pages([there, here], tmp_path).items()
    } == {
        "# How often the diagnosis is right": True,
        "# How often the diagnosis is right, on NVIDIA Test": False,
    }


def test_how_far_replays_end_from_their_recordings():
    """Of 0, 1 and 6 %: half are below 1 %, nine tenths below 5 %, one above what can be predicted from."""
    answers = [Answer(SICK, (), replay_error=error) for error in (0.0, 0.01, 0.06)]
    assert (
        replay_table([*answers, Answer(SICK, ())]).splitlines()[-1]
        == "| 3 | 1.00% | 5.00% | 6.00% (`a-case/sick`) | 1 |"
    )

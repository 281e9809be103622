"""Which findings are one, on a step of 1000 µs worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.judge.causes import better_explained
from diagnose.judge.culprits import Culprit
from diagnose.judge.findings import Finding
from diagnose.judge.rules import Rule, load_rules
from diagnose.judge.timelines import measured_case

RULES = load_rules()
# Reads take 0–300; a loop over rows 0–310 (ten times the same three operators, with a read inside each).
STEP = measured_case(
    {
        "timeline": """
main  0    1000  step  ProfilerStep#1
main  0    20    op    aten::select  {"repeat": 10, "every": 30}
main  20   5     op    aten::mul     {"repeat": 10, "every": 30}
main  25   5     mark  item@7        {"repeat": 10, "every": 30}
main  400  500   op    aten::mm
"""
    }
)


def fired(rule: Rule, ms: float, line: int) -> Finding:
    return Finding(rule, "fires", (), ms, (Culprit("train.py", line, "main", 1.0, ms),))


def named(name: str, **changes: object) -> Rule:
    return replace(RULES["row-loop"], id=name, **changes)  # type: ignore[arg-type]


def test_a_parent_gives_way_to_children_that_explain_four_fifths_of_it() -> None:
    parent, child = named("parent"), named("child", refines="parent")
    assert better_explained([fired(parent, 1.0, 5), fired(child, 0.8, 6)], STEP) == {"parent": "child"}
    assert better_explained([fired(parent, 1.0, 5), fired(child, 0.7, 6)], STEP) == {}


def test_children_count_together_and_the_costliest_is_named() -> None:
    found = [
        fired(named("parent"), 1.0, 5),
        fired(named("a", refines="parent"), 0.3, 6),
        fired(named("b", refines="parent"), 0.5, 7),
    ]
    assert better_explained(found, STEP) == {"parent": "b"}


def test_children_that_are_about_the_same_part_explain_no_more_than_that() -> None:
    """Both are about the reads, 50 of the loop's 300 µs."""
    found = [
        fired(named("parent"), 1.0, 5),
        fired(named("a", refines="parent", selector="host_reads"), 0.4, 6),
        fired(named("b", refines="parent", selector="host_reads"), 0.5, 7),
    ]
    assert better_explained(found, STEP) == {}


def test_what_is_no_time_of_a_step_explains_none() -> None:
    known = replace(RULES["row-loop"].saving, scope="information")
    found = [fired(named("parent"), 1.0, 5), fired(named("child", refines="parent", saving=known), 0.9, 6)]
    assert better_explained(found, STEP) == {}


def test_a_backward_through_the_generator_is_one_finding() -> None:
    """The trace tells of a graph run twice at the generator's own line, its gradients at the line that calls
    it.
    """
    by_trace = fired(RULES["backward-through-untrained"], 4.8, 33)
    by_gradients = fired(RULES["gradients-cleared"], 11.4, 80)
    assert better_explained([by_trace, by_gradients], STEP) == {by_trace.rule.id: by_gradients.rule.id}


def test_time_inside_anothers_on_the_same_line_is_its_consequence() -> None:
    loop, reads = named("loop"), named("reads", selector="host_reads", refines="host_reads")
    # The reads are 10 × 5 µs, all of them inside the loop's 300 µs.
    assert better_explained([fired(loop, 0.3, 7), fired(reads, 0.05, 7)], STEP) == {"reads": "loop"}
    assert better_explained([fired(loop, 0.3, 7), fired(reads, 0.05, 9)], STEP) == {}


def test_of_two_rules_for_the_same_time_the_one_with_more_conditions_is_the_cause() -> None:
    vague = named("vague", when=RULES["row-loop"].when[:1])
    exact = named("exact", when=RULES["row-loop"].when[:1] * 2)
    assert better_explained([fired(vague, 0.3, 7), fired(exact, 0.3, 7)], STEP) == {"vague": "exact"}


@pytest.mark.parametrize(("gain_ms", "cause"), [(0.21, "late-rank-input"), (0.19, "input-wait-no-workers")])
def test_a_late_rank_explains_a_wait_that_the_others_wait_for(gain_ms: float, cause: str) -> None:
    """Of 0.4 ms that the rank waits the others wait for 0.21, more than half, or for 0.19, less:
    they mostly wait for input as well.
    """
    timeline = "main 0 1000 step ProfilerStep#1\nmain 0 400 mark next@12\nmain 450 500 op aten::mm"
    job = {
        "pattern": "persistent",
        "late_rank": 2,
        "held_up_ms": gain_ms,
        "cause": "input_wait",
        "cause_ms": gain_ms,
    }
    found = [fired(RULES[name], 0.4, 12) for name in ("input-wait-no-workers", "late-rank-input")]
    (other,) = {one.rule.id for one in found} - {cause}
    assert better_explained(found, measured_case({"timeline": timeline, "job": job})) == {other: cause}


def test_what_would_matter_on_a_gpu_is_not_said_beside_what_matters_here() -> None:
    here, there = RULES["host-read-cost"], RULES["host-reads-every-step"]
    assert better_explained([fired(here, 0.3, 7), fired(there, 0.3, 7)], STEP) == {
        "host-reads-every-step": "host-read-cost"
    }


@pytest.mark.parametrize("state", ["quiet", "abstains", "error"])
def test_only_findings_that_fire_explain_anything(state: str) -> None:
    silent = replace(fired(named("child", refines="parent"), 1.0, 5), state=state)
    assert better_explained([fired(named("parent"), 1.0, 5), silent], STEP) == {}


def test_of_two_that_no_trace_holds_the_one_with_fewer_lines_is_the_cause() -> None:
    slow, all_loading = (named(name, selector="loading_work") for name in ("slow", "all-loading"))
    places = [Culprit("data.py", line, "__getitem__", 1.0, ms) for line, ms in ((7, 0.8), (8, 0.2))]
    all_of_it = Finding(all_loading, "fires", (), 1.0, tuple(places))
    one_line = replace(all_of_it, rule=slow, culprits=(replace(places[0], ms_per_step=0.9),), ms_per_step=0.9)
    assert better_explained([one_line, all_of_it], STEP) == {"all-loading": "slow"}
    less = replace(one_line, culprits=(replace(places[0], ms_per_step=0.7),))
    assert better_explained([less, all_of_it], STEP) == {}

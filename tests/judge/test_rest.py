"""A rule for the rest says nothing of lines that another rule explains; worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from diagnose.judge.culprits import Culprit
from diagnose.judge.findings import Finding, each_line_once, without_explained
from diagnose.judge.rules import load_rules

RULES = load_rules()
OWN = Finding(
    RULES["own-line-dominates"],
    "fires",
    (),
    5.0,
    (Culprit("a.py", 7, "f", 1.0, 3.0), Culprit("a.py", 9, "f", 1.0, 2.0)),
)


def other(line: int, ms: float) -> Finding:
    return Finding(RULES["tensor-from-list"], "fires", (), ms, (Culprit("a.py", line, "f", 1.0, ms),))


def test_a_line_that_another_rule_explains_is_its_own() -> None:
    left = without_explained(OWN, [OWN, other(7, 1.6)])
    assert ([one.line for one in left.culprits], left.ms_per_step) == ([9], 2.0)


def test_less_than_half_of_a_line_explains_it_not() -> None:
    assert without_explained(OWN, [OWN, other(7, 1.4)]) is OWN


def test_where_every_line_is_explained_nothing_is_left_to_say() -> None:
    assert without_explained(OWN, [OWN, other(7, 3.0), other(9, 2.0)]).state == "quiet"


def test_a_rule_that_does_not_fire_explains_nothing() -> None:
    assert without_explained(OWN, [OWN, replace(other(7, 3.0), state="quiet")]) is OWN


def blaming(rule: str, *lines: tuple[int, float]) -> Finding:
    blamed = tuple(Culprit("a.py", line, "f", 1.0, ms) for line, ms in lines)
    return Finding(RULES[rule], "fires", (), sum(ms for _, ms in lines), blamed)


def lines_of(findings: list[Finding]) -> dict[str, list[int]]:
    return {
        one.rule.id: [culprit.line for culprit in one.culprits] for one in findings if one.state == "fires"
    }


def test_of_two_for_the_rest_that_blame_a_line_the_larger_one_keeps_it() -> None:
    """Each would give way to the other, and nobody would name the line."""
    again, loop = (blaming("values-computed-again", (7, 2.0)), blaming("loop-to-batch", (7, 2.6), (9, 1.1)))
    for found in ([again, loop], [loop, again]):
        assert lines_of(each_line_once(found)) == {"loop-to-batch": [7, 9]}


def test_what_says_no_more_than_that_a_line_is_costly_gives_way_first() -> None:
    own, loop = blaming("own-line-dominates", (7, 3.0), (8, 1.0)), blaming("loop-to-batch", (7, 1.6))
    for found in ([own, loop], [loop, own]):
        assert lines_of(each_line_once(found)) == {"own-line-dominates": [8], "loop-to-batch": [7]}


def test_a_rule_may_give_way_to_one_other_alone() -> None:
    """`row-loop` tells of a loop, as `loop-to-batch` does; what else is said of its line is beside that."""
    rows, by_hand = blaming("row-loop", (7, 2.0)), blaming("hand-written-function", (7, 3.0))
    loop = blaming("loop-to-batch", (7, 2.6), (9, 1.1))
    assert lines_of(each_line_once([rows, by_hand])) == {"row-loop": [7], "hand-written-function": [7]}
    assert lines_of(each_line_once([rows, loop])) == {"loop-to-batch": [7, 9]}
    larger = blaming("row-loop", (7, 4.0))
    assert lines_of(each_line_once([larger, loop])) == {"row-loop": [7], "loop-to-batch": [9]}


def test_what_the_fix_leaves_of_a_line_counts_for_nobody() -> None:
    """`known-part-in-loop` is about all of line 7's 6 ms and saves 1.2 of them; rows nobody reads cost 3."""
    part = replace(blaming("known-part-in-loop", (7, 6.0)), left=0.8)
    rows = replace(blaming("unread-results", (7, 4.0), (9, 1.0)), left=0.25)
    for found in ([part, rows], [rows, part]):
        assert lines_of(each_line_once(found)) == {"unread-results": [7, 9]}
    most = replace(part, left=0.3)  # 4.2 of the 6 ms
    for found in ([most, rows], [rows, most]):
        assert lines_of(each_line_once(found)) == {"known-part-in-loop": [7], "unread-results": [9]}


def test_of_several_that_explain_a_line_the_one_counts_that_saves_most() -> None:
    """In whatever order they come: 3 of line 7's 3 ms, and 0.4."""
    large, small = other(7, 3.0), replace(other(7, 0.4), rule=RULES["small-ops"])
    for found in ([OWN, large, small], [OWN, small, large]):
        assert [one.line for one in without_explained(OWN, found).culprits] == [9]

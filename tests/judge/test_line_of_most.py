"""The line that a finding names is where most of its time is, in the steps that are judged."""

from __future__ import annotations

import diagnose.measure.metrics  # noqa: F401  (registers the selectors)
from diagnose.judge.culprits import culprits
from diagnose.judge.timelines import measured_case
from diagnose.measure.selection import SELECTORS

# Three steps: line 7 reads a value for 20 µs in each, line 9 for 500 µs in the last one.
READS = "\n".join(
    f"main  {i}000  1000  step  ProfilerStep#{i + 1}\nmain  {i}800  90  op  aten::mm\n"
    f"main  {i}100  20  mark  item@7"
    for i in range(3)
)
ONCE = "main  2200  500  mark  item@9"


def test_what_few_steps_do_is_not_to_blame_for_every_step() -> None:
    one = measured_case({"timeline": f"{READS}\n{ONCE}"})
    found = culprits(one, SELECTORS["host_reads"], 0.02)
    assert [(culprit.line, culprit.ms_per_step) for culprit in found] == [(7, 0.02)]


def test_where_only_few_steps_do_it_they_count() -> None:
    one = measured_case(
        {"timeline": "\n".join([*(line for line in READS.splitlines() if "item" not in line), ONCE])}
    )
    found = culprits(one, SELECTORS["host_reads"], 0.2)
    assert [(culprit.line, culprit.ms_per_step) for culprit in found] == [(9, 0.2)]

"""The section *Ranks*: four ranks of one job, of which rank 2 waits 300 µs longer for its
batches, from their traces to the report.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnose.document.headline import headline_of
from diagnose.document.ranks import ranks_document, ranks_headline
from diagnose.document.schema import problems
from diagnose.document.stored import read_document, to_json
from diagnose.judge import timelines
from diagnose.measure.job import CollectiveKind, Job, RankState
from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording
from diagnose.pipeline import Analysis
from diagnose.predict.widths import times_odds, widths
from diagnose.ranks.job import job_of
from diagnose.ranks.summary import summary_of
from diagnose.report import ranks
from diagnose.report.markdown import markdown
from diagnose.report.page import fragment

from . import documents
from .documents import HOSTILE_NAMES, Document, change, changed

STEPS = 6


def recording(rank: int, wait: int, compute: int = 200, before: str = "mark next@12") -> Recording:
    """Steps of 1,000 µs: the batch or other work, then compute, an all-reduce that ends
    at 700 for all, 250 more of compute.
    """
    arrival = wait + 16 + compute
    each = f'"repeat": {STEPS}, "every": 1000'
    steps = "\n".join(f"main {1000 * number} 1000 step ProfilerStep#{number}" for number in range(STEPS))
    trace = timelines.trace_from_text(
        f"""{steps}
        main  0            {wait}      {before} {{{each}}}
        main  {wait}       10          runtime cudaLaunchKernel {{{each}, "correlation": 100}}
        gpu   {wait + 15}  {compute}   kernel  gemm             {{{each}, "correlation": 100}}
        main  {wait + 12}  10          runtime cudaLaunchKernel {{{each}, "correlation": 200}}
        gpu   {arrival}    {700 - arrival} kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL {{{each}, "correlation": 200}}
        main  {wait + 24}  10          runtime cudaLaunchKernel {{{each}, "correlation": 300}}
        gpu   701          250         kernel  gemm             {{{each}, "correlation": 300}}
        main  {wait + 40}  {915 - wait} runtime cudaDeviceSynchronize {{{each}, "correlation": 400}}
        """,
        {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4}},
    )
    return Recording(Path(f"rank{rank}.json"), timeline=trace)


@functools.cache
def job() -> Job:
    return job_of(
        summary_of(Measured(recording(rank, 400 if rank == 2 else 100)), source=f"rank{rank}.json")
        for rank in range(4)
    )


@functools.cache
def document() -> Document:
    return Analysis(Measured(recording(2, 400), job())).document


def sentences(of: Document) -> list[str]:
    return [*ranks.answer(of), *ranks.basis(of)]


def said() -> str:
    return " ".join(sentences(document()))


def test_the_document_keeps_its_shape() -> None:
    assert problems(document()) == []
    assert read_document(to_json(document()).encode()) == document()
    assert document().ranks.late_rank == document().ranks.representative == 2


def test_the_headline_names_rank_wait_and_line() -> None:
    assert document().headline == "4 ranks; rank 2 holds the others up by 0.300 ms (/job/train.py:12)"


def test_where_no_rank_holds_up_the_others_the_headline_says_of_how_many_ranks_it_is() -> None:
    changing = changed(document(), ranks=with_job(replace(job(), pattern="rotating")).ranks)
    first = changing.findings[0]
    change(first, cause="GPU work")
    assert first.rule == changing.plan[0].rule
    assert headline_of(changing).startswith("4 ranks; GPU work")
    change(first, cause="Input loading")
    assert headline_of(changing).startswith("4 ranks; input loading")


def test_the_heading_says_whose_step_it_is() -> None:
    # All ranks' steps are of 1 ms.
    assert "Step: 1.00 ms on rank 2 of 4 (median rank: 1.00 ms) · " in markdown(document())


def test_at_most_three_sentences_stand_before_the_picture() -> None:
    answer = ranks.answer(document())
    assert len(answer) == 3 and answer[-1].startswith("If rank 2 spent no more time in input wait")
    assert not any(". " in sentence for sentence in answer)
    report = markdown(document())
    for number, place in ((0, "before"), (3, "after")):
        of = [*answer, *ranks.basis(document())][number]
        assert (report.index(of) < report.index("| Rank")) == (place == "before")


def test_it_says_what_the_late_rank_does_instead_and_what_all_would_gain() -> None:
    assert "the others wait 0.300 ms per step for it alone." in said()
    assert "rank 2 spends more time than the median rank in: input wait (0.300 ms)." in said()
    assert (
        "If rank 2 spent no more time in input wait than the others, every step would take about 0.70 ms "
        "instead of 1.00 ms." in said()
    )


def test_the_late_rank_s_rule_is_found_and_saves_what_the_others_wait() -> None:
    (found,) = [one for one in document().findings if one.rule == "late-rank-input"]
    assert found.state == "fires"
    assert found.culprits[0].line == 12
    assert found.saving.predicted_ms.best_guess == pytest.approx(0.3, rel=0.05)
    assert "Rank 2 holds the others up by 0.300 ms per step." in found.fix.how


@pytest.mark.parametrize(
    ("rule", "late", "others"),
    [
        ("late-rank-kernels", {"wait": 40, "compute": 500}, {"wait": 40}),
        (
            "late-rank-host",
            {"wait": 340, "before": "annotation work"},
            {"wait": 40, "before": "annotation work"},
        ),
    ],
)
def test_each_cause_has_its_rule_which_promises_no_more_than_the_others_wait(
    rule: str, late: dict[str, Any], others: dict[str, Any]
) -> None:
    recordings = [recording(rank, **(late if rank == 2 else others)) for rank in range(4)]
    together = job_of(summary_of(Measured(one), source=one.source.name) for one in recordings)
    found = Analysis(Measured(recordings[2], together)).document
    assert found.plan[0].rule == rule
    saving = next(one.saving for one in found.findings if one.rule == rule).predicted_ms
    assert [saving.best_guess, saving.high] == pytest.approx([0.3, 0.3], abs=0.005)
    least = times_odds(0.3, 1.0, widths()["whole"].low)  # of a step of 1 ms, at worst
    assert saving.low == pytest.approx(least, abs=0.005)


def test_the_table_shows_the_latest_rank_first() -> None:
    headers, rows = ranks.rank_table(document())
    assert headers == ["Rank", "Step", "Late by", "Last in", "Held up alone", "Input wait"]
    assert rows[0][:6] == ["2", "1.00 ms", "0.300 ms", "100 %", "0.300 ms", "0.400 ms"]
    assert rows[1][2:5] == ["0 ms", "0 %", "0 ms"]


def test_clocks_that_differ_are_shown_with_their_error() -> None:
    states = [replace(state, offset_ms=-2.5 * state.rank, offset_error_ms=0.02) for state in job().ranks]
    apart = with_job(replace(job(), ranks=tuple(states)))
    assert "The ranks' clocks differ by at most 7.50 ms (known within 0.020 ms)" in " ".join(sentences(apart))
    headers, rows = ranks.rank_table(apart)
    assert [row[headers.index("Clock ahead")] for row in rows] == [
        f"{ahead} ± 0.020 ms" for ahead in ("−5.00", "0", "−2.50", "−7.50")
    ]


def test_of_many_ranks_the_latest_and_the_earliest_are_shown() -> None:
    state = job().ranks[0]
    many = tuple(replace(state, rank=rank, lateness_ms=float(rank)) for rank in range(40))
    changed = with_job(replace(job(), world_size=40, ranks=many, late_rank=None, pattern="none"))
    assert [row[0] for row in ranks.rank_table(changed)[1]] == [
        *map(str, range(39, 27, -1)),
        "3",
        "2",
        "1",
        "0",
    ]
    assert "Left out: 24 between the latest 12 and the earliest 4 ranks." in ranks.rank_table_note(changed)


def test_missing_ranks_are_named() -> None:
    assert "4 of 6 ranks were recorded; missing: 4, 5." in sentences(
        with_job(replace(job(), world_size=6, missing=(4, 5)))
    )


def test_a_slow_machine_is_named() -> None:
    late = {0: 0.0, 1: 0.01, 2: 0.2, 3: 0.1}
    states = [
        replace(state, host="node-7" if state.rank >= 2 else "node-3", lateness_ms=late[state.rank])
        for state in job().ranks
    ]
    slow = with_job(replace(job(), ranks=tuple(states)))
    assert (
        "All 2 ranks on node-7 arrive later than every other rank: look at that machine first."
        in sentences(slow)
    )
    states[1] = replace(states[1], lateness_ms=0.15)
    assert "node-7" not in " ".join(sentences(with_job(replace(job(), ranks=tuple(states)))))


def test_ranks_that_come_last_in_turn() -> None:
    turns = tuple(
        replace(state, last_share=share)
        for state, share in zip(job().ranks, (0.5, 0.25, 0.25, 0.0), strict=True)
    )
    changed = with_job(replace(job(), ranks=turns, late_rank=None, pattern="rotating", held_up_ms=0.2))
    assert ranks_headline(changed) == ""  # the rule says so where it matters
    assert "rank 0 in 50 % of the steps, rank 1 in 25 % of the steps" in sentences(changed)[0]


def test_one_step_proves_nobody_late() -> None:
    changed = with_job(replace(job(), step_count=1, pattern="unknown"))
    assert ranks_headline(changed) == ""
    assert sentences(changed)[0] == (
        "In the one step compared, rank 2 was last (the others waited 0.300 ms for it alone). More steps are "
        "needed to tell whether that is always so."
    )
    nothing = with_job(replace(job(), step_count=0, pattern="unknown", late_rank=None))
    assert (
        sentences(nothing)[0]
        == "No collective was found on all ranks, so it is not known which rank is late."
    )


def test_waiting_for_less_than_a_twentieth_of_the_step_is_no_headline() -> None:
    little = tuple(replace(state, held_up_ms=0.049 * (state.rank == 2)) for state in job().ranks)
    assert ranks_headline(with_job(replace(job(), ranks=little))) == ""


def test_waiting_within_the_noise_is_no_headline() -> None:
    noisy = changed(document(), steps=changed(document().steps, noise_ms=0.4))
    assert ranks_headline(noisy) == ""


def test_a_late_rank_without_a_fix_is_named_all_the_same() -> None:
    headline = headline_of(changed(document(), plan=[]))
    assert headline == "4 ranks; rank 2 holds the others up by 0.300 ms"


def test_collectives_show_bytes_and_bandwidth_where_they_are_known() -> None:
    kind = CollectiveKind("all_reduce", "0", 2.0, 2**20, 0.5, 0.25, 12.34)
    headers, rows = ranks.collective_table(with_job(replace(job(), collectives=(kind,))))
    assert dict(zip(headers, rows[0], strict=True)) == {
        "Collective": "all-reduce",
        "Per step": "2",
        "Bytes": "1.00 MiB",
        "Own time": "0.500 ms",
        "Waiting": "0.250 ms",
        "Bus bandwidth": "12.3 GB/s",
    }


def test_one_rank_has_no_section() -> None:
    for one in (documents.sick(), changed(documents.sick(), ranks=None)):
        assert ranks.compared(one) == "" and ranks_headline(one) == ""
        assert "Ranks" not in markdown(one) and "dg-ranks" not in fragment(one)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    state = RankState(0, name, name, 1.0, {name: 1.0}, 0.0, 0.0, 0.0, 0.0, 0.0)
    hostile = with_job(replace(job(), ranks=(state, *job().ranks[1:]), causes_ms={name: 5.0}, notes=(name,)))
    assert "<script>" not in fragment(hostile)
    section = ranks.compared(hostile)
    assert "<script>" not in section and not re.search(r"(?<!\\)\]\(", section)
    # whole rows of two tables
    assert len({line.count(" | ") for line in section.splitlines() if line.startswith("| ")}) <= 4


def with_job(of: Job) -> Document:
    return changed(document(), ranks=ranks_document(of))


GIB = 2**30


def with_memory(*peaks: float | None, of: int | None = 80 * GIB) -> Document:
    states = [
        replace(state, peak_memory_bytes=None if peak is None else round(peak * GIB), memory_bytes=of)
        for state, peak in zip(job().ranks, peaks, strict=True)
    ]
    return with_job(replace(job(), ranks=tuple(states)))


def test_a_rank_that_fills_far_more_memory_than_the_others_is_named() -> None:
    """The median rank of 50, 74, 51 and 51 GiB has 51, and 74 is 1.45 times that."""
    filled = with_memory(50, 74, 51, 51)
    said = "Rank 1 needs most memory: 74.0 GiB of 80.0 GiB at the peak (median rank: 51.0 GiB)."
    assert [one for one in sentences(filled) if one.startswith(said)]
    headers, rows = ranks.rank_table(filled)
    shown = {row[0]: row[headers.index("Peak memory")] for row in rows}
    assert shown == {"0": "50.0 GiB", "1": "74.0 GiB", "2": "51.0 GiB", "3": "51.0 GiB"}


@pytest.mark.parametrize(
    "filled",
    [
        with_memory(50, 50, 50, 59),  # 1.18 times the median rank
        with_memory(5, 5, 5, 7.9),  # less than a tenth of 80 GiB
        with_memory(None, 50, None, None),  # one alone
        with_memory(50, 50, 50, 74, of=None),  # of how much is unknown
    ],
)
def test_no_rank_is_named_for_memory_that_does_not_matter_or_is_unknown(filled: Document) -> None:
    assert not [one for one in sentences(filled) if "memory" in one]


def test_just_enough_memory_is_worth_a_word() -> None:
    assert [one for one in sentences(with_memory(50, 50, 50, 60)) if "Rank 3 needs most memory" in one]
    assert [one for one in sentences(with_memory(5, 5, 5, 8)) if "Rank 3 needs most memory" in one]
    assert "Peak memory" not in ranks.rank_table(document())[0]

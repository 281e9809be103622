"""One step of all ranks in words and as a drawing. Two ranks, 100 ms: times and places worked out by hand."""

from __future__ import annotations

from typing import Any

from diagnose.document.model import Document, RankRow
from diagnose.report.job_step import job_picture, path_sentence

from . import documents
from .documents import changed, made

NOTHING = {"source": "", "host": "", "ledger": {}, "lateness_series_ms": []} | dict.fromkeys(
    (
        "step_ms",
        "offset_ms",
        "offset_error_ms",
        "lateness_ms",
        "held_up_ms",
        "last_share",
        "peak_memory_bytes",
        "memory_bytes",
    )
)
RANKS = {
    "world_size": 5,
    "recorded": list(range(5)),
    "missing": [],
    "duplicates": [],
    "representative": 0,
    "steps": 1,
    "matched": 1,
    "unmatched": 0,
    "pattern": "none",
    "causes_ms": {},
    "collectives": [],
    "notes": [],
} | dict.fromkeys(("late_rank", "held_up_ms", "cause", "cause_ms", "gain_ms", "longest_last_share"))
TITLES = {"input_wait": "input wait", "compute": "compute"}


def passage(rank: int, what: str, name: str, start_ms: float, ms: float, on_path: bool) -> dict[str, Any]:
    return {"rank": rank, "what": what, "name": name, "start_ms": start_ms, "ms": ms, "on_path": on_path}


def document(**values: Any) -> Document:
    step = {
        "number": 7,
        "ms": 100.0,
        "path": [
            {"rank": 4, "name": "input_wait", "ms": 70.0},
            {"rank": None, "name": "all_reduce", "ms": 20.0},
            {"rank": 0, "name": "compute", "ms": 8.0},
            {"rank": 4, "name": "python", "ms": 2.0},
        ],
        "passages": [
            passage(0, "work", "compute", 0, 40, False),
            passage(0, "wait", "all_reduce", 40, 30, False),
            passage(0, "collective", "all_reduce", 70, 20, True),
            passage(0, "work", "compute", 90, 10, True),
            passage(4, "work", "input_wait", 0, 70, True),
            passage(4, "collective", "all_reduce", 70, 20, False),
        ],
    }
    rows = [made(RankRow, {"rank": rank} | NOTHING) for rank in range(5)]
    return changed(documents.sick(), ranks=RANKS | {"rows": rows, "step": step | values})


def test_the_critical_path_in_words_without_what_is_too_short_for_one() -> None:
    assert path_sentence(document(), TITLES) == (
        "The critical path of a median step (number 7, 100 ms as recorded): rank 4 input wait 70.0 ms (70 "
        "%), all-reduce 20.0 ms (20 %), rank 0 compute 8.00 ms (8.0 %)."
    )
    assert "all else 22.0 ms." in path_sentence(
        document(path=[{"rank": 4, "name": "input_wait", "ms": 70.0}, {"rank": 0, "name": "", "ms": 8.0}]),
        TITLES,
    )


def test_nothing_is_said_or_drawn_without_a_step() -> None:
    for without in (documents.sick(), changed(document(), ranks=RANKS | {"rows": [], "step": None})):
        assert path_sentence(without, TITLES) == ""
        assert job_picture(without, TITLES) is None


def test_a_lane_a_rank_with_bars_in_the_units_of_the_drawing() -> None:
    """1,000 wide, of which 76 for names: 9.24 a millisecond. Lanes are 30 high, bars 18."""
    drawn = job_picture(document(), TITLES)
    assert drawn is not None
    assert (drawn.height, drawn.lanes, drawn.ms, drawn.left_out) == (
        60,
        [("rank 0", 15), ("rank 4", 45)],
        "100 ms",
        3,
    )
    assert [(bar.x, bar.y, bar.width, bar.what, bar.row) for bar in drawn.bars[:2]] == [
        (76.0, 6.0, 369.6, "work", "compute"),
        (445.6, 6.0, 277.2, "wait", ""),
    ]
    assert drawn.bars[1].title == "rank 0, 30.0 ms: waits in the all-reduce for the last rank"
    assert drawn.rows == ["input_wait", "compute"]


def test_the_path_goes_from_lane_to_lane() -> None:
    drawn = job_picture(document(), TITLES)
    assert drawn is not None
    assert drawn.path == "76.0,45 722.8,45 722.8,15 907.6,15 907.6,15 1000.0,15"


def test_names_of_a_hostile_trace_are_cleaned() -> None:
    drawn = job_picture(document(passages=[passage(0, "collective", "a\x1b[31m", 0, 1, True)]), TITLES)
    assert drawn is not None
    assert "\x1b" not in drawn.bars[0].title

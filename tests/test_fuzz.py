"""A hundred mutants of the fuzzer, mutants that Hypothesis grows, and hostile files made by hand."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz import outcome
from benchmarks.mutants import ARGUMENTS, CATEGORIES, FIELDS, NUMBERS, OTHERS, TEXTS, Json, corpus, mutant
from diagnose.commands.main import main
from diagnose.commands.targets import traces_in
from diagnose.errors import TraceUnreadable
from diagnose.pipeline import analyse
from diagnose.report.markdown import markdown
from tests.trace.build import encoded, event, kernel, launch


@pytest.fixture(scope="module")
def traces() -> list[Json]:
    return corpus()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_mutants_end_in_a_document_or_a_refusal(seed: int, traces: list[Json], tmp_path: Path) -> None:
    outcomes = [outcome(mutant(traces, seed, number), tmp_path) for number in range(60)]
    assert {"document", "refused"} == set(outcomes)


def test_a_mutant_can_be_made_again(traces: list[Json]) -> None:
    assert mutant(traces, 7, 3) == mutant(traces, 7, 3) != mutant(traces, 7, 4)


def test_a_ledger_that_does_not_add_up_fails_a_mutant(
    traces: list[Json], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.measure.ledger.subtract", lambda keep, cut: keep)
    with pytest.raises(AssertionError, match="does not add up"):
        outcome(json.dumps(traces[-1]).encode(), tmp_path)


# Events as no profiler writes them.
numbers = (
    st.sampled_from([n for n in NUMBERS if not isinstance(n, float) or n == n])
    | st.integers()
    | st.floats(allow_nan=False)
)
values: Any = st.sampled_from(TEXTS) | st.text(max_size=20) | numbers | st.sampled_from(OTHERS)
times = st.integers(0, 10_000) | st.floats(0, 1e5) | values
events = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.just("X"),
            "cat": st.sampled_from(CATEGORIES),
            "name": st.sampled_from(TEXTS) | st.text(max_size=20),
        },
        optional={
            **{"ts": times, "dur": times, "pid": values, "tid": st.integers(0, 3) | values},
            "args": st.dictionaries(st.sampled_from(ARGUMENTS), st.integers(0, 5) | values, max_size=4)
            | values,
        },
    ),
    max_size=30,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    events=events,
    top=st.dictionaries(
        st.sampled_from(["baseTimeNanoseconds", "deviceProperties", "schemaVersion"]), values, max_size=2
    ),
)
def test_events_as_no_profiler_writes_them(events: list[Json], top: Json, tmp_path: Path) -> None:
    outcome(json.dumps({**top, "traceEvents": events}).encode(), tmp_path)


# ---- by hand


def busy_step(name: str, **args: Any) -> list[Json]:
    """One marked step in which everything is called by the given name."""
    return [
        event("ProfilerStep#1", 0, 1000, "user_annotation"),
        event(name, 10, 100, **args),
        event(f"diagnose::item|{name}|7|{name}", 120, 50, "user_annotation"),
        event(f"{name}(3): f", 0, 900, "python_function"),
        launch(20, 5, 1, name),
        kernel(name, 40, 300, 1),
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(text, marks=[pytest.mark.long] if number % 2 else [])
        for number, text in enumerate([*(text for text in TEXTS if "\ud800" not in text), "A" * 2**20])
    ],
    ids=lambda name: ascii(name)[:20],
)
def test_hostile_names_reach_no_report_unescaped(name: str, tmp_path: Path) -> None:
    assert outcome(encoded(*busy_step(name)), tmp_path) == "document"
    text = markdown(analyse(tmp_path / "mutant.json"))
    assert not [character for character in text if ord(character) < 32 and character != "\n"]
    assert len(text) < 100_000


@pytest.mark.parametrize(
    "field", ["pid", "tid", "correlation", "External id", "Sequence number", "bytes", "stream", "device"]
)
@pytest.mark.parametrize("number", [2**63 - 1, -(2**63) - 1, 10**40, 1e300])
def test_numbers_beyond_64_bits(field: str, number: float, tmp_path: Path) -> None:
    changed = [
        {**e, field: number} if field in FIELDS else {**e, "args": {**e["args"], field: number}}
        for e in busy_step("aten::mm")
    ]
    assert outcome(encoded(*changed), tmp_path) == "document"


@pytest.mark.parametrize(
    ("ts", "dur"),
    [(1e300, 1), (-1e300, 1), (10**40, 1), (5, -5), (5, 1e300), (2.9e15, 2.9e15), (-2.9e15, 1), (0, 2.9e15)],
)
def test_times_out_of_range(ts: float, dur: float, tmp_path: Path) -> None:
    assert (
        outcome(
            encoded(*busy_step("aten::mm"), event("aten::add", ts, dur), kernel("k", ts, dur, 5)), tmp_path
        )
        == "document"
    )


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting(depth: int, tmp_path: Path) -> None:
    args = (
        b'{"ph":"X","cat":"cpu_op","name":"deep","ts":3,"dur":1,"pid":1,"tid":1,"args":{"Input Dims":'
        + b"[" * depth
        + b"]" * depth
        + b"}}"
    )
    data = encoded(*busy_step("aten::mm")).replace(b'"traceEvents": [', b'"traceEvents": [' + args + b", ")
    assert outcome(data, tmp_path) == "document"


def test_ranges_nested_by_the_thousand(tmp_path: Path) -> None:
    deep = [event("aten::nest", i, 20_000 - 2 * i) for i in range(10_000)]
    assert outcome(encoded(*deep, launch(10_000, 1, 1), kernel("k", 10_002, 5, 1)), tmp_path) == "document"


def test_duplicate_keys(tmp_path: Path) -> None:
    data = (
        encoded(*busy_step("aten::mm"))
        .replace(b'"ph": "X"', b'"ph": "M", "ph": "X"')
        .replace(b'"dur": 300', b'"dur": 1, "dur": 300')
    )
    assert outcome(data, tmp_path) == "document"


@functools.cache
def bombs() -> dict[str, bytes]:
    """A kilobyte or a megabyte that would become gigabytes, or that nobody should unpack."""
    start, blanks = b'{"traceEvents": [', b" " * 2**24
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", blanks)
    return {
        "gzip": gzip.compress(start) + gzip.compress(blanks, 9) * 64,
        "zstd": zstandard.compress(start) + zstandard.compress(blanks, 9) * 64,
        "gzip in gzip": gzip.compress(gzip.compress(blanks, 9) * 1000, 9),
        "zip": zipped.getvalue(),
    }


@pytest.mark.parametrize("kind", ["gzip", "zstd", "gzip in gzip", "zip"])
def test_a_bomb_is_refused_soon_and_in_little_memory(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bombs()[kind])
    tracemalloc.start()
    with pytest.raises(
        TraceUnreadable, match=r"inflates like no recording does|is no JSON trace|This is a zip archive"
    ):
        analyse(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**29


def test_a_folder_of_odd_names_and_links(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, data = tmp_path / "traces", encoded(*busy_step("aten::mm"))
    folder.mkdir()
    names = [
        "a b.json",
        "-rf.json",
        "`id`.json",
        "\x1b[31m.json",
        "new\nline.json",
        "<b>|.json",
        "ünï.json",
        "%s{0}.json",
        ".json",
        "..json",
        "...json",
    ]
    for name in names:
        (folder / name).write_bytes(data)
    (folder / os.fsdecode(b"\xff\xfe.json")).write_bytes(data)
    (folder / "empty.json").write_bytes(b"")
    (folder / "folder.json").mkdir()
    (folder / "loop.json").symlink_to(folder / "loop.json")
    (folder / "nowhere.json").symlink_to(tmp_path / "nowhere")
    (folder / "link.json").symlink_to(folder / "a b.json")
    # the undecodable name, the empty file and the link that leads somewhere
    assert len(traces_in(folder)) == len(names) + 3
    assert main(["--out", str(tmp_path / "out"), str(folder)]) == 0
    told = capfd.readouterr()
    assert "\x1b[31m" not in told.err + told.out
    assert "empty.json is empty" in told.err
    assert (
        len(list((tmp_path / "out").rglob("report.json")))
        == len(list(tmp_path.rglob("report.json")))
        == len(names) + 2
    )

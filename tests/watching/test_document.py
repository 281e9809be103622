"""What reports tell of a whole run."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from diagnose.document.model.watched import Watched
from diagnose.document.slowed import slowed_headline
from diagnose.document.stored import read_document, to_json
from diagnose.document.watched import unwatched, watched_run
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources
from diagnose.report import watched as texts
from diagnose.report.markdown import markdown
from diagnose.report.page import fragment
from diagnose.report.page.run_curve import run_drawing
from tests.report.documents import sick
from tests.watching.test_windows import window

STACKS = [[["/job/train.py", 10, "main", ""]], [["/job/train.py", 12, "main", "/job/data.py: read"]]]
CHANGE = {
    "of": "typical",
    "first": 300,
    "at_s": 30.0,
    "before_ms": 100.0,
    "after_ms": 150.0,
    "noticed": 400,
    "noticed_at_s": 40.0,
}


def rank(folder: Path, number: int, *, slower: bool = True, **values: Any) -> None:
    """Thirty seconds of 100 ms, then as many windows of 150 ms in which the second line takes a third."""
    lines: list[dict[str, Any]] = [
        {"watch": {"schema": 1, "first_step": 0}},
        *({"stack": one} for one in STACKS),
    ]
    for at in range(60):
        late = slower and at >= 30
        told = {"s": 1.5, "median_ms": 150.0, "lines": [[0, 20], [1, 10]]} | values if late else {}
        lines.append({"window": window(10 * at, at_s=float(at), rss_bytes=10**9 + at * 10**7, **told)})
    if slower:
        lines.append({"change": CHANGE})
    lines.append({"snap": {"number": 1, "first": 400, "reason": "asked for"}})
    (folder / f"rank{number}").mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"rank{number}" / "watch.jsonl").write_text(text)


def told(folder: Path) -> Watched:
    recording = Recording(source=folder, timeline=None, run={"cwd": "/job"})
    found = watched_run(recording, Sources(recording))
    assert found is not None
    return found


def sentences(watched: Watched) -> list[str]:
    document = sick()
    document.watched = watched
    return texts.sentences(document)


def test_a_slow_down_is_told_with_its_step_ratio_and_line(tmp_path: Path) -> None:
    rank(tmp_path, 0)
    found = told(tmp_path)
    first, *others = sentences(found)
    assert first.startswith(
        "From step 300 on (30 s into the watch) a step takes 150 ms instead of 100 ms, 50 % longer: `train.py:12`"
    )
    assert "takes 50.0 ms more" in first
    assert any(sentence.startswith("Memory grew by ") for sentence in others)
    assert others[-1] == "Recorded again from step 400 on (asked for): `snap-1`."
    assert found.ranks == []


def test_what_only_some_steps_take_longer_is_no_steady_run(tmp_path: Path) -> None:
    rank(tmp_path, 0, s=1.2, median_ms=100.0)
    path = tmp_path / "rank0" / "watch.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"change"' not in line))
    # the last twenty windows take 120 ms a step on average, the first twenty 100
    assert sentences(told(tmp_path))[0] == (
        "No lasting change was noticed, but in the last third of the time steps took 20 % longer than in "
        "the first, on average; a typical one 100 ms."
    )


def test_a_steady_run_says_so(tmp_path: Path) -> None:
    rank(tmp_path, 0, slower=False)
    assert sentences(told(tmp_path))[0] == "Its steps took the same all the time: 100 ms, typically."


def test_of_several_ranks_the_one_whose_own_work_grew_is_told_of(tmp_path: Path) -> None:
    rank(tmp_path, 0, run_ms=80.0)
    rank(tmp_path, 1, run_ms=140.0)
    rank(tmp_path, 2, slower=False)
    found = told(tmp_path)
    assert found.rank == 1
    assert [(one.rank, one.slower_at_s) for one in found.ranks] == [(0, 30.0), (1, 30.0), (2, None)]
    assert any("2 of 3 ranks became slower; rank 1 is told of" in one for one in sentences(found))


def test_the_drawing_lies_within_its_frame(tmp_path: Path) -> None:
    rank(tmp_path, 0)
    drawing = run_drawing(told(tmp_path))
    assert drawing is not None
    points = [tuple(map(float, point.split(","))) for point in drawing.mean.split()]
    assert all(84 <= x <= 710 and 10 <= y <= 124 for x, y in points)
    ((x, step, time),) = drawing.changes
    assert (step, time) == ("300", "150 ms")
    assert 84 < x < 710


def test_a_run_that_ended_too_early_says_so(tmp_path: Path) -> None:
    recording = Recording(source=tmp_path, timeline=None, run={"settings": {"watch": True}})
    assert "before all was recorded" in unwatched(recording)[0].text
    assert unwatched(Recording(source=tmp_path, timeline=None, run={"settings": {}})) == []


def test_it_is_kept_in_the_document(tmp_path: Path) -> None:
    rank(tmp_path, 0)
    document = sick()
    document.watched = told(tmp_path)
    assert read_document(to_json(document).encode()).watched == document.watched


@pytest.mark.parametrize(("ratio", "said"), [(1.5, "50 % longer"), (4.0, "4.00 × as long")])
def test_the_headline_is_the_slow_down(tmp_path: Path, ratio: float, said: str) -> None:
    rank(tmp_path, 0)
    found = told(tmp_path)
    found.levels[1].mean_ms = ratio * found.levels[0].mean_ms
    assert slowed_headline(found)[0] == f"Steps take {said} from step 300 on: train.py:12"


@pytest.mark.parametrize("ratio", [1.0, 0.4, 1.01])
def test_what_cost_little_is_no_headline(tmp_path: Path, ratio: float) -> None:
    rank(tmp_path, 0)
    found = told(tmp_path)
    found.levels[1].mean_ms = ratio * found.levels[0].mean_ms
    assert slowed_headline(found) == []
    assert slowed_headline(None) == []


def test_whatever_stands_in_the_file_is_told_or_refused(tmp_path: Path) -> None:
    rank(tmp_path, 0)
    file = tmp_path / "rank0" / "watch.jsonl"
    whole = file.read_text()
    draw = random.Random(0)
    values = [
        "0",
        "-1",
        "1e300",
        "1e-300",
        "null",
        "99999999999",
        '"x"',
        "[]",
        "[[0, 1]]",
        "[[9, 1]]",
        "[[0, 0]]",
    ]
    told_of = 0
    for _ in range(300):
        lines = whole.splitlines()
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(lines))
            lines[at] = re.sub(
                r'("\w+": )[\d.]+',
                lambda found: found[1] + draw.choice(values),
                lines[at],
                count=draw.randint(1, 9),
            )
        draw.shuffle(lines)
        file.write_text("\n".join(lines) + "\n")
        recording = Recording(source=tmp_path, timeline=None, run={"cwd": "/job"})
        found = watched_run(recording, Sources(recording))
        if found is not None:
            told_of += 1
            document = sick()
            document.watched = found
            assert "The whole run" in fragment(document)
            assert "## The whole run" in markdown(document)
            to_json(document)
    assert told_of > 50


def test_a_gpu_that_runs_slower_is_a_cause(tmp_path: Path) -> None:
    rank(tmp_path, 0)
    file = tmp_path / "rank0" / "watch.jsonl"
    head = '{"watch": {"schema": 1, "first_step": 0'
    file.write_text(file.read_text().replace(head, head + ', "began_at": 1000.0'))
    samples = [
        [1000.0 + at, 1980.0 if at < 30 else 1410.0, [] if at < 30 else ["sw_power_cap"]] for at in range(60)
    ]
    (tmp_path / "gpu.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples) + "cut")
    found = told(tmp_path)
    cause = found.levels[1].causes[0]
    assert (cause.kind, cause.before, cause.after, cause.told) == ("clocks", 1980.0, 1410.0, "sw_power_cap")
    assert (
        "the GPU's clock fell from 1,980 to 1,410 MHz (sw power cap), which takes up to 43.2 ms more"
        in (sentences(found)[0])
    )
    assert slowed_headline(found)[0].endswith("lower GPU clocks (train.py:12)")

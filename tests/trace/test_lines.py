"""The user's line of every host event: marks, recorded calls, Python frames, call stacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.trace.lines import Mark, Place, frame_place, parse_mark, stack_place
from diagnose.trace.schema import Trace
from tests.trace.build import event, launch, read


def lines(trace: Trace) -> dict[str, tuple[str, int, str]]:
    host = trace.host
    return {
        name: place
        for name, *place in zip(host["name"], host["file"], host["line"], host["function"], strict=True)
    }  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("diagnose::item|/home/u/train.py|41|main", Mark("item", -1, Place("/home/u/train.py", 41, "main"))),
        (
            "diagnose::item|/home/u/train.py|41|main|torchmetrics.metric:compute",
            Mark("item", -1, Place("/home/u/train.py", 41, "main"), "torchmetrics.metric:compute"),
        ),
        ("diagnose::item||-1||lib.thread:run", Mark("item", -1, Place(), "lib.thread:run")),
        ("diagnose::cpu|/odd|name.py|7|<lambda>", Mark("cpu", -1, Place("/odd|name.py", 7, "<lambda>"))),
        ("diagnose::tick|12", Mark("tick", 12, Place())),
        ("diagnose::item", Mark("item", -1, Place())),
        ("diagnose::item|f.py|many|main", Mark("item", -1, Place())),
        ("diagnose::item|f.py|99999999999999999999|main", Mark("item", -1, Place())),
        ("diagnose::tick|x", Mark("tick", -1, Place())),
        ("aten::item", None),
    ],
)
def test_mark_names(name: str, mark: Mark | None) -> None:
    assert parse_mark(name) == mark


@pytest.mark.parametrize(
    ("frame", "place"),
    [
        ("train.py(41): main", Place("train.py", 41, "main")),
        ("/app/job/model/net.py(7): forward", Place("/app/job/model/net.py", 7, "forward")),
        ("trainer.py(3): <module>", Place("trainer.py", 3, "<module>")),
        ("torch/nn/modules/module.py(1501): _call_impl", Place()),
        ("/opt/conda/lib/python3.11/site-packages/foo/bar.py(1): f", Place()),
        ("/opt/conda/lib/python3.11/json/decoder.py(1): f", Place()),
        ("threading.py(973): _bootstrap", Place()),
        ("transformers/models/bert/modeling_bert.py(10): forward", Place()),
        ("<frozen os>(680): __getitem__", Place()),
        ("/home/u/diagnose/diagnose/run/child/guard.py(20): call", Place()),  # ours, from a checkout
        ("<built-in method add of type object at 0x7f>", Place()),
        ("nn.Module: Linear_0", Place()),
        ("train.py(99999999999999999999): main", Place()),
    ],
)
def test_user_frames(frame: str, place: Place) -> None:
    assert frame_place(frame) == place


def test_call_stack_takes_the_innermost_user_frame() -> None:
    stack = "/x/site-packages/torch/optim/optimizer.py(216): zero_grad;loop.py(49): step;main.py(3): <module>"
    assert stack_place(stack) == Place("loop.py", 49, "step")
    assert stack_place("") == Place()


def test_events_inside_a_mark_have_its_place_and_its_name_is_its_kind() -> None:
    trace = read(
        event("diagnose::forward|/u/train.py|11|main", 0, 100, "user_annotation"),
        event("aten::mm", 10, 20),
        launch(12, 2, 1),
        event("diagnose::item|/u/net.py|5|forward", 40, 20, "user_annotation"),
        event("aten::item", 41, 10),
        event("aten::add", 200, 5),
    )
    assert lines(trace) == {
        "forward": ["/u/train.py", 11, "main"], "aten::mm": ["/u/train.py", 11, "main"], "cudaLaunchKernel": ["/u/train.py", 11, "main"],
        "item": ["/u/net.py", 5, "forward"], "aten::item": ["/u/net.py", 5, "forward"], "aten::add": ["", -1, ""],
    }  # fmt: skip
    assert trace.host.loc[trace.host["kind"] == "mark", "name"].tolist() == ["forward", "item"]
    assert trace.info["line_source"] == {"mark": 5}


def write_calls(path: Path, *calls: tuple[int, int, int, int], **changes: Any) -> Path:
    """``calls``: line, start ns, duration ns, thread."""
    line, start, dur, tid = zip(*calls, strict=True)
    columns = {
        "file": [0] * len(calls),
        "line": line,
        "function": [0] * len(calls),
        "start_ns": start,
        "dur_ns": dur,
        "tid": tid,
    }
    path.write_text(
        json.dumps(
            {
                "schema": 1,
                "files": ["/u/train.py"],
                "functions": ["main"],
                **columns,
                "truncated": False,
                **changes,
            }
        )
    )
    return path


BASE = 1_700_000_000_000_000_000


def test_calls_of_the_users_lines(tmp_path: Path) -> None:
    # the trace starts at 10 µs after the base; the call at line 41 spans 20–60 µs, the one inside it 30–40 µs
    calls = write_calls(
        tmp_path / "c.json",
        (41, BASE + 20_000, 40_000, 4242),
        (42, BASE + 30_000, 10_000, 4242),
        (50, BASE, 90_000, 999),
    )
    trace = read(
        event("before", 10, 5, tid=4242),
        event("aten::a", 21, 5, tid=4242), event("aten::b", 31, 5, tid=4242), event("aten::c", 50, 5, tid=4242),
        event("elsewhere", 31, 5, tid=7), calls=calls, baseTimeNanoseconds=BASE,
    )  # fmt: skip
    assert {name: place[1] for name, place in lines(trace).items()} == {
        "before": -1,
        "aten::a": 41,
        "aten::b": 42,
        "aten::c": 41,
        "elsewhere": -1,
    }
    assert trace.info["line_source"] == {"call": 3}


def test_the_innermost_of_mark_and_call_decides(tmp_path: Path) -> None:
    calls = write_calls(tmp_path / "c.json", (7, 1_000, 8_000, 1))
    trace = read(
        event("diagnose::forward|/u/train.py|3|main", 0, 10, "user_annotation"), event("aten::a", 2, 1),
        event("diagnose::item|/u/train.py|8|main", 5, 2, "user_annotation"), event("aten::b", 5.5, 1),
        event("aten::c", 9.5, 0.2), calls=calls,
    )  # fmt: skip
    assert [lines(trace)[name][1] for name in ("aten::a", "aten::b", "aten::c")] == [7, 8, 3]


@pytest.mark.parametrize("content", ["", "{}", '{"file": [0], "line": "x"}', "[]"])
def test_unreadable_calls_are_told_and_passed_over(tmp_path: Path, content: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(content)
    trace = read(event("aten::a", 2, 1), calls=path)
    assert len(trace.host) == 1
    assert "detail phase could not be read" in trace.notes[0]


def test_python_frames_only_where_nothing_better_is_known() -> None:
    trace = read(
        event("train.py(30): main", 0, 100, "python_function"),
        event("torch/nn/modules/module.py(1): forward", 5, 50, "python_function"),
        event("aten::mm", 10, 5),
        event("diagnose::item|/u/train.py|33|main", 60, 20, "user_annotation"),
        event("aten::item", 61, 5),
    )
    place = lines(trace)
    assert (
        place["aten::mm"]
        == place["train.py(30): main"]
        == place["torch/nn/modules/module.py(1): forward"]
        == ["train.py", 30, "main"]
    )
    assert place["aten::item"] == ["/u/train.py", 33, "main"]
    assert trace.info["line_source"] == {"mark": 2, "python frame": 3}


def test_call_stack_argument() -> None:
    trace = read(
        event(
            "aten::mm", 1, 2, "Operator", Call_stack="/x/site-packages/torch/f.py(1): f;main.py(3): <module>"
        ),
        event("aten::add", 5),
    )
    assert lines(trace) == {"aten::mm": ["main.py", 3, "<module>"], "aten::add": ["", -1, ""]}
    assert trace.info["line_source"] == {"call stack": 1}

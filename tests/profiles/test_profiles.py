"""Profiles of the CPU: worked out by hand, and files that mean harm."""

from __future__ import annotations

import json
import marshal
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diagnose.commands import main as cli
from diagnose.errors import TraceUnreadable, UsageError
from diagnose.profiles import lightning
from diagnose.profiles.callgraph import CallGraph, Edge
from diagnose.profiles.kinds import KINDS, TITLES, kind_of_line
from diagnose.profiles.marshalled import Malformed, loads
from diagnose.profiles.reading import profile_format, read_profile
from diagnose.profiles.summary import summary
from diagnose.profiles.symptoms import OF_LINES, symptoms
from diagnose.profiles.table import Site

ENV = "/env/lib/python3.11/site-packages"
TORCH = f"{ENV}/torch"
SCRIPT = ("train.py", 1, "<module>")
MAIN = ("train.py", 20, "main")
ITEM = ("train.py", 8, "__getitem__")
NEXT = (f"{TORCH}/utils/data/dataloader.py", 700, "__next__")
FETCH = (f"{TORCH}/utils/data/_utils/fetch.py", 50, "fetch")
RESIZE = (f"{ENV}/PIL/Image.py", 2400, "resize")
BACKWARD = (f"{TORCH}/_tensor.py", 500, "backward")
ENGINE = ("~", 0, "<method 'run_backward' of 'torch._C._EngineBase' objects>")
READ = ("~", 0, "<method 'item' of 'torch._C.TensorBase' objects>")
EXEC = ("~", 0, "<built-in method builtins.exec>")
IMPORT = ("<frozen importlib._bootstrap>", 1100, "_find_and_load")
Key = tuple[str, int, str]


def row(calls: int, own: float, whole: float, **callers: Any) -> tuple[Any, ...]:
    return calls, calls, own, whole, callers


def stats() -> dict[Key, Any]:
    """Ten seconds: an import of 1, 100 batches of 3 (2 of them resizing, 0.5 in `__getitem__`), a backward of
    4, reads of 1.5, and 0.5 of `main` itself.
    """

    def by(caller: Key, calls: int, own: float, whole: float) -> dict[Key, Any]:
        return {caller: (calls, calls, own, whole)}

    return {
        EXEC: (2, 2, 0.0, 10.0, {IMPORT: (1, 1, 0.0, 0.5)}),
        SCRIPT: (1, 1, 0.0, 10.0, by(EXEC, 1, 0.0, 10.0)),
        IMPORT: (1, 1, 1.0, 1.0, by(SCRIPT, 1, 1.0, 1.0)),
        MAIN: (1, 1, 0.5, 9.0, by(SCRIPT, 1, 0.5, 9.0)),
        NEXT: (100, 100, 0.25, 3.0, by(MAIN, 100, 0.25, 3.0)),
        FETCH: (100, 100, 0.25, 2.75, by(NEXT, 100, 0.25, 2.75)),
        ITEM: (100, 100, 0.5, 2.5, by(FETCH, 100, 0.5, 2.5)),
        RESIZE: (100, 100, 2.0, 2.0, by(ITEM, 100, 2.0, 2.0)),
        BACKWARD: (100, 100, 0.0, 4.0, by(MAIN, 100, 0.0, 4.0)),
        ENGINE: (100, 100, 4.0, 4.0, by(BACKWARD, 100, 4.0, 4.0)),
        READ: (100, 100, 1.5, 1.5, by(MAIN, 100, 1.5, 1.5)),
    }


def written(folder: Path, content: bytes | Any, name: str = "train.prof") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def nonzero(kinds: dict[str, float]) -> dict[str, float]:
    return {kind: round(seconds, 6) for kind, seconds in kinds.items() if seconds > 1e-6}


def test_cprofile_time_by_kind_is_all_of_the_time(tmp_path: Path) -> None:
    """Of the 3 s of batches 2 are decoding; the script's own body is not the time of what ran it."""
    profile = read_profile(written(tmp_path, marshal.dumps(stats())))
    assert profile.duration_s == pytest.approx(10.0)
    assert nonzero(profile.kinds) == {
        "starting": 1.0,
        "reads": 1.5,
        "decoding": 2.0,
        "loader": 1.0,
        "backward": 4.0,
        "own": 0.5,
    }


def test_cprofile_library_time_belongs_to_the_users_function_that_called(tmp_path: Path) -> None:
    """main: 0.5 itself, 0.5 of the loader's, 4 of the backward, 1.5 of reads."""
    rows = read_profile(written(tmp_path, marshal.dumps(stats()))).rows
    assert [(row.site.function, row.self_s, pytest.approx(row.with_libraries_s)) for row in rows] == [
        ("main", 0.5, 6.5),
        ("__getitem__", 0.5, 2.5),
        ("<module>", 0.0, 1.0),
    ]
    assert rows[0].mostly[0] == ("torch/_tensor.py: backward", 4.0)
    assert rows[0].calls == 1


def test_advice_is_that_of_rules_with_all_that_the_symptom_takes(tmp_path: Path) -> None:
    found = summary(read_profile(written(tmp_path, marshal.dumps(stats()))), "train.prof")
    assert [(one.rule, pytest.approx(one.at_most_s)) for one in found.advice] == [
        ("input-wait-no-workers", 2.75),
        ("sync-scalar-read", 1.5),
    ]
    assert found.advice[0].title == "Load batches in worker processes"
    assert "{" not in found.advice[0].how
    assert sum(one.share for one in found.account) == pytest.approx(1.0)
    assert found.script == "train.py"


def test_a_library_shared_by_two_callers_is_split_by_what_it_took_for_each(tmp_path: Path) -> None:
    """4 s below a helper that took 3 s for one and 1 s for the other."""
    helper, leaf = (f"{ENV}/lib.py", 1, "helper"), ("~", 0, "<built-in method x.leaf>")
    one, two = ("train.py", 1, "one"), ("train.py", 9, "two")
    functions = {
        one: (1, 1, 0.0, 3.0, {}),
        two: (1, 1, 0.0, 1.0, {}),
        helper: (2, 2, 0.0, 4.0, {one: (1, 1, 0.0, 3.0), two: (1, 1, 0.0, 1.0)}),
        leaf: (2, 2, 4.0, 4.0, {helper: (2, 2, 4.0, 4.0)}),
    }
    rows = read_profile(written(tmp_path, marshal.dumps(functions))).rows
    assert [(row.site.function, row.with_libraries_s) for row in rows] == [("one", 3.0), ("two", 1.0)]


def test_functions_that_call_each_other_lose_no_time() -> None:
    """f calls g and g calls f, each for half of what it takes; f is called from the user's own, too."""
    graph = CallGraph(
        np.array([0.0, 1.0, 1.0]),
        np.array([1, 2, 1]),
        [Edge(1, 0, 1, 2.0), Edge(1, 2, 1, 2.0), Edge(2, 1, 1, 2.0)],
    )
    own = np.array([True, False, False])
    assert graph.absorbed(graph.self_s, own)[0] == pytest.approx(2.0, abs=1e-6)
    assert graph.chance(own, ~own & False)[2] == pytest.approx(1.0, abs=1e-6)


def speedscope(**more: Any) -> dict[str, Any]:
    """Three samples of a second each, and one of 2 s in a thread of the library's."""
    frames = [
        {"name": "<module>", "file": "/job/train.py", "line": 30},
        {"name": "main", "file": "/job/train.py", "line": 21},
        {"name": "Tensor.backward", "file": f"{TORCH}/_tensor.py", "line": 5},
        {"name": "main", "file": "/job/train.py", "line": 22},
        {"name": "wait", "file": "/usr/lib/python3.11/threading.py", "line": 7},
    ]
    own = {
        "type": "sampled",
        "name": "MainThread",
        "unit": "seconds",
        "samples": [[0, 1, 2], [0, 1, 2], [0, 3]],
        "weights": [1, 1, 1],
    }
    other = {"type": "sampled", "name": "pin", "unit": "milliseconds", "samples": [[4]], "weights": [2000]}
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "py-spy@0.4",
        "shared": {"frames": frames},
        "profiles": [other, own],
    } | more


def test_speedscope_tells_lines_of_the_thread_with_the_users_code(tmp_path: Path) -> None:
    profile = read_profile(written(tmp_path, speedscope(), "s.json"))
    assert (profile.profiler, profile.duration_s, profile.is_sampled) == ("py-spy", 3.0, True)
    assert nonzero(profile.kinds) == {"backward": 2.0, "own": 1.0}
    assert [(row.site.line, row.self_s, row.with_libraries_s, row.total_s) for row in profile.rows] == [
        (21, 0.0, 2.0, 2.0),
        (22, 1.0, 1.0, 1.0),
        (30, 0.0, 0.0, 3.0),
    ]
    assert "2.0 s and are not counted" in profile.notes[0]


def test_calls_that_begin_and_end_are_stacks_too(tmp_path: Path) -> None:
    """main from 0 to 10 µs, the backward in it from 2 to 8."""
    events = [("O", 0, 1), ("O", 2, 2), ("C", 8, 2), ("C", 10, 1)]
    evented = {
        "type": "evented",
        "unit": "microseconds",
        "events": [{"type": kind, "at": at, "frame": frame} for kind, at, frame in events],
    }
    profile = read_profile(written(tmp_path, speedscope(profiles=[evented]), "s.json"))
    assert nonzero({kind: 1e6 * seconds for kind, seconds in profile.kinds.items()}) == {
        "backward": 6,
        "own": 4,
    }


def test_time_in_a_line_itself_is_told_by_its_text(tmp_path: Path) -> None:
    """Calls in C are not on the stack: the line's own text says what it calls."""
    script = tmp_path / "train.py"
    script.write_text("import torch\nlosses.append(loss.item())\n")
    frames = [{"name": "main", "file": str(script), "line": 2}]
    recorded = {"type": "sampled", "unit": "seconds", "samples": [[0]], "weights": [4]}
    profile = read_profile(
        written(tmp_path, speedscope(shared={"frames": frames}, profiles=[recorded]), "s.json")
    )
    assert nonzero(profile.kinds) == {"reads": 4.0}
    assert profile.symptoms == {"sync-scalar-read": 4.0}


def scalene(**more: Any) -> dict[str, Any]:
    """10 s: 60 % in a backward, 30 % in a line of arithmetic, the rest nowhere."""
    lines = [
        {"lineno": 5, "line": "  loss.backward()\n", "n_cpu_percent_c": 50, "n_sys_percent": 10},
        {"lineno": 6, "line": "  x = x * x\n", "n_cpu_percent_python": 30, "start_function_line": 4},
    ]
    source = {"lines": lines, "functions": [{"line": "main", "lineno": 4}]}
    return {
        "alloc_samples": 0,
        "elapsed_time_sec": 10.0,
        "files": {"/job/train.py": source},
        "program": "/job/train.py",
    } | more


def test_scalene_tells_lines_by_their_text(tmp_path: Path) -> None:
    profile = read_profile(written(tmp_path, scalene(), "scalene.json"))
    assert nonzero(profile.kinds) == {"backward": 6.0, "own": 3.0, "other": 1.0}
    assert [(row.site.line, row.site.function, row.self_s) for row in profile.rows] == [
        (5, "", 0.0),
        (6, "main", 3.0),
    ]


SIMPLE = """FIT Profiler Report

-----------
|  Action                             	|  Mean duration (s)	|  Num calls	|  Total time (s) 	|  Percentage %   	|
|  Total                              	|  -              	|  9              	|  10.0           	|  100 %          	|
|  run_training_epoch                 	|  9.0            	|  1              	|  9.0            	|  90.0           	|
|  [LightningModule]Net.optimizer_step	|  0.06           	|  100            	|  6.0            	|  60.0           	|
|  [Strategy]One.backward             	|  0.02           	|  100            	|  2.0            	|  20.0           	|
|  [Strategy]One.training_step        	|  0.03           	|  100            	|  3.0            	|  30.0           	|
|  [_TrainingEpochLoop].train_dataloader_next	|  0.025    	|  100            	|  2.5            	|  25.0           	|
"""
ADVANCED = """FIT Profiler Report
Profile stats for: [Strategy]One.backward
         7 function calls in 3.000 seconds

   ncalls  tottime  percall  cumtime  percall filename:lineno(function)
    100/50    1.000    0.010    3.000    0.030 model.py:14(backward)
       50    2.000    0.040    2.000    0.040 {method 'run_backward' of 'torch._C._EngineBase' objects}
Profile stats for: run_training_epoch
        1    0.500    0.500    0.500    0.500 {built-in method time.sleep}
"""


def test_lightnings_actions_that_hold_others_are_not_counted_twice(tmp_path: Path) -> None:
    """Of the optimizer's step of 6 s, 5 are the forward and the backward that it runs; 2.5 of 10 are left."""
    profile = read_profile(written(tmp_path, SIMPLE.encode(), "fit.txt"))
    assert nonzero(profile.kinds) == {
        "loader": 2.5,
        "forward": 3.0,
        "backward": 2.0,
        "optimizer": 1.0,
        "other": 1.5,
    }
    assert [row.site.function for row in profile.rows][:2] == [
        "run_training_epoch",
        "[LightningModule]Net.optimizer_step",
    ]
    assert summary(profile, "fit.txt").advice[0].rule == "input-wait"


def test_lightnings_tables_of_functions_are_added_up(tmp_path: Path) -> None:
    profile = read_profile(written(tmp_path, ADVANCED.encode(), "fit.txt"))
    assert profile.duration_s == 3.5
    assert nonzero(profile.kinds) == {"backward": 3.0, "other": 0.5}
    assert [(row.site.file, row.calls) for row in profile.rows] == [("", 50), ("model.py", 100), ("", 1)]


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/job/train.py", True),
        ("train.py", True),
        ("/tmp/ipykernel_77/12.py", True),
        ("<ipython-input-3>", True),
        (f"{TORCH}/_tensor.py", False),
        ("/usr/lib/python3.11/json/encoder.py", False),
        ("torch/nn/modules/module.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("", False),
    ],
)
def test_what_is_the_users_own(file: str, own: bool) -> None:
    assert Site(file, 1, "f").is_own == own


@pytest.mark.parametrize(
    ("site", "callee"),
    [
        (Site("", 0, "<built-in method time.sleep>"), "<built-in function sleep>"),
        (
            Site("", 0, "<method 'read' of '_io.BufferedReader' objects>"),
            "<built-in method read of _io.BufferedReader object>",
        ),
        (Site(f"{TORCH}/serialization.py", 9, "save"), "torch/serialization.py: save"),
        (Site("/usr/lib/python3.11/copy.py", 9, "deepcopy"), "copy.py: deepcopy"),
        (Site(f"{TORCH}/_tensor.py", 9, "Tensor.backward"), "torch/_tensor.py: backward"),
    ],
)
def test_functions_are_named_as_rules_name_them(site: Site, callee: str) -> None:
    assert site.callee == callee


def test_every_kind_has_a_title_and_every_symptom_a_rule() -> None:
    from diagnose.judge.rules import load_rules

    assert {kind.name for kind in KINDS} <= set(TITLES)
    assert set(symptoms()) | set(OF_LINES) <= set(load_rules())
    assert kind_of_line("for x, y in loader:") == "loader"


# ---- files that are cut or mean harm


@pytest.mark.parametrize(
    "value",
    [None, True, 7, -7, 2**40, -(2**40), 1.5, "é", "x" * 300, (), (1, "a"), {("f", 1, "g"): (1, {})}],
    ids=repr,
)
@pytest.mark.parametrize("version", [2, 4])
def test_marshal_is_read_as_python_writes_it(value: Any, version: int) -> None:
    assert loads(marshal.dumps(value, version)) == value


def test_what_is_referred_to_twice_is_the_same() -> None:
    key = ("train.py", 1, "main")
    assert loads(marshal.dumps({key: (key, key)})) == {key: (key, key)}


def test_a_line_of_blanks_takes_no_longer_than_it_is(tmp_path: Path) -> None:
    lines = ["|  a" + " " * 1900 + "x"] * 2000 + ["|  run_training_batch  |  0.5  |  2  |  1.0  |"]
    began = time.process_time()
    assert lightning.read("\n".join(lines).encode()).duration_s == 1.0
    assert time.process_time() - began < 2


def keys_that_double(times: int) -> bytes:
    """A dict of which each key holds the one before twice: the last takes 2^times steps to hash."""
    keys = b"\xa9\x01i\0\0\0\0N"  # what is referred to as 1: 0 is the dict
    for number in range(1, times):
        before = b"r" + struct.pack("<i", number)
        keys += b"\xa9\x02" + before + before + b"N"
    return b"\xfb" + keys + b"0"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"c" + b"\0" * 40,  # code
        b"(" + struct.pack("<i", 2**31 - 1),  # two billion values
        b"l" + struct.pack("<i", 2**30),  # a number of five billion digits
        b"u" + struct.pack("<i", -1),
        b")\x01" * 50 + b"N",  # nested fifty deep
        b"r" + struct.pack("<i", 5),  # the same as nothing
        b"\xa9\x01r" + struct.pack("<i", 0),  # a tuple that holds itself
        b"{{0N0",  # a dict as a key
        keys_that_double(60),
    ],
    ids=range(11),
)
def test_marshal_that_means_harm_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed):
        loads(content)


def test_a_profile_cut_anywhere_is_refused_in_words(tmp_path: Path) -> None:
    whole = marshal.dumps(stats())
    for length in range(8, len(whole), 37):
        with pytest.raises(TraceUnreadable, match="damaged or cut"):
            read_profile(written(tmp_path, whole[:length]))


@pytest.mark.parametrize(
    "found",
    [
        {},
        {("f", "g", "h"): (1, 1, 0.1, 0.1, {})},
        {("f", 1, "g"): (1, 1, float("nan"), 0.1, {})},
        {("f", 1, "g"): (1, 1, 1e300, 1e300, {})},
        {("f", 1, "g"): (1, 1, 0.1, 0.1, {("f", 1, "g"): "x"})},
        {("f", 1, "g"): (1, 1, 0.1)},
        {("f", 1, "g"): (1, 1, 0.0, 0.0, {})},
        {("f", 1, "g"): (1, 1, 0.1, 0.1, {}), 5: (1, 1, 0.1, 0.1, {})},
        {("f", 1, "g"): (1, 1, 0.1, 0.1, {}), ("f", 1): (1, 1, 0.1, 0.1, {})},
    ],
    ids=range(9),
)
def test_a_table_of_other_things_is_refused(found: Any, tmp_path: Path) -> None:
    with pytest.raises(TraceUnreadable, match="damaged or cut"):
        read_profile(written(tmp_path, marshal.dumps(found)))


@pytest.mark.parametrize(
    "more",
    [
        {"profiles": []},
        {"profiles": [{"type": "sampled", "unit": "bytes", "samples": [[0]], "weights": [1]}]},
        {"profiles": [{"type": "sampled", "unit": "seconds", "samples": [[9]], "weights": [1]}]},
        {"profiles": [{"type": "sampled", "unit": "seconds", "samples": [[-1]], "weights": [1]}]},
        {"profiles": [{"type": "sampled", "unit": "seconds", "samples": [[0], [0]], "weights": [1]}]},
        {"profiles": [{"type": "sampled", "unit": "seconds", "samples": [[0]] * 2, "weights": [1e308] * 2}]},
        {
            "profiles": [
                {"type": "evented", "unit": "seconds", "events": [{"type": "C", "at": 1, "frame": 0}]}
            ]
        },
        {"shared": {"frames": [{"name": 3}]}},
        {"shared": None},
    ],
    ids=range(9),
)
def test_speedscope_files_that_contradict_themselves_are_refused(more: Any, tmp_path: Path) -> None:
    with pytest.raises(TraceUnreadable, match="damaged or cut"):
        read_profile(written(tmp_path, speedscope(**more), "s.json"))


@pytest.mark.parametrize(
    "more",
    [{"files": {}}, {"elapsed_time_sec": 0}, {"elapsed_time_sec": "x"}, {"files": {"f": {"lines": 3}}}],
)
def test_scalene_files_without_lines_are_refused(more: Any, tmp_path: Path) -> None:
    with pytest.raises(TraceUnreadable):
        read_profile(written(tmp_path, scalene(**more), "scalene.json"))


def test_json_nested_a_million_deep_is_refused(tmp_path: Path) -> None:
    start = b'{"alloc_samples": ' + b"[" * 1_000_000
    with pytest.raises(TraceUnreadable):
        read_profile(written(tmp_path, start, "scalene.json"))


def test_a_stack_as_deep_as_the_file_is_read(tmp_path: Path) -> None:
    recorded = {"type": "sampled", "unit": "seconds", "samples": [[1] * 100_000], "weights": [1]}
    profile = read_profile(written(tmp_path, speedscope(profiles=[recorded]), "s.json"))
    assert [(row.site.line, row.total_s) for row in profile.rows] == [(21, 1.0)]


def test_what_would_take_too_much_memory_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, marshal.dumps(stats()))
    with pytest.raises(UsageError, match="more memory"):
        read_profile(path, memory_limit=1000)


def test_a_trace_is_no_profile() -> None:
    assert profile_format(b'{"schemaVersion": 1, "traceEvents": []}') is None
    assert profile_format(b"import torch\n") is None


# ---- the command


def test_the_command_writes_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, marshal.dumps(stats()))
    assert cli.main(["train.prof", "--out", "out", "--format", "json"]) == 0
    told = capsys.readouterr()
    assert told.err.splitlines()[1].startswith("There is no GPU work in this recording")
    assert "python -m diagnose train.py" in told.err
    kept = json.loads((tmp_path / "out" / "profile.json").read_text())
    assert kept == json.loads(told.out)
    page = (tmp_path / "out" / "profile.md").read_text()
    assert "40 % of 10.0 s: Backward. Of your functions, main (train.py:20) takes most: 65 %." in page
    assert "at most 2.75 s, 28 %" in page


@pytest.mark.parametrize("option", ["--fail-on=high", "--track=mlflow", "--format=sarif", "--steps=4"])
def test_what_needs_a_trace_is_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, marshal.dumps(stats()))
    assert cli.main([option, str(path)]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err


def test_names_in_a_profile_can_hold_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    harm = ("/job/tr|ain`\x1b[2J.py", 3, "<script>`|\x1b[31m")
    written(tmp_path, marshal.dumps({harm: (1, 1, 1.0, 1.0, {})}))
    assert cli.main(["train.prof", "--out", "out"]) == 0
    page = (tmp_path / "out" / "profile.md").read_text()
    assert "\x1b" not in page
    assert "<script>" not in page

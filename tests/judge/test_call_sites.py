"""Calls found in a script's source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diagnose.judge.call_sites import CallSite, call_sites
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured

SCRIPT = """\
from torch.utils.data import DataLoader
import torch.utils.data as data
# DataLoader(comment)
train = DataLoader(
    set_a,
    shuffle=True,
)
test = data.DataLoader(set_b)
text = "DataLoader(string)"
"""


def measured_script(folder: Path, source: str, **facts: list) -> Measured:
    """A run whose recording names the script at a path that has since moved."""
    (folder / "train.py").write_text(source)
    facts |= {"models": [{"file": "/job/train.py", "line": 4, "function": "main"}]}
    measured = measured_case(
        {"timeline": "main  0  100  step  ProfilerStep#1\nmain  10  10  op  aten::mm", "facts": facts}
    )
    return Measured(replace(measured.recording, source=folder, run={"cwd": "/job"}))


def test_calls_are_found_by_name_and_as_attributes_but_not_in_text(tmp_path: Path) -> None:
    found = call_sites("DataLoader", measured_script(tmp_path, SCRIPT), [])
    assert found == [CallSite("/job/train.py", 4), CallSite("/job/train.py", 8)]


def test_of_what_the_recorder_saw_made_only_the_one_that_matters_is_named(tmp_path: Path) -> None:
    loaders = [
        {"file": "/job/train.py", "line": line, "num_workers": 0, "dataset_length": 12 - line}
        for line in (4, 8)
    ]
    optimizers = [{"file": "/job/train.py", "line": line} for line in (5, 6, 5)]
    measured = measured_script(tmp_path, SCRIPT, loaders=loaders, optimizers=optimizers)
    assert call_sites("DataLoader", measured, []) == [CallSite("/job/train.py", 4)]  # the one with more items
    assert call_sites("Optimizer", measured, []) == [
        CallSite("/job/train.py", 5),
        CallSite("/job/train.py", 6),
    ]


def test_of_many_calls_only_the_blamed_ones_are_named(tmp_path: Path) -> None:
    measured = measured_script(tmp_path, "x.to(d)\n" * 6)
    assert call_sites("to", measured, []) == []
    assert call_sites("to", measured, [CallSite("/job/train.py", 3)]) == [CallSite("/job/train.py", 3)]


def test_a_model_that_is_blamed_for_its_layout_is_made_where_its_class_is_called(tmp_path: Path) -> None:
    source = "class Net(Module):\n    pass\n\nmodel = Net()\nother = Other()\nmodel(x)\n"
    called = {"file": "/job/train.py", "line": 6, "class": "Net"}
    measured = measured_script(tmp_path, source, layouts=[called, {**called, "line": 7, "class": "Other"}])
    assert call_sites("Model", measured, [CallSite("/job/train.py", 6)]) == [CallSite("/job/train.py", 4)]


def test_of_many_calls_with_64_bits_those_count_that_make_a_whole_model_of_them(tmp_path: Path) -> None:
    many = "".join(f"h{number} = torch.rand(3, dtype=torch.float64)\n" for number in range(6))
    script = measured_script(tmp_path, f"{many}model = Net().double()\n")
    assert call_sites("float64", script, []) == [CallSite("/job/train.py", 7)]
    assert call_sites("float64", measured_script(tmp_path, many), []) == []


def test_calls_that_make_64_bit_floats(tmp_path: Path) -> None:
    told = "x = torch.from_numpy(a)\nmodel = Net().double()\ny = torch.zeros(3, dtype=torch.float64)\n"
    assert call_sites("float64", measured_script(tmp_path, told), []) == [
        CallSite("/job/train.py", 2),
        CallSite("/job/train.py", 3),
    ]
    by_default = "torch.set_default_dtype(torch.double)\nx = torch.rand(3)\n"
    assert call_sites("float64", measured_script(tmp_path, by_default), []) == [CallSite("/job/train.py", 1)]


def test_without_a_word_of_it_those_that_keep_what_numpy_made(tmp_path: Path) -> None:
    source = "x = torch.from_numpy(a)\ny = torch.from_numpy(b).float()\nz = torch.as_tensor(c, dtype=torch.float32)\n"
    assert call_sites("float64", measured_script(tmp_path, source), []) == [CallSite("/job/train.py", 1)]


def test_a_script_that_does_not_parse_or_is_gone_has_no_call_sites(tmp_path: Path) -> None:
    assert call_sites("DataLoader", measured_script(tmp_path, "DataLoader(((\n"), []) == []
    measured = measured_script(tmp_path, SCRIPT)
    (tmp_path / "train.py").unlink()
    assert call_sites("DataLoader", measured, []) == []

"""What is neither a script nor a trace is named as what it is, and nothing of it is run."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import pickle
import sqlite3
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diagnose.commands import main as cli
from diagnose.commands import targets
from diagnose.errors import UsageError

NCU_CSV = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Metric Name","Metric '
    'Unit","Metric Value"\n'
    '"0","4242","python","127.0.0.1","void '
    'gemm<float>(float*)","1","7","sm__cycles_active.avg","cycle","1,234.50"\n'
)
NSYS_CSV = 'Time (%),Total Time (ns),Instances,Avg (ns),Name\n60.0,1200,2,600,"kernel_a"\n'
XPLANE = b"\n\x1c\x08\x02\x12\x0d/device:GPU:0" + bytes(9)
PERFETTO = b"\n\x13\x2a\x11\xa2\x02" + bytes.fromhex("82477a76b28d42ba81dc33326d57a079")
TFEVENTS = struct.pack("<QI", 24, 7) + b"\x09" + struct.pack("<d", 1.0) + b"\x1a\x0dbrain.Event:2"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": "print(1)"}], "metadata": {}, "nbformat": 4})
COLAB = json.dumps({"nbformat": 4, "nbformat_minor": 0, "cells": []})


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "print('ran')")
    return file.getvalue()


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("train.py"))
    return file.getvalue()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


BY_BYTES = {
    "ncu-rep": (b"NVR\0" + bytes(40), "an Nsight Compute report"),
    "ncu-csv": (NCU_CSV.encode(), "a table or log of Nsight Compute"),
    "ncu-log": (f"==PROF== Connected to process 1\n{NCU_CSV}".encode(), "a table or log of Nsight Compute"),
    "nsys-csv": (NSYS_CSV.encode(), "a table of Nsight Systems"),
    "perfetto": (PERFETTO, "a trace in Perfetto's own format"),
    "tfevents": (TFEVENTS, "an event file of TensorBoard"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(9), "an image"),
    "jpg": (b"\xff\xd8\xff\xe0\0\x10JFIF", "an image"),
    "gif": (b"GIF89a" + bytes(9), "an image"),
    "checkpoint": (zipped("model/data.pkl", "model/version"), "a checkpoint of torch.save"),
    "old-checkpoint": (pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2), "a checkpoint of torch.save"),
    "pickle": (pickle.dumps({"a": 1}), "a Python pickle"),
    "array": (array(), "a numpy array"),
    "zip": (zipped("train.py"), "a zip archive"),
    "tar": (tarred(), "a tar archive"),
    "notebook": (NOTEBOOK.encode(), "a notebook"),
    "colab": (COLAB.encode(), "a notebook"),
    "html": (b"<!DOCTYPE html>\n<html>", "an HTML or XML document"),
    "pdf": (b"%PDF-1.7\n", "a PDF document"),
}


@pytest.mark.parametrize("suffix", ["", ".py", ".json", ".ncu-rep"])
@pytest.mark.parametrize("name", BY_BYTES)
def test_a_file_is_named_by_its_bytes_whatever_it_is_called(name: str, suffix: str) -> None:
    content, what = BY_BYTES[name]
    Path(f"given{suffix}").write_bytes(content)
    with pytest.raises(UsageError, match=what) as refusal:
        targets.kind_of(f"given{suffix}")
    assert refusal.value.do
    assert "it starts with" in refusal.value.saw


def test_a_database_may_be_an_export_of_nsight() -> None:
    with contextlib.closing(sqlite3.connect("report")) as database:
        database.execute("create table kernels (name)")
    assert targets.kind_of("report") == "trace"


@pytest.mark.parametrize("name", ["host.xplane.pb", "profile"])
def test_a_profile_of_tensorflow_or_jax_is_a_trace(name: str) -> None:
    Path(name).write_bytes(XPLANE)
    assert targets.kind_of(name) == "trace"


def test_a_log_folder_is_the_last_profile_in_it() -> None:
    """As Keras' callback and `jax.profiler.trace` lay it out; what is made of a profile is no second one."""
    for run in ("2026_01_01_00_00_00", "2026_01_02_00_00_00"):
        folder = Path("logs", "train", "plugins", "profile", run)
        folder.mkdir(parents=True)
        for name in ("host.xplane.pb", "host.trace.json.gz", "host.memory_profile.json.gz"):
            (folder / name).write_bytes(XPLANE)
    last = [Path("logs/train/plugins/profile/2026_01_02_00_00_00/host.xplane.pb")]
    for folder in (Path("logs"), Path("logs/train"), Path("logs/train/plugins"), last[0].parent):
        assert targets.kind_of(str(folder)) == "traces"
        assert targets.traces_in(folder) == last


BY_NAME = {
    "report.ncu-rep": "an Nsight Compute report",
    "report.nsys-rep": "an Nsight Systems recording",
    "report.nvvp": "a recording of nvprof",
    "trace.pftrace": "Perfetto's own format",
    "trace.perfetto-trace": "Perfetto's own format",
    "PICTURE.PNG": "an image",
    "model.pt": "a checkpoint of torch.save",
    "model.safetensors": "a file of weights",
    "train.ipynb": "a notebook",
    "train.sh": "a shell script",
    "train.yaml": "a YAML file",
    "pyproject.toml": "a TOML file",
    "kernels.csv": "a table",
}


@pytest.mark.parametrize(
    "content", [b"", b"\0\1\2\3", b"lr: 0.1\n", b"[lr]\nrate = 0.1\n", b"1,2,3\n4,5,6\n"]
)
@pytest.mark.parametrize("name", BY_NAME)
def test_where_the_bytes_tell_nothing_a_file_is_named_by_its_name(name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(UsageError, match=BY_NAME[name]) as refusal:
        targets.kind_of(name)
    assert refusal.value.do
    assert "its name ends in" in refusal.value.saw


@pytest.mark.parametrize("name", ["trace.pftrace", "trace.prof", "trace.txt"])
def test_a_json_trace_is_one_under_any_name(name: str) -> None:
    Path(name).write_text('{"schemaVersion": 1, "traceEvents": []}')
    assert targets.kind_of(name) == "trace"


@pytest.mark.parametrize(
    "line",
    ["#!/bin/sh", "#!/bin/bash -e", "#! /usr/bin/env bash", "#!/usr/bin/env -S zsh -f", "#!/usr/bin/perl"],
)
def test_a_script_for_another_program_is_named(line: str) -> None:
    Path("job").write_text(f"{line}\npython train.py\n")
    with pytest.raises(UsageError, match=r"job is a script for (sh|bash|zsh|perl), ") as refusal:
        targets.kind_of("job")
    assert "python -m diagnose YOUR_SCRIPT.py" in refusal.value.do


@pytest.mark.parametrize(
    "content",
    [
        "#!/usr/bin/env python3\n",
        "#!/opt/node/bin/python3.11 -u\n",
        "#!/usr/bin/env -S uv run --script\nprint(1)",
        "import torch\n",
        '"""Trains."""\n\nfrom package.main import train\n\ntrain()\n',
        "\n# a comment first\nprint(1)\n",
        "# -*- coding: latin-1 -*-\nprint('\u00e9')\n",
    ],
)
def test_a_script_needs_no_suffix(content: str) -> None:
    Path("train").write_text(content, encoding="latin-1")
    assert targets.kind_of("train") == "script"


@pytest.mark.parametrize("content", ["#!/bin/sh\n", "1,2,3\n", "lr: 0.1\n", "", "def broken(:\n"])
def test_what_is_called_a_script_in_python_is_one(content: str) -> None:
    Path("train.py").write_text(content)
    assert targets.kind_of("train.py") == "script"


def test_a_script_with_a_syntax_error_but_a_first_line_for_python_is_still_one() -> None:
    Path("train").write_text("#!/usr/bin/env python\ndef broken(:\n")
    assert targets.kind_of("train") == "script"


@pytest.mark.parametrize("prefix", [b"", b"#!/usr/bin/env python3\n"])
@pytest.mark.parametrize("name", ["train.pyz", "train", "train.zip"])
def test_an_archive_that_python_runs_is_a_script(name: str, prefix: bytes) -> None:
    Path(name).write_bytes(prefix + zipped("__main__.py"))
    assert targets.kind_of(name) == "script"


@pytest.mark.parametrize(
    "content",
    [
        "1,2,3\n4,5,6\n",
        '"a","b"\n"c","d"\n',
        "lr: 0.1\nepochs: 3\n",
        "a = 1\n[b]\nc = 2\n",
        "",
        "hello there\n",
        "a, b (%)\n1, 2\n",
    ],
)
def test_text_that_does_nothing_as_python_is_not_run(content: str) -> None:
    Path("given").write_text(content)
    with pytest.raises(UsageError, match="given is neither a script in Python nor a trace") as refusal:
        targets.kind_of("given")
    assert refusal.value.saw


@pytest.mark.parametrize("make", [lambda data: data, gzip.compress])
def test_a_foreign_file_among_traces_is_named_too(
    make: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("traces").mkdir()
    Path("traces/kernels.json.gz").write_bytes(make(NCU_CSV.encode()))
    assert cli.main(["--out", "out", "traces"]) == 2
    assert (
        "This is a table or log of Nsight Compute, not a trace of torch.profiler" in capsys.readouterr().err
    )


@pytest.mark.parametrize("arguments", [[], ["--epochs", "3"]])
def test_nothing_is_run_and_one_message_says_what_to_do(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("kernels.csv").write_text(NCU_CSV)
    assert cli.main(["--steps", "3", "kernels.csv", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "diagnose: kernels.csv is a table or log of Nsight Compute, neither a script in Python nor a trace "
        "of torch.profiler",
        """  saw: it starts with b'"ID","Process ID'""",
        "  do:  Name the script that was profiled: python -m diagnose YOUR_SCRIPT.py",
    ]
    assert not Path("diagnosis").exists()


def test_what_a_report_holds_is_no_trace_but_the_one_it_keeps(work_folder: Path) -> None:
    kept = Path("report", "tb", "trace", "rank0.pt.trace.json.gz")
    kept.parent.mkdir(parents=True)
    for name in ("report.json", "brief.json", "picture.json.gz", "annotated.trace.json.gz"):
        Path("report", name).touch()
    with pytest.raises(UsageError, match="no traces in this folder"):
        targets.kind_of("report")
    kept.touch()
    assert targets.kind_of("report") == "traces"
    assert targets.traces_in(Path("report")) == [kept]
    Path("report", "another.json").touch()
    assert targets.traces_in(Path("report")) == [Path("report", "another.json")]


def test_without_a_report_beside_it_any_json_may_be_a_trace(work_folder: Path) -> None:
    Path("traces").mkdir()
    Path("traces", "brief.json").touch()
    assert targets.traces_in(Path("traces")) == [Path("traces", "brief.json")]

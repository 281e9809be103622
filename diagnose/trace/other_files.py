"""Files that are neither a script nor a trace of torch.profiler: what each is, and what to do instead.

A file is looked at by its first bytes, and by its name only where these tell nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

START_BYTES = 512  # of a file are looked at
RECORD_HINT = (
    "Record one with torch.profiler and export_chrome_trace(), or run: python -m diagnose YOUR_SCRIPT.py"
)
_PROFILED = "Name the script that was profiled: python -m diagnose YOUR_SCRIPT.py"
_NCU = "Write it as a table, and read that: ncu --import REPORT.ncu-rep --csv --page raw > ncu.csv"
_OWN_REPORT = "It has a report of its own: python -m diagnose FILE"
_EXPORT = "Export it, and read the export: nsys export --type sqlite RECORDING.nsys-rep"
_ROCPROF = "Of rocprofv3 JSON is read: rocprofv3 --runtime-trace --output-format json -- python train.py"
_READS = (
    "Name the script that reads it, with this file among its arguments: python -m diagnose YOUR_SCRIPT.py "
    "--config FILE"
)
_LOADS = "Name the script that writes or loads it: python -m diagnose YOUR_SCRIPT.py"
_STARTS = "Name the Python script that it starts, with the same arguments: python -m diagnose YOUR_SCRIPT.py"
_UNPACK = "Unpack it, and name a script or a trace in it."
_NOTEBOOK = (
    "Open `with diagnose.record():` around the loop in it, or make a script of it: jupyter nbconvert --to "
    "script NOTEBOOK"
)
_SHOWS = "Name the trace or the run folder that it was made of."


class OtherFile(NamedTuple):
    """`begins`: a regular expression for its first bytes; empty where they tell nothing."""

    what: str
    do: str
    begins: bytes = b""
    suffixes: tuple[str, ...] = ()


SHELL_SCRIPT = OtherFile("a shell script", _STARTS, b"", (".sh", ".bash", ".zsh", ".slurm", ".sbatch"))
SNAPSHOT = OtherFile("a snapshot of a GPU's memory", _OWN_REPORT, rb"\x80[\x02-\x05](?s:.{0,64}?)segments")

# The first that fits is the one.
OTHER_FILES = (
    OtherFile("an Nsight Compute report", _NCU, rb"NVR\0", (".ncu-rep", ".nsight-cuprof-report")),
    OtherFile(
        "a table or log of Nsight Compute", _OWN_REPORT, rb'\s*("ID","Process ID"|==(PROF|WARNING|ERROR)== )'
    ),
    OtherFile("a recording of nvprof", _PROFILED, b"", (".nvvp", ".nvprof")),
    OtherFile("an Nsight Systems recording", _EXPORT, rb"QDSTRM", (".nsys-rep", ".qdrep", ".qdstrm")),
    OtherFile("a table of Nsight Systems", _PROFILED, rb'\s*"?(Time ?\(%\)|Start ?\((ns|us|ms|s)\))"?,'),
    OtherFile("a table of rocprofv3", _ROCPROF, rb'"(Kind","Agent_Id|Domain","Function|Guid",)'),
    OtherFile("a table of rocprofv3", _ROCPROF, rb'"Correlation_Id","Dispatch_Id"'),
    OtherFile("a trace in OTF2", _ROCPROF, b"", (".otf2",)),
    OtherFile(
        "a trace in Perfetto's own format",
        f"{RECORD_HINT}. Of rocprofv3 JSON is read: --output-format json",
        rb"\n.{0,400}\x82Gzv\xb2\x8dB\xba",
        (".pftrace", ".perfetto-trace"),
    ),
    OtherFile("an event file of TensorBoard", _PROFILED, rb".{12}\x09.{8}\x1a.brain\.Event:"),
    OtherFile("a profile of cProfile", _OWN_REPORT, rb"[{\xfb][)\xa9]\x03"),
    OtherFile("no profile of cProfile, in spite of its name", _PROFILED, b"", (".prof", ".pstats")),
    OtherFile("a recording of Linux perf", _PROFILED, rb"PERFILE2"),
    OtherFile(
        "a checkpoint of torch.save",
        _LOADS,
        rb"PK\x03\x04.{26}[^/]{1,99}/data\.pkl",
        (".pt", ".pth", ".ckpt"),
    ),
    OtherFile("a checkpoint of torch.save", _LOADS, rb"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19\."),
    SNAPSHOT,
    OtherFile("a Python pickle", _LOADS, rb"\x80[\x02-\x05]", (".pkl", ".pickle")),
    OtherFile("an HDF5 file", _LOADS, rb"\x89HDF", (".h5", ".hdf5")),
    OtherFile("a numpy array", _LOADS, rb"\x93NUMPY", (".npy", ".npz")),
    OtherFile("a file of weights", _LOADS, b"", (".safetensors", ".onnx")),
    OtherFile("a zip archive", _UNPACK, rb"PK\x03\x04", (".zip",)),
    OtherFile("a tar archive", _UNPACK, rb".{257}ustar", (".tar",)),
    OtherFile("an archive", _UNPACK, rb"(BZh[1-9]|\xfd7zXZ\0|7z\xbc\xaf)", (".bz2", ".xz", ".7z")),
    OtherFile(
        "an image",
        _SHOWS,
        rb"(\x89PNG\r|\xff\xd8\xff|GIF8[79]a|RIFF.{4}WEBP|II\*\0|MM\0\*)",
        (".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".svg"),
    ),
    OtherFile("a PDF document", _SHOWS, rb"%PDF-", (".pdf",)),
    OtherFile(
        "an HTML or XML document", _SHOWS, rb"\s*<(!doctype|html|\?xml|svg)", (".html", ".htm", ".xml")
    ),
    OtherFile("a notebook", _NOTEBOOK, rb'\s*\{\s*"(cells"\s*:\s*\[|nbformat)', (".ipynb",)),
    OtherFile(
        "a text in Python's own notation (single quotes)",
        "Write it as JSON, with json.dump.",
        rb"\s*(\[\s*)?\{'",
    ),
    SHELL_SCRIPT,
    OtherFile("a YAML file", _READS, b"", (".yaml", ".yml")),
    OtherFile("a TOML file", _READS, b"", (".toml",)),
    OtherFile("a configuration file", _READS, b"", (".ini", ".cfg", ".conf")),
    OtherFile("a file of JSON lines", _READS, b"", (".jsonl", ".ndjson")),
    OtherFile("a table", _READS, b"", (".csv", ".tsv", ".parquet")),
)
_BEGINS = [(re.compile(one.begins, re.DOTALL | re.IGNORECASE), one) for one in OTHER_FILES if one.begins]


def by_bytes(start: bytes) -> OtherFile | None:
    """What a file is that begins like this; None if nothing tells."""
    start = start[:START_BYTES]
    return next((one for begins, one in _BEGINS if begins.match(start)), None)


def by_name(name: str) -> OtherFile | None:
    """What a file is that is called so; None if nothing tells."""
    return next((one for one in OTHER_FILES if name.lower().endswith(one.suffixes)), None)

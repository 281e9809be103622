"""TensorBoard reads what we write, with its own reader."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest

from diagnose.report.tensorboard import write_tensorboard

from . import documents


def series(folder: Path) -> tuple[dict[str, list[tuple[int, float]]], dict[str, str]]:
    """The scalars (step, value) and the texts in a folder, by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    scalars: dict[str, list[tuple[int, float]]] = {}
    texts: dict[str, str] = {}
    for tag in events.Tags()["tensors"]:
        for event in events.Tensors(tag):
            if event.tensor_proto.string_val:
                texts[tag] = event.tensor_proto.string_val[0].decode()
            else:
                scalars.setdefault(tag, []).append((event.step, round(event.tensor_proto.float_val[0], 3)))
    return scalars, texts


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    rank = tmp_path / "run" / "rank0"
    rank.mkdir(parents=True)
    for name in ("timeline", "detail"):
        (rank / f"{name}.pt.trace.json.gz").write_bytes(gzip.compress(b"{}"))
    return tmp_path / "run"


def test_step_times_report_and_findings_are_there(run_folder: Path) -> None:
    scalars, texts = series(write_tensorboard(documents.sick(), None, run_folder, run_folder))
    assert scalars["step_ms/plain"] == [(0, 12.1), (1, 12.3), (2, 12.6)]
    assert scalars["step_ms/recorded"][0] == (0, 13.8)
    assert scalars["step_ms/predicted"] == [(0, 12.3), (1, 8.7)]  # as it is, after fix 1
    assert texts["diagnose/report"].startswith("# Diagnosis of `train.py`")
    assert "<details>" not in texts["diagnose/report"]
    assert texts["diagnose/findings"].startswith("| #")


def test_no_chart_is_of_a_single_dot(run_folder: Path) -> None:
    document = documents.sick()
    document.steps.plain_series_ms = [12.3]
    lone = {"title": "GPU memory", "x_title": "step", "x": [1], "bytes": [2048]}
    scalars, _ = series(write_tensorboard(document, {"memory": [lone]}, run_folder, run_folder))
    assert {"step_ms/recorded", "step_ms/predicted"} == set(scalars)
    assert all(len(points) > 1 for points in scalars.values())


def test_the_pictures_memory_is_there_step_by_step(run_folder: Path) -> None:
    within = {
        "title": "GPU 0 memory allocated",
        "x_title": "ms of the recording",
        "x": [0.0, 0.5],
        "bytes": [2048, 4096],
    }
    by_step = {
        "title": "GPU memory allocated",
        "x_title": "step",
        "x": [1, 3, 5],
        "bytes": [2048, 4096, 2048],
    }
    picture = {"memory": [by_step, within]}
    scalars, _ = series(write_tensorboard(documents.sick(), picture, run_folder, run_folder))
    assert scalars["used_bytes/gpu_memory_allocated"] == [(1, 2048), (3, 4096), (5, 2048)]


def test_traces_lie_where_the_pytorch_profiler_plugin_looks(run_folder: Path) -> None:
    folder = write_tensorboard(documents.sick(), None, run_folder, run_folder)
    traces = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.pt.trace.json.gz"))
    assert traces == ["detail/rank0.pt.trace.json.gz", "timeline/rank0.pt.trace.json.gz"]


def test_a_lone_trace_is_linked_too(tmp_path: Path) -> None:
    trace = tmp_path / "mine.json"
    trace.write_text("{}")
    folder = write_tensorboard(documents.sick(), None, trace, tmp_path / "out")
    assert (folder / "trace" / "rank0.pt.trace.json").samefile(trace)


def test_a_trace_at_a_url_is_copied_too(tmp_path: Path) -> None:
    with fsspec.open("memory://board/mine.json.gz", "wb") as file:
        file.write(gzip.compress(b"{}"))
    folder = write_tensorboard(documents.sick(), None, "memory://board/mine.json.gz", tmp_path / "out")
    assert gzip.decompress((folder / "trace" / "rank0.pt.trace.json.gz").read_bytes()) == b"{}"


def test_writing_again_replaces_our_events_and_leaves_others(run_folder: Path) -> None:
    folder = write_tensorboard(documents.sick(), None, run_folder, run_folder)
    other = folder / "events.out.tfevents.1.host.1.0"
    other.write_bytes(b"")
    write_tensorboard(documents.healthy(), None, run_folder, run_folder)
    assert len(list(folder.glob("events.out.tfevents.*"))) == 2
    assert other.exists()


def test_the_empty_document_can_be_opened(tmp_path: Path) -> None:
    scalars, texts = series(write_tensorboard(documents.empty(), None, tmp_path, tmp_path))
    assert scalars == {}
    assert "No complete step" in texts["diagnose/findings"]


def test_neither_torch_nor_tensorflow_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.report import documents\n"
        "from diagnose.report.write import write_reports\n"
        "write_reports(documents.sick(), {}, Path(sys.argv[1]), Path(sys.argv[1]))\n"
        "print([name for name in ('torch', 'tensorflow', 'pandas', 'pkg_resources') if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "brief.json",
        "brief.md",
        "report.html",
        "report.json",
        "report.md",
        "tb",
    ]

"""A report in each tracker: a real MLflow server, W&B's own offline run, OpenTelemetry's exporter."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.collector import gauges, listening

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "sample_traces" / "healthy" / "train" / "rank0" / "timeline.pt.trace.json.gz"

pytestmark = pytest.mark.live


def tracked(tracker: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A report on a bundled trace, into ``folder``/out and the tracker."""
    return subprocess.run(
        [sys.executable, "-m", "diagnose", "--track", tracker, "--out", "out", str(TRACE)],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )


def reported(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    return report


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def mlflow(tmp_path: Path) -> Iterator[str]:
    """The URL of a server that keeps its runs below the test's folder."""
    pytest.importorskip("mlflow")
    port, store = free_port(), tmp_path / "mlflow"
    store.mkdir()
    with (store / "log").open("w") as log:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)),
                *("--backend-store-uri", f"sqlite:///{store}/runs.db", "--workers", "1"),
                *("--artifacts-destination", str(store / "artifacts")),
            ],
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 180
        while True:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert server.poll() is None and time.monotonic() < until, (store / "log").read_text()
                time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(60)


@pytest.mark.long
def test_mlflow_gets_the_numbers_and_the_files(mlflow: str, tmp_path: Path) -> None:
    ran = tracked("mlflow", tmp_path, MLFLOW_TRACKING_URI=mlflow)
    assert ran.returncode == 0, ran.stderr
    assert "the report is in mlflow" in ran.stderr
    report = reported(tmp_path)
    search = urllib.request.Request(
        f"{mlflow}/api/2.0/mlflow/runs/search",
        json.dumps({"experiment_ids": ["0"]}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(search, timeout=60) as answer:
        (run,) = json.load(answer)["runs"]
    metrics = {metric["key"]: metric["value"] for metric in run["data"]["metrics"]}
    ledger = {f"diagnose/ledger_ms/{row['row']}": row["ms_per_step"] for row in report["ledger"]}
    assert ledger == {name: value for name, value in metrics.items() if "/ledger_ms/" in name}
    assert metrics["diagnose/step_ms"] == pytest.approx(sum(ledger.values()), rel=0.01)
    tags = {tag["key"]: tag["value"] for tag in run["data"]["tags"]}
    assert tags["diagnose.headline"] == report["headline"]
    assert run["info"]["status"] == "FINISHED"
    files = asked(f"{mlflow}/api/2.0/mlflow/artifacts/list?run_id={run['info']['run_id']}&path=diagnose")
    assert {"diagnose/report.html", "diagnose/report.json"} <= {file["path"] for file in files["files"]}


def test_a_server_that_does_not_answer_costs_one_error(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    ran = tracked("mlflow", tmp_path, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{free_port()}")
    assert ran.returncode == 1
    assert "mlflow did not take the report" in ran.stderr and "Traceback" not in ran.stderr
    assert "python -m diagnose --track mlflow TRACE" in ran.stderr
    assert reported(tmp_path)["ledger"]


def test_wandb_keeps_it_without_a_network(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    ran = tracked("wandb", tmp_path, WANDB_MODE="offline", WANDB_RUN_ID="r1")
    assert ran.returncode == 0, ran.stderr
    (kept,) = (tmp_path / "wandb").glob("offline-run-*-r1/run-r1.wandb")
    summary, artifacts = wandb_contents(kept)
    assert summary["diagnose/step_ms"] == pytest.approx(
        sum(row["ms_per_step"] for row in reported(tmp_path)["ledger"]), rel=0.01
    )
    assert artifacts == ["diagnose-r1"]


def wandb_contents(kept: Path) -> tuple[dict[str, float], list[str]]:
    """The summary and the names of artifacts, decoded by W&B's own schema. The file is a log of LevelDB's
    format: blocks of 32 KiB hold fragments, each with a checksum, a length and its kind: whole, first, middle
    or last.
    """
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, parts, records = kept.read_bytes(), 7, [], []
    while at + 7 <= len(data):
        if (left := -at % 32768) and left < 7:  # too little for a fragment's head
            at += left
        length, kind = struct.unpack_from("<HB", data, at + 4)
        parts.append(data[at + 7 : at + 7 + length])
        at += 7 + length
        if kind in (1, 4):
            records.append(Record.FromString(b"".join(parts)))
            parts = []
    summary = {
        "/".join(item.nested_key) or item.key: json.loads(item.value_json)
        for record in records
        for item in record.summary.update
    }
    names = (record.request.log_artifact.artifact.name or record.artifact.name for record in records)
    return summary, [name for name in names if name]


def test_opentelemetry_gets_gauges_in_seconds(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with listening() as (endpoint, received):
        ran = tracked(
            "opentelemetry",
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_COMPRESSION="none",
        )
    assert ran.returncode == 0, ran.stderr
    told = gauges(received[0], "diagnose.part")
    rows = {row["row"]: row["ms_per_step"] / 1000 for row in reported(tmp_path)["ledger"]}
    assert told["diagnose.step.part.duration"] == pytest.approx(rows)
    assert told["diagnose.step.duration"][""] == pytest.approx(sum(rows.values()), rel=0.01)

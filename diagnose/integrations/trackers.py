"""A report as an artifact, and its numbers as metrics, in the tracker that a team keeps its runs in.

Each is addressed as its own library is: by its environment variables. With MLFLOW_RUN_ID or WANDB_RUN_ID set
the report joins that run, else it gets one of its own. Nothing heavy is imported before one is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.document.queries import step_ms
from diagnose.errors import DiagnoseError, UsageError

if TYPE_CHECKING:
    from diagnose.document.model import Document

# What is kept of a report; the traces stay where they are.
FILES = ("report.html", "report.md", "report.json", "brief.json", "brief.md", "fixes.diff")
LONGEST_TAG = 500  # characters: MLflow's limit of a tag is above it
_PREFIX = "diagnose"


def numbers(document: Document) -> dict[str, float]:
    """By name, times in ms a step: `step_ms`, `samples_per_s`, `mfu` where they are known, `ledger_ms/ROW`,
    `fixes`, and `step_ms_after_fixes` as predicted for all of the plan.
    """
    steps = document.steps
    after = [row.step_ms_after for row in document.plan if row.step_ms_after is not None]
    known = {
        "step_ms": step_ms(document),
        "samples_per_s": steps.samples_per_s,
        "mfu": steps.mfu,
        "step_ms_after_fixes": after[-1] if after else None,
        "fixes": float(len(document.plan)),
        **{f"ledger_ms/{row.row}": row.ms_per_step for row in document.ledger},
    }
    return {name: float(value) for name, value in known.items() if value is not None}


def send(document: Document, tracker: str) -> None:
    """Raises UsageError where its package is not installed, DiagnoseError where it does not take it."""
    run = document.written.run if document.written is not None else None
    again = f"the report is complete; to send it again: python -m diagnose --track {tracker} {run or 'TRACE'}"
    try:
        TRACKERS[tracker](document)
    except ModuleNotFoundError as error:
        packages = _PACKAGES[tracker]
        raise UsageError(f"{packages} is not installed", do=f"pip install {packages}; {again}") from error
    except Exception as error:
        saw = f"{type(error).__name__}: {error}"[:1000]
        raise DiagnoseError(f"{tracker} did not take the report", saw=saw, do=again) from error


def _mlflow(document: Document) -> None:
    os.environ.setdefault(
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2"
    )  # 7 take four minutes where no server answers
    import mlflow

    with mlflow.start_run(run_name=_name(document)):
        mlflow.log_metrics({f"{_PREFIX}/{name}": value for name, value in numbers(document).items()})
        mlflow.set_tags({f"{_PREFIX}.{name}": text[:LONGEST_TAG] for name, text in _texts(document).items()})
        for file in _files(document):
            mlflow.log_artifact(str(file), artifact_path=_PREFIX)


def _wandb(document: Document) -> None:
    import wandb

    settings = wandb.Settings(silent=True, console="off")
    with wandb.init(name=_name(document), job_type=_PREFIX, resume="allow", settings=settings) as run:
        run.summary.update({f"{_PREFIX}/{name}": value for name, value in numbers(document).items()})
        run.config.update({_PREFIX: _texts(document)}, allow_val_change=True)
        artifact = wandb.Artifact(f"{_PREFIX}-{run.id}", type="report")
        for file in _files(document):
            artifact.add_file(str(file))
        run.log_artifact(artifact)


def _opentelemetry(document: Document) -> None:
    """Gauges, sent once by OTLP over HTTP; durations in seconds, as the semantic conventions ask for."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    meter = provider.get_meter(f"torch-{_PREFIX}")
    step = meter.create_gauge("diagnose.step.duration", "s", "The typical step.")
    part = meter.create_gauge("diagnose.step.part.duration", "s", "A part of it; together they are the step.")
    after = meter.create_gauge("diagnose.step.predicted.duration", "s", "The step once all fixes are made.")
    rate = meter.create_gauge("diagnose.samples.rate", "{sample}/s", "Samples a second of one process.")
    attributes = {"diagnose.target": document.run.target}
    for name, value in numbers(document).items():
        row = name.removeprefix("ledger_ms/")
        if row != name:
            part.set(value / 1000, {**attributes, "diagnose.part": row})
        elif name == "step_ms":
            step.set(value / 1000, attributes)
        elif name == "step_ms_after_fixes":
            after.set(value / 1000, attributes)
        elif name == "samples_per_s":
            rate.set(value, attributes)
    collected = reader.get_metrics_data()
    exporter = OTLPMetricExporter()
    try:
        if collected is None or exporter.export(collected) is not MetricExportResult.SUCCESS:
            raise ConnectionError("the collector did not answer, or refused (OTEL_EXPORTER_OTLP_ENDPOINT)")
    finally:
        exporter.shutdown()
        provider.shutdown()


TRACKERS = {"mlflow": _mlflow, "wandb": _wandb, "opentelemetry": _opentelemetry}
_PACKAGES = {"mlflow": "mlflow", "wandb": "wandb", "opentelemetry": "opentelemetry-exporter-otlp-proto-http"}


def _texts(document: Document) -> dict[str, str]:
    """What is said of the run."""
    fixes = (f"{row.fix} ({row.where})" if row.where else row.fix for row in document.plan)
    return {
        "target": document.run.target,
        "headline": document.headline,
        "doubt": document.doubt,
        "plan": "; ".join(fixes),
        "folder": _folder(document),
    }


def _name(document: Document) -> str:
    return f"{_PREFIX} {Path(_folder(document)).name}"


def _folder(document: Document) -> str:
    return document.written.folder if document.written is not None else "."


def _files(document: Document) -> Iterator[Path]:
    return (path for name in FILES if (path := Path(_folder(document)) / name).is_file())

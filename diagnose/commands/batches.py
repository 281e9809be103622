"""`python -m diagnose whatif RUN --batch N --fits SIZE`: other batch sizes. Heavy imports wait."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.commands.outputs import say
from diagnose.errors import EXIT_OK, DiagnoseError

if TYPE_CHECKING:
    from diagnose.verify.batches import Fit, Fitting
    from diagnose.verify.trial import Job


def answer(run: Path, options: argparse.Namespace) -> int:
    """On stdout, after two short runs of the script. Raises DiagnoseError where nothing can be said."""
    from diagnose.commands.recorded_job import how_started, job_of, told_by_rank
    from diagnose.verify.batches import Fitting, Probing

    record, facts = how_started(run)
    job = job_of(record, facts)
    now = _batch_size(job, facts, options.argument)
    with tempfile.TemporaryDirectory(prefix="diagnose-batches-") as folder:
        probing = Probing(
            job,
            Path(folder),
            now=now,
            ticks_per_step=int(told_by_rank(run, "steps.json").get("ticks_per_step", 1)),
            argument=options.argument,
            tell=lambda what: say(f"{what} …", options),
        )
        fitting = Fitting(probing.probe(now), probing.probe(now // 2 if now > 1 else 2))
    largest = fitting.largest(options.fits) if options.fits else None
    fits = [fitting.fit(size) for size in sorted({now, *options.batch})]
    document = _document(fitting, fits, largest, now, options.fits)
    print(json.dumps(document, indent=1) if options.json else _in_words(document), flush=True)
    return EXIT_OK


def _batch_size(job: Job, facts: dict[str, Any], argument: str) -> int:
    """As recorded: of the argument, else of the first DataLoader with one, else of the model's input."""
    from diagnose.verify.batches import value_of

    value = value_of(job.target.args, argument) if argument else ""
    if value.isdigit() and int(value):
        return int(value)
    sizes = [loader.get("batch_size") for loader in facts.get("loaders") or []]
    forward = facts.get("forward") or {}
    found = next(filter(None, sizes), None) or forward.get("training_batch_size") or forward.get("batch_size")
    if not found:
        raise DiagnoseError(
            "The recorded batch size is not known.",
            do="name the script's own argument: --argument=--batch-size",
        )
    return int(found)


def _document(
    fitting: Fitting, fits: list[Fit], largest: Fit | None, now: int, limit: int | None
) -> dict[str, Any]:
    """``batches``: times in ms, bytes; ``far``: so far from the sizes run that it may be otherwise."""

    def row(fit: Fit) -> dict[str, Any]:
        return {
            "batch_size": fit.batch_size,
            "step_ms": fit.step_ms,
            "tensor_bytes": fit.peak_bytes,
            "total_bytes": fit.total_bytes,
            "far": fit.is_far,
        }

    return {
        "schema": 1,
        "device": fitting.device,
        "recorded_batch_size": now,
        "run_with": [probe.batch_size for probe in fitting.probes],
        "batches": [row(fit) for fit in fits],
        "limit_bytes": limit,
        "largest_that_fits": row(largest) if largest else None,
    }


def _in_words(document: dict[str, Any]) -> str:
    from diagnose.document.text import count, ms, size
    from diagnose.report.blocks import table

    now, sizes = document["recorded_batch_size"], document["run_with"]
    rows = [
        (
            f"{row['batch_size']:,}" + (" (now)" if row["batch_size"] == now else ""),
            ms(row["step_ms"]) if row["step_ms"] else "–",
            count(1000 * row["batch_size"] / row["step_ms"]) if row["step_ms"] else "–",
            size(row["tensor_bytes"]),
            size(row["total_bytes"]),
            "far from what was run" if row["far"] else "",
        )
        for row in document["batches"]
    ]
    heads = ("Batch", "Step", "Samples/s", "Tensors, at most", "In all", "")
    lines = [table(heads, rows, right=heads[:5]), ""]
    if document["limit_bytes"]:
        found, limit = document["largest_that_fits"], size(document["limit_bytes"])
        far = " (far from what was run: try it)" if found and found["far"] else ""
        lines += [
            f"The largest batch that fits in {limit}: about {found['batch_size']:,}{far}."
            if found
            else f"No batch fits in {limit}.",
            "",
        ]
    lines.append(
        f"From short runs with batches of {sizes[0]:,} and {sizes[1]:,}: each tensor's size as a + b · "
        "batch, in the order in which they come and go. What an operator takes while it runs is not in it."
    )
    return "\n".join(lines)

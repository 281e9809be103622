"""`python -m diagnose whatif RUN --checkpoint SIZE`: which blocks to checkpoint. Heavy imports wait."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from diagnose.document import text
from diagnose.errors import EXIT_OK, DiagnoseError


def answer(run: Path, options: argparse.Namespace) -> int:
    """On stdout, from what was seen of the memory. Raises DiagnoseError where nothing can be said."""
    from diagnose.measure.memory_remedies import checkpointing
    from diagnose.measure.metrics import Measured
    from diagnose.measure.recording import load_recording

    measured = Measured(load_recording(run))
    look = measured.memory
    if look is None or look.ran_out or not look.peaks:
        raise DiagnoseError(
            "Memory was not looked at in a whole step of this run.", do="record it again, without --no-stacks"
        )
    peak = max(look.peaks, key=lambda peak: peak.tensors)
    found = checkpointing(look, peak.device)
    if not found.blocks:
        raise DiagnoseError(
            "No block of layers keeps tensors for the backward: nothing can be checkpointed.",
            do="a smaller batch frees memory: python -m diagnose whatif RUN --fits SIZE",
        )
    fewest = found.fewest(options.checkpoint)
    chosen = found.blocks[: len(found.blocks) if fewest is None else fewest]
    forward_ms = measured.row_ms("forward") if measured.ledger is not None else None
    document = {
        "schema": 1,
        "device": peak.device,
        "limit_bytes": options.checkpoint,
        "fits": fewest is not None,
        "tensor_bytes": peak.tensors,
        "tensor_bytes_then": found.peak_bytes(len(chosen)),
        "block_count": len(found.blocks),
        "blocks": [{"module": block, "kept_bytes": found.bytes_of(block)} for block in chosen],
        "costs_ms": forward_ms * len(chosen) / len(found.blocks) if forward_ms else None,
    }
    print(json.dumps(document, indent=1) if options.json else _in_words(document), flush=True)
    return EXIT_OK


def _in_words(document: dict[str, Any]) -> str:
    now, then, limit = (
        text.size(document[key]) for key in ("tensor_bytes", "tensor_bytes_then", "limit_bytes")
    )
    blocks, whole = document["blocks"], document["block_count"]
    if not blocks:
        return f"The tensors fit as it is: {now} at the peak on {document['device']}, {limit} asked for."
    longer = f"; a step takes up to {text.ms(document['costs_ms'])} longer" if document["costs_ms"] else ""
    taken = f"at the peak on {document['device']} the tensors take {then} instead of {now}{longer}"
    if document["fits"]:
        first = f"Checkpoint {len(blocks)} of {whole} blocks: {taken}."
    else:
        first = (
            f"Checkpointing does not get down to {limit}. With all {whole} blocks {taken}.\n"
            "A smaller batch: python -m diagnose whatif RUN --fits SIZE"
        )
    widest = max(len(block["module"]) for block in blocks)
    lines = [f"  {block['module']:<{widest}}  keeps {text.size(block['kept_bytes'])}" for block in blocks]
    how = "In the forward: x = checkpoint(block, x, use_reentrant=False), of torch.utils.checkpoint"
    return "\n".join([first, "", *lines, "", how])

"""One rank's recording as a small table: all that is needed to compare it with the other ranks."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from diagnose.errors import DiagnoseError
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import Recording
from diagnose.ranks.collectives import COLUMNS, TEXTS, collective_table
from diagnose.ranks.memory import gpu_memory
from diagnose.ranks.naming import rank_in_name

TIMES = ("start_ns", "arrival_ns", "end_ns")
METADATA = b"diagnose"
MOST_RANKS = 200_000  # no job has more: such a number is damage
# sources of steps that count from the job's beginning; others count from the recording's
NUMBERED = ("mark", "ProfilerStep")


@dataclass(frozen=True)
class RankSummary:
    """One rank. Times of ``steps`` and ``collectives`` are ns on the rank's own clock, as its trace has it.

    ``steps``: the complete ones, columns number, start_ns, end_ns, and input_elements, how
    many elements the tensors had that the model was given in it (-1 if unknown).
    ``collectives``: see `diagnose.ranks.collectives`.
    """

    rank: int  # -1 if the recording does not tell
    source: str
    host: str  # empty if unknown
    device: str  # "GPU 3", "CPU", or empty if no complete step was recorded
    backend: str  # of the process group, empty if unknown
    world_size: int  # 0 if unknown
    step_ms: float  # the plain step, nan if there is none
    rows_ms: dict[str, float]  # rows of the ledger, ms of the plain step
    steps: pd.DataFrame
    collectives: pd.DataFrame
    numbered: bool = True  # the steps' numbers are the job's own, so that the same number is the same step
    # of the GPU, that tensors filled at the worst moment; None if unknown
    peak_memory_bytes: int | None = None
    memory_bytes: int | None = None  # that the GPU has; None if unknown


def summary_of(measured: Measured, *, rank: int | None = None, source: str = "") -> RankSummary:
    """The summary of one rank.

    ``rank``: where it is known better than by the recording and the name of its ``source``.
    """
    recording, view, ledger = measured.recording, measured.timeline, measured.ledger
    group = _process_group(recording)
    steps, collectives = (
        pd.DataFrame(columns=["number", "start_ns", "end_ns", "input_elements"], dtype=np.int64),
        _no_collectives(),
    )
    if view is not None and ledger is not None:
        complete = view.trace.steps[view.trace.steps["complete"]]
        steps = _on_own_clock(
            complete[["number", "start_ns", "end_ns"]].reset_index(drop=True), view.trace.origin_ns
        )
        steps["input_elements"] = _input_elements(recording, steps["number"].to_numpy())
        collectives = _on_own_clock(collective_table(view, ledger), view.trace.origin_ns)
    source = source or recording.url or recording.source.name
    return RankSummary(
        rank=_number(group.get("rank"), rank_in_name(source)) if rank is None else rank,
        source=source,
        host=_host(recording),
        device=ledger.device if ledger else "",
        backend=str(group.get("backend") or ""),
        world_size=_number(group.get("world_size"), 0),
        step_ms=measured.number("step_ms"),
        rows_ms={row: measured.row_ms(row) for row in ledger.rows} if ledger else {},
        steps=steps,
        collectives=collectives,
        numbered=view is not None and view.trace.step_source in NUMBERED,
        **gpu_memory(recording),
    )


def _input_elements(recording: Recording, numbers: np.ndarray) -> np.ndarray:
    """Of the steps with these numbers, which are those of the ticks that end
    their first; -1 where that is not known.
    """
    told, phase = recording.input_elements("timeline"), recording.phase("timeline")
    if phase is None or recording.timeline is None or recording.timeline.step_source != "mark":
        return np.full(len(numbers), -1, np.int64)
    at = (numbers - int(phase["first_tick"]) - 1) // recording.ticks_per_step
    known = (at >= 0) & (at < len(told))
    elements = np.zeros(len(numbers), np.int64)
    elements[known] = told[at[known]]
    return np.where(elements > 0, elements, -1)


def _process_group(recording: Recording) -> dict[str, Any]:
    """Backend, rank and world_size, each missing where nothing tells."""
    info = recording.timeline.info.get("distributedInfo") if recording.timeline is not None else None
    group = recording.facts.get("process_group")
    return {**(info if isinstance(info, dict) else {}), **(group if isinstance(group, dict) else {})}


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and 0 <= value <= MOST_RANKS else otherwise


def _host(recording: Recording) -> str:
    told = recording.facts.get("host") or (
        recording.timeline.info.get("host_name") if recording.timeline is not None else None
    )
    return told if isinstance(told, str) else ""


def _on_own_clock(table: pd.DataFrame, origin_ns: int) -> pd.DataFrame:
    return table.assign(**{name: table[name] + origin_ns for name in TIMES if name in table})


def _no_collectives() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=object if name in TEXTS else np.int64) for name in COLUMNS})


# ---- as a file


def write_summary(summary: RankSummary, file: Path | IO[bytes]) -> None:
    """Write it as one Parquet file, less the rows of the ledger that take no time.

    Raises DiagnoseError without pyarrow, OSError.
    """
    arrow, parquet = _parquet()
    plain = {
        field.name: getattr(summary, field.name)
        for field in fields(summary)
        if field.name not in ("collectives", "steps")
    }
    plain["steps"] = summary.steps.to_dict("list")
    spent = [row for row in summary.rows_ms if summary.collectives[row].any()]
    table = arrow.Table.from_pandas(summary.collectives[[*COLUMNS, *spent]], preserve_index=False)
    table = table.replace_schema_metadata({METADATA: json.dumps(plain).encode()})
    parquet.write_table(
        table, file, compression="zstd", use_dictionary=[*TEXTS, "size", "step"], write_statistics=False
    )


def read_summary(file: Path | IO[bytes]) -> RankSummary:
    """The summary in that file. Raises DiagnoseError if it is none or pyarrow is missing, OSError."""
    arrow, parquet = _parquet()
    try:
        with parquet.ParquetFile(file) as opened:
            # of thousands of small files, threads take longer to start than to read
            table = opened.read(use_threads=False)
        plain = json.loads((table.schema.metadata or {})[METADATA])
        steps = pd.DataFrame(
            {**plain["steps"], "input_elements": plain["steps"].get("input_elements", -1)}, dtype=np.int64
        )
        del plain["steps"]
        collectives = table.to_pandas(use_threads=False)
        collectives = collectives[[*COLUMNS]].join(
            collectives.reindex(columns=[*plain["rows_ms"]], fill_value=0)
        )
        return RankSummary(**plain, steps=steps, collectives=collectives)
    except (arrow.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DiagnoseError(f"{file} is no summary of a rank", saw=str(error)) from error


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise DiagnoseError(
            "summaries of ranks are kept as Parquet, which needs pyarrow", do="pip install pyarrow"
        ) from error
    return pyarrow, pyarrow.parquet

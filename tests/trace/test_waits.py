"""What waits for what on the GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.trace.reader import read_trace
from diagnose.trace.schema import WAITS
from tests.trace.build import Json, event, launch, read

FOLDER = Path(__file__).parents[2].parent / "shared" / "traces"


def sync(name: str, ts: float, correlation: int, stream: int, **args: int) -> Json:
    arguments = {"correlation": correlation, "stream": stream, "device": 0, **args}
    return {**event(name, ts, 2, "cuda_sync", tid=stream, pid=0), "args": arguments}


def test_waits_of_streams_and_of_the_host() -> None:
    trace = read(
        launch(0, 2, 10, "cudaEventRecord"),
        launch(5, 2, 11, "cudaStreamWaitEvent"),
        launch(9, 4, 12, "cudaStreamSynchronize"),
        sync("Stream Wait Event", 6, 11, 24, wait_on_stream=20, wait_on_cuda_event_record_corr_id=10),
        sync("Stream Sync", 9, 12, 7),
        sync("Event Sync", 20, 99, -1, wait_on_stream=20, wait_on_cuda_event_record_corr_id=-1),
    )
    assert {name: str(dtype) for name, dtype in trace.waits.dtypes.items()} == {
        name: column.dtype for name, column in WAITS.items()
    }
    columns = ["start_ns", "kind", "stream", "on_stream", "record", "call"]
    assert trace.waits[columns].to_numpy().tolist() == [
        [6000, "stream wait", 24, 20, 0, 1],
        [9000, "stream sync", 7, -1, -1, 2],
        [20000, "event sync", -1, 20, -1, -1],
    ]
    assert len(trace.host) == 3 and len(trace.device) == 0, "a wait is neither"


def test_traces_without_them_have_an_empty_table() -> None:
    assert read(event("aten::mm", 0)).waits.columns.tolist() == list(WAITS)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder with traces that others recorded")
def test_a_recorded_stream_wait_by_hand() -> None:
    """hta-cp-evsync-multistream: stream 24 waits for what cudaEventRecord
    (correlation 1385) marked on stream 20.
    """
    trace = read_trace(FOLDER / "hta-cp-evsync-multistream.json.gz")
    assert trace.waits["kind"].astype(str).value_counts().to_dict() == {
        "event sync": 3,
        "stream wait": 1,
        "context sync": 1,
    }
    wait = trace.waits[trace.waits["kind"] == "stream wait"].iloc[0]
    assert (wait["stream"], wait["on_stream"]) == (24, 20)
    record, call = trace.host.iloc[wait["record"]], trace.host.iloc[wait["call"]]
    assert (record["name"], record["correlation"]) == ("cudaEventRecord", 1385)
    assert (call["name"], call["correlation"]) == ("cudaStreamWaitEvent", 1389)
    assert (int(record["start_ns"]) + trace.origin_ns) // 1000 == 1712867402367666

"""Work that was launched and that the idle GPU did not run (synthetic timelines, microseconds)."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.ledger import step_ledger
from diagnose.measure.queued import held_ns
from diagnose.measure.selection import Selection
from tests.measure.test_ledger import ledger_of, us

STEP = "main 0 20000 step ProfilerStep#1\nmain 0 20000 op aten::mm"


def launches(*kernels: tuple[float, float, float, float], name: str = "cudaLaunchKernel") -> str:
    """Of each kernel when it was launched, for how long, when it started and how long it ran."""
    return "\n".join(
        f"""
        main {at} {takes} runtime {name} {{"correlation": {number}}}
        gpu {start} {lasts} kernel gemm {{"correlation": {number}}}
        """
        for number, (at, takes, start, lasts) in enumerate(kernels, start=1)
    )


def queued_us(*kernels: tuple[float, float, float, float], name: str = "cudaLaunchKernel") -> float:
    return us(ledger_of(STEP + launches(*kernels, name=name))).get("queued", 0.0)


def test_a_hole_between_launched_kernels_is_queued_whatever_the_host_does() -> None:
    # The first kernel starts 4 µs after its call, the usual latency. The second was launched while the first
    # ran, and started 2,400 µs after that; the third's call returned at 3000, and it started at 5500.
    text = STEP + launches((0, 6, 10, 90), (20, 6, 2500, 100), (2990, 10, 5500, 14_500))
    text += "\nmain 3010 2400 runtime cudaStreamSynchronize"
    rows = us(ledger_of(text))
    assert rows["queued"] == 2400 + (5500 - 3000 - 4)
    assert "host_sync" not in rows
    assert sum(rows.values()) == 20_000


@pytest.mark.parametrize("latency_us", [-3, 5, 20, 24, 70])
def test_what_starts_soon_after_its_launch_is_launch_bound(latency_us: float) -> None:
    kernels = [(at, 6, at + 6 + latency_us, 10) for at in range(0, 20_000, 200)]
    assert queued_us(*kernels) == 0


def test_the_time_inside_a_long_launch_call_is_not_queued() -> None:
    assert queued_us((0, 6, 10, 90), (200, 9000, 9210, 90)) == 0


def test_a_busy_other_stream_is_no_idle_time() -> None:
    # The copy waits for the gemm of another stream, which ends at 9000.
    text = STEP + launches((0, 6, 10, 20), (100, 6, 110, 8890))
    text += """
        main 10 5 runtime cudaMemcpyAsync {"correlation": 8}
        gpu 20 5 memcpy Memcpy HtoD (Pinned -> Device) {"correlation": 8, "stream": 21}
        main 200 5 runtime cudaMemcpyAsync {"correlation": 9}
        gpu 9003 10 memcpy Memcpy HtoD (Pinned -> Device) {"correlation": 9, "stream": 21}
        """
    assert us(ledger_of(text)).get("queued", 0) == 0


def test_the_start_of_a_graph_is_left_out() -> None:
    assert queued_us((0, 6, 10, 90), (100, 6, 5000, 100), name="cudaGraphLaunch") == 0


def test_what_the_gpu_did_before_the_recording_is_not_known() -> None:
    # The first kernel of a stream may have waited for work that was launched before the recording began. No
    # latency is usually longer than 30.
    rows = us(ledger_of(STEP + launches((0, 6, 5000, 15_000))))
    assert rows == {"compute": 15_000, "launch_bound": 6 + 30, "unattributed": 5000 - 36}


def test_a_launch_without_an_event_may_have_run_in_the_hole() -> None:
    text = STEP + launches((0, 6, 10, 90), (20, 6, 2500, 100))
    with_lost = text + '\nmain 15 3 runtime cudaLaunchKernel {"correlation": 99}'
    assert us(ledger_of(text))["queued"] == 2400
    rows = us(ledger_of(with_lost))
    assert ("queued" in rows, rows["unattributed"]) == (False, 2400)


def test_each_event_of_every_device_has_its_own_wait() -> None:
    second = """
        main 30 6 runtime cudaLaunchKernel {"correlation": 11}
        gpu 40 60 kernel gemm {"correlation": 11, "device": 1}
        main 50 6 runtime cudaLaunchKernel {"correlation": 12}
        gpu 400 100 kernel gemm {"correlation": 12, "device": 1}
        """
    view = Selection(trace_from_text(STEP + launches((0, 6, 10, 90), (20, 6, 2500, 100)) + second))
    assert dict(
        zip((view.device["start_ns"] / 1000).tolist(), (held_ns(view) / 1000).tolist(), strict=True)
    ) == {10: 0, 40: 0, 400: 300, 2500: 2400}
    assert step_ledger(view).ns("queued") == 2_400_000

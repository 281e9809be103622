"""The ledger on steps worked out by hand (synthetic timelines, microseconds)."""

from __future__ import annotations

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.ledger import Ledger, step_ledger
from diagnose.measure.selection import Selection
from diagnose.trace.intervals import total


def ledger_of(text: str) -> Ledger:
    return step_ledger(Selection(trace_from_text(text)))


def us(ledger: Ledger) -> dict[str, float]:
    return {row: ledger.ns(row) / 1000 for row in ledger.rows if ledger.ns(row)}


def test_cpu_step() -> None:
    ledger = ledger_of(
        """
        main  0    1000  step        ProfilerStep#1
        main  0    200   mark        next@10
        main  50   100   op          aten::stack
        main  220  300   mark        forward@12
        main  230  250   op          aten::mm
        main  520  280   mark        backward@13
        main  530  260   op          aten::mm
        main  800  100   annotation  Optimizer.step#SGD.step
        main  810  80    op          aten::_foreach_add_
        main  900  30    mark        item@15
        main  940  20    op          aten::copy_
        main  970  10    op          aten::add
        """
    )
    # 0-200 wait, 220-520 forward, 520-800 backward, 800-900 optimizer, 900-930 read, 940-960 copy, 970-980
    # operator. The gaps 200-220, 930-940, 960-970, 980-1000 are Python: 20 + 10 + 10 + 20.
    assert us(ledger) == {
        "input_wait": 200,
        "forward": 300,
        "backward": 280,
        "optimizer": 100,
        "host_reads": 30,
        "copies": 20,
        "operators": 10,
        "python": 60,
    }
    assert ledger.device == "CPU"


def test_lbfgs_forward_and_backward_inside_the_optimizer_are_their_own() -> None:
    ledger = ledger_of(
        """
        main  0    1000  step        ProfilerStep#1
        main  0    900   annotation  Optimizer.step#LBFGS.step
        main  100  300   mark        forward@12
        main  110  250   op          aten::mm
        main  400  200   mark        backward@13
        """
    )
    assert us(ledger) == {"optimizer": 400, "forward": 300, "backward": 200, "python": 100}


def test_gpu_busy_time_is_split_by_what_runs() -> None:
    ledger = ledger_of(
        """
        main  0    1000  step     ProfilerStep#1
        main  0    10    runtime  cudaLaunchKernel  {"correlation": 1}
        main  10   10    runtime  cudaLaunchKernel  {"correlation": 2}
        main  20   10    runtime  cudaMemcpyAsync   {"correlation": 3}
        gpu   100  400   kernel   gemm  {"correlation": 1}
        gpu   400  300   kernel   ncclDevKernel_AllReduce_Sum_f32  {"correlation": 2, "stream": 20}
        gpu   650  150   memcpy   Memcpy HtoD (Pinned -> Device)  {"correlation": 3, "stream": 21}
        """
    )
    rows = us(ledger)
    # gemm 100-500; the collective 400-700 is exposed from 500; the copy 650-800 from 700.
    assert (rows["compute"], rows["exposed_communication"], rows["exposed_copies"]) == (400, 200, 100)
    assert total(ledger.span) == sum(ledger.ns(row) for row in ledger.rows)


def test_idle_time_is_filed_under_what_the_host_did() -> None:
    ledger = ledger_of(
        """
        main  0    1000  step        ProfilerStep#1
        main  0    100   annotation  enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
        main  100  50    op          aten::mm
        main  140  10    runtime     cudaLaunchKernel  {"correlation": 1}
        gpu   160  240   kernel      gemm  {"correlation": 1}
        main  200  210   runtime     cudaStreamSynchronize
        main  430  70    op          aten::mm
        main  440  30    runtime     cudaMalloc
        main  490  10    runtime     cudaLaunchKernel  {"correlation": 2}
        gpu   510  190   kernel      gemm  {"correlation": 2}
        main  800  100   op          aten::add
        """
    )
    # Idle: 0-160, 400-510, 700-1000.
    # 0-100 input wait; 100-150 dispatch; 150-160 launched but not started: unattributed.
    # 400-410 still in the sync call; 410-430 Python; 430-440 and 470-500 refilling after the sync; 440-470
    # allocator; 500-510 launched. 700-800 Python; 800-900 dispatch; 900-1000 Python.
    assert us(ledger) == {
        "compute": 430,
        "input_wait": 100,
        "allocator": 30,
        "host_sync": 10 + 10 + 30,
        "launch_bound": 50 + 100,
        "python": 20 + 100 + 100,
        "unattributed": 10 + 10,
    }


def test_without_operators_nothing_tells_python_from_dispatching() -> None:
    timeline = """
        main  0     1000  step     ProfilerStep#1
        main  0     10    runtime  hipLaunchKernel  {"correlation": 1}
        gpu   20    400   kernel   gemm  {"correlation": 1}
        main  900   10    runtime  hipLaunchKernel  {"correlation": 2}
        gpu   915   85    kernel   gemm  {"correlation": 2}
        """
    # 10-20 and 910-915: launched, not started. 420-900: the host called nothing that was recorded.
    assert us(ledger_of(timeline)) == {"compute": 485, "launch_bound": 20, "unattributed": 10 + 5 + 480}
    with_op = timeline + "main  950   10    op       aten::mm"
    assert us(ledger_of(with_op)) == {
        "compute": 485,
        "launch_bound": 20,
        "unattributed": 10 + 5,
        "python": 480,
    }


def test_calls_of_an_intel_gpu() -> None:
    ledger = ledger_of(
        """
        main  0     1000  step     ProfilerStep#1
        gpu   0     100   kernel   gemm
        main  50    100   runtime  urEventWait
        main  150   200   op       aten::empty
        main  200   100   runtime  urUSMDeviceAlloc
        main  350   10    runtime  urEnqueueKernelLaunch  {"correlation": 1}
        gpu   360   640   kernel   gemm  {"correlation": 1}
        """
    )
    # 100-150 in the wait, 150-200 and 300-360 refilling the queue after it, 200-300 the allocation.
    assert us(ledger) == {"compute": 740, "host_sync": 50 + 50 + 60, "allocator": 100}


def test_a_trace_without_host_events_leaves_idle_time_unattributed() -> None:
    ledger = ledger_of(
        """
        gpu   100  400   kernel   gemm
        gpu   700  300   kernel   gemm
        """
    )
    assert us(ledger) == {"compute": 700, "unattributed": 200}


def test_a_copy_that_blocks_is_a_sync_and_one_that_only_enqueues_is_not() -> None:
    ledger = ledger_of(
        """
        main  0     2000  step     ProfilerStep#1
        main  0     1500  op       aten::to
        main  100   400   runtime  cudaMemcpyAsync  {"correlation": 1}
        gpu   490   5     memcpy   Memcpy DtoH (Device -> Pageable)  {"correlation": 1}
        main  600   20    runtime  cudaMemcpyAsync  {"correlation": 2}
        gpu   640   1360  memcpy   Memcpy HtoD (Pinned -> Device)  {"correlation": 2}
        """
    )
    # Idle: 0-490 and 495-640. The blocking call holds 100-490 and 495-500; the operator goes on
    # at 500, refilling the queue after it.
    assert us(ledger) == {"exposed_copies": 5 + 1360, "launch_bound": 100, "host_sync": 390 + 5 + 140}


def test_only_the_first_millisecond_after_a_sync_is_its_fault() -> None:
    ledger = ledger_of(
        """
        main  0     10000  step     ProfilerStep#1
        main  0     10     runtime  cudaLaunchKernel  {"correlation": 1}
        gpu   20    480    kernel   gemm  {"correlation": 1}
        main  100   400    runtime  cudaStreamSynchronize
        main  500   8000   op       aten::sort
        main  8490  10     runtime  cudaLaunchKernel  {"correlation": 2}
        gpu   8500  1500   kernel   gemm  {"correlation": 2}
        """
    )
    # 10-20: launched, not started. 500-1500 after the sync; 1500-8500 the operator works on the host.
    assert us(ledger) == {
        "compute": 480 + 1500,
        "launch_bound": 10,
        "unattributed": 10,
        "host_sync": 1000,
        "host_work": 7000,
    }


def test_a_launch_that_takes_half_a_millisecond_loads_the_kernel_but_a_graph_s_launch_does_not() -> None:
    ledger = ledger_of(
        """
        main  0     3000  step     ProfilerStep#1
        main  0     800   runtime  cudaLaunchKernel  {"correlation": 1}
        gpu   800   200   kernel   gemm  {"correlation": 1}
        main  1000  800   runtime  cudaGraphLaunch  {"correlation": 2}
        gpu   1800  1200  kernel   gemm  {"correlation": 2}
        """
    )
    assert us(ledger) == {"compute": 200 + 1200, "first_calls": 800, "launch_bound": 800}


def test_a_graph_s_capture_is_compilation() -> None:
    ledger = ledger_of(
        """
        main  0     1000  step     ProfilerStep#1
        main  100   5     runtime  hipStreamBeginCapture
        main  200   300   op       aten::mm
        main  590   20    runtime  hipStreamEndCapture
        main  700   5     runtime  hipGraphLaunch  {"correlation": 2}
        gpu   705   295   kernel   gemm  {"correlation": 2}
        main  900   5     runtime  hipStreamBeginCapture
        """
    )
    # 0-100 and 610-700 Python, 100-590 captured, 590-610 the end of the capture and 700-705 the
    # launch: dispatch. The last has no end.
    assert us(ledger) == {"compute": 295, "compilation": 490, "launch_bound": 20 + 5, "python": 100 + 90}


def test_memory_calls_before_the_first_gpu_work_are_start_up() -> None:
    ledger = ledger_of(
        """
        main  0     9000  step     ProfilerStep#1
        main  0     5000  op       aten::empty
        main  0     5000  runtime  cudaFree
        gpu   5000  1000  kernel   gemm
        main  6000  2000  runtime  cudaMalloc
        gpu   8000  1000  kernel   gemm
        """
    )
    assert us(ledger) == {"compute": 2000, "host_work": 5000, "allocator": 2000}


def test_a_thread_that_feeds_another_gpu_explains_nothing() -> None:
    ledger = ledger_of(
        """
        main   0    1000  step     ProfilerStep#1
        main   0    10    op       aten::mm
        main   2    5     runtime  cudaLaunchKernel  {"correlation": 1}
        gpu    10   490   kernel   gemm  {"correlation": 1}
        other  0    8     runtime  cudaLaunchKernel  {"correlation": 2}
        gpu    10   400   kernel   gemm  {"correlation": 2, "device": 1}
        other  450  500   runtime  cudaStreamSynchronize
        main   950  20    op       aten::mm
        main   955  10    runtime  cudaLaunchKernel  {"correlation": 3}
        gpu    970  10    kernel   gemm  {"correlation": 3}
        """
    )
    # Idle: 0-10, 500-970, 980-1000. The main thread dispatches 0-10 and 950-970 and is in Python besides.
    assert us(ledger) == {"compute": 500, "launch_bound": 10 + 20, "python": 450 + 20}


def test_a_thread_that_copies_ahead_explains_only_the_time_before_its_own_work() -> None:
    ledger = ledger_of(
        """
        main   0    1000  step     ProfilerStep#1
        main   0    10    op       aten::mm
        main   2    5     runtime  cudaLaunchKernel  {"correlation": 1}
        gpu    10   490   kernel   gemm  {"correlation": 1}
        fetch  500  5     runtime  cudaMemcpyAsync  {"correlation": 2}
        gpu    510  20    memcpy   Memcpy HtoD (Pinned -> Device)  {"correlation": 2, "stream": 20}
        fetch  530  400   runtime  cudaStreamSynchronize
        main   950  20    op       aten::mm
        main   955  10    runtime  cudaLaunchKernel  {"correlation": 3}
        gpu    970  30    kernel   gemm  {"correlation": 3}
        """
    )
    # Idle: 0-10, 500-510, 530-970. 500-505 the copy is launched, 505-510 it waits to start; 530-950 Python.
    assert us(ledger) == {
        "compute": 520,
        "exposed_copies": 20,
        "launch_bound": 10 + 5 + 20,
        "python": 420,
        "unattributed": 5,
    }


def test_what_the_autograd_thread_waits_for_holds_the_training_thread_up() -> None:
    ledger = ledger_of(
        """
        main      0    1000  step     ProfilerStep#1
        main      0    10    op       aten::mm
        main      2    5     runtime  cudaLaunchKernel  {"correlation": 1}
        gpu       10   290   kernel   gemm  {"correlation": 1}
        autograd  290  230   op       autograd::engine::evaluate_function: MmBackward0
        autograd  292  5     runtime  cudaLaunchKernel  {"correlation": 2}
        gpu       300  100   kernel   gemm  {"correlation": 2}
        autograd  310  180   runtime  cudaStreamSynchronize
        main      540  20    op       aten::add
        main      545  10    runtime  cudaLaunchKernel  {"correlation": 3}
        gpu       560  440   kernel   add  {"correlation": 3}
        """
    )
    # Idle: 0-10, 400-560. 400-490 the sync, 490-520 and 540-560 refilling after it, 520-540 Python.
    assert us(ledger) == {"compute": 830, "launch_bound": 10, "host_sync": 90 + 30 + 20, "python": 20}

"""Every device of a recording with several, worked out by hand (synthetic timelines, microseconds)."""

from __future__ import annotations

from diagnose.report import devices
from diagnose.report.markdown import markdown
from tests.report.test_operators import document_of

# GPU 0 computes 600 of 1000, GPU 1 200: it idles 15 before it, and 785 behind it.
TWO = """
main 0   1000 step    ProfilerStep#1
main 0   1000 op      aten::mm
main 10  5    runtime cudaLaunchKernel {"correlation": 1}
gpu  20  600  kernel  gemm             {"correlation": 1}
main 10  5    runtime cudaLaunchKernel {"correlation": 2}
gpu  20  200  kernel  gemm             {"correlation": 2, "device": 1}
"""


def test_each_device_has_its_own_ledger() -> None:
    document = document_of(TWO)
    assert [(one.device, one.busy_share) for one in document.devices] == [("GPU 0", 0.6), ("GPU 1", 0.2)]
    assert document.ledger_device == "GPU 0"
    shares = {part.row: part.share for part in document.devices[1].rows}
    assert shares == {"compute": 0.2, "launch_bound": 0.8}
    for one in document.devices:
        assert sum(part.share for part in one.rows) == 1


def test_reports_say_which_device_is_far_less_busy() -> None:
    document = document_of(TWO)
    assert devices.rows(document)[1] == ("GPU 1", "20 %", "Launch-bound 80 %, Compute 20 %")
    assert devices.note(document).startswith("GPU 1 is far less busy than GPU 0: work is not spread evenly.")
    assert "| GPU 1    |   20 % | Launch-bound 80 %, Compute 20 % |" in markdown(document).replace(
        "\xa0", " "
    )


def test_devices_that_are_about_as_busy_are_only_listed() -> None:
    document = document_of(TWO.replace("20  200", "20  500"))
    assert (
        devices.note(document)
        == "Shares are of the recorded step; the ledger above is of GPU 0, the busiest."
    )


def test_one_device_has_no_table() -> None:
    document = document_of(TWO[: TWO.rindex("main")])
    assert document.devices == []
    assert "far less busy" not in markdown(document).replace("\xa0", " ")

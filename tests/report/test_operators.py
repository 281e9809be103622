"""The tables of operators and kernels: in the document, worked out by hand, and as reports show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.document.model import Document
from diagnose.judge.timelines import trace_from_text
from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording
from diagnose.pipeline import Analysis
from diagnose.report.markdown import markdown
from diagnose.report.operators import HEADING, Table, tables
from tests.report import documents
from tests.report.documents import change, kernel, operator

# 64×32 times 32×16 on an A100: 2 · 64 · 32 · 16 = 65,536 FLOP at 19.5 TFLOP/s take 3.4 ns, (2048 + 512 + 1024) · 4
# bytes at 1,555 GB/s 9.22 ns. Its kernels take 8 + 2 µs.
PRODUCT = """
main 0   100 step    ProfilerStep#1
main 10  30  op      aten::mm {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}
main 20  5   runtime cudaLaunchKernel {"correlation": 1}
main 30  5   runtime cudaLaunchKernel {"correlation": 11}
gpu  30  8   kernel  ampere_sgemm {"correlation": 1}
gpu  40  2   kernel  splitKreduce {"correlation": 11}
"""
A100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]}


def document_of(text: str) -> Document:
    return Analysis(Measured(Recording(source=Path("x"), timeline=trace_from_text(text, A100)))).document


def test_rows_of_a_trace() -> None:
    document = document_of(PRODUCT)
    (product,) = document.operators
    assert (product.name, product.self_ms, product.share) == (
        "aten::mm",
        pytest.approx(0.03),
        pytest.approx(0.3),
    )
    assert [(one.name, one.ms_per_step, one.share) for one in document.kernels] == [
        ("ampere_sgemm", pytest.approx(0.008), pytest.approx(0.08)),
        ("splitKreduce", pytest.approx(0.002), pytest.approx(0.02)),
    ]


def test_the_roofline_is_of_all_kernels_of_an_operator() -> None:
    shares = [one.roofline_share for one in document_of(PRODUCT).kernels]
    assert shares == pytest.approx([9.22e-9 / 10e-6] * 2, rel=1e-3)


def test_what_the_name_does_not_tell_the_operators_inputs_do() -> None:
    product, reduction = document_of(PRODUCT).kernels
    assert (product.number_format, product.tensor_cores) == ("fp32", False)
    assert (reduction.number_format, reduction.tensor_cores) == ("fp32", None)


def test_without_shapes_there_is_no_roofline() -> None:
    product, reduction = document_of(PRODUCT.replace("Input", "Other")).kernels
    assert (product.roofline_share, reduction.roofline_share, reduction.number_format) == (None, None, None)


def of(document: Document, **values: object) -> list[Table]:
    change(document, **values)
    return tables(document)


def test_a_table_has_the_columns_of_what_is_known() -> None:
    rows = [kernel("gemm", 1.23, 2.0)]
    (shown,) = of(documents.empty(), kernels=rows)
    assert shown.columns == ("Kernel, copy or set", "Time", "Share", "Count per step", "Mean")
    assert shown.rows == [("gemm", "1.23 ms", "10 %", "2", "615 µs")]  # of 12.3 ms
    rows = [kernel("gemm", 1.23, 2.0, number_format="bf16", tensor_cores=True, roofline_share=0.5)]
    (shown,) = of(documents.empty(), kernels=rows)
    assert shown.columns[5:] == ("Format", "Roofline")
    assert shown.rows[0][5:] == ("bf16, tensor cores", "50 %")


def test_the_report_says_how_both_tables_are_counted_and_that_torchs_own_is_in_the_document() -> None:
    document = documents.sick()
    report = markdown(document)
    assert f"<b>{HEADING}</b>" in report
    assert "Self is the host's time in an operator without the operators that it calls" in report
    assert "`key_averages`" in report
    document.key_averages.rows = []
    assert "`key_averages`" not in markdown(document)
    document.operators = []
    assert HEADING not in markdown(document)


def test_only_what_there_is_to_look_at_is_recommended() -> None:
    document = documents.healthy()
    change(document, operators=[operator("aten::mm", 1.0, 1.0)])
    limits = "see “What bounds the step” (look at the kernels)"
    assert f"{limits} and the costliest lines, operators and kernels in the report." in markdown(document)
    change(document, lines=[], kernels=[])
    assert f"{limits} and the costliest operators in the report." in markdown(document)
    change(document, operators=[])
    assert f"{limits}." in markdown(document)
    change(document, findings=[])
    assert "To go further" not in markdown(document)

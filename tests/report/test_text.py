"""Numbers, units and escaping."""

from __future__ import annotations

import html
import math

import pytest
from markdown_it import MarkdownIt

from diagnose.document import text

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 ms"),
        (0.0004, "< 0.001 ms"),
        (0.0123, "0.012 ms"),
        (0.3, "0.300 ms"),
        (4.1, "4.10 ms"),
        (12.345, "12.3 ms"),
        (999.4, "999 ms"),
        (6600.4, "6,600 ms"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_ms_has_three_significant_digits(value: float | None, shown: str) -> None:
    assert text.ms(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 %"),
        (0.0001, "< 0.1 %"),
        (0.042, "4.2 %"),
        (0.0996, "10 %"),
        (0.333, "33 %"),
        (1.0, "100 %"),
        (math.inf, "–"),
    ],
)
def test_share_has_a_decimal_only_below_ten_percent(value: float, shown: str) -> None:
    assert text.share(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1"),
        (2.5, "2.5"),
        (0.04, "0.04"),
        (0.00001, "< 0.0001"),
        (30000, "30,000"),
        (123.4, "123"),
        (None, "–"),
    ],
)
def test_count(value: float | None, shown: str) -> None:
    assert text.count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(512, "512 bytes"), (1024, "1.00 KiB"), (1.5 * 2**20, "1.50 MiB"), (5e12, "4.55 TiB")],
)
def test_size(value: float, shown: str) -> None:
    assert text.size(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (True, "yes/no", "yes"),
        (False, "yes/no", "no"),
        (0.05, "share", "5.0 %"),
        (7, "count", "7"),
        (12.0, "us", "12 µs"),
        (2048, "bytes", "2.00 KiB"),
        ("highest", "", "highest"),
        (8.0, "", "8"),
        (None, "ms", "–"),
    ],
)
def test_quantity_speaks_the_unit(value: object, unit: str, shown: str) -> None:
    assert text.quantity(value, unit) == shown


def test_condition_reads_like_a_sentence() -> None:
    assert text.condition(">=", 0.05, "share") == "at least 5.0 %"
    assert text.condition("==", 0, "count") == "exactly 0"
    assert text.condition("==", False, "yes/no") == "no"
    assert text.condition("!=", "highest", "") == "other than highest"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(3.1, 4.8, "3.1–4.8 ms"), (-0.4, 1.2, "−0.40 to 1.2 ms"), (-4.8, -3.1, "−4.8 to −3.1 ms")],
)
def test_a_saving_that_may_be_none_has_signs(low: float, high: float, shown: str) -> None:
    assert text.signed_span(low, high) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.0004, "< 0.001"),
        (0.0123, "0.012"),
        (0.3, "0.30"),
        (3.14, "3.1"),
        (9.96, "10"),
        (12.4, "12"),
        (367.3, "370"),
        (1234.0, "1,200"),
    ],
)
def test_a_prediction_has_two_significant_digits(value: float, shown: str) -> None:
    assert text.rough(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown", "part"),
    [
        (3.1, 4.8, "3.1–4.8 ms", "25–39 %"),  # of 12.3: 25.2 and 39.0 %
        (0.28, 6.4, "0.28–6.4 ms", "2.3–52 %"),
        (0.005, 0.3, "up to 0.30 ms", "2.4 %"),  # 0.005 is less than a fiftieth of 0.3
        (0.0, 0.3, "up to 0.30 ms", "2.4 %"),
        (4.01, 4.02, "4.0 ms", "33 %"),
    ],
)
def test_a_range_promises_no_lower_end_that_is_next_to_nothing(
    low: float, high: float, shown: str, part: str
) -> None:
    assert text.rough_span(low, high) == shown
    assert text.rough_share_span(low / 12.3, high / 12.3) == part


@pytest.mark.parametrize(
    ("value", "saved", "shown"),
    [
        (118.03, 56.8, "118 ms"),
        (818.2, 376.9, "820 ms"),  # the saving is 380 ms: known to tens
        (6.96, 0.577, "6.96 ms"),
        (112.345, 0.577, "112 ms"),  # three digits at most
        (3.633, 3.98, "3.6 ms"),
        (5.0, 300.0, "5 ms"),  # the saving is known to tens: one digit is left all the same
        (0.04, 300.0, "0.04 ms"),
        (0.0004, 300.0, "0 ms"),
        (0.0, 12.3, "0 ms"),
    ],
)
def test_what_is_left_is_as_exact_as_the_saving(value: float, saved: float, shown: str) -> None:
    assert text.less(value, saved) == shown


def test_bar_is_as_long_as_its_share() -> None:
    assert text.bar(0.5, 20) == "█" * 10
    assert text.bar(0.0001, 20) == "▏"
    assert text.bar(0, 20) == ""
    assert text.bar(1.2, 20) == "█" * 20


def test_clean_leaves_one_visible_line_of_bounded_length() -> None:
    assert text.clean("a\n\tb\r\n c") == "a b c"
    assert text.clean("\x1b[31m\u202ex\u200b\ud800") == "�[31m�x��"
    assert len(text.clean("x" * 10**6)) == text.LONGEST_PROSE


def test_plain_names_stay_readable() -> None:
    assert text.code("aten::mm<float, 4>") == "`aten::mm<float, 4>`"
    assert (
        text.prose("Pass `num_workers=2` to the loader, snake_case and all.")
        == "Pass `num_workers=2` to the loader, snake_case and all."
    )


def test_what_back_ticks_cannot_hold_becomes_entities() -> None:
    assert text.code("a|b`c") == "<code>a&#124;b&#96;c</code>"


@pytest.mark.parametrize(
    "shown",
    [
        "0.11",
        "18.4 ms",
        "< 0.1 %",
        "< 0.001 ms",
        "-3.2 ms",
        "at least 0.5",
        "more than 1,000",
        "steps -> s",
        "Q & A",
        "1.14 ×",
    ],
)
def test_numbers_and_plain_sentences_are_not_escaped(shown: str) -> None:
    assert text.prose(shown) == shown


@pytest.mark.parametrize(
    ("hostile", "literal"),
    [
        ("1. item", "1\\. item"),
        ("12) item", "12\\) item"),
        ("- item", "\\- item"),
        ("---", "\\---"),
        ("+ item", "\\+ item"),
        ("# heading", "\\# heading"),
        ("===", "\\==="),
        ("> quote", "&#62; quote"),
        ("<b>x</b>", "&#60;b>x&#60;/b>"),
        ("<1@x.de>", "&#60;1@x.de>"),
        ("ends with <", "ends with &#60;"),
        ("&lt; &#60;", "&#38;lt; &#38;#60;"),
        ("a|b", "a&#124;b"),
    ],
)
def test_what_markdown_would_read_is_made_literal(hostile: str, literal: str) -> None:
    assert text.prose(hostile) == literal
    assert RENDERER.render(literal) == f"<p>{html.escape(hostile)}</p>\n"

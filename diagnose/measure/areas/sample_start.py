"""What making a sample begins with before anything random, as far as it was looked at in the main process."""

from __future__ import annotations

from diagnose.measure.areas.input import feeding_loader
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NOT_RECORDED, Missing, known

MORE_THAN_READING = 1.25  # × the time of lines that read files, from which these are not all that can be kept


@fact_selector("sample_start", "what your Dataset starts each sample with, alike in every epoch")
def _sample_start(measured: Measured) -> list[FactPlace] | Missing:
    loader = known(feeding_loader(measured))
    start, made = loader.get("sample_start"), loader.get("sample_made")
    if not start or not made:
        return NOT_RECORDED
    if start["line"] is None:
        return []
    of_fetch = start["share"] * (1 - (loader.get("collating_share") or 0.0))
    ms = of_fetch * measured.number("input_wait_ms")
    return [FactPlace(made["file"], start["line"], made["function"], measured.fetches_per_step, ms)]


@metric("sample_start_is_more", "yes/no", "What samples start with takes more than reading files")
def _sample_start_is_more(measured: Measured) -> Value | Missing:
    """Not where that was not looked at."""
    return measured.number("sample_start_ms") > MORE_THAN_READING * measured.number("sample_reads_ms")


@metric("sample_start_draws_at", "", "The first line of your Dataset's function that draws random numbers")
def _sample_start_draws_at(measured: Measured) -> Value | Missing:
    start = known(feeding_loader(measured)).get("sample_start")
    if not start:
        return NOT_RECORDED
    return f"line {start['draws']}" if start["draws"] else Missing("the function draws none itself")

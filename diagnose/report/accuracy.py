"""The table of `python -m diagnose accuracy`: predicted next to measured."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from diagnose.report.text import clean, count, ms, share, signed_span
from diagnose.verify.accuracy import Pair, summary

HEADERS = ("run", "rule", "step", "predicted saving", "measured saving", "error of the step", "inside")


def accuracy_rows(pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """A row for each pair, in `HEADERS`' order."""
    return [
        (
            clean(pair.run),
            pair.rule,
            ms(pair.before_ms),
            signed_span(pair.predicted_ms[0], pair.predicted_ms[2]),
            signed_span(pair.measured_ms[0], pair.measured_ms[2]),
            f"{100 * pair.error:+.0f} %",
            "yes" if pair.inside else "no",
        )
        for pair in pairs
    ]


def accuracy_text(pairs: Sequence[Pair]) -> str:
    """For the terminal."""
    all_of_them = summary(pairs)
    told = (
        f"{count(all_of_them.count)} fixes: error of the predicted step {share(all_of_them.p50)} (median), {share(all_of_them.p90)} (p90); "
        f"measured saving inside the predicted range in {share(all_of_them.inside)}"
    )
    return f"{tabulate(accuracy_rows(pairs), HEADERS, disable_numparse=True)}\n\n{told}"

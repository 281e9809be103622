"""The table of `python -m diagnose accuracy`: predicted next to measured."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from diagnose.document.text import clean, count, ms, share, signed_span
from diagnose.verify.accuracy import Pair, summary

HEADERS = (
    "run",
    "rule",
    "step",
    "predicted saving",
    "measured saving",
    "verdict",
    "error of the step",
    "inside",
)


def accuracy_rows(pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """A row for each pair, in `HEADERS`' order."""
    return [
        (
            clean(pair.run),
            pair.rule,
            ms(pair.before_ms),
            signed_span(pair.expected_ms[0], pair.expected_ms[2]),
            signed_span(pair.measured_ms[0], pair.measured_ms[2]),
            (pair.verdict or "").replace("_", " "),
            f"{100 * pair.error:+.0f} %",
            "yes" if pair.inside else "no",
        )
        for pair in pairs
    ]


def accuracy_text(pairs: Sequence[Pair]) -> str:
    """For the terminal."""
    return f"{tabulate(accuracy_rows(pairs), HEADERS, disable_numparse=True)}\n\n{in_sum(pairs)}"


def in_sum(pairs: Sequence[Pair]) -> str:
    """All of them in one sentence. Raises ValueError if there are none."""
    known = summary(pairs)
    return (
        f"{count(known.count)} fixes: error of the predicted step {share(known.p50)} (median), "
        f"{share(known.p90)} (p90); measured saving inside the predicted range in {share(known.inside)}."
    )

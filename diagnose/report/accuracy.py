"""The table of `python -m diagnose accuracy`: predicted next to measured."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from diagnose.document.text import clean, count, ms, share, signed_span
from diagnose.verify.accuracy import Found, Pair, summary

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
            {True: "yes", False: "no", None: "cannot tell"}[pair.inside],
        )
        for pair in pairs
    ]


def accuracy_text(found: Found) -> str:
    """For the terminal."""
    table = tabulate(accuracy_rows(found.pairs), HEADERS, disable_numparse=True)
    return f"{table}\n\n{' '.join(filter(None, [in_sum(found.pairs), left_out(found)]))}"


def in_sum(pairs: Sequence[Pair]) -> str:
    """All of them in one sentence. Raises ValueError if there are none."""
    known = summary(pairs)
    inside = (
        "of none it can be told whether the measured saving is inside the predicted range"
        if known.inside is None
        else f"measured saving inside the predicted range in {share(known.inside)} of the "
        f"{count(known.told)} of which it can be told"
    )
    return (
        f"{count(known.count)} fixes: error of the predicted step {share(known.p50)} (median), "
        f"{share(known.p90)} (p90); {inside}."
    )


def left_out(found: Found) -> str:
    """`Left out: 2 that failed, 1 that did not take hold.`; empty if there are none."""
    told = [f"{count(number)} that {why}" for why, number in sorted(found.left_out.items())]
    return f"Left out: {', '.join(told)}." if told else ""

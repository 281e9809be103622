"""What reports say in rules, metrics and selectors is plain: short sentences, one word for one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from diagnose.judge.rules import Rule, load_rules
from diagnose.measure.ledger import TITLES
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.metrics import METRICS
from diagnose.measure.selection import SELECTORS

RULES = load_rules()
LONGEST_SENTENCE, LONGEST_SYMPTOM = 30, 14  # words
INSTEAD = {  # not plain, or not the one word for it
    r"such": "this, for example",
    r"by (itself|themselves)": "alone",
    r"(is|are|not) meant": "is not counted here",
    r"kept workers": "persistent workers",
    r"begins?|began|begun": "start",
    r"tells|told": "shows",
    r"lest|kin": "plain words",
    r"now and then": "occasional",
    r"remed(y|ies)": "fix",
    r"at stake": "must be gained",
    r"runs? dry": "idles",
    r"drowns?": "is lost",
    r"twentieth|thirtieth|fiftieth": "5 %, 3 %, 2 %",
    r"data sets?": "dataset",
    r"pictures?": "image, figure",
    r"processor (cores?|time)": "CPU core, CPU time",
    r"gradient recording": "gradient tracking",
    r"the script's own (lines?|code)": "your code",
    r"seats?|crew|conductor|duel": "the term of docs/glossary.md",
}
FORBIDDEN = {re.compile(rf"(?i)\b(?:{word})\b"): better for word, better in INSTEAD.items()}


def texts(rule: Rule) -> Iterator[str]:
    yield from (rule.cause, rule.symptom, rule.why, rule.false_positives)
    yield from (condition.because for condition in rule.when)
    yield rule.saving.because
    for advice in (rule.fix, *(instead.advice for instead in rule.instead)):
        yield from (advice.title, advice.how, advice.otherwise, advice.caution)
    yield from (instead.when.because for instead in rule.instead)


def sentences(text: str) -> Iterator[str]:
    """Without code, which may hold any word, and without what stands in brackets."""
    prose = re.sub(r"\([^()]*\)", "", re.sub(r"`[^`]*`", "CODE", text))
    yield from re.split(r"(?<=[.;:!?])\s+", prose)


def wrong_words(text: str) -> list[str]:
    prose = re.sub(r"`[^`]*`", "CODE", text)
    return [f"{found[0]!r}: {better}" for word, better in FORBIDDEN.items() if (found := word.search(prose))]


def too_long(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(sentence.split()) > LONGEST_SENTENCE]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_said_plainly(rule: Rule) -> None:
    assert [wrong for text in texts(rule) for wrong in wrong_words(text) + too_long(text)] == []
    assert len(re.sub(r" \([^()]*\)", "", rule.symptom).split()) <= LONGEST_SYMPTOM


def test_metrics_selectors_and_rows_are_said_plainly() -> None:
    meanings = [metric.meaning for metric in METRICS.values()]
    named = [selector.meaning for selector in [*SELECTORS.values(), *FACT_SELECTORS.values()]]
    rows = [meaning for _, meaning in TITLES.values()]
    assert [
        wrong for text in [*meanings, *named, *rows] for wrong in wrong_words(text) + too_long(text)
    ] == []


def test_a_metric_starts_with_what_it_is() -> None:
    """Evidence is a cell of a table: "Share of …", "Time …", "Number of …"."""
    for metric in METRICS.values():
        assert re.match(r"[A-Z`⌈]|torch", metric.meaning), metric.name
        starts = {"share": "Share|Highest power", "ms": "Time|Median time|Mean time|Noise"}.get(metric.unit)
        assert starts is None or re.match(starts, metric.meaning), metric.name

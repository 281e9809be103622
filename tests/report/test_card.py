"""The result as a notebook shows it."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

from diagnose.report.card import finished_card, plain_card

from . import documents
from .documents import note


class Tags(HTMLParser):
    """Every element with its attributes; fails where an end tag does not fit."""

    def __init__(self, card: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(card)
        assert not self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def words(card: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", card)).split())


def test_a_sick_run_shows_its_verdict_plan_ledger_and_report() -> None:
    document = documents.sick()
    card = finished_card(document, "out/report.html")
    assert words(document.headline) in words(card)
    for row in document.plan:
        assert row.fix in words(card)
        assert row.where in words(card)
    assert "Input wait 4.10 ms 33 %" in words(card)
    links = [attributes for tag, attributes in Tags(card).found if tag == "a"]
    assert [link["href"] for link in links] == ["out/report.html"]


def test_the_bars_are_shares_of_the_step_largest_first() -> None:
    card = finished_card(documents.sick(), "out/report.html")
    widths = [float(width) for width in re.findall(r'"width: ([\d.]+)%; min', card)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == 33.3


def test_a_healthy_run_says_that_there_is_nothing_to_do() -> None:
    card = finished_card(documents.healthy(), "out/report.html")
    assert "no fix we know of" in words(card)


def test_a_run_without_a_step_says_what_to_try() -> None:
    assert "Fix the error first" in words(finished_card(documents.crashed(), "out/report.html"))


@pytest.mark.parametrize("name", documents.HOSTILE_NAMES, ids=range(len(documents.HOSTILE_NAMES)))
def test_hostile_names_stay_text(name: str) -> None:
    document = documents.sick()
    document.headline = f"At `{name}` {name}"
    document.plan[0].where = document.plan[0].fix = name
    document.notes = [note(name)]
    document.ledger[0].title = name
    usual = {tag for tag, _ in Tags(finished_card(documents.sick(), "out/report.html")).found}
    card = finished_card(document, f"{name.encode(errors='replace').decode()}/report.html")
    tags = Tags(card).found
    assert {tag for tag, _ in tags} <= usual | {"code", "p"}
    assert all(set(attributes) <= {"style", "href", "target", "rel"} for _, attributes in tags)
    assert all(
        not attributes["href"].startswith(("javascript:", "http", "/"))
        for tag, attributes in tags
        if tag == "a"
    )
    assert not set("\x1b\x00\u202e\u200b") & set(card)


def test_it_needs_nothing_beside_it() -> None:
    card = finished_card(documents.sick(), "out/report.html")
    assert not re.search(r"<(script|style|link|img|iframe)|url\(|on\w+=", card)


def test_a_plain_card_escapes_its_sentence() -> None:
    assert "diagnose: a &lt;b&gt; c" in plain_card("a <b> c")

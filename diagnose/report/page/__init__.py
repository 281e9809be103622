"""report.html: the report as one self-contained page. Its body and its assets also fill the TensorBoard tab.

Templates hold the order and the markup, `sentences` and `text` the words and numbers, `js/` what moves.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.document import queries as questions
from diagnose.document import savings, text
from diagnose.document.model import Document
from diagnose.judge.terms import State
from diagnose.report import (
    account,
    beside,
    devices,
    findings,
    html,
    memory,
    next_steps,
    operators,
    ranks,
    sentences,
    templates,
    verification,
    watched,
)
from diagnose.report.figures import figures
from diagnose.report.page.memory_curve import memory_drawing
from diagnose.report.page.passed import passed
from diagnose.report.page.picture import packed
from diagnose.report.page.run_curve import run_drawing
from diagnose.report.page.strip import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, strip

if TYPE_CHECKING:
    from jinja2 import Environment

TOP = 10  # rows of a ranking
LONGEST_HEADLINE = 500  # characters: longer names than any would push the plan off the screen
MOST_BYTES = 2_000_000 - 10_000  # of a page, its shell left out
_HERE = Path(__file__).parent
# one module: later ones use earlier ones
_SCRIPTS = (
    "text",
    "kinds",
    "colours",
    "lanes",
    "causes",
    "timeline",
    "panel",
    "ledger",
    "charts",
    "roofline",
    "start",
)
_SECTIONS = {  # file of templates/parts → heading; a section without content is left out
    "watched": watched.HEADING,
    "plan": "What to do",
    "happened": "What happened",
    "measured": "Measured",
    "ranks": "Ranks",
    "step": "Where a step's time goes",
    "findings": "Findings",
    "bounds": "What bounds the step",
    "hypothetical": "Would matter on a GPU",
    "trust": "How far to trust these numbers",
    "account": account.HEADING,
    "lines": "Your lines",
    "operators": operators.HEADING,
    "beside": beside.HEADING,
    "times": "Step times",
    "memory": "Memory",
    "roofline": "Kernels and what the GPU allows",
    "alternatives": findings.ALTERNATIVES,
    "minor": findings.NOISE,
    "passed": "Passed",
    "not_judged": "Not judged",
    "method": "How this was measured",
}
_WAITS = re.compile(r'<div data-part="\w+"></div>')  # all of a section's content comes from the picture
_FOLDED = ("alternatives", "minor", "passed", "not_judged", "method")
_COUNTED: dict[str, tuple[State, ...]] = {"passed": ("quiet",), "not_judged": ("abstains", "error")}


def page(document: Document, picture: dict[str, Any] | None) -> str:
    """The whole of report.html; `picture` as docs/architecture.md describes it, None where there is none."""
    body, style, script = fragment(document), _style(), _script() + _read("js/boot.js")
    room = MOST_BYTES - sum(len(part.encode("utf-8", "replace")) for part in (body, style, script))
    shell = _environment().get_template("page.html")
    return shell.render(
        title=text.clean(document.run.target, text.LONGEST_NAME),
        body=html.trusted(body),
        style=html.trusted(style),
        script=html.trusted(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        picture=packed(picture, room) if picture else "",
    )


def fragment(document: Document) -> str:
    """What the page shows, without shell, style and script.

    `start(root, picture)` of page.js brings it to life.
    """
    environment = _environment()
    parts = {
        name: environment.get_template(f"parts/{name}.html").render(document=document).strip()
        for name in _SECTIONS
    }
    sections = [
        {
            "id": name,
            "title": _title(name, document),
            "count": sum(len(questions.in_state(document, state)) for state in _COUNTED.get(name, ())),
            "body": html.trusted(parts[name]),
            "hidden": bool(_WAITS.fullmatch(parts[name])),
            "folded": name in _FOLDED,
        }
        for name in _SECTIONS
        if parts[name]
    ]
    return environment.get_template("fragment.html").render(document=document, sections=sections)


def _title(name: str, document: Document) -> str:
    if name == "step":
        return f"Where {questions.whose_time(document)} time goes"
    if name == "bounds":
        return f"What bounds the {questions.whole_word(document).lower()}"
    return _SECTIONS[name]


def assets() -> dict[str, bytes]:
    """`page.css` and `page.js`, an ES module that exports `start(root, picture)`."""
    return {"page.css": _style().encode(), "page.js": _script().encode()}


@functools.cache
def _environment() -> Environment:
    environment = templates.environment("page/templates")
    environment.globals |= {
        "account": account,
        "ask": questions,
        "figures": figures,
        "findings": findings,
        "operators": operators,
        "beside": beside,
        "memory": memory,
        "memory_drawing": memory_drawing,
        "devices": devices,
        "say": sentences,
        "next_steps": next_steps,
        "gain": savings,
        "passed": passed,
        "ranks": ranks,
        "text": text,
        "verification": verification,
        "watched": watched,
        "run_drawing": run_drawing,
        "strip": strip,
        "strip_size": (WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM),
        "TOP": TOP,
        "LONGEST_HEADLINE": LONGEST_HEADLINE,
        "row_class": html.row_class,
    }
    return environment


@functools.cache
def _style() -> str:
    return _read("css/page.css")


@functools.cache
def _script() -> str:
    return "".join(_read(f"js/{name}.js") for name in _SCRIPTS)


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """As a Content-Security-Policy names what may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

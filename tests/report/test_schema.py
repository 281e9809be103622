"""The result document has the shape that is promised, and the promise is
kept in words and as a JSON Schema.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import msgspec
import pytest

from benchmarks.samples import SAMPLES, is_recorded
from diagnose.document.schema import json_schema, problems
from diagnose.document.stored import read_document, to_json
from diagnose.errors import DiagnoseError
from diagnose.pipeline import analyse

from . import documents
from .documents import Document, change

# A sick one, one whose trace is another profiler's as well, one without a
# timeline, one with a GPU's facts missing.
RECORDED = [
    sample
    for sample in SAMPLES
    if sample.case in ("input-wait", "own-profiler", "few-workers", "loss-nan") and is_recorded(sample.run)
]


@pytest.mark.parametrize("make", documents.MAKERS)
def test_the_fixtures_have_the_promised_shape(make: Callable[[], Document]) -> None:
    assert problems(make()) == []
    assert misfits(make(), json_schema()) == []


def test_what_verify_keeps_is_described() -> None:
    assert misfits(documents.verified(), closed(json_schema())) == []


# ---- what is wrong is named


def test_a_missing_key_and_a_wrong_type_are_named() -> None:
    document = documents.as_read(documents.sick())
    document["lines"][1]["line"] = "44"
    assert refused(document) == "lines[1].line: Expected `int`, got `str`"
    document = documents.as_read(documents.sick())
    del document["run"]["ended"]
    assert refused(document) == "run: Object missing required field `ended`"
    document = documents.as_read(documents.sick())
    del document["plan"]
    assert refused(document) == "Object missing required field `plan`"


def test_more_keys_are_allowed() -> None:
    document = documents.as_read(documents.sick()) | {"more": 1}
    document["run"]["more"] = "too"
    assert misfits(document, json_schema()) == []
    assert read_document(json.dumps(document).encode()) == documents.sick()


def test_contradictions_and_numbers_that_are_not_finite_are_named() -> None:
    document = documents.sick()
    document.plan = []
    document.ledger.pop()
    document.findings[0].share = math.nan
    assert problems(document) == [
        "the plan is not the group 'plan'",
        "the ledger's shares add up to 0.9755999999999999",
        "document.findings.0.share is nan",
    ]


def test_a_prediction_that_contradicts_itself_is_named() -> None:
    document = documents.sick()
    saving = document.findings[0].saving
    assert saving.predicted_ms
    saving.predicted_ms.low = 5.0
    saving.confidence = None
    document.prediction_missing = "no host events"
    assert problems(document) == [
        "finding input-wait-no-workers: saving: the range 5.0–4.1 is none",
        "finding input-wait-no-workers: saving: predicted without a confidence and a reason",
        "savings are predicted although nothing can be",
    ]
    stored = documents.as_read(documents.sick())
    saving_stored = stored["findings"][0]["saving"]
    saving_stored["scope"] = "all"
    assert refused(stored) == "findings[0].saving.scope: Invalid enum value 'all'"
    saving_stored["scope"] = "step"
    del saving_stored["predicted_ms"]["high"]
    assert refused(stored) == "findings[0].saving.predicted_ms: Object missing required field `high`"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"group": None}, "fires without a group and a severity"),
        ({"state": "abstains", "group": None}, "abstains without a reason"),
        ({"state": "error", "group": None}, "failed without saying how"),
        ({"fix": {"title": "Mend it"}}, "fires without saying what to do"),
    ],
)
def test_a_finding_that_contradicts_its_state_is_named(values: dict[str, Any], said: str) -> None:
    document = documents.sick()
    change(document.findings[0], **values)
    assert f"finding input-wait-no-workers: {said}" in problems(document)


# ---- the JSON Schema


@cache
def recorded(number: int) -> str:
    return to_json(analyse(RECORDED[number].run))


@pytest.mark.parametrize("number", range(len(RECORDED)), ids=[str(sample) for sample in RECORDED])
def test_documents_of_recordings_fit_the_schema_and_hold_nothing_that_it_does_not_describe(
    number: int,
) -> None:
    document = json.loads(recorded(number))
    assert problems(read_document(recorded(number).encode())) == []
    assert misfits(document, json_schema()) == []
    assert misfits(document, closed(json_schema())) == []


def test_a_key_that_is_not_described_would_be_found() -> None:
    document = documents.as_read(documents.sick())
    document["findings"][0]["saving"]["more"] = 1
    assert [
        misfit for misfit in misfits(document, closed(json_schema())) if "'more' was unexpected" in misfit
    ]


def test_every_key_and_every_object_is_described() -> None:
    shapes = json_schema()["$defs"]
    assert [name for name, shape in shapes.items() if not shape.get("description")] == []
    keys = {
        f"{name}.{key}": about
        for name, shape in shapes.items()
        for key, about in shape.get("properties", {}).items()  # an enumeration has none
    }
    assert [key for key, about in keys.items() if not about.get("description")] == []


def test_a_description_has_no_indentation_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """msgspec 0.22 gave docstrings as they stand in the source, 0.23 cleans them."""
    raw = {"$defs": {"Run": {"description": "One.\n\n    Two.", "properties": {"description": {}}}}}
    monkeypatch.setattr(msgspec.json, "schema", lambda _: raw)
    assert json_schema()["$defs"] == {
        "Run": {"description": "One.\n\nTwo.", "properties": {"description": {}}}
    }


def refused(document: dict[str, Any]) -> str:
    """What a stored document is refused for."""
    with pytest.raises(DiagnoseError) as caught:
        read_document(json.dumps(document).encode())
    return caught.value.saw


def misfits(document: Document | dict[str, Any], schema: dict[str, Any]) -> list[str]:
    jsonschema.Draft202012Validator.check_schema(schema)
    as_read = json.loads(to_json(document))
    return [
        f"{error.json_path}: {error.message}"
        for error in jsonschema.Draft202012Validator(schema).iter_errors(as_read)
    ]


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same without room for other keys."""
    schema = copy.deepcopy(schema)
    for shape in schema["$defs"].values():
        shape["additionalProperties"] = False
    return schema

"""SARIF as the standard has it: by its schema, and stable from run to run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchmarks.samples import FOLDER
from diagnose.document.stored import to_json
from diagnose.pipeline import analyse
from diagnose.report.sarif import sarif

from . import documents
from .documents import HOSTILE_NAMES, Document, change

SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.schema.json").read_text(encoding="utf-8"))
ROOT = Path("/repo")


def log(*given: Document, fail_on: str | None = None) -> dict[str, Any]:
    """As it is read by others, checked by the standard's schema."""
    for document in given:
        document.run.cwd = document.run.cwd or "/repo/jobs"
    read: dict[str, Any] = json.loads(to_json(sarif(given, fail_on, ROOT)))
    formats = jsonschema.Draft4Validator.FORMAT_CHECKER
    misfits = [
        f"{error.json_path}: {error.message}"
        for error in jsonschema.Draft4Validator(SCHEMA, format_checker=formats).iter_errors(read)
    ]
    assert misfits == []
    return read


def unpredicted() -> Document:
    document = documents.unpredicted()
    document.findings[0].share = None
    return document


@pytest.mark.parametrize(
    "make",
    [
        documents.sick,
        documents.two_fixes,
        documents.some_steps,
        unpredicted,
        documents.healthy,
        documents.crashed,
        documents.empty,
    ],
)
def test_every_kind_of_document_is_valid(make: Callable[[], Document]) -> None:
    document = make()
    results = log(document)["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == [row.rule for row in document.plan]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_are_valid_too(name: str) -> None:
    assert len(log(documents.hostile(name))["runs"][0]["results"]) == 1


def test_the_schema_would_notice() -> None:
    broken = sarif([documents.sick()], root=ROOT)
    broken["runs"][0]["results"][0]["levl"] = "warning"
    assert not jsonschema.Draft4Validator(SCHEMA).is_valid(broken)


def test_a_result_says_what_where_and_how_much() -> None:
    run = log(documents.sick())["runs"][0]
    (result,), (rule,) = run["results"], run["tool"]["driver"]["rules"]
    assert (result["ruleId"], result["ruleIndex"], result["level"], result["rank"]) == (
        "input-wait-no-workers",
        0,
        "warning",
        31.7,
    )
    assert result["message"]["text"].startswith("Input loading without workers takes 33 % of each step: load")
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "jobs/train.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 41},
    }
    assert result["properties"] == {
        "severity": "high",
        "ms_per_step": 4.1,
        "share": 0.317,
        "at_most_ms": 3.9,
        "predicted_ms": {"best_guess": 3.6, "low": 2.9, "high": 4.1},
        "confidence": "high",
    }
    assert rule["help"]["text"].startswith("Why: The loader has no worker processes")
    assert rule["helpUri"] == "https://docs.pytorch.org/docs/stable/data.html"
    assert (run["automationDetails"]["id"], run["invocations"]) == (
        "diagnose/train.py/",
        [{"executionSuccessful": True}],
    )


def test_what_was_measured_is_told() -> None:
    document = documents.sick()
    measured = {"best_guess": 4.0, "low": 3.8, "high": 4.2, "of_ms": 10.0}
    change(document.findings[0].saving, measured_ms=measured, verdict="faster")
    properties = log(document)["runs"][0]["results"][0]["properties"]
    assert (properties["measured_ms"], properties["verdict"]) == (measured, "faster")


def test_a_result_without_a_line_of_the_repository_has_no_place_or_the_scripts_first_line() -> None:
    document = documents.two_fixes()
    document.findings[0].culprits[0].file = "/usr/lib/net.py"
    first, second = log(document)["runs"][0]["results"]
    assert first["locations"] == []
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_a_path_is_a_uri() -> None:
    document = documents.sick()
    document.findings[0].culprits[0].file = "my runs/50%/é.py"
    place = log(document)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "jobs/my%20runs/50%25/%C3%A9.py"


def fingerprint(document: Document) -> str:
    found: str = log(document)["runs"][0]["results"][0]["partialFingerprints"]["diagnose/v1"]
    return found


def test_a_finding_is_known_again_when_its_line_moves_or_its_time_changes_and_not_elsewhere() -> None:
    first, later, elsewhere = documents.sick(), documents.sick(), documents.sick()
    change(later.findings[0], ms_per_step=9.9, severity="medium")
    change(later.findings[0].culprits[0], line=57, source="    for x, y in loader:")
    elsewhere.findings[0].culprits[0].function = "evaluate"
    assert fingerprint(first) == fingerprint(later) != fingerprint(elsewhere)


def test_several_documents_are_runs_of_one_log_and_what_fails_the_job_is_an_error() -> None:
    other = documents.two_fixes()
    other.run.target = "rank1.json"
    runs = log(documents.sick(), other, fail_on="high")["runs"]
    assert [run["automationDetails"]["id"] for run in runs] == ["diagnose/train.py/", "diagnose/rank1.json/"]
    assert [result["level"] for run in runs for result in run["results"]] == ["error", "error", "warning"]


def test_a_recorded_sample_is_valid() -> None:
    document = analyse(FOLDER / "input-wait" / "sick")
    (result,) = log(document)["runs"][0]["results"]
    assert result["ruleId"] == "input-wait-no-workers"

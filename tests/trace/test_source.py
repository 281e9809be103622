"""Where traces lie, and what of a URL may be shown."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import fsspec
import pytest

from diagnose.errors import UsageError
from diagnose.trace.source import is_url, opened, shown


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("s3://bucket/run@v2/x.json.gz", "s3://bucket/run@v2/x.json.gz"),
        ("https://me:p%40ss@host:8080/x.json?X-Amz-Signature=abc#top", "https://host:8080/x.json"),
        ("ftp://me:p@ss@host/x.json", "ftp://host/x.json"),
        ("https://token@host/x.json", "https://host/x.json"),
        ("simplecache::https://me:secret@host/x.json?sig=1", "simplecache::https://host/x.json"),
        ("C?odd#name@here.json", "C?odd#name@here.json"),
        (Path("/traces/x.json"), "/traces/x.json"),
        (io.BytesIO(), "the given file object"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(source: str | Path | io.BytesIO, name: str) -> None:
    assert shown(source) == name


def test_text_with_a_protocol_is_a_url() -> None:
    assert [
        is_url(source)
        for source in ("memory://x", "zip://a.json::s3://b/c.zip", "x.json", "/a//b", Path("s3://b"))
    ] == [*(True, True, False, False, False)]


class Failing:
    """A remote file that fails when it is opened."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __enter__(self) -> None:
        raise self.error

    def __exit__(self, *raised: object) -> None:
        pass


class ClientResponseError(Exception):
    """As aiohttp's: no OSError, and the whole address in its text."""


@pytest.mark.parametrize(
    ("error", "saw"),
    [
        (ClientResponseError("403, url='https://me:pw@host/x?sig=1'"), "403, url='https://host/x"),
        (FileNotFoundError("https://me:pw@host/x?sig=1"), "https://host/x"),
        (PermissionError(13, "Access Denied"), "Access Denied"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_failure_far_away_is_one_usage_error_without_secrets(
    error: Exception, saw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fsspec, "open", lambda *given: Failing(error))
    with pytest.raises(UsageError) as refusal, opened("https://me:pw@host/x?sig=1"):
        pass
    assert (refusal.value.what, refusal.value.saw) == ("Cannot read https://host/x.", saw)


def test_a_missing_package_of_a_protocol_is_one_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(UsageError, match="Cannot open s3://bucket/x") as refusal, opened("s3://bucket/x"):
        pass
    assert "s3fs" in refusal.value.saw


def test_errors_of_ours_pass_through() -> None:
    with pytest.raises(UsageError, match="ours"), opened(io.BytesIO()):
        raise UsageError("ours")
    with pytest.raises(KeyError), opened(io.BytesIO()):
        raise KeyError("a fault in the program is not the file's")

"""Where bytes come from: plain, gzip, zstd; path, file object, URL; and the
limits on what they may inflate to.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from diagnose.errors import TraceUnreadable, UsageError
from diagnose.trace import content
from diagnose.trace.content import Content
from diagnose.trace.reader import read_trace
from tests.trace.build import encoded, event

DATA = encoded(event("aten::add", 1))


def everything(source: str | Path | io.BytesIO, **limits: int) -> bytes:
    return b"".join(Content(source, **limits).blocks())


def test_plain_gzip_and_zstd_by_content_not_by_name(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    for packed in (
        DATA,
        gzip.compress(DATA),
        gzip.compress(DATA[:9]) + gzip.compress(DATA[9:]),
        zstandard.compress(DATA),
        b"\xef\xbb\xbf" + DATA,
    ):
        path = tmp_path / "trace.bin"
        path.write_bytes(packed)
        assert everything(path) == DATA
        assert everything(str(path)) == DATA
        assert everything(io.BytesIO(packed)) == DATA


def test_larger_than_one_block(tmp_path: Path) -> None:
    data = encoded(*(event(f"op{i}", i) for i in range(30_000)))
    assert len(data) > 2**21
    assert everything(io.BytesIO(gzip.compress(data))) == data
    assert everything(io.BytesIO(data)) == data


def test_fsspec_url() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://folder/trace.json.gz", "wb") as file:
        file.write(gzip.compress(DATA))
    assert read_trace("memory://folder/trace.json.gz").host["name"].tolist() == ["aten::add"]
    with pytest.raises(UsageError, match="nosuchprotocol"):
        read_trace("nosuchprotocol://x")


@pytest.mark.parametrize(
    ("package", "source"),
    [("fsspec", "memory://x"), ("zstandard", io.BytesIO(b"\x28\xb5\x2f\xfd" + b"x" * 9))],
)
def test_a_missing_optional_package_is_named(
    monkeypatch: pytest.MonkeyPatch, package: str, source: str | io.BytesIO
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError) as refusal:
        read_trace(source)
    assert refusal.value.do == f"pip install {package}"


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UsageError, match="Cannot read"):
            read_trace(path)


def bomb(block: bytes, count: int, head: bytes = b"") -> io.BytesIO:
    deflate = zlib.compressobj(9, wbits=31)
    parts = [deflate.compress(head)] + [deflate.compress(block) for _ in range(count)] + [deflate.flush()]
    return io.BytesIO(b"".join(parts))


@pytest.mark.parametrize("filler", [b"\x00", b" ", b"a"])
def test_a_bomb_without_json_is_refused_by_its_first_block(filler: bytes) -> None:
    with pytest.raises(TraceUnreadable, match="JSON"):
        read_trace(bomb(filler * 2**20, 64))


def test_a_bomb_that_starts_like_a_trace_is_refused_by_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "RATIO_FREE_BYTES", 8 * 2**20)
    with pytest.raises(TraceUnreadable, match="inflates like no recording") as refusal:
        everything(bomb(b" " * 2**20, 60, head=b'{"traceEvents": ['))
    assert "uncompress it first" in refusal.value.do and "--no-size-limit" in refusal.value.do


def test_absolute_limit() -> None:
    with pytest.raises(TraceUnreadable, match="too large") as refusal:
        everything(io.BytesIO(gzip.compress(DATA)), max_bytes=100)
    assert "--no-size-limit" in refusal.value.do


def test_a_trusted_trace_may_inflate_as_much_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "RATIO_FREE_BYTES", 0)
    head, tail = DATA[:-2], DATA[-2:]
    packed = gzip.compress(head) + gzip.compress(b" " * 2**22) + gzip.compress(tail)
    with pytest.raises(TraceUnreadable, match="over 400 times"):
        read_trace(io.BytesIO(packed))
    assert len(read_trace(io.BytesIO(packed), trusted=True).host) == 1


def test_reading_a_trace_needs_neither_torch_nor_the_optional_packages(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(DATA)
    code = (
        "import sys; from diagnose.trace.reader import read_trace; read_trace(sys.argv[1]);"
        "print(sorted({'torch', 'fsspec', 'zstandard'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

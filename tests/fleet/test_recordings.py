"""Which ranks a fleet's address names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import fsspec
import pytest

from diagnose.errors import UsageError
from diagnose.fleet.recordings import at_hand, fleet_ranks, trace_bytes
from diagnose.ranks.load import RankSource


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/r0.json", "a/r1.json.gz", "b/r2.json.zst", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    return tmp_path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two run folders, one a machine, with what else lies in them; rank 3 died before
    it could write anything of its own.
    """
    names = (
        *(
            "node0/run.json",
            "node0/verify.json",
            "node0/report.json",
            "node0/picture.json.gz",
            "node0/tb/t/rank0.pt.trace.json.gz",
        ),
        *(
            f"node0/rank0/{name}"
            for name in ("steps.json", "facts.json", "timeline.pt.trace.json.gz", "detail.pt.trace.json.gz")
        ),
        *("node0/rank1/steps.json", "node1/run.json", "node1/rank2/steps.json", "node1/rank3/ended.json"),
        *("node1/verify/base/run.json", "node1/verify/base/rank0/steps.json"),
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def named(ranks: Sequence[RankSource]) -> dict[str, object]:
    return {one.name: one.source for one in ranks}


def test_a_folder_is_all_traces_below_it(folder: Path) -> None:
    assert named(fleet_ranks(str(folder))) == {
        name: folder / name for name in ("a/r0.json", "a/r1.json.gz", "b/r2.json.zst")
    }


def test_names_are_paths_below_the_folder_that_holds_all_traces(folder: Path) -> None:
    assert named(fleet_ranks(str(folder / "a"))) == {
        "r0.json": folder / "a/r0.json",
        "r1.json.gz": folder / "a/r1.json.gz",
    }


def test_a_pattern_chooses(folder: Path) -> None:
    assert list(named(fleet_ranks(f"{folder}/*/r[02].*"))) == ["a/r0.json", "b/r2.json.zst"]


def test_a_pattern_of_folders_is_all_traces_below_them(folder: Path) -> None:
    assert list(named(fleet_ranks(f"{folder}/[ab]"))) == ["a/r0.json", "a/r1.json.gz", "b/r2.json.zst"]


def test_a_url_lists_urls() -> None:
    files = fsspec.filesystem("memory")
    for name in ("r0.json", "r1.json"):
        files.pipe(f"/job/{name}", b"{}")
    assert named(fleet_ranks("memory://job")) == {
        name: f"memory:///job/{name}" for name in ("r0.json", "r1.json")
    }


@pytest.mark.parametrize("pattern", ["", "node*", "node?/"])
def test_of_run_folders_each_folder_of_a_rank_is_one_and_nothing_else_counts(
    runs: Path, pattern: str
) -> None:
    assert fleet_ranks(f"{runs}/{pattern}") == [
        RankSource(runs / "node0", "node0/rank0", 0),
        RankSource(runs / "node0", "node0/rank1", 1),
        RankSource(runs / "node1", "node1/rank2", 2),
        RankSource(runs / "node1", "node1/rank3", 3),
    ]


def test_a_lone_run_folder_or_a_pattern_of_its_ranks_will_do(runs: Path) -> None:
    ranks = [RankSource(runs / "node0", "rank0", 0), RankSource(runs / "node0", "rank1", 1)]
    assert fleet_ranks(str(runs / "node0")) == ranks
    assert fleet_ranks(str(runs / "node0/rank*")) == ranks


def test_a_rank_s_folder_in_a_bucket_is_fetched_with_what_it_shares_and_gone_afterwards(runs: Path) -> None:
    fsspec.filesystem("memory").put(str(runs), "/fetched", recursive=True)
    first = fleet_ranks("memory://fetched")[0]
    assert (first.source, first.rank) == ("memory:///fetched/node0", 0)
    with at_hand(first) as here:
        folder = Path(here.source)
        found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        own = [
            "rank0/detail.pt.trace.json.gz",
            "rank0/facts.json",
            "rank0/steps.json",
            "rank0/timeline.pt.trace.json.gz",
        ]
        assert found == [*own, "run.json", "verify.json"]
        assert (folder / "rank0/facts.json").read_text() == "node0/rank0/facts.json"
    assert not folder.exists()


def test_how_the_other_ranks_ended_is_fetched_for_the_one_that_is_reported(runs: Path) -> None:
    (runs / "node0" / "rank1" / "ended.json").write_text("{}")
    first = fleet_ranks(f"file://{runs}")[0]
    with at_hand(first, endings=True) as here:
        found = {path.relative_to(here.source).as_posix() for path in Path(here.source).glob("rank1/*")}
        assert found == {"rank1/ended.json"}


def test_bytes_are_those_of_the_traces_alone(runs: Path, folder: Path) -> None:
    both = len("node0/rank0/timeline.pt.trace.json.gz") + len("node0/rank0/detail.pt.trace.json.gz")
    assert trace_bytes(RankSource(runs / "node0", "rank0", 0)) == both
    assert trace_bytes(RankSource(folder / "a/r0.json", "r0.json")) == 2


@pytest.mark.parametrize(("target", "saw"), [("b/*.txt", "1 other files"), ("c", "nothing there")])
def test_no_traces_is_an_error_that_says_what_is_there(folder: Path, target: str, saw: str) -> None:
    with pytest.raises(UsageError, match="no traces at") as error:
        fleet_ranks(f"{folder}/{target}")
    assert error.value.saw == saw


def test_an_address_that_cannot_be_listed_shows_no_secret() -> None:
    with pytest.raises(UsageError) as error:
        fleet_ranks("nowhere://me:secret@host/job?token=secret")
    assert "secret" not in str(error.value)


def test_a_protocol_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> None:
        raise ImportError("HTTPFileSystem requires aiohttp")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(UsageError) as error:
        fleet_ranks("http://host/job")
    assert "install the fsspec package" in error.value.do

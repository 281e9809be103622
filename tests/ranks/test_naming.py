import pytest

from diagnose.ranks.naming import are_one_job, rank_in_name, told_rank
from tests.ranks.jobs import write_trace


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.json.gz", 3),
        ("rank-12.Apr_03_18_51_38.1102.pt.trace.json.gz", 12),
        ("worker4_step_12.1694128201547.pt.trace.json", 4),
        ("param-dlrm-r7.json.gz", 7),
        ("trace_5.json", 5),
        ("timeline.pt.trace.json.gz", -1),
        ("host_4242.1694128201547.pt.trace.json", -1),
        ("error.json", -1),
    ],
)
def test_the_rank_in_a_name(name, rank):
    assert rank_in_name(name) == rank


def test_the_rank_that_a_trace_tells(tmp_path):
    write_trace(tmp_path / "a.json.gz", 3)
    (tmp_path / "b.json").write_text('{"traceEvents": []}')
    (tmp_path / "c.json.gz").write_bytes(b"\x1f\x8bdamaged")
    assert [told_rank(tmp_path / name) for name in ("a.json.gz", "b.json", "c.json.gz", "missing.json")] == [
        (3, 4),
        None,
        None,
        None,
    ]


def test_traces_of_several_ranks_of_one_size_are_one_job(tmp_path):
    paths = [tmp_path / f"{name}.json.gz" for name in "abcd"]
    for rank, path in enumerate(paths):
        write_trace(path, rank)
    assert are_one_job(paths)
    (tmp_path / "damaged.json").write_text("{")
    assert are_one_job([*paths, tmp_path / "damaged.json"])
    write_trace(tmp_path / "other.json.gz", 0, world_size=8)
    assert not are_one_job([*paths, tmp_path / "other.json.gz"])
    assert not are_one_job(paths[:1])


def test_two_recordings_of_the_same_rank_are_each_for_itself(tmp_path):
    for name in ("before", "after"):
        write_trace(tmp_path / f"{name}.json.gz", 0)
    assert not are_one_job([tmp_path / "before.json.gz", tmp_path / "after.json.gz"])


def test_without_a_word_in_the_traces_the_names_tell(tmp_path):
    def folder_of(*names):
        for name in names:
            (tmp_path / name).write_text('{"traceEvents": []}')
        return [tmp_path / name for name in names]

    assert are_one_job(folder_of("rank0.json", "rank1.json"))
    assert are_one_job(folder_of("run_r0.json", "run_r1.json", "run_r3.json"))
    assert not are_one_job(folder_of("before_rank0.json", "after_rank1.json"))
    assert not are_one_job(folder_of("first.json", "second.json"))
    assert are_one_job(folder_of("trace_0.json", "trace_1.json"))
    assert not are_one_job(folder_of("host_4242.json", "host_4243.json"))  # process numbers

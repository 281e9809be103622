"""What a run's sequences tell of its steps, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.missing import Missing

STEPS = """
main  0    1000  step  ProfilerStep#1
main  0    400   mark  forward@20
main  0    390   op    aten::mm
"""


def line(number: int, longest: float) -> dict[str, Any]:
    return {
        "file": "/job/train.py",
        "line": number,
        "function": "main",
        "batches": 8,
        "length": 40.0,
        "longest": longest,
        "filled": 0.2,
    }


@pytest.mark.parametrize("lines", [(106, 20), (20, 106)])
def test_padding_is_told_of_the_line_that_the_steps_call_the_model_at(lines: tuple[int, int]) -> None:
    """Not of an evaluation's, which ran between the steps."""
    padded = [line(number, 30.0 if number == 20 else 10.0) for number in lines]
    facts = {"forward": {"sequences": {"longer": [], "padded": padded}}}
    assert measured_case({"timeline": STEPS, "facts": facts}).metric("sequence_longest") == 30


def test_calls_that_are_longer_by_chance_are_not_among_those_that_grow() -> None:
    """Of 400 µs at line 20 a new position leaves 10, the fixed part of the product; those at line 21 are all
    dispatch.
    """
    steps = """
main  0    1000  step  ProfilerStep#1
main  0    400   mark  forward@20
main  0    400   op    aten::mm
main  500  400   mark  forward@21
main  500  10    op    aten::add  {"repeat": 40, "every": 10}
"""
    grown = {"file": "/job/train.py", "function": "main", "length": 40.0}
    longer = [
        grown | {"line": 20, "count": 90, "share": 0.9},
        grown | {"line": 21, "count": 4, "share": 0.05},
    ]
    facts = {"forward": {"sequences": {"longer": longer, "padded": []}}}
    measured = measured_case({"timeline": steps, "facts": facts})
    assert measured.number("growing_calls_left") == pytest.approx(10 / 400)


def padding_told(folder: Path, source: str, made: str, defined_at: int) -> int:
    """The line that is told where the loader knows the function at this line of data.py."""
    (folder / "data.py").write_text(source)
    function = {"file": str(folder / "data.py"), "line": defined_at, "function": "made"}
    loader = {"num_workers": 0, "file": "/job/train.py", "line": 9, "function": "main", made: function}
    facts = {"loaders": [loader], "forward": {"sequences": {"longer": [], "padded": [line(20, 30.0)]}}}
    places = FACT_SELECTORS["padded_batches"].places(measured_case({"timeline": STEPS, "facts": facts}))
    assert not isinstance(places, Missing)
    (place,) = places
    return place.line


COLLATE = """
class Collate:
    def __call__(self, rows):
        longest = max(map(len, rows))

        def padded(row):
            return torch.tensor(row + [0] * (longest - len(row)))

        return torch.stack([padded(row) for row in rows])

    def pad(self, rows):
        self.pad(rows)
        return torch.zeros(len(rows), 192)

    def of_both(self, rows):
        return self.pad(rows)
"""


@pytest.mark.parametrize(("defined_at", "told"), [(3, 7), (4, 4), (15, 13)])
def test_shared_padding_is_told_at_the_line_that_pads(tmp_path: Path, defined_at: int, told: int) -> None:
    """Line 3 begins the function; at line 4 none does; the one at line 15 calls another one."""
    assert padding_told(tmp_path, COLLATE, "collated", defined_at) == told


DATASET = """
class Graphs:
    def __getitem__(self, index):
        target = torch.zeros(10)
        adjacency = np.zeros((self.max_nodes, self.max_nodes))
        return adjacency, target

class Reviews:
    def __getitem__(self, index):
        ids = self.encode(index)
        return torch.tensor(
            ids + [PAD] * (self.limit - len(ids))
        )

class Rows:
    def __getitem__(self, index):
        return self.rows[index], torch.zeros(10)
"""


@pytest.mark.parametrize(("defined_at", "told"), [(3, 5), (9, 12), (16, 9)])
def test_shared_padding_is_told_at_the_line_of_the_dataset_that_pads(
    tmp_path: Path, defined_at: int, told: int
) -> None:
    """Not at that of a target's size; at the loader's (line 9 of train.py) where the sample is not padded."""
    assert padding_told(tmp_path, DATASET, "sample_made", defined_at) == told


def test_functions_that_all_call_each_other_are_looked_at_once_each(tmp_path: Path) -> None:
    """Ways through thirty of them are more than can be gone. The last one pads, at its second line."""
    calls = "; ".join(f"f{number}()" for number in range(30))
    functions = [f"def f{number}():\n    {calls}\n" for number in range(30)]
    source = "".join(functions) + "    torch.zeros(192)\n"
    assert padding_told(tmp_path, source, "collated", 1) == 61


def test_shared_padding_is_told_where_batches_are_made() -> None:
    facts = {
        "loaders": [
            {
                "num_workers": 0,
                "file": "/job/train.py",
                "line": 9,
                "function": "main",
                "collated": {"file": "/job/data.py", "line": 44, "function": "__call__"},
            }
        ],
        "forward": {"sequences": {"longer": [], "padded": [line(20, 30.0)]}},
    }
    measured = measured_case({"timeline": STEPS, "facts": facts})
    for selector, number in (("padded_batches", 44), ("ragged_batches", 9)):
        places = FACT_SELECTORS[selector].places(measured)
        assert not isinstance(places, Missing)
        assert [place.line for place in places] == [number]

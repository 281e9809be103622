"""In which file, and at which line, a loader's fetch pads."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.padding_lines import padded_beside, where_padded
from diagnose.measure.sources import Sources

DATA = """
class Commits:
    def __getitem__(self, index):
        ids = self.tokenizer.encode(self.texts[index], self.limit)
        return torch.tensor(ids)

class Hub:
    def __getitem__(self, index):
        text = self.texts[index].strip()
        return self.tokenizer(text, padding="max_length", truncation=True)

class Counted:
    def __getitem__(self, index):
        return self.encoded(index, max(self.lengths), len(self.lengths))
"""
WORDS = """
def encode(self, text, limit):
    ids = [self.vocabulary[word] for word in text.split()]
    return ids + [0] * (limit - len(ids))
"""


@pytest.mark.parametrize(
    ("defined_at", "ran", "told"),
    [
        (3, ["encode"], ("words.py", 4, "encode")),
        (3, [], None),  # a function of that name that ran in no fetch is another one
        (8, ["encode"], ("data.py", 10, "__getitem__")),
        (13, ["encode"], None),
    ],
)
def test_the_file_of_the_function_that_ran(
    tmp_path: Path, defined_at: int, ran: list[str], told: tuple[str, int, str] | None
) -> None:
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "words.py").write_text(WORDS)
    made = {"file": str(tmp_path / "data.py"), "line": defined_at, "function": "__getitem__"}
    sources = Sources(measured_case({"timeline": "main 0 10 op aten::mm"}).recording)
    found = where_padded(sources, {"sample_made": made}, [(str(tmp_path / "words.py"), name) for name in ran])
    assert (found and (Path(found.file).name, found.line, found.function)) == told


BATCHES = """
def make_batch(size):
    batch = np.zeros((size, longest, 5))
    return torch.from_numpy(batch)

def augmented(batch):
    noise = torch.zeros(batch.shape)
    return batch + noise

def train():
    batch = make_batch(12)
    return model(augmented(batch))
"""


@pytest.mark.parametrize(
    ("ran", "line"),
    [
        (["train", "make_batch"], 3),  # that one is called by the other
        (["augmented", "make_batch"], 3),
        (["augmented"], None),  # to no length
        (["train"], None),  # what it calls is not known to have run
    ],
)
def test_without_a_loader_functions_that_ran_are_looked_at(
    tmp_path: Path, ran: list[str], line: int | None
) -> None:
    file = tmp_path / "strokes.py"
    file.write_text(BATCHES.replace("longest", "max_length"))
    sources = Sources(measured_case({"timeline": "main 0 10 op aten::mm"}).recording)
    found = padded_beside(sources, [(str(file), name) for name in ran])
    assert (found and found.line) == line

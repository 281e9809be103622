"""Evaluations that the source of a loop tells of: over how many samples each goes, counted by hand.

Trained on: 40 samples in batches of 4. The validation has 20 samples in batches of 10.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, SubsetRandomSampler, TensorDataset

from diagnose.run.child import guard
from diagnose.run.child.places import Places
from diagnose.run.child.source.rare_work import RareWork

VALIDATED = {"epochs": 0.5, "batches": 5.0, "is_training_data": False}
TRAINED_AGAIN = {"epochs": 1.0, "batches": 10.0, "is_training_data": True}

LOOP = """
tqdm = enumerate_all = lambda items, **_: items
count = 0

def evaluate(model, loader, limit=None):
    total = 0
    for x, in tqdm(loader):
        total += model(x)
        if limit is not None and total.sum() > limit:
            break
    return total

def means(loader):
    return sum(x.mean() for x, in loader)

def losses(model, loader, optimizer=None):
    return [batch(model, x, optimizer) for x, in loader]

def batch(model, x, optimizer):
    loss = model(x).sum()
    if optimizer is not None:
        loss.backward()
    return loss

class Trainer:
    def __init__(self, model, training, validation):
        self.model, self.training, self.validation = model, training, validation
        self.loaders = dict(val=validation)

    def validate(self):
        return self.run_epoch(self.validation, train=False)

    def run_epoch(self, loader, train):
        progress = tqdm(loader)
        for i, (x,) in enumerate(progress):
            loss = self.model(x).mean()
            if train:
                loss.backward()

    def fit_epoch(self, tick):
        for x, in self.training:
            tick()
        {after}

def train(model, training, validation, tick, debug=False):
    trainer = Trainer(model, training, validation)
    best = 0
    for epoch in range(3):
        {loop}
            tick()
        {body}
"""


def evaluated(
    folder: Path, body: str, loop: str = "for i, x in enumerate(training):", after: str = "pass", **given: Any
) -> list[dict[str, Any]]:
    """What the script is told to evaluate after each epoch, or in some of its steps, at its fourth tick."""
    module = loaded(folder, LOOP.format(body=body, loop=loop, after=after))
    data = TensorDataset(torch.zeros(40, 3))
    arguments = {
        "model": torch.nn.Linear(3, 1),
        "training": DataLoader(data, batch_size=4),
        "validation": DataLoader(TensorDataset(torch.zeros(20, 3)), batch_size=10),
        **given,
    }
    work, ticks = RareWork(Places(str(folder), str(folder))), iter(range(10**6))
    found = []

    def tick() -> None:
        number = next(ticks)
        if number == 3:
            work.begin(None)
        elif number == 4:
            between = [told["passes"] for told in work.facts]
            work.look(1, None)
            found.extend(work.facts)
            assert between == [told["passes"] for told in found if not told["in_steps"]]  # known before

    module.train(tick=tick, **arguments)
    assert not guard.notes()
    return [one for told in found for one in told["passes"]]


def loaded(folder: Path, text: str) -> ModuleType:
    path = folder / "loop.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("loop", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})


@pytest.mark.parametrize(
    "body",
    [
        "evaluate(model, validation)",
        "best = max(best, float(evaluate(model, loader=validation).detach().sum()))",
        "for i, (x,) in enumerate(validation):\n            model(x)",
        "with torch.no_grad():\n            [model(x) for x, in validation]",
        "trainer.validate()",
        "trainer.run_epoch(trainer.validation, False)",
        "losses(model, trainer.loaders['val'])",
        "loader = tqdm(validation)\n        evaluate(model, loader)",
        "if not debug:\n            evaluate(model, validation)",
        "if trainer is not None and epoch == 0:\n            evaluate(model, validation)",
    ],
)
def test_a_validation_after_each_epoch(tmp_path: Path, body: str) -> None:
    """Of 20 samples, where an epoch trains on 40 in batches of 4: half as many, or 5 batches."""
    text = body if "torch" not in body else "import torch\n        " + body
    (told,) = evaluated(tmp_path, text)
    line = (tmp_path / "loop.py").read_text().splitlines()[told.pop("line") - 1]
    assert told == VALIDATED
    assert any(name in line for name in ("validation", "validate", "val", "loader)"))


@pytest.mark.parametrize(
    "body",
    [
        "evaluate(model, training)",
        "trainer.run_epoch(training, train=False)",
        "for i in range(len(training.dataset)):\n            model(training.dataset[i][0])",
    ],
)
def test_a_second_pass_over_the_training_data(tmp_path: Path, body: str) -> None:
    (told,) = evaluated(tmp_path, body)
    assert told | {"line": 0} == TRAINED_AGAIN | {"line": 0}


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ("(", ")")])
def test_a_comprehension_trains(tmp_path: Path, begin: str, end: str) -> None:
    loop = f"list({begin}tick() for x in training{end})\n        for unused in ():"
    (told,) = evaluated(tmp_path, "evaluate(model, validation)", loop)
    assert told | {"line": 0} == VALIDATED | {"line": 0}


def test_loaders_of_two_parts_of_a_data_set(tmp_path: Path) -> None:
    """Ten samples of forty, by another sampler: no second pass over what is trained on."""
    data = TensorDataset(torch.zeros(40, 3))
    parts = {
        name: DataLoader(data, batch_size=5, sampler=SubsetRandomSampler(range(*part)))
        for name, part in {"training": (0, 20), "validation": (20, 30)}.items()
    }
    (told,) = evaluated(tmp_path, "evaluate(model, validation)", **parts)
    assert told | {"line": 0} == {"line": 0, "epochs": 0.5, "batches": 2.0, "is_training_data": False}


def test_several_passes(tmp_path: Path) -> None:
    told = evaluated(tmp_path, "evaluate(model, training)\n        evaluate(model, validation)")
    assert [one["epochs"] for one in told] == [1.0, 0.5]


def test_a_pass_in_some_steps(tmp_path: Path) -> None:
    """Every fourth step has one of five batches; another every seventh comes in what the loop calls."""
    loop = (
        "for i, x in enumerate(training):\n"
        "            if i % 4 == 0:\n                evaluate(model, validation)"
    )
    (told,) = evaluated(tmp_path, "pass", loop)
    assert told | {"line": 0} == VALIDATED | {"line": 0}


def test_what_follows_the_loop_in_its_function(tmp_path: Path) -> None:
    (told,) = evaluated(
        tmp_path,
        "pass",
        "trainer.fit_epoch(tick)\n        if False:",
        "evaluate(self.model, self.validation)",
    )
    assert told["epochs"] == 0.5


@pytest.mark.parametrize(
    "body",
    [
        "evaluate(model, validation, limit=5)",  # may end early
        "losses(model, validation, optimizer=model)",  # trains
        "trainer.run_epoch(validation, train=True)",
        "means(validation)",  # asks no model
        "if count:\n            evaluate(model, validation)",  # does not run
        "if best > epoch:\n            evaluate(model, validation)",  # nobody knows
        "if epoch % 2 == 0:\n            evaluate(model, validation)",  # not after each epoch
        "evaluate(model, filter(None, validation))",  # over how many, nobody knows
        "for loader in (training, validation):\n            evaluate(model, loader)",
    ],
)
def test_no_pass_that_is_sure(tmp_path: Path, body: str) -> None:
    assert evaluated(tmp_path, body) == []


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter([(torch.zeros(3),)])


def test_data_without_an_end(tmp_path: Path) -> None:
    assert evaluated(tmp_path, "evaluate(model, validation)", validation=DataLoader(Endless())) == []


def test_lists_are_compared_with_lists_only(tmp_path: Path) -> None:
    items = [(torch.zeros(3),) for _ in range(20)]
    assert evaluated(tmp_path, "evaluate(model, validation)", validation=items) == []
    (told,) = evaluated(tmp_path, "evaluate(model, validation)", validation=items, training=items * 2)
    assert told | {"line": 0} == {"line": 0, "epochs": 0.5, "batches": 20.0, "is_training_data": False}


ROUNDS = {"line": 0, "epochs": 0.5, "batches": 10.0, "is_training_data": False}


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(count + 10):\n            model(i)",
        "sum(model(i) for i in range(10))",
        "for i in range(10):\n            y = model(i)\n            for t in range(3):\n                model(y)",
    ],
)
def test_rounds_are_compared_with_rounds(tmp_path: Path, body: str) -> None:
    """Ten of an evaluation, twenty of the training."""
    (told,) = evaluated(tmp_path, body, "for i in range(20):", model=Counted())
    assert told | {"line": 0} == ROUNDS
    (other := tmp_path / "other").mkdir()
    assert evaluated(other, body, model=Counted()) == []


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(10):\n            for t in range(3):\n                model(i)",  # episodes
        "for i in range(10):\n            print(end='')",
    ],
)
def test_rounds_without_one_forward_each(tmp_path: Path, body: str) -> None:
    assert [
        told["batches"] for told in evaluated(tmp_path, body, "for i in range(20):", model=Counted())
    ] in ([], [3.0])


class Counted(torch.nn.Module):
    def forward(self, x: Any) -> int:
        return 1

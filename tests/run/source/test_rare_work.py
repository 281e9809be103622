"""What the training loop does in some rounds only: from conditions in source files, with steps counted by hand."""

from __future__ import annotations

import importlib.util
import itertools
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from diagnose.run.child import guard
from diagnose.run.child.phases.awaited import Awaited
from diagnose.run.child.places import Places
from diagnose.run.child.source.rare_work import Coming, RareWork

BEGIN = 3
LOOP = """
def evaluate():
    pass

class Trainer:
    def __init__(self):
        self.step, self.every, self.cfg = 0, 40, {{"save_every": 40}}

    def eval(self):
        pass

def train(args, trainer, tick, every=40, accumulate=4, switch=False, steps=200):
    for epoch in range(3):
        for i in range(steps):
            tick()  # the optimizer's step: the line of the tick
            {condition}
                {body}
            trainer.step += 1
"""


@pytest.fixture(autouse=True)
def no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})


class Thing:
    pass


def looked(
    folder: Path,
    condition: str,
    body: str = "evaluate()",
    *,
    loop: str = LOOP,
    ends: tuple[int, ...] = (10,),
    args: Any = SimpleNamespace(every=40),  # noqa: B008
    left: int | Callable[[int], int] | None = None,
) -> list[tuple[list[dict[str, Any]], list[float]]]:
    """A look at each of these ticks, counted from 0, after a begin at `BEGIN`: the facts, and what is to come.
    ``left``: batches, also by the number of the tick.
    """
    path = folder / "loop.py"
    path.write_text(loop.format(condition=condition, body=body))
    spec = importlib.util.spec_from_file_location("loop", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    work, ticks, found = RareWork(Places(str(folder), str(folder))), iter(range(10**6)), []

    def tick() -> None:
        number = next(ticks)
        left_now = left(number) if callable(left) else left
        if number == BEGIN:
            work.begin(left_now)
        elif number in ends:
            to_come = [coming.in_steps for coming in work.look(number - BEGIN, left_now)]
            found.append((work.facts, to_come))

    tick.step = tick  # type: ignore[attr-defined]
    module.train(args, module.Trainer(), tick)
    assert not guard.notes()
    return found


@pytest.mark.parametrize(
    "condition",
    [
        "if i % 40 == 0:",
        "if i % every == 0:",
        "if i and i % args.every == 0:",
        "if 0 == i % every or i == steps - 1:",
        "if not i % every:",
        "if trainer.step % trainer.every == 0:",
        "if i % (10 * accumulate) == 0 and epoch >= 0:",
        "if i % trainer.cfg['save_every'] == 0:",
        "if epoch > 9:\n                pass\n            elif i % 40 == 0:",
        "trainer.eval()\n            if i % every == 0:",
        "vars(args)\n            if i % every == 0:",  # of what it is given, not of the function
    ],
)
def test_a_condition_comes_true_every_forty_rounds(tmp_path: Path, condition: str) -> None:
    """It is asked after the tick: at tick 10, 0 of this epoch was before the begin at 3, and 40 lies 30 ahead;
    what is done there has ended with tick 41.
    """
    ((facts, to_come),) = looked(tmp_path, condition)
    (told,) = facts
    assert (told["every"], told["seen"], to_come) == (40, False, [31.0])
    assert told["file"] == str(tmp_path / "loop.py")
    line = (tmp_path / "loop.py").read_text().splitlines()[told["last_line"] - 1]
    assert line.strip() == "evaluate()"


def test_it_has_come(tmp_path: Path) -> None:
    """Tick 40 is before the work of that round, tick 41 behind it."""
    (_, before), (facts, after) = looked(tmp_path, "if i % 40 == 0:", ends=(40, 41))
    assert before == [1.0] and after == [] and facts[0]["seen"]


def test_a_condition_asked_before_the_tick(tmp_path: Path) -> None:
    """Then tick 40 has it behind it."""
    before = "if i % 40 == 0:\n                evaluate()\n            tick()\n            if False:"
    loop = LOOP.replace("            tick()  # the optimizer's step: the line of the tick\n", "")
    (_, to_come), (facts, after) = looked(tmp_path, before, loop=loop, ends=(39, 40))
    assert to_come == [2.0] and after == [] and facts[0]["seen"]


@pytest.mark.parametrize(
    ("condition", "body"),
    [
        ("if i % 40 == 0:", "print(i)"),  # a line of text: not worth waiting for
        ("if i % 40 == 0:", "trainer.eval()"),  # a switch
        ("if i % accumulate == 7:", "evaluate()"),  # never true
        ("if i % 40 == 0 and switch:", "evaluate()"),  # switched off
        ("if epoch % 40 == 0:", "evaluate()"),  # the epochs do not rise between these ticks
        ("if i == 40:", "evaluate()"),
        ("if (i * 0.5) % 40 == 0:", "evaluate()"),  # no whole number
        ("if hash(i) % 40 == 0:", "evaluate()"),  # nothing of the script's is run
        ("if i % 1 == 0:", "evaluate()"),  # in every round
        ("if i % 40 == 0 and locals():", "evaluate()"),  # the variables may be in its hands
        ("if i % 40 == 0 and vars():", "evaluate()"),
    ],
)
def test_nothing_is_to_come(tmp_path: Path, condition: str, body: str) -> None:
    ((facts, to_come),) = looked(tmp_path, condition, body)
    assert facts == [] and to_come == []


def test_properties_of_a_script_are_not_asked(tmp_path: Path) -> None:
    asked = []

    class Arguments:
        @property
        def every(self) -> int:
            asked.append(1)
            return 40

    ((facts, to_come),) = looked(tmp_path, "if i % args.every == 0:", args=Arguments())
    assert facts == [] and to_come == [] and len(asked) == 600


def test_what_a_script_lets_go_is_gone(tmp_path: Path) -> None:
    """No copy of its variables is left."""
    body = "evaluate()\n            thing = args()\n            del thing"
    made: list[weakref.ref[Thing]] = []

    def make() -> Thing:
        assert all(thing() is None for thing in made)
        thing = Thing()
        made.append(weakref.ref(thing))
        return thing

    ((facts, _),) = looked(tmp_path, "if i % 40 == 0:", body, args=make)
    assert len(facts) == 1 and len(made) == 600


EPOCHS = """
def evaluate():
    pass

class Trainer:
    step = 0

def train(args, trainer, tick, epochs=3, batches=tuple(range(50))):
    {condition}
        for i, batch in enumerate(batches):
            tick()
        trainer.step += 1
        {body}
"""


@pytest.mark.parametrize(
    "body", ["evaluate()", "if epochs:\n            evaluate()", "with open(__file__):\n            pass"]
)
def test_what_comes_after_each_epoch(tmp_path: Path, body: str) -> None:
    """Of fifty steps. At tick 10, 39 of them are to come, and what is done then has ended with tick 50; two
    epochs follow.
    """
    looks = looked(tmp_path, "for epoch in range(epochs):", body, loop=EPOCHS, ends=(10, 49, 50, 57, 110))
    assert [to_come for _, to_come in looks] == [[40.0], [1.0], [], [], []]
    assert [facts[0]["seen"] for facts, _ in looks] == [False, False, True, True, True]
    assert {facts[0]["every"] for facts, _ in looks} == {50} and all(len(facts) == 1 for facts, _ in looks)


@pytest.mark.parametrize(
    "body",
    [
        "print(epoch)",
        "if epoch % 2 == 0:\n            evaluate()",
        "if not epochs:\n            evaluate()",
        "if epochs is None:\n            evaluate()",
    ],
)
def test_nothing_comes_after_each_epoch(tmp_path: Path, body: str) -> None:
    assert looked(tmp_path, "for epoch in range(epochs):", body, loop=EPOCHS) == [([], [])]


@pytest.mark.parametrize("items", ["[object() for _ in range(50)]", "[[n] for n in range(50)]"])
@pytest.mark.parametrize("over", ["items", "tqdm(items)"])
def test_the_place_of_an_item_in_its_list(tmp_path: Path, items: str, over: str) -> None:
    """Of fifty items, none of them twice: at tick 10, 39 steps are to come."""
    loop = EPOCHS.replace("tuple(range(50))", items).replace("batches=", "items=")
    loop = "tqdm = iter\n" + loop.replace("i, batch in enumerate(batches)", f"item in {over}")
    looks = looked(tmp_path, "for epoch in range(epochs):", loop=loop, ends=(10, 57))
    assert [to_come for _, to_come in looks] == [[40.0], []]
    assert [facts[0]["every"] for facts, _ in looks] == [50, 50]


def test_the_place_of_a_pair_in_its_list(tmp_path: Path) -> None:
    """The numbers 0 to 4 come ten times each: the pair tells, whose text is made anew each time."""
    pairs = "[(n % 5, str(n) * 2) for n in range(50)]"
    loop = EPOCHS.replace("tuple(range(50))", pairs).replace(
        "i, batch in enumerate(batches)", "n, text in batches"
    )
    ((_, to_come),) = looked(tmp_path, "for epoch in range(epochs):", loop=loop)
    assert to_come == [40.0]


ROUNDS = """
def evaluate():
    pass

class Trainer:
    pass

def local(tick, batches):
    for epoch in range(3):
        for i, batch in enumerate(batches):
            tick()
        {condition}

def train(args, trainer, tick):
    for number in range(5):
        local(tick, args)
        {body}
"""


def test_what_comes_after_a_loop_of_epochs(tmp_path: Path) -> None:
    """Rounds of three epochs of ten steps: at tick 10, the first of the second epoch, this one ends in ten
    steps, and the round in twenty.
    """
    args = [object() for _ in range(10)]
    looks = looked(tmp_path, "pass", loop=ROUNDS, args=args, ends=(10, 29, 30))
    assert [to_come for _, to_come in looks] == [[20.0], [1.0], []]
    assert [[told["every"] for told in facts] for facts, _ in looks] == [[30]] * 3
    assert [facts[0]["seen"] for facts, _ in looks] == [False, False, True]


def test_what_comes_after_each_of_two_loops(tmp_path: Path) -> None:
    args = [object() for _ in range(10)]
    ((facts, to_come),) = looked(tmp_path, "evaluate()", loop=ROUNDS, args=args, ends=(7,))
    assert [told["every"] for told in facts] == [10, 30] and to_come == [3.0, 23.0]


def test_what_comes_after_the_only_round_of_a_loop_of_epochs_comes_once(tmp_path: Path) -> None:
    """As `for run in range(n_runs)` around the epochs, with a single run: no step pays for its test again."""
    args = [object() for _ in range(10)]
    once = ROUNDS.replace("range(5)", "range(1)")
    ((facts, to_come),) = looked(tmp_path, "evaluate()", loop=once, args=args, ends=(7,))
    assert [told["every"] for told in facts] == [10] and to_come == [3.0]


def test_a_loader_that_is_counted_tells_how_long_it_is(tmp_path: Path) -> None:
    args = DataLoader(TensorDataset(torch.zeros(20)), batch_size=2)
    ((facts, to_come),) = looked(tmp_path, "pass", loop=ROUNDS, args=args, ends=(10,), left=9)
    assert to_come == [20.0] and facts[0]["every"] == 30


def test_items_that_come_twice_tell_no_place(tmp_path: Path) -> None:
    loop = EPOCHS.replace("tuple(range(50))", "[None] * 50").replace(
        "i, batch in enumerate(batches)", "item in batches"
    )
    ((facts, to_come),) = looked(tmp_path, "for epoch in range(epochs):", loop=loop)
    assert to_come == [] and facts[0]["every"] is None


def test_a_loader_tells_how_many_steps_are_left(tmp_path: Path) -> None:
    """Where the loop does not: 20 were left at the begin and at tick 10, so another epoch had begun."""
    loop = EPOCHS.replace("enumerate(batches)", "zip(range(50), batches)")
    ((facts, to_come),) = looked(tmp_path, "for epoch in range(epochs):", loop=loop, left=20)
    assert to_come == [] and facts[0]["seen"] and facts[0]["every"] is None


COMPREHENSION = """
def evaluate():
    pass

class Trainer:
    pass

def train(args, trainer, tick):
    for epoch in range(3):
        losses, counts = zip(
            *[(tick(), 1)
              for batch in range(30)])
        {body}
"""


@pytest.mark.parametrize(("over", "come_in"), [("range(30)", 23.0), ("[None] * 30", 24.0)])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ("(", ")")])
def test_a_comprehension_trains(tmp_path: Path, begin: str, end: str, over: str, come_in: float) -> None:
    """Of its rounds number 7 goes on; where they do not tell, the loader has 30 - 7 batches left."""
    loop = COMPREHENSION.replace("*[", "*" + begin).replace("])", end + ")").replace("range(30)", over)
    ((facts, to_come),) = looked(tmp_path, "", loop=loop, left=lambda number: 30 - number, ends=(7,))
    assert to_come == [come_in] and [told["line"] for told in facts] == [13]


def test_a_comprehension_over_epochs_and_batches(tmp_path: Path) -> None:
    """Twice twelve batches: at tick 7 the eighth goes on, and 24 - 8 follow before what comes after both."""
    loop = COMPREHENSION.replace("for batch in range(30)", "for half in range(2) for batch in range(12)")
    ((facts, to_come),) = looked(tmp_path, "", loop=loop, ends=(7,))
    assert to_come == [17.0] and facts[0]["every"] == 24


def test_more_rounds_than_python_can_count(tmp_path: Path) -> None:
    loop = EPOCHS.replace("enumerate(batches)", f"zip(range({10**20}), batches)")
    loop = loop.replace("range(epochs)", f"range({10**20})") + "        if epoch > 2:\n            return\n"
    ((facts, to_come),) = looked(tmp_path, f"for epoch in range({10**20}):", loop=loop)
    assert to_come == [] and facts[0]["every"] is None


def test_a_loop_over_optimizers_is_no_epoch(tmp_path: Path) -> None:
    loop = EPOCHS.replace(
        "            tick()\n        trainer",
        "            for _ in range(1):\n                tick.step()\n        trainer",
    )
    assert loop != EPOCHS
    ((_, to_come),) = looked(tmp_path, "for epoch in range(epochs):", loop=loop)
    assert to_come == [40.0]


class Told:
    """Stands in for what the source tells: at each look, what is to come."""

    def __init__(self, *coming: list[Coming]) -> None:
        self.coming = list(coming)

    def begin(self, left: int | None) -> None:
        pass

    def look(self, steps: int, left: int | None) -> list[Coming]:
        return self.coming.pop(0)


def lacks(awaited: Awaited, steps: int, *, may_wait: bool = True, is_first: bool = False) -> bool:
    begins_ns = [10_000_000 * step for step in range(steps + 1)]
    return awaited.lacks(begins_ns, 10_000_000, None, may_wait=may_wait, is_first=is_first)


def awaited_by(*coming: list[Coming], texts: list[str] | None = None) -> Awaited:
    said = [] if texts is None else texts
    awaited = Awaited(cast(RareWork, Told(*coming)), lambda stage: said.append(stage.text), 15)
    awaited.begin(None)
    return awaited


def test_plain_steps_go_on_until_it_has_come() -> None:
    """15 s are 1,500 steps of 10 ms: what comes in 30.5 and 200 steps is awaited, and not what takes longer."""
    texts: list[str] = []
    awaited = awaited_by([Coming(30.5, 1), Coming(1501, 1), Coming(200, 1)], [], texts=texts)
    assert lacks(awaited, 120) and lacks(awaited, 319) and not lacks(awaited, 320) and not lacks(awaited, 321)
    assert texts == ["timing plain steps, until what the script does seldom comes"]


def test_ranks_that_train_together_wait_for_nothing() -> None:
    assert not lacks(awaited_by([Coming(30.5, 1)]), 120, may_wait=False)


def test_what_comes_once_after_the_last_step_is_not_awaited() -> None:
    """Between the runs of `for run in range(1)`, a test after all epochs: nothing could be recorded after it."""
    assert not lacks(awaited_by([Coming(164, 0)]), 120)


@pytest.mark.parametrize(("then", "waits"), [(63, False), (64, True)])
def test_a_script_that_may_end_is_recorded_first(then: int, waits: bool) -> None:
    assert lacks(awaited_by([Coming(30.5, then)]), 120, is_first=True) is waits


def test_steps_that_differ_are_awaited_where_the_script_surely_goes_on() -> None:
    begins_ns = list(itertools.accumulate([0, *([16_000_000, 20_000_000, 24_000_000, 24_000_000] * 10)]))

    def waits(left: int | None, *, is_first: bool, may_wait: bool = True) -> bool:
        return awaited_by([]).lacks(begins_ns, 20_000_000, left, may_wait=may_wait, is_first=is_first)

    assert waits(None, is_first=False)
    assert waits(47, is_first=True)  # 16 for parts, 10 of timeline, 2 of detail, and two thirds more
    assert not waits(46, is_first=True)
    assert not waits(None, is_first=True)
    assert not waits(64, is_first=True, may_wait=False)


CALLED = """
import functools

EVERY = 40

def evaluate():
    pass

def no_grad(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)
    return call

class Callback:
    def __init__(self):
        self.every, self.step = 40, 0

    def on_step(self, number, every=40):
        {method}

    @no_grad
    def __call__(self, number):
        if number % self.every == 0:
            evaluate()

class Trainer:
    def __init__(self):
        self.callback = Callback()

def maybe(number, every):
    if number % every: return
    evaluate()

def train(args, trainer, tick, steps=200, step=0):
    for i in range(steps):
        tick()
        {call}
        step += 1
"""


@pytest.mark.parametrize(
    ("call", "method"),
    [
        ("trainer.callback.on_step(i)", "if number % self.every == 0:\n            evaluate()"),
        ("trainer.callback.on_step(number=i)", "if number % every == 0: evaluate()"),
        ("trainer.callback.on_step(i)", "if number % EVERY != 0:\n            return\n        evaluate()"),
        ("trainer.callback.on_step(step + 1)", "if (number - 1) % EVERY == 0: evaluate()"),
        ("trainer.callback(i)", "pass"),
        ("maybe(i, args.every)", "pass"),
        ("if i % 40: continue\n        evaluate()", "pass"),
    ],
)
def test_a_condition_in_what_the_loop_calls(tmp_path: Path, call: str, method: str) -> None:
    """As in the loop itself: at tick 10 the next is round 40, done with tick 41."""
    loop = CALLED.replace("{call}", call).replace("{method}", method).replace("{", "{{").replace("}", "}}")
    ((facts, to_come),) = looked(tmp_path, "", loop=loop)
    told = [one for one in facts if one["every"] == 40]
    assert len(told) == 1
    assert (told[0]["seen"], to_come) == (False, [31.0])
    lines = (tmp_path / "loop.py").read_text().splitlines()[told[0]["line"] - 1 : told[0]["last_line"]]
    assert any("evaluate()" in line for line in lines)


@pytest.mark.parametrize(
    ("call", "method"),
    [
        ("trainer.callback.on_step(i)", "self.step += 1\n        if hash(number) % 40 == 0: evaluate()"),
        ("trainer.callback.on_step(i)", "number = 7\n        if number % 40 == 0: evaluate()"),
        ("trainer.callback.on_step(*[i])", "if number % 40 == 0: evaluate()"),
        ("trainer.callback.on_step(i)", "if number % 40 == 0: print(number)"),
        ("trainer.missing(i) if False else None", "pass"),
        ("[maybe][0](i, 40)", "pass"),
    ],
)
def test_what_a_call_hides_is_not_to_come(tmp_path: Path, call: str, method: str) -> None:
    loop = CALLED.replace("{call}", call).replace("{method}", method).replace("{", "{{").replace("}", "}}")
    ((facts, to_come),) = looked(tmp_path, "", loop=loop)
    assert (facts, to_come) == ([], [])

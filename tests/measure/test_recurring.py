"""What only some steps do, and steps in periods: on steps worked out by hand, ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diagnose.compare.noise import Run
from diagnose.document.rare_work import unseen_work
from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.recurring import kind_of, left_of, places_of_work, set_to
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.periods import mean_of_periods, period_of, spread, whole_periods
from diagnose.measure.processor import Stretches
from diagnose.measure.recurring import Line, Recurring, is_in_few_steps, seen_share
from diagnose.measure.sources import Sources
from diagnose.measure.typical import typical

MS = 1_000_000
STEP = """
main  0    1000  step  ProfilerStep#1
main  300  600   op    aten::mm
"""
EVALUATE = [
    ["train.py", 30, "<module>", "train.py: evaluate"],
    ["train.py", 12, "evaluate", "torch/nn/modules/module.py: _call_impl"],
]
PLAYS = [
    ["train.py", 30, "<module>", "play.py: evaluate_on_env"],
    ["play.py", 12, "evaluate_on_env", "torch/nn/modules/module.py: _call_impl"],
]
TRAIN = [["train.py", 20, "<module>", "torch/_tensor.py: backward"]]
SAVE = [["train.py", 31, "<module>", "torch/serialization.py: save"]]
COLLECT = ["train.py", 30, "<module>", "train.py: collect_rollout"]
MOVES = [COLLECT, ["env.py", 7, "step", "env.py: move"]]
GENERATES = [
    ["train.py", 30, "<module>", "model.py: generate"],
    ["model.py", 12, "generate", "torch/nn/modules/module.py: _call_impl"],
]
CRITIC = [
    ["train.py", 30, "<module>", "train.py: train_critic"],
    ["train.py", 17, "train_critic", "torch/_tensor.py: backward"],
]
ACTS = [COLLECT, ["train.py", 14, "collect_rollout", "torch/nn/modules/module.py: _call_impl"]]


def looked_at(
    plain_ms: list[float],
    lines: dict[int, list[list[Any]]],
    rest_ms: float = 10,
    batch: int = 0,
    train: list[list[Any]] = TRAIN,
    trained: int = 0,
    timeline: str = STEP,
    **facts: Any,
) -> Measured:
    """A look a ms, at the end of each: at ``lines`` of that step until its last 10 ms, then at training
    (``train``). ``batch``, ``trained``: what evaluations and training give the model.
    """
    stacks = [train, EVALUATE, SAVE, MOVES, ACTS, GENERATES, CRITIC]
    ns, stack, begin = [], [], 0.0
    for number, length in enumerate(plain_ms):
        for ms in range(1, int(length)):
            ns.append(int((begin + ms) * MS))
            stack.append(stacks.index(lines[number]) if number in lines and ms <= length - rest_ms else 0)
        begin += length
    given = [{0: trained, 1: batch}.get(number, 0) for number in stack]
    samples = {"ns": ns, "stack": stack, "batch": given, "stacks": stacks}
    return measured_case(
        {"timeline": timeline, "plain_ms": plain_ms, "facts": {"line_samples": samples, **facts}}
    )


def test_an_evaluation_every_tenth_step() -> None:
    one = looked_at(
        [40 if number % 10 == 5 else 10 for number in range(30)], {5: EVALUATE, 15: EVALUATE, 25: EVALUATE}
    )
    (work,) = one.recurring
    assert (work.calls[0].line, work.every, work.steps.tolist()) == (30, 10, [5, 15, 25])
    assert one.metric("recurring_evaluations_ms") == pytest.approx(30 / 10)
    assert one.metric("recurring_evaluations_average_share") == pytest.approx(3 / 13)
    assert one.metric("recurring_evaluations_interval") == 10
    assert one.metric("plain_step_ms") == pytest.approx(10)
    assert one.metric("slow_steps_ms") == 0  # nothing is left to explain


def test_the_average_step_holds_what_the_model_takes_of_collecting() -> None:
    """30 ms every tenth step, in the environment once and in the model twice: 1 and 2 ms of a step of 13."""
    one = looked_at(
        [40.0 if number % 10 == 5 else 10 for number in range(30)], {5: MOVES, 15: ACTS, 25: ACTS}
    )
    assert one.metric("gathering_lines_ms") == pytest.approx(1)
    assert one.metric("gathering_lines_whole_ms") == pytest.approx(3)
    assert one.metric("gathering_lines_average_share") == pytest.approx(1 / 13)
    assert one.metric("gathering_average_share") == pytest.approx(3 / 13)


def test_calls_of_the_model_with_fewer_samples_than_half_of_the_trainings() -> None:
    def cost_ms(batch: int, **forward: int) -> Any:
        plain_ms = [40.0 if number % 10 == 5 else 10 for number in range(30)]
        lines = dict.fromkeys((5, 15, 25), EVALUATE)
        forward = {"count": 2, "batch_size": 64, **forward}
        one = looked_at(plain_ms, lines, batch=batch, forward=forward)
        places = FACT_SELECTORS["small_evaluation_batches"].places(one)
        assert not isinstance(places, Missing)
        return [(place.line, place.ms_per_step) for place in places]

    assert cost_ms(1) == cost_ms(32) == [(12, pytest.approx(30 / 10))]
    assert cost_ms(1, batch_size=1, training_batch_size=64) == cost_ms(1)  # most calls are the evaluation's
    assert cost_ms(33) == cost_ms(0) == []  # 0: the model was not seen to be given anything


@pytest.mark.parametrize(("line", "count"), [(12, 0), (22, 1)])
def test_what_the_same_line_gives_a_module_in_training_counts_first(line: int, count: int) -> None:
    """A module for sequences has the time first, one step of it in both: what other lines give says nothing."""
    train = [["train.py", 20, "<module>", "train.py: train"], ["train.py", line, *EVALUATE[1][2:]]]
    one = looked_at(
        [40.0 if number % 10 == 5 else 10 for number in range(30)],
        dict.fromkeys((5, 15, 25), EVALUATE),
        batch=1,
        train=train,
        trained=1,
        forward={"count": 2, "batch_size": 64},
    )
    places = FACT_SELECTORS["small_evaluation_batches"].places(one)
    assert not isinstance(places, Missing) and len(places) == count


def work_of(*stacks: tuple[int, list[list[Any]]]) -> Recurring:
    """Looks and their stack, the one seen most often first."""
    looks = {tuple(Line(*line) for line in stack): count for count, stack in stacks}
    return Recurring(next(iter(looks)), looks, np.array([5]), np.array([30.0]))


def test_less_is_gained_of_the_models_own_calls_than_of_the_rest() -> None:
    # Three quarters of the model's calls are left, half of all else: of 2 to 1 looks two thirds of the way.
    metric = [["train.py", 30, "<module>", "train.py: evaluate"], ["train.py", 13, "evaluate", "a.py: score"]]
    assert left_of([work_of((9, EVALUATE))]) == 0.75
    assert left_of([work_of((9, metric))]) == 0.5
    assert left_of([work_of((6, EVALUATE), (3, metric))]) == pytest.approx(0.5 + 0.25 * 2 / 3)
    assert left_of([work_of((9, EVALUATE)), work_of((9, metric))]) == pytest.approx(0.625)
    assert left_of([]) == 0.5


def test_most_of_a_work_may_be_a_line_far_inside() -> None:
    """Of ten looks eight fell into the metric, seven of them on its line 15; evaluating is line 12."""
    metric = [EVALUATE[0], ["train.py", 13, "evaluate", "metrics.py: distance"]]
    slow, quick = ["metrics.py", 15, "distance", "numpy: sort"], ["metrics.py", 16, "distance", "numpy: mean"]
    work = work_of((7, [*metric, slow]), (1, [*metric, quick]), (2, EVALUATE))
    assert [(one.line, one.ms_per_step) for one in places_of_work(work, set(), 0.1, 30.0)] == [
        (30, pytest.approx(9.0)),
        (15, pytest.approx(21.0)),
    ]
    spread_out = work_of((4, [*metric, slow]), (3, [*metric, quick]), (3, EVALUATE))
    assert [(one.line, one.ms_per_step) for one in places_of_work(spread_out, set(), 0.1, 30.0)] == [
        (30, pytest.approx(9.0)),
        (13, pytest.approx(0.0)),
        (15, pytest.approx(12.0)),
        (16, pytest.approx(9.0)),
    ]
    of_the_model = work_of((9, EVALUATE), (1, [*metric, slow]))
    assert [(one.line, one.ms_per_step) for one in places_of_work(of_the_model, set(), 0.1, 30.0)] == [
        (30, 30.0)
    ]


def test_large_parts_of_a_work_are_told_where_no_line_takes_most() -> None:
    """Of ten looks four fell on line 14 of what line 30 calls, three on line 15 and what it calls, two on a
    line that calls the model, one on line 16.
    """

    def inside(line: int, callee: str = "") -> list[Any]:
        return [EVALUATE[0], ["train.py", line, "evaluate", callee]]

    deeper = [*inside(15, "metrics.py: rank"), ["metrics.py", 3, "rank", ""]]
    model = inside(12, "torch/nn/modules/module.py: _call_impl")
    work = work_of((4, inside(14)), (3, deeper), (2, model), (1, inside(16)))
    assert [(one.line, one.ms_per_step) for one in places_of_work(work, set(), 0.1, 30.0)] == [
        (30, pytest.approx(9.0)),
        (14, pytest.approx(12.0)),
        (15, pytest.approx(9.0)),
    ]
    assert [one.line for one in places_of_work(work, {("metrics.py", 3)}, 0.1, 30.0)] == [30, 14]


def test_a_loop_in_a_function_is_told_by_its_lines_where_none_takes_a_quarter() -> None:
    """Of twenty looks eighteen fell into a function that a comprehension in line 13 calls, four each on its
    lines 3 to 6 and two on line 7.
    """
    comprehension = ["train.py", 13, "<listcomp>", "metrics.py: curve"]
    calls = [EVALUATE[0], ["train.py", 13, "evaluate", "train.py: <listcomp>"], comprehension]
    loop = [(4, [*calls, ["metrics.py", line, "curve", ""]]) for line in (3, 4, 5, 6)]
    work = work_of(*loop, (2, [*calls, ["metrics.py", 7, "curve", ""]]), (2, EVALUATE))
    assert [(one.line, one.ms_per_step) for one in places_of_work(work, set(), 0.1, 20.0)] == [
        (30, pytest.approx(2.0)),
        (13, pytest.approx(0.0)),
        *((line, pytest.approx(4.0)) for line in (3, 4, 5, 6)),
        (7, pytest.approx(2.0)),
    ]


def test_what_training_runs_as_well_is_not_the_place_of_a_work() -> None:
    """The evaluation's own line 12 comes to the line of the model that every step comes to as well."""
    calls_model = ["train.py", 12, "evaluate", "model.py: __call__"]
    of_the_model = ["model.py", 40, "__call__", "torch/nn/modules/module.py: _call_impl"]
    work = work_of((9, [EVALUATE[0], calls_model, of_the_model]), (1, [EVALUATE[0]]))
    usual = {("model.py", 40)}
    assert [(one.line, one.ms_per_step) for one in places_of_work(work, usual, 0.1, 30.0)] == [(30, 30.0)]


def test_an_evaluation_in_steps_that_are_long_by_something_else_as_well() -> None:
    # 80 of 240 ms: more than three usual steps, so no chance, and no more than was seen of it
    lengths = [240.0 if number in (10, 20) else 10.0 for number in range(30)]
    one = looked_at(lengths, {10: EVALUATE, 20: EVALUATE}, rest_ms=160)
    (work,) = one.recurring
    assert (work.calls[0].line, work.steps.tolist()) == (30, [10, 20])
    assert work.ms == pytest.approx([80, 80], rel=0.1)


def test_a_line_is_seen_in_the_steps_that_looks_found_it_in() -> None:
    lengths = [40 if number % 10 == 5 else 10 for number in range(30)]
    recording = looked_at(lengths, {5: EVALUATE, 15: EVALUATE, 25: EVALUATE}).recording
    assert seen_share(recording, {("train.py", 12)}) == pytest.approx(0.1)
    assert seen_share(recording, {("train.py", 20)}) == 1.0
    assert seen_share(recording, {("train.py", 99)}) == 0.0


def test_a_line_seen_by_chance_in_a_long_step_is_no_work() -> None:
    lengths = [240.0 if number in (10, 20) else 10.0 for number in range(30)]
    assert looked_at(lengths, {10: EVALUATE, 20: EVALUATE}, rest_ms=220).recurring == []


def test_two_works_of_the_same_steps_share_what_those_take() -> None:
    lengths = [30 if number % 6 == 2 else 50 if number % 6 == 5 else 10 for number in range(30)]
    lines = {number: SAVE if number % 6 == 2 else EVALUATE for number in range(30) if number % 3 == 2}
    one = looked_at(lengths, lines)
    assert {work.calls[0].line: work.every for work in one.recurring} == {30: 6, 31: 6}
    assert one.metric("recurring_checkpoints_ms") == pytest.approx(20 / 6)
    assert one.metric("recurring_evaluations_ms") == pytest.approx(40 / 6)


def test_every_second_step_may_be_another() -> None:
    one = looked_at([60 if number % 2 else 3 for number in range(20)], {n: SAVE for n in range(1, 20, 2)})
    (work,) = one.recurring
    assert work.every == 2
    assert one.metric("plain_step_ms") == pytest.approx(3)
    assert one.metric("recurring_checkpoints_ms") == pytest.approx(57 / 2)


def test_a_short_work_of_every_second_step_is_seen_in_the_longer_ones_alone() -> None:
    one = looked_at([12 if number % 2 else 10 for number in range(24)], {n: SAVE for n in range(1, 24, 2)})
    (work,) = one.recurring
    assert (work.calls[0].line, work.every) == (31, 2)
    # two looks at each occasion, 240 looks in 264 ms
    assert one.metric("recurring_checkpoints_ms") == pytest.approx(2 * 1.1 / 2)


def test_what_calls_all_there_is_is_no_work_of_some_steps() -> None:
    """Two workers in turn: every second step waits 12 of 20 ms at line 12, the others are over in 1 ms,
    before anybody looks.
    """
    main = ["train.py", 40, "<module>", "train.py: main"]
    waits = [main, ["train.py", 12, "main", "torch/utils/data/dataloader.py: __next__"]]
    trains = [main, ["train.py", 20, "main", "torch/_tensor.py: backward"]]
    ns, stack = [], []
    for pair in range(10):
        ns += [int((21 * pair + 1 + ms) * MS) for ms in range(1, 20)]
        stack += [0] * 12 + [1] * 7
    samples = {"ns": ns, "stack": stack, "stacks": [waits, trains]}
    case = {"timeline": STEP, "plain_ms": [1, 20] * 10, "facts": {"line_samples": samples}}
    assert 40 not in [work.calls[0].line for work in measured_case(case).recurring]


def test_one_occasion_is_no_rate() -> None:
    one = looked_at([50 if number == 7 else 10 for number in range(20)], {7: EVALUATE})
    assert [work.every for work in one.recurring] == [None]
    assert one.metric("recurring_evaluations_ms") == 0


def test_a_slow_stretch_of_the_machine_is_no_work() -> None:
    # Steps 5 to 7 take 60 ms, and only 6 of these are seen in a line that is too short to be seen elsewhere.
    one = looked_at([60 if number in (5, 6, 7) else 10 for number in range(20)], {})
    samples = one.recording.facts["line_samples"]
    within = [at for at, ns in enumerate(samples["ns"]) if 50 * MS < ns < 230 * MS]
    for at in within[::30][:6]:
        samples["stack"][at] = 2
    assert one.recurring == []


def test_what_meets_an_epochs_end_by_chance_is_not_the_end_s() -> None:
    """Epochs of ten steps, a validation every seventh: one of five falls into the step that ends an epoch."""
    validated = [5, 12, 19, 26, 33]
    plain_ms = [50.0 if step in validated else 10.0 for step in range(40)]
    loader = {"num_workers": 0, "dataset_length": 100, "batches_per_epoch": 10, "iterator_start_ms": [1, 1]}
    one = looked_at(plain_ms, {step: EVALUATE for step in validated}, loaders=[loader])

    assert one.metric("epoch_step_count") == 10 and one.needed("epoch_ends_seen") >= 3
    assert one.metric("epoch_end_ms") == 0
    assert one.metric("recurring_evaluations_interval") == 7


@pytest.mark.parametrize(("every", "told"), [(20, True), (2, False)])
def test_a_condition_that_counts_no_steps_tells_no_rhythm(every: int, told: bool) -> None:
    """One evaluation in 30 steps: it comes every 20 steps, or every second round of a loop of many."""
    condition = {"file": "train.py", "line": 29, "last_line": 31, "every": every}
    plain_ms: list[float] = [40 if number == 15 else 10 for number in range(30)]
    one = looked_at(plain_ms, {15: EVALUATE}, rare_work=[condition])
    assert (one.number("recurring_evaluations_ms") > 0) is told


def test_lines_not_looked_at() -> None:
    one = measured_case({"timeline": STEP, "plain_ms": [10] * 20})
    assert one.recurring == []
    assert isinstance(one.metric("recurring_work_ms"), Missing)


def test_what_every_step_does_is_in_many() -> None:
    others = np.full(20, 3)
    assert not is_in_few_steps(np.arange(20).repeat(2), others)
    assert is_in_few_steps(np.array([4, 14]).repeat(10), others)


@pytest.mark.parametrize(
    ("stack", "source", "kind"),
    [
        (EVALUATE, "accuracy = evaluate(model)", "evaluation"),
        (PLAYS, "results = evaluate_on_env(model, env)", "evaluation"),
        (SAVE, "torch.save(model, path)", "checkpoint"),
        (TRAIN, "train_critic()", "training"),
        ([["a.py", 3, "<module>", "a.py: collect_rollout"]], "collect_rollout(env)", "gathering"),
        ([["a.py", 3, "<module>", "b.py: step"]], "ob, r, d, info = e.step(u)", "gathering"),
        ([["a.py", 3, "<module>", "a.py: choose"]], "action = choose(state)", "gathering"),
        ([["a.py", 3, "<module>", "a.py: transaction"]], "transaction(rows)", "work"),
        ([["a.py", 3, "<module>", "b.py: step"]], "state = machine.step()", "work"),
        ([["a.py", 3, "<module>", "matplotlib/figure.py: savefig"]], "f.savefig(path)", "figure"),
        ([["a.py", 3, "<module>", "a.py: refresh"]], "refresh()", "work"),
    ],
)
def test_kinds(stack: list[list[Any]], source: str, kind: str) -> None:
    stacks = {
        "ns": [*range(10 * MS, 16 * MS, MS), *range(30 * MS, 36 * MS, MS), *range(8 * MS, 200 * MS, 10 * MS)],
        "stack": [0] * 12 + [1] * 20,
        "stacks": [stack, [["train.py", 19, "<module>", "torch/nn/modules/module.py: _call_impl"]]],
    }
    one = measured_case(
        {"timeline": STEP, "plain_ms": [10, 10, 10, 10] * 5, "facts": {"line_samples": stacks}}
    )
    (work,) = one.recurring
    assert kind_of(work, source) == kind


@pytest.mark.parametrize(("trained_on", "kind"), [(20, "recurring_evaluations"), (30, "gathering")])
def test_what_is_trained_on_is_no_evaluation(trained_on: int, kind: str) -> None:
    """A model that generates is asked for samples to look at, or for what it is trained on next."""
    line = {"file": "train.py", "line": trained_on, "function": "<module>"}
    steps = {5: GENERATES, 15: GENERATES, 25: GENERATES}
    plain_ms: list[float] = [40 if number % 10 == 5 else 10 for number in range(30)]
    one = looked_at(plain_ms, steps, dataflow={"trained_on": [line]})
    costs = {name: one.metric(f"{name}_average_share") for name in ("recurring_evaluations", "gathering")}
    assert [name for name, share in costs.items() if not isinstance(share, Missing) and share] == [kind]


# ---- periods


def test_periods() -> None:
    assert period_of(np.array([3.0, 60.0] * 10)) == 2
    assert period_of(np.array([3.0, 3.0, 9.0] * 5)) == 3
    assert period_of(np.full(20, 3.0)) == 1
    assert period_of(np.array([12.0, 8.3, 12.6, 8.1] * 6)) == 2  # a short work of every second step
    assert period_of(np.array([8.6, 8.3, 8.5, 8.1] * 6)) == 1  # what differs so little is noise
    assert period_of(np.array([3.0] * 19 + [60.0])) == 1  # one is no period
    rng = np.random.default_rng(0)
    assert [period_of(rng.exponential(3.0, 60)) for _ in range(20)] == [1] * 20
    assert [period_of(rng.normal(10.0, 2.0, size)) for size in (20, 25, 30, 60) for _ in range(50)] == [
        1
    ] * 200


def test_the_mean_and_the_spread_of_periods() -> None:
    lengths, place = np.array([3.0, 60, 3.2, 62, 2.8, 58, 3.0]), np.array([0, 1, 0, 1, 0, 1, 0])
    assert mean_of_periods(lengths, place) == pytest.approx((3 + 60) / 2)
    assert spread(lengths, place) == pytest.approx(0.2)  # of 0, 0, 0, 0.2, 0.2, 2, 2
    assert whole_periods(lengths, 3).sum() == 6


def test_an_unexplained_alternation_is_told_by_its_periods() -> None:
    lengths_ns = np.array([3.0, 60.0] * 10 + [3.0]) * MS
    found = typical(Stretches(lengths_ns, lengths_ns, lengths_ns))
    # 11 of 21 are short: they are the usual ones
    assert (found.period, found.mean_ns) == (1, pytest.approx(3 * MS))
    assert found.alike(np.array([60.0, 3.0, 60.0, 3.0])).tolist() == [False, True, False, True]
    even = typical(Stretches(lengths_ns[:20], lengths_ns[:20], lengths_ns[:20]))
    assert (even.period, even.mean_ns) == (2, pytest.approx(31.5 * MS))
    assert even.alike(np.array([3.0, 60.0, 3.0])).tolist() == [True, True, False]


def test_one_occasion_and_a_condition_tell_what_a_step_costs_on_average() -> None:
    """30 ms beyond the others, every 150 steps by what the loop's variables held."""
    rare = {"file": "train.py", "line": 29, "last_line": 30, "every": 150, "seen": True}
    plain_ms: list[float] = [40 if number == 15 else 10 for number in range(30)]
    one = looked_at(plain_ms, {15: EVALUATE}, rare_work=[rare])
    assert one.metric("recurring_evaluations_interval") == 150
    assert one.metric("recurring_evaluations_ms") == pytest.approx(30 / 150)
    other = looked_at(plain_ms, {15: EVALUATE}, rare_work=[{**rare, "line": 31, "last_line": 32}])
    assert isinstance(other.metric("recurring_evaluations_interval"), Missing)


@pytest.mark.parametrize(
    ("next_in", "settings", "why"),
    [
        (5000, {"wait_s": 30}, "it comes after about 50 s. `--wait 70` waits for it."),  # 1.3 × 50 s
        (2000, {"wait_s": 30}, "it came in no step that was timed. Record once where it comes sooner."),
        (
            5000,
            {"steps": 8, "wait_s": 30},
            "it came in no step that was timed. Record once where it comes sooner.",
        ),
        (None, {"wait_s": 30}, "it came in no step that was timed. Record once where it comes sooner."),
        (10**6, {"wait_s": 30}, "it comes after 3 h only. Record once where it comes sooner."),
    ],
)
def test_what_came_in_no_step_is_told(
    tmp_path: Path, next_in: int | None, settings: dict[str, object], why: str
) -> None:
    """Steps of 10 ms."""
    (tmp_path / "train.py").write_text("x = 1\nif step % every == 0:\n    evaluate()\n")
    told = {"file": str(tmp_path / "train.py"), "line": 2, "last_line": 3, "every": 5000, "next_in": next_in}
    unseen = looked_at([10.0] * 20, {}, rare_work=[told | {"seen": False}])
    unseen.recording.run.update(cwd=str(tmp_path), settings=settings)
    (note,) = unseen_work(unseen, Sources(unseen.recording))
    assert note.text == f"What train.py:2 does every 5,000 steps was not timed: {why}"
    others = [told | {"seen": False, "line": line} for line in (5, 7)]
    unseen.recording.facts["rare_work"] += others
    (note,) = unseen_work(unseen, Sources(unseen.recording))
    assert note.text == f"What train.py:2, 5 and 7 do every 5,000 steps was not timed: {why}"
    unseen.recording.facts["rare_work"] = [told | {"seen": True}]
    assert unseen_work(unseen, Sources(unseen.recording)) == []


def test_what_a_look_has_met_has_come(tmp_path: Path) -> None:
    told = {"file": "train.py", "line": 30, "last_line": 30, "every": None, "next_in": None, "seen": False}
    met = looked_at([10.0] * 19 + [40.0], {19: EVALUATE}, rare_work=[told])
    assert unseen_work(met, Sources(met.recording)) == []
    short = told | {"line": 50, "last_line": 51}  # comes at the same time
    met = looked_at([10.0] * 19 + [40.0], {19: EVALUATE}, rare_work=[told, short])
    assert unseen_work(met, Sources(met.recording)) == []
    other = looked_at([10.0] * 19 + [40.0], {19: EVALUATE}, rare_work=[short])
    assert len(unseen_work(other, Sources(other.recording))) == 1


def test_a_run_in_periods_is_not_noisy() -> None:
    run = Run.__new__(Run)
    run.__dict__["steps_ms"] = np.array([3.0, 60.0] * 10)
    assert run.spread_ms == 0


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("preview", 'ap.add_argument("--preview", type=int, default=20)', 20),
        ("log_every", 'ap.add_argument("--log-every", type=int, help="steps",\n    default=50)', 50),
        ("save_every", "class Config:\n    save_every: int = 200", 200),
        ("SAVE", "SAVE = 1000", 1000),
        ("eval_every", 'cfg = {"eval_every": 25}', 25),
        ("every", "run(every=10)", 10),
        ("every", "save_every = 10", None),
        ("every", "every = args.every", None),
    ],
)
def test_the_number_that_a_name_stands_for(name: str, text: str, number: int | None) -> None:
    assert set_to(name, text) == number

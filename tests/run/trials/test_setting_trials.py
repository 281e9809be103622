"""Settings that a run tries for a few steps, in this process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from diagnose.run.child.facts.models import CallCounts
from diagnose.run.child.places import Places
from diagnose.run.child.trials import setting_trials
from diagnose.run.child.trials.setting_trials import SettingTrials


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of several, one would be tried
    yield
    torch.set_num_threads(threads)
    torch.set_anomaly_enabled(False)


@pytest.fixture
def calls() -> CallCounts:
    folder = str(Path(__file__).parent)
    return CallCounts(Places(folder, folder))


@pytest.fixture(autouse=True)
def no_threads_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


HOOKS = SimpleNamespace(step_ended=None)  # what the step clock calls when an optimizer has stepped


def trials_of(
    calls: CallCounts,
    owner: Any = nn.Module,
    *,
    looks: Any = (),
    may_round: bool = False,
    threads_set: bool = False,
) -> SettingTrials:
    return SettingTrials(
        calls,
        lambda kind: (HOOKS, kind) if kind == "step_ended" else (owner, "__call__"),
        looks=looks,
        threads_set=lambda: threads_set,
        may_round_otherwise=may_round,
    )


def test_anomaly_detection_is_off_in_half_of_the_steps_and_on_again_afterwards(calls: CallCounts) -> None:
    calls.anomaly_mode = True
    torch.set_anomaly_enabled(True)
    trials, seen = trials_of(calls), []
    assert trials.begin()
    over = False
    while not over:
        seen.append(torch._C.is_anomaly_enabled())
        over = trials.step()
    assert seen[:6] == [True, False, False, True, True, False]
    assert not trials.running and torch.is_anomaly_enabled()
    (facts,) = trials.facts
    assert len(facts["as_is_ms"]) == len(facts["changed_ms"]) == 16  # the first pair is not counted


def test_a_trial_tells_what_others_used_of_the_machine_meanwhile(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 2 s four cores gave 800 units of a hundredth: 500 of them were busy, 3 s of that this process."""
    told = [SimpleNamespace(busy=100, total=1000, seconds=10.0, processor_s=1.0)]
    told.append(SimpleNamespace(busy=600, total=1800, seconds=12.0, processor_s=4.0))
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.read_counters", lambda: told.pop(0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    calls.anomaly_mode = True
    trials = trials_of(calls)
    trials.begin()
    trials.end()
    (facts,) = trials.facts
    assert facts["others_share"] == pytest.approx(500 / 800 - 3 / 2 / 4)


def test_a_context_of_the_scripts_own_leaves_the_mode_as_it_found_it(calls: CallCounts) -> None:
    calls.anomaly_mode = True
    trials, inside = trials_of(calls), []
    trials.begin()
    for _ in range(6):
        with torch.autograd.set_detect_anomaly(True):
            inside.append(torch._C.is_anomaly_enabled())
            trials.step()
        assert not torch._C.is_anomaly_enabled() and not torch.is_anomaly_enabled()
    trials.end()
    assert inside == [True, False, False, True, True, False]
    assert torch.is_anomaly_enabled is torch._C.is_anomaly_enabled


def test_what_the_looks_take_leaves_the_trials_their_time(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten steps of 400 ms take four of the five seconds, after a look of three."""
    now = [0]
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.perf_counter_ns", lambda: now[0])
    calls.anomaly_mode = True
    look = SimpleNamespace(what="looking", begin=lambda: True, step=lambda: True, end=lambda: None)
    trials = trials_of(calls, looks=(look,))
    assert trials.begin(400_000_000)
    now[0] += 3_000_000_000
    assert not trials.step() and trials.running
    trials.end()
    assert [facts["setting"] for facts in trials.facts] == ["anomaly_mode"]


def test_threads_are_tried_only_where_results_may_round_otherwise(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.usable_cores", lambda: 2)
    torch.set_num_threads(1)
    assert not trials_of(calls, threads_set=True).begin()
    trials = trials_of(calls, may_round=True, threads_set=True)
    assert trials.begin()
    trials.step()
    assert (torch._C.get_num_threads(), torch.get_num_threads()) == (2, 1)  # the script sees its own
    trials.end()
    assert torch.get_num_threads() == torch._C.get_num_threads() == 1


def test_threads_that_nobody_has_set_are_not_tried(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.usable_cores", lambda: 2)
    torch.set_num_threads(1)
    assert not trials_of(calls, may_round=True).begin()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    trials = trials_of(calls, may_round=True)
    assert trials.begin()
    trials.end()
    assert [fact["setting"] for fact in trials.facts] == ["threads"]


def test_of_more_threads_than_cores_as_many_as_cores_are_tried(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has set them."""
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.usable_cores", lambda: 2)
    torch.set_num_threads(4)
    trials = trials_of(calls, may_round=True)
    assert trials.begin()
    trials.step()
    assert (torch._C.get_num_threads(), torch.get_num_threads()) == (2, 4)
    trials.end()
    assert [(fact["setting"], fact["value"]) for fact in trials.facts] == [("threads", 2)]
    assert torch.get_num_threads() == torch._C.get_num_threads() == 4


def test_of_several_threads_one_is_tried(calls: CallCounts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than the script has set, which are as many as there are cores."""
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.usable_cores", lambda: 2)
    torch.set_num_threads(2)
    assert not trials_of(calls, threads_set=True).begin()
    trials, seen, over = trials_of(calls, may_round=True, threads_set=True), [], False
    assert trials.begin()
    while not over:
        seen.append((torch._C.get_num_threads(), torch.get_num_threads()))
        over = trials.step()
    assert seen[:6] == [(2, 2), (1, 2), (1, 2), (2, 2), (2, 2), (1, 2)]
    assert [(fact["setting"], fact["value"]) for fact in trials.facts] == [("one_thread", 1)]
    assert torch.get_num_threads() == torch._C.get_num_threads() == 2


@pytest.mark.parametrize(
    ("changed_ms", "pairs"),
    [
        (25, 4),  # ten steps are enough: the first pair is not counted
        (19, 16),  # not twice as long: 17 pairs take half a second
        (5, 16),  # how much shorter they are is to be known well
    ],
)
def test_a_setting_that_is_clearly_slower_is_not_tried_for_long(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch, changed_ms: int, pairs: int
) -> None:
    torch.set_num_threads(2)
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.usable_cores", lambda: 2)
    now, clock = [0], lambda: now[0]
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.perf_counter_ns", clock)
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials._OneThread.clock", staticmethod(clock))
    trials = trials_of(calls, may_round=True)
    assert trials.begin()
    over = False
    while not over:
        now[0] += (changed_ms if torch._C.get_num_threads() == 1 else 10) * 1_000_000
        over = trials.step()
    (facts,) = trials.facts
    assert facts["as_is_ms"] == [10] * pairs and facts["changed_ms"] == [changed_ms] * pairs


def test_threads_that_the_script_sets_meanwhile_hold_afterwards(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.run.child.trials.setting_trials.usable_cores", lambda: 4)
    torch.set_num_threads(1)
    original = torch.set_num_threads
    trials = trials_of(calls, may_round=True, threads_set=True)
    trials.begin()
    trials.step()
    torch.set_num_threads(2)
    assert torch._C.get_num_threads() == 4
    trials.end()
    assert torch._C.get_num_threads() == 2 and torch.set_num_threads is original


def test_a_healthy_script_has_nothing_to_try(calls: CallCounts) -> None:
    forwards(calls, 8, used=True)
    calls.backward()
    assert not trials_of(calls, may_round=True).begin()


def test_what_would_take_too_long_is_not_begun(calls: CallCounts) -> None:
    calls.anomaly_mode = True
    assert not trials_of(calls).begin(step_ns=600_000_000)  # ten steps of 0.6 s are more than 5 s
    trials = trials_of(calls)
    assert trials.begin(step_ns=400_000_000)
    trials.end()


@pytest.mark.parametrize("ending", [ValueError, SystemExit, KeyboardInterrupt])
def test_an_exception_in_the_midst_of_a_trial_leaves_all_as_it_was(
    calls: CallCounts, ending: type[BaseException]
) -> None:
    calls.anomaly_mode = True
    torch.set_anomaly_enabled(True)
    originals = torch.set_anomaly_enabled, torch.is_anomaly_enabled
    trials = trials_of(calls)
    trials.begin()
    with pytest.raises(ending):
        trials.step()
        assert not torch._C.is_anomaly_enabled()
        raise ending
    assert torch.is_anomaly_enabled()  # what the script's handlers see
    trials.end()
    assert torch._C.is_anomaly_enabled()
    assert (torch.set_anomaly_enabled, torch.is_anomaly_enabled) == originals


def unreadable() -> None:
    raise OSError("no counters")


def test_a_setting_is_put_back_where_the_machines_counters_cannot_be_read(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.anomaly_mode = True
    torch.set_anomaly_enabled(True)
    original, trials = torch.set_anomaly_enabled, trials_of(calls)
    trials.begin()
    trials.step()
    assert not torch._C.is_anomaly_enabled()
    monkeypatch.setattr(setting_trials, "read_counters", unreadable)
    trials.end()
    assert torch._C.is_anomaly_enabled() and torch.set_anomaly_enabled is original
    assert trials.facts == []


def test_a_trial_that_begins_halfway_is_ended(calls: CallCounts, monkeypatch: pytest.MonkeyPatch) -> None:
    calls.anomaly_mode = True
    original, trials = torch.set_anomaly_enabled, trials_of(calls)
    monkeypatch.setattr(setting_trials, "read_counters", unreadable)
    assert not trials.begin()
    assert torch.set_anomaly_enabled is original


def test_a_look_that_begins_halfway_is_ended(calls: CallCounts) -> None:
    ended = []
    look = SimpleNamespace(what="looking", begin=unreadable, end=lambda: ended.append(True))
    assert not trials_of(calls, looks=(look,)).begin()
    assert ended == [True]


def forwards(calls: CallCounts, count: int, *, used: bool = False, kept: bool = False) -> list[torch.Tensor]:
    model, outputs = nn.Linear(3, 3), []
    for _ in range(count):
        given = torch.ones(2, 3)
        with calls.forward(sys._getframe(), (model, given), {}) or contextlib.nullcontext():
            output = model(given)
        if used:
            torch.autograd.grad(output.sum(), model.weight)
        if kept:
            outputs.append(output)
    return outputs


def test_graphs_that_were_used_or_are_kept_are_not_thrown_away(calls: CallCounts) -> None:
    kept = forwards(calls, 8, kept=True)
    assert not calls.throws_all_graphs_away()
    (facts,) = calls.graphs.facts()
    assert (facts["built_count"], facts["used_count"], facts["kept_count"]) == (8, 0, 8)
    kept.clear()
    assert calls.throws_all_graphs_away()
    forwards(calls, 2, used=True)
    assert not calls.throws_all_graphs_away()


def test_forwards_are_without_gradients_unless_their_input_asks_for_one(calls: CallCounts) -> None:
    forwards(calls, 8)

    class Called:
        def __call__(self, tensor: torch.Tensor) -> bool:
            return torch.is_grad_enabled()

    trials = trials_of(calls, Called)
    trials.begin()
    assert Called()(torch.ones(1))
    trials.step()
    assert not Called()(torch.ones(1))
    assert Called()(torch.ones(1, requires_grad=True))
    trials.end()
    assert Called()(torch.ones(1))


def broken() -> None:
    raise RuntimeError("not to be changed")


def test_a_setting_that_cannot_be_changed_ends_its_trial_only(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.anomaly_mode = True
    trials = trials_of(calls)
    trials.begin()
    assert trials._trial is not None
    for name in ("change", "change_back"):
        monkeypatch.setattr(trials._trial._setting, name, broken)
    assert trials.step()
    assert not trials.running


# ---- fused updates


def stepping(calls: CallCounts, optimizer: torch.optim.Optimizer) -> None:
    """As a script's step: gradients, the update, and what the step clock does at its end."""
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    calls.optimizer(optimizer)
    if HOOKS.step_ended is not None:
        HOOKS.step_ended()


@pytest.mark.parametrize(("foreach", "tried"), [(True, False), (None, True)])
def test_where_torch_has_no_fused_update_lists_of_tensors_are_tried_or_the_loop(
    calls: CallCounts, foreach: bool | None, tried: bool
) -> None:
    optimizer = torch.optim.RMSprop(nn.Linear(8, 8).parameters(), foreach=foreach)
    group = optimizer.param_groups[0]
    stepping(calls, optimizer)
    trials, seen = trials_of(calls, may_round=True), []
    assert trials.begin()
    optimizer.register_step_post_hook(lambda *_: seen.append(group["foreach"]))
    over = False
    while not over:
        assert group["foreach"] == foreach  # what the script saves between steps
        stepping(calls, optimizer)
        over = trials.step()
    assert seen[:4] == [foreach, tried, tried, foreach]
    (facts,) = trials.facts
    assert (facts["setting"], facts["value"], group["foreach"]) == ("foreach_update", tried, foreach)


def test_lists_are_tried_whatever_the_memory_format(calls: CallCounts) -> None:
    weight = torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last)
    stepping(calls, optimizer := torch.optim.RMSprop([weight]))
    trials = trials_of(calls, may_round=True)
    assert trials.begin()
    trials.end()
    assert not optimizer.param_groups[0]["foreach"]


def test_lists_that_would_take_much_memory_are_not_tried(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.run.child.trials.update_trials._LISTED_BYTES_AT_MOST", 4 * 8 - 1)
    stepping(calls, optimizer := torch.optim.RMSprop([torch.zeros(8)]))
    assert not trials_of(calls, may_round=True).begin()
    monkeypatch.setattr("diagnose.run.child.trials.update_trials._LISTED_BYTES_AT_MOST", 4 * 8)
    trials = trials_of(calls, may_round=True)
    assert trials.begin()
    trials.end()
    assert not optimizer.param_groups[0]["foreach"]


def test_updates_are_fused_in_half_of_the_steps_and_timed_alone(
    calls: CallCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimizer = torch.optim.Adam(nn.Linear(8, 8).parameters(), foreach=True)
    group = optimizer.param_groups[0]
    stepping(calls, optimizer)
    now = [0]
    monkeypatch.setattr("diagnose.run.child.trials.update_trials.perf_counter_ns", lambda: now[0])

    def update(*_: Any) -> None:
        now[0] += 1_000_000 if group["fused"] else 3_000_000
        seen.append((group["fused"], group["foreach"]))

    trials, seen = trials_of(calls, may_round=True), []
    assert trials.begin()
    optimizer.register_step_post_hook(update)
    over = False
    while not over:
        now[0] += 50_000_000  # forward and backward
        assert (
            optimizer.state_dict()["param_groups"][0]["fused"] is None
        )  # what the script saves between steps
        stepping(calls, optimizer)
        over = trials.step()
    assert seen[:4] == [(None, True), (True, False), (True, False), (None, True)]
    (facts,) = trials.facts
    assert (facts["setting"], set(facts["as_is_ms"]), set(facts["changed_ms"])) == (
        "fused_update",
        {3.0},
        {1.0},
    )
    assert (group["fused"], group["foreach"], HOOKS.step_ended) == (None, True, None)


def test_gradients_that_come_later_and_do_not_fit_are_updated_as_ever(calls: CallCounts) -> None:
    """In some steps the gradient is sparse, or laid out otherwise: fused updates refuse the one, and take
    the other's numbers from wrong places.
    """
    weights = [nn.Parameter(torch.zeros(4, 6)), nn.Parameter(torch.zeros(4, 6))]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    dense = torch.arange(24.0).reshape(4, 6)
    unusual = [dense.to_sparse(), dense.t().contiguous().t()]
    weights[0].grad = dense.clone()
    optimizer.step()
    calls.optimizer(optimizer)
    trials = trials_of(calls, may_round=True)
    assert trials.begin()
    for number in range(8):
        before = [weight.detach().clone() for weight in weights]
        weights[0].grad, weights[1].grad = dense.clone(), unusual[number % 2]
        optimizer.step()
        HOOKS.step_ended()
        trials.step()
        for weight, was in zip(weights, before, strict=True):
            assert torch.equal(was - weight, dense)
    trials.end()


def test_an_update_that_computes_its_gradients_itself_is_not_changed(calls: CallCounts) -> None:
    weight = nn.Parameter(torch.zeros(4))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    stepping(calls, optimizer)
    trials, seen = trials_of(calls, may_round=True), []
    assert trials.begin()

    def closure() -> float:
        seen.append(optimizer.param_groups[0]["fused"])
        weight.grad = torch.ones(4)
        return 0.0

    for _ in range(4):
        optimizer.step(closure)
        HOOKS.step_ended()
        trials.step()
    trials.end()
    assert seen == [None] * 4


@pytest.mark.parametrize(
    "made",
    [
        lambda weights: torch.optim.SparseAdam(weights),  # torch has none
        lambda weights: torch.optim.Adam(weights, fused=True),
        lambda weights: torch.optim.Adam(weights, capturable=False, differentiable=True),
        lambda weights: type("Own", (torch.optim.Adam,), {})(weights),  # may read its groups otherwise
    ],
    ids=["SparseAdam", "fused", "differentiable", "subclass"],
)
def test_what_cannot_be_fused_is_not_tried(calls: CallCounts, made: Any) -> None:
    optimizer = made([torch.zeros(4)])
    optimizer.param_groups[0]["params"][0].grad = torch.ones(4)
    calls.optimizer(optimizer)
    assert not trials_of(calls, may_round=True).begin()


@pytest.mark.parametrize(
    ("weight", "gradient"),
    [
        (torch.zeros(4, 4), torch.ones(4, 4).to_sparse()),
        (torch.zeros(4, 6)[:, :4], torch.ones(4, 4)),
        (torch.zeros(4, 4, dtype=torch.complex64), torch.ones(4, 4, dtype=torch.complex64)),
    ],
    ids=["sparse", "a slice", "complex"],
)
def test_unusual_parameters_are_not_fused(
    calls: CallCounts, weight: torch.Tensor, gradient: torch.Tensor
) -> None:
    weight.grad = gradient
    calls.optimizer(torch.optim.Adam([weight]))
    assert not trials_of(calls, may_round=True).begin()


def test_where_nothing_may_round_otherwise_updates_stay_as_they_are(calls: CallCounts) -> None:
    weight = torch.zeros(4)
    weight.grad = torch.ones(4)
    calls.optimizer(torch.optim.Adam([weight]))
    assert not trials_of(calls).begin()

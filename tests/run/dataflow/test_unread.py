"""Which results of a step are mostly not read."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from diagnose.run.child import guard
from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places
from diagnose.run.child.values import Call, Values
from tests.run.dataflow.looking import seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
HEAD, X = nn.Linear(16, 500), torch.randn(4, 10, 16)


def unread_of(
    step: Callable[[], object], then: Callable[[], object] | None = None, what: str = "unread"
) -> dict[str, int]:
    """By the line's text: how many calls have results that are mostly not read; `then`: the next steps."""
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    step()
    assert not flow.step()
    for is_last in [*[False] * 4, True]:
        if then is not None:
            then()
        assert flow.step() is is_last
    assert flow.facts is not None
    return {LINES[line["line"] - 1].strip(): line["call_count"] for line in flow.facts[what]}


def test_an_output_layer_of_which_the_last_position_is_read() -> None:
    def step() -> None:
        logits = HEAD(X)
        logits[:, -1].softmax(-1).argmax(-1)

    assert unread_of(step) == {"logits = HEAD(X)": 1}


def test_with_gradients_and_through_calls_that_keep_each_number() -> None:
    def step() -> None:
        logits = HEAD(X)
        scaled = logits / 2.0
        functional.cross_entropy(scaled.view(40, 500)[:4], torch.zeros(4, dtype=torch.int64)).backward()

    assert unread_of(step) == {"logits = HEAD(X)": 1, "scaled = logits / 2.0": 1}


@pytest.mark.parametrize(
    "how", ["all later", "over all", "in parts", "kept", "a half and more", "written to"]
)
def test_what_is_read_elsewhere_is_read(how: str) -> None:
    def step() -> object:
        logits = HEAD(X)
        if how == "kept":
            return logits
        if how == "in parts":
            first, *others = logits.split(2, dim=1)
            return first.sum(), [other.sum() for other in others]
        if how == "over all":
            return logits.log_softmax(1)[:, -1].sum()
        if how == "a half and more":
            return logits[:, :6].sum()
        if how == "written to":
            logits[:, 0] = 0
            return logits.sum()
        last = logits[:, -1].sum()
        return last, logits.mean()

    assert unread_of(step) == {}


def test_a_recurrent_network_needs_all_its_steps() -> None:
    network = nn.GRU(16, 8, batch_first=True)

    def step() -> None:
        output, _ = network(X)
        output[:, -1].sum().backward()

    assert unread_of(step) == {}


def test_scores_of_all_items_of_which_some_are_picked() -> None:
    """Ten of 500 per row are read: of 1 ms, 0.98 ms are for nothing."""
    users, items, wanted = torch.randn(8, 16), torch.randn(500, 16), torch.zeros(8, 10, dtype=torch.int64)

    def step() -> None:
        scores = users @ items.t()
        scores.gather(1, wanted).sum()

    assert list(unread_of(step)) == ["scores = users @ items.t()"]


def test_what_the_next_step_reads_is_read() -> None:
    """A step that ends with the model's call: the next one picks, or reads all."""
    kept = []

    def step() -> None:
        kept.append(HEAD(X))

    assert unread_of(step, lambda: kept[-1][:, -1].sum()) == {"kept.append(HEAD(X))": 1}
    assert unread_of(step, lambda: (kept[-1][:, -1].sum(), kept[-1].sum())) == {}


# ---- positions that a loss ignores

TARGET = torch.full((4, 10), -100)
TARGET[:, 8:] = 1  # 2 of 10 count


@pytest.mark.parametrize("how", ["flat", "classes second", "shifted", "by hand", "padding"])
def test_scores_of_positions_that_the_loss_ignores(how: str) -> None:
    def step() -> None:
        logits = HEAD(X)
        if how == "flat":
            functional.cross_entropy(logits.view(-1, 500), TARGET.view(-1)).backward()
        elif how == "classes second":
            functional.cross_entropy(logits.transpose(1, 2), TARGET).backward()
        elif how == "shifted":
            functional.cross_entropy(logits[:, :-1].flatten(0, 1), TARGET[:, 1:].flatten()).backward()
        elif how == "by hand":
            log_probabilities = logits.log_softmax(-1)
            nn.NLLLoss()(log_probabilities.view(-1, 500), TARGET.view(-1)).backward()
        else:
            target = TARGET.clamp(min=0).view(-1)
            nn.CrossEntropyLoss(ignore_index=0)(logits.view(-1, 500), target).backward()

    lines = unread_of(step)
    assert lines["logits = HEAD(X)"] == 1
    assert sum(lines.values()) == (3 if how == "by hand" else 2)  # with the loss, which has as many rows


def test_a_loss_that_ignores_less_than_a_quarter_or_whose_scores_are_read_too() -> None:
    most = torch.ones(4, 10, dtype=torch.int64)
    most[:, 8:] = -100

    def step() -> None:
        logits = HEAD(X)
        functional.cross_entropy(logits.view(-1, 500), most.view(-1)).backward()

    def with_entropy() -> None:
        logits = HEAD(X)
        entropy = logits.softmax(-1).max()
        (functional.cross_entropy(logits.view(-1, 500), TARGET.view(-1)) + entropy).backward()

    assert unread_of(step) == {}
    lines = unread_of(with_entropy)
    assert "logits = HEAD(X)" not in lines and len(lines) == 1


@pytest.mark.parametrize("how", ["argmax", "max", "compared", "max and more", "over another", "all"])
def test_scores_that_are_also_counted_as_right_or_wrong_where_the_loss_looks(how: str) -> None:
    """Two of ten positions are in the loss, and the same two in the accuracy: at most 4 of 10 are read."""
    picked = TARGET != -100

    def step() -> None:
        logits = HEAD(X)
        functional.cross_entropy(logits.view(-1, 500), TARGET.view(-1)).backward()
        if how.startswith("max"):
            best, predicted = torch.max(logits, -1)
            if how == "max and more":
                best.sum().item()
        else:
            predicted = logits.argmax(dim=1 if how == "over another" else -1)
        if how == "compared":
            predicted = predicted == TARGET
        where = torch.arange(4) > 2 if how == "over another" else picked
        (predicted if how == "all" else predicted[where]).float().mean().item()

    lines = unread_of(step)
    is_read = how in ("max and more", "over another", "all")
    assert lines.pop("logits = HEAD(X)", 0) == (0 if is_read else 1)
    del lines["functional.cross_entropy(logits.view(-1, 500), TARGET.view(-1)).backward()"]
    best = 'predicted = logits.argmax(dim=1 if how == "over another" else -1)'
    compared = {"predicted = predicted == TARGET": 1} if how == "compared" else {}
    assert lines == ({best: 1} | compared if how in ("argmax", "compared", "over another") else {})


def test_the_best_position_of_each_class_needs_all_positions() -> None:
    """[batch, classes, positions]: the rows of the loss are the positions, those of this maximum are not."""
    few = torch.arange(500) < 50

    def step() -> None:
        scores = HEAD(X).transpose(1, 2)
        functional.cross_entropy(scores, TARGET).backward()
        best = scores.argmax(-1)
        best[:, few].float().mean().item()

    assert "scores = HEAD(X).transpose(1, 2)" not in unread_of(step)


# ---- statistics that are kept, and replaced before anything has read them


class Monitor:
    def __init__(self) -> None:
        self.values: dict[str, torch.Tensor] = {}

    def update(self, rows: torch.Tensor, *, size: int = 1) -> None:
        distances = torch.pdist(rows).mean()
        self.values = {"distance": distances.repeat(size)}


PDIST = "distances = torch.pdist(rows).mean()"


def test_a_statistic_of_every_step_that_nothing_reads() -> None:
    monitor = Monitor()

    def step() -> None:
        monitor.update(torch.rand(40, 16) * 2)

    assert unread_of(step, step, "replaced")[PDIST] == 2
    assert unread_of(step, step) == {}


@pytest.mark.parametrize("how", ["printed", "summed", "kept", "large", "written", "shape"])
def test_a_statistic_that_something_may_read(how: str) -> None:
    monitor, total, history = Monitor(), torch.zeros(1), []

    def step() -> None:
        monitor.update(torch.rand(40, 16) * 2, size=2048 if how == "large" else 1)

    def then() -> None:
        value = monitor.values["distance"]
        if how == "printed":
            str(value)
        elif how == "summed":
            nonlocal total
            total = total + value
        elif how == "kept":
            history.append(value)
        elif how == "written":
            torch.zeros(1)[0] = value[0]
        elif how == "shape":
            assert value.shape == value.size()  # no number of it is read
        del value
        step()

    assert (PDIST in unread_of(step, then, "replaced")) is (how == "shape")


@pytest.mark.parametrize("goes_back", [False, True])
def test_what_needs_gradients_may_be_for_a_backward(goes_back: bool) -> None:
    kept = {}

    def step() -> None:
        loss = HEAD(torch.rand(4, 16)).mean()
        if goes_back:
            loss.backward()
        kept["loss"] = loss
        kept["norm"] = HEAD(torch.rand(4, 16)).norm()

    norm = 'kept["norm"] = HEAD(torch.rand(4, 16)).norm()'
    assert unread_of(step, step, "replaced") == ({norm: 3} if goes_back else {})  # rows drawn, layer, norm


# ---- results that nothing reads


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, given: torch.Tensor) -> torch.Tensor:
        return given * 2

    @staticmethod
    def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return gradient * 2


def test_a_second_head_whose_result_is_dropped() -> None:
    def step() -> None:
        hidden = X * HEAD.weight.sum()
        extra = HEAD(hidden)
        extra = extra.relu()
        hidden.sum().backward()

    assert unread_of(step, step, "dropped") == {"extra = HEAD(hidden)": 1, "extra = extra.relu()": 1}


@pytest.mark.parametrize(
    "how",
    [
        *("loss", "grad", "function", "printed", "kept", "a part", "no backward", "written", "item", "numpy"),
        *("into a part", "out of a part"),
    ],
)
def test_what_is_read_somehow_is_not_dropped(how: str, capsys: pytest.CaptureFixture[str]) -> None:
    kept: list[torch.Tensor] = []
    buffer = torch.zeros(4, 10, 500)

    def step() -> None:
        hidden = X * HEAD.weight.sum()
        extra = HEAD(hidden)
        loss = hidden.sum()
        if how == "loss":
            loss = loss + extra.sum()
        elif how == "grad":
            torch.autograd.grad(extra, HEAD.weight, torch.ones_like(extra), retain_graph=True)
        elif how == "function":
            loss = loss + Twice.apply(extra).sum()
        elif how == "printed":
            print(extra)
        elif how == "kept":
            kept.append(extra)
        elif how == "a part":
            loss = loss + extra[0, 0, 0]
        elif how == "written":
            buffer[:] = extra.detach()
        elif how == "into a part":
            losses = torch.zeros(8, 10, 500)
            losses[:4].copy_(-extra)
            loss = loss + losses.sum()
        elif how == "out of a part":
            losses = torch.zeros(8, 10, 500)
            torch.neg(extra.detach(), out=losses[:4])
            losses.sum().item()
        elif how == "item":
            extra.max().item()
        elif how == "numpy":
            extra.detach().numpy()
        if how != "no backward":
            loss.backward()

    assert unread_of(step, step, "dropped") == {}


@pytest.fixture(autouse=True)
def _threads_of_other_tests_are_not_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask keeps its own for good."""
    threads, there = threading.enumerate, set(threading.enumerate()) - {threading.main_thread()}
    monkeypatch.setattr(
        threading, "enumerate", lambda: [thread for thread in threads() if thread not in there]
    )


def test_what_is_computed_without_gradients_and_dropped() -> None:
    """As the reconstruction of a frozen model of which only the code is used."""

    def step() -> None:
        with torch.no_grad():
            code = X.exp()
            picture = HEAD(code).tanh_()
            picture = picture.sigmoid()
        (HEAD.weight.sum() * code.mean()).backward()

    assert unread_of(step, step, "dropped") == {
        "picture = HEAD(code).tanh_()": 1,
        "picture = picture.sigmoid()": 1,
    }


@pytest.mark.parametrize(
    "how", ["target", "kept", "printed", "numpy", "saved", "into a weight", "no backward"]
)
def test_what_is_read_somehow_without_gradients_is_not_dropped(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[torch.Tensor] = []
    average = HEAD.weight.detach().clone()

    def step() -> None:
        with torch.no_grad():
            picture = HEAD(X.exp()).sigmoid()
            if how == "kept":
                kept.append(picture)
            elif how == "printed":
                print(picture)
            elif how == "numpy":
                picture.numpy()
            elif how == "saved":
                torch.save(picture, tmp_path / "picture.pt")
            elif how == "into a weight":
                average.data.mul_(picture.mean())
        if how != "no backward":
            (HEAD.weight.sum() * (picture.mean() if how == "target" else 1)).backward()

    assert unread_of(step, step, "dropped") == {}


def test_what_still_lives_is_not_dropped_with_what_is_made_of_it() -> None:
    kept: list[torch.Tensor] = []

    def step() -> None:
        with torch.no_grad():
            code = X.exp()
            kept.append(code)
            picture = HEAD(code)
            picture = picture.sigmoid()
        HEAD.weight.sum().backward()

    assert unread_of(step, step, "dropped") == {"picture = HEAD(code)": 1, "picture = picture.sigmoid()": 1}


def test_what_another_thread_reads_is_not_dropped() -> None:
    todo: queue.Queue[torch.Tensor | None] = queue.Queue(4)
    means: list[float] = []

    def write() -> None:
        while (picture := todo.get()) is not None:
            means.append(picture.mean().item())
            del picture

    writer = threading.Thread(target=write)
    writer.start()

    def step() -> None:
        with torch.no_grad():
            picture = HEAD(X.exp()).sigmoid()
        todo.put(picture)
        del picture
        HEAD.weight.sum().backward()

    assert unread_of(step, step, "dropped") == {}
    todo.put(None)
    writer.join()
    assert len(means) == 6


def test_a_loaders_own_threads_read_nothing() -> None:
    batches = iter(DataLoader(TensorDataset(torch.rand(64, 4)), batch_size=4, num_workers=1))

    def step() -> None:
        next(batches)
        with torch.no_grad():
            extra = HEAD(X)
            extra = extra.sigmoid()
        del extra
        HEAD.weight.sum().backward()

    assert unread_of(step, step, "dropped") == {"extra = HEAD(X)": 1, "extra = extra.sigmoid()": 1}


class Masked(torch.autograd.Function):
    """Keeps what it computes for its backward alone."""

    @staticmethod
    def forward(ctx, given: torch.Tensor) -> torch.Tensor:  # type: ignore[no-untyped-def]
        mask = HEAD(X).sigmoid().mean()
        ctx.save_for_backward(mask)
        return given * 2

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[no-untyped-def, override]
        return gradient * ctx.saved_tensors[0]


@pytest.mark.parametrize("how", ["a function for autograd", "vmap", "forward mode"])
def test_where_torch_reads_without_a_call_nothing_is_dropped(how: str) -> None:
    def step() -> None:
        loss = HEAD.weight.sum()
        with torch.no_grad():
            picture = HEAD(X).sigmoid()
        if how == "a function for autograd":
            loss = Masked.apply(loss)
        elif how == "vmap":
            with torch.no_grad():
                weight = torch.vmap(lambda row: row.exp().sum())(picture).sum()
            loss = loss * weight
        else:
            with torch.autograd.forward_ad.dual_level():
                loss = loss * 2
        loss.backward()

    assert unread_of(step, step, "dropped") == {}


def test_gradients_within_a_transform_are_not_dropped() -> None:
    """As of the steps that a model is adapted by in meta-learning: their graph is the transform's own."""
    rows = torch.randn(4, 16)

    def adapted(row: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        slope = torch.func.grad(lambda it: (functional.linear(row, it) ** 2).sum())(weights)
        return functional.linear(row, weights - 0.1 * slope).sum()

    def step() -> None:
        torch.vmap(adapted, (0, None))(rows, HEAD.weight[:1]).sum().backward()

    assert unread_of(step, step, "dropped") == {}


def doubled(given: torch.Tensor) -> torch.Tensor:
    return given * 2


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_a_scripted_function_may_read_what_has_no_gradients() -> None:
    scripted = torch.jit.script(doubled)

    def step() -> None:
        with torch.no_grad():
            scripted(HEAD(X).sigmoid())
        HEAD.weight.sum().backward()

    assert unread_of(step, step, "dropped") == {}


def test_of_several_results_one_is_enough() -> None:
    rnn = nn.GRU(16, 4, batch_first=True)

    def step() -> None:
        positions, _ = rnn(X)
        positions.sum().backward()

    assert unread_of(step, step, "dropped") == {}


def test_a_backward_that_no_tensor_is_asked_for_counts() -> None:
    """`torch.autograd.backward` takes the losses of both."""

    def step() -> None:
        hidden = X * HEAD.weight.sum()
        first, second = HEAD(hidden), HEAD(hidden * 2)
        torch.autograd.backward([first.sum() + Twice.apply(second).sum()])
        hidden = X * HEAD.weight.sum()
        hidden.sum().backward()

    assert unread_of(step, step, "dropped") == {}


def test_sums_of_which_a_few_are_picked() -> None:
    """As rays of all pixels: of 40 sums three are read, and so are three of the 40 rows that they sum up."""
    pixels, view = torch.rand(40, 16), torch.rand(16)

    def step() -> None:
        weighted = pixels * view
        rays = weighted.sum(-1)
        rays[[3, 5, 7]].tolist()

    assert unread_of(step) == {"weighted = pixels * view": 1, "rays = weighted.sum(-1)": 1}


def test_a_sum_of_all_reads_all() -> None:
    pixels, view = torch.rand(40, 16), torch.rand(16)
    assert unread_of(lambda: (pixels * view).sum().item()) == {}


# ---- weights of zero


EXPERTS = nn.ModuleList(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)) for _ in range(8))
TOKENS, GATE = torch.randn(40, 16), nn.Linear(16, 8)


def mixed(weights: torch.Tensor) -> torch.Tensor:
    answers = []
    for expert in EXPERTS:
        answers.append(expert(TOKENS))
    outputs = torch.stack(answers, dim=1)
    return (weights.unsqueeze(-1) * outputs).sum(1)


def test_experts_whose_results_are_multiplied_by_zero() -> None:
    """Two of eight count for a token: of each expert's three calls, and of the stack, three quarters
    are not needed.
    """

    def step() -> None:
        best, chosen = GATE(TOKENS).topk(2, dim=-1)
        mixed(torch.zeros(40, 8).scatter(1, chosen, best.softmax(-1))).sum().backward()

    assert unread_of(step) == {
        "answers.append(expert(TOKENS))": 8 * 3,
        "outputs = torch.stack(answers, dim=1)": 1,
    }


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_where_most_have_a_weight_or_none_all_are_needed(share: float) -> None:
    weights = (torch.arange(40 * 8).reshape(40, 8) < share * 320).float()

    assert unread_of(lambda: mixed(weights)) == {}


def test_a_single_number_has_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a temperature that is learned is: one number, multiplied by one without a dimension."""
    monkeypatch.setattr(guard, "_failures", {})
    temperature = torch.ones(1, requires_grad=True)
    unread_of(lambda: (temperature.exp() * torch.rand(())).sum().backward())
    assert not guard.notes()


def test_a_weight_that_is_learned_may_come_to_count() -> None:
    gate = nn.Parameter(torch.zeros(40, 8))
    with torch.no_grad():
        gate[:, 0] = 1
    assert unread_of(lambda: (HEAD(TOKENS) * gate[:, :1]).sum().backward()) == {}
    assert unread_of(lambda: mixed(gate.detach()).sum()) != {}


def matched(count: int = 6) -> torch.Tensor:
    """Which of 4 × 10 anchors have a box."""
    return torch.arange(40).view(4, 10) < count


def box_losses(boxes: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    corners = torch.cat([boxes[..., :2] - boxes[..., 2:], boxes[..., :2] + boxes[..., 2:]], -1)
    wide = (torch.min(corners, targets) - 1).clamp(min=0)
    area = wide.prod(-1)
    return 1 - area


def test_losses_of_all_anchors_of_which_a_mask_keeps_few() -> None:
    """Two differences side by side and their join; a minimum, a difference, a clamp; a product; a last
    difference. What is computed of all anchors' features by one layer is needed where a box is, too.
    """
    layer, targets = nn.Linear(16, 4), torch.rand(4, 10, 4)

    def step() -> None:
        boxes = layer(X)
        (box_losses(boxes, targets) * matched()).sum().backward()

    assert unread_of(step) == {
        "boxes = layer(X)": 1,
        "corners = torch.cat([boxes[..., :2] - boxes[..., 2:], boxes[..., :2] + boxes[..., 2:]], -1)": 3,
        "wide = (torch.min(corners, targets) - 1).clamp(min=0)": 3,
        "area = wide.prod(-1)": 1,
        "return 1 - area": 1,
    }


def test_scores_of_words_whose_losses_a_mask_keeps() -> None:
    words = TARGET.view(-1).clamp(min=0)

    def step() -> None:
        logits = HEAD(X)
        losses = functional.cross_entropy(logits.view(40, 500), words, reduction="none")
        (losses.view(4, 10) * matched().float()).sum().backward()

    assert unread_of(step) == {
        "logits = HEAD(X)": 1,
        'losses = functional.cross_entropy(logits.view(40, 500), words, reduction="none")': 1,
    }


@pytest.mark.parametrize(
    "how",
    ["the most", "a half", "none", "by its own values", "two masks", "read too", "over positions", "scores"],
)
def test_what_a_mask_keeps_most_of_or_is_read_too_is_needed(how: str) -> None:
    def step() -> None:
        losses = X.sin()
        losses = losses.mean(-1)
        mask = matched({"the most": 30, "a half": 20, "none": 0}.get(how, 6)).float()
        if how == "by its own values":
            mask = (losses > losses.flatten().sort().values[-6]).float()
        elif how == "two masks":
            (losses * matched(40).flip(0, 1).float()).sum()
        elif how == "read too":
            losses.sum().item()
        elif how == "over positions":
            losses = losses.sort(1).values
        elif how == "scores":  # of another network, which happen to be 0
            mask = mask * torch.rand(4, 10)
        (losses * mask).sum()

    assert unread_of(step) == {}


def test_what_is_read_after_its_data_was_taken_out_is_not_dropped() -> None:
    """As where a validation looks at `outputs.data` before its loss: the loss knows them by another number."""

    def step() -> None:
        outputs = HEAD(X)
        outputs.data.amax()
        outputs.mean().item()
        HEAD(X + 1.0).sum().backward()

    assert "outputs = HEAD(X)" not in unread_of(step, step, "dropped")


def test_a_tensor_in_the_place_of_one_whose_data_was_taken_out_keeps_its_number() -> None:
    values = Values(lambda: 0)
    first = torch.zeros(1)
    place = id(first)
    values.given_back(Call(values, torch.Tensor.data.__get__, (first,), {}), [first.data], 0)  # type: ignore[attr-defined]
    assert values.of(first).number != values.of(first).number
    del first
    others = [torch.zeros(1) for _ in range(1000)]
    other = next(tensor for tensor in others if id(tensor) == place)
    assert values.of(other).number == values.of(other).number


def test_a_backward_is_saved_of_terms_that_count_nothing_and_none_of_what_no_backward_comes_to() -> None:
    def step() -> None:
        extra = HEAD(X)
        extra.relu()
        term = HEAD(X + 1).square().mean()
        (HEAD.weight.square().mean() + 0 * term).backward()

    told = seen(step)
    assert [line["trained_ns"] for line in told["dropped"]] == [0, 0]
    assert all(0 < line["trained_ns"] <= line["ns"] for line in told["zeroed"]) and told["zeroed"]


@pytest.mark.parametrize("weight", [0.0, 0, 0.1])
@pytest.mark.parametrize("how", ["added", "printed", "in place"])
def test_a_term_of_a_loss_that_counts_nothing(weight: float, how: str) -> None:
    """Its weight is a setting: 0 switches it off, and it is computed all the same."""

    def step() -> None:
        logits = HEAD(X)
        term = (logits.exp() - 1).square().mean()
        if how == "printed":
            term.item()
        loss = HEAD.weight.square().mean() + (torch.mul(term, weight) if how == "in place" else weight * term)
        loss.backward()

    told = unread_of(step, step, "zeroed")
    lines = {"logits = HEAD(X)", "term = (logits.exp() - 1).square().mean()"}
    assert set(told) == (lines if weight == 0 and how != "printed" else set())
    assert unread_of(step, step) == unread_of(step, step, "dropped") == {}

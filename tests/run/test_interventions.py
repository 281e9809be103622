"""The fixes that a verified run puts into the script: what each takes hold of, and what it leaves alone."""

from __future__ import annotations

import gc
import inspect
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from diagnose.fixes import environment
from diagnose.fixes.all import FIXES, environment_of, for_child
from diagnose.run.child.clock import Clock
from diagnose.run.child.interventions import Intervention, build
from diagnose.run.child.interventions.startup import BEFORE
from diagnose.run.child.places import Places

from .running import SCRIPTS

HERE = str(Path(__file__).parent)
ROOT = str(Path(__file__).parents[2])
Apply = Callable[..., Intervention]

OWNERS = [
    *(
        nn.Module,
        nn.parallel.DistributedDataParallel,
        DataLoader,
        torch.utils.data.dataloader._MultiProcessingDataLoaderIter,
        torch.Tensor,
    ),
    *(
        torch.optim.Optimizer,
        torch.optim.Adam,
        torch.optim.AdamW,
        torch.optim.SGD,
        torch.optim.RMSprop,
        torch.amp.GradScaler,
    ),
    *(
        torch,
        torch.autograd,
        torch.autocast,
        torch.autograd.profiler.profile,
        torch.backends.cuda,
        torch.backends.ContextProp,
    ),
    *(nn.utils, nn.utils.clip_grad, type(os.environ)),
]
NAMES = {
    *(
        "__call__",
        "__init__",
        "_reset",
        "to",
        "cuda",
        "zero_grad",
        "backward",
        "grad",
        "step",
        "compile",
        "set_anomaly_enabled",
    ),
    *(
        "set_num_threads",
        "set_float32_matmul_precision",
        "__set__",
        "__setitem__",
        "enable_flash_sdp",
        "clip_grad_norm_",
        "_start_trace",
    ),
}


def attributes() -> dict[tuple[str, str], Any]:
    found = {(repr(owner), name): vars(owner)[name] for owner in OWNERS for name in NAMES & set(vars(owner))}
    found.pop((repr(nn.Module), "__init__"))  # torch's compiler replaces it
    return found


@pytest.fixture
def apply() -> Iterator[Apply]:
    """`apply(name, *lines, **arguments)` installs one, for these lines of this file only."""
    installed: list[Intervention] = []
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        make([nn.Parameter(torch.ones(1))])  # torch wraps `step` of each class once
    before = attributes()

    def install(name: str, *lines: int, **arguments: Any) -> Intervention:
        spec = {"name": name, "arguments": arguments, "sites": [[__file__, line] for line in lines]}
        (intervention,) = build([for_child(spec)], Places(HERE, HERE))
        intervention.install()
        installed.append(intervention)
        return intervention

    yield install
    for intervention in reversed(installed):
        intervention.remove()
    assert [name for name, value in attributes().items() if value is not before[name]] == []


def here() -> int:
    """The line after the one that calls."""
    frame = sys._getframe(1)
    return frame.f_lineno + 1


class Net(nn.Module):
    """A linear layer of a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(inputs)))


def losses(
    model: Callable[[], nn.Module] = Net,
    make: Callable[..., torch.optim.Optimizer] = torch.optim.SGD,
    steps: int = 5,
    after_backward: Callable[[nn.Module], object] = lambda model: None,
    **arguments: Any,
) -> list[float]:
    """Of a small training loop that is always the same."""
    torch.manual_seed(0)
    net = model()
    optimizer = make(net.parameters(), lr=0.1, **arguments)
    found = []
    for _ in range(steps):
        inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
        loss = F.mse_loss(net(inputs), targets)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        after_backward(net)
        optimizer.step()
        found.append(loss.item())
    return found


def run_fresh(
    script: str, *specs: dict[str, Any], environment: dict[str, str | None] | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The script's output, and (held, why_not) of each intervention, of a process of its own."""
    code = f"""
import json, runpy, sys
import torch
from diagnose.run.child.interventions import build
from diagnose.run.child.places import Places
found = build(json.loads(sys.argv[1]), Places({str(SCRIPTS)!r}, {str(SCRIPTS)!r}))
for each in found:
    each.install()
runpy.run_path({str(SCRIPTS / "interventions" / script)!r}) if {script!r} else None
print(json.dumps([[each.held, each.why_not] for each in found]))
"""
    variables = {**os.environ, "PYTHONPATH": ROOT, **(environment or {})}
    clean = {name: value for name, value in variables.items() if value is not None}
    command = [sys.executable, "-c", code, json.dumps([for_child(spec) for spec in specs])]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=clean)
    assert run.stderr == ""
    *output, told = run.stdout.splitlines()
    return "\n".join(output), json.loads(told)


def told(intervention: Intervention) -> tuple[int, str]:
    return intervention.held, intervention.why_not


def test_an_unknown_class_is_an_error() -> None:
    for unknown in ("magic:Wand", "loader:Wand"):
        with pytest.raises((ImportError, AttributeError)):
            build([{"class": unknown, "arguments": {}, "sites": []}], Places(HERE, HERE))


# loaders


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


class SplitStream(Stream):
    def __iter__(self) -> Iterator[int]:
        worker = get_worker_info()
        return iter(range(4)[worker.id :: worker.num_workers] if worker else range(4))


NUMBERS = TensorDataset(torch.arange(12))


class Unsent(TensorDataset):
    def __reduce__(self) -> Any:
        raise TypeError("it holds an open file")


class ManyArrays(Dataset):  # type: ignore[type-arg]
    """Of 16 MB each, of torch and of numpy."""

    def __init__(self) -> None:
        self.tensor = torch.zeros(2**22)
        self.array = self.tensor.numpy().copy()

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.tensor[index]


LOADS = SCRIPTS / "interventions" / "loads.py"
LOADS_LINE = next(
    number for number, line in enumerate(LOADS.read_text().splitlines(), 1) if line.startswith("loader =")
)


@pytest.mark.live
def test_workers_take_the_place_of_none_and_the_losses_stay_the_same_bits() -> None:
    plain, _ = run_fresh("loads.py")
    spec = {
        "name": "dataloader",
        "arguments": {"num_workers": 2, "persistent_workers": True},
        "sites": [[str(LOADS), LOADS_LINE]],
    }
    changed, [told] = run_fresh("loads.py", spec)
    assert told == [1, ""]
    assert plain.splitlines()[-1] == "workers 0"
    assert changed.splitlines()[-1] == "workers 2"
    assert plain.splitlines()[:-1] == changed.splitlines()[:-1]
    assert len(plain.splitlines()) == 3 * 3 + 1


def test_arguments_of_loaders_given_by_position_and_by_name(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=1, prefetch_factor=4)
    made = [
        DataLoader(NUMBERS, 4, False, None, None, 0),
        DataLoader(dataset=NUMBERS, num_workers=1, prefetch_factor=7),
    ]
    assert [(loader.num_workers, loader.prefetch_factor, loader.batch_size) for loader in made] == [
        (1, 4, 4),
        (1, 4, 1),
    ]
    assert told(loaders) == (2, "")
    assert "prefetch_factor" in inspect.signature(DataLoader.__init__).parameters


def test_a_loader_that_torch_refuses_is_made_as_it_was(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=1, prefetch_factor=-1)
    loader = DataLoader(NUMBERS, 4, num_workers=0)
    assert (loader.num_workers, loader.prefetch_factor) == (0, None)
    assert (loaders.held, "non-negative" in loaders.why_not) == (0, True)


def test_a_loader_that_is_refused_when_it_is_half_made(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(loader: Any) -> None:
        if loader.num_workers:
            raise OSError("no worker can be had")

    monkeypatch.setattr(DataLoader, "check_worker_number_rationality", check)
    loaders = apply("dataloader", num_workers=1)
    assert DataLoader(NUMBERS, 4).num_workers == 0
    assert told(loaders) == (0, "torch refuses it: no worker can be had")


@pytest.fixture
def spawning(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that multiprocessing has spawned: those that it starts are spawned too."""

    def get_start_method(allow_none: bool = False) -> str:
        assert allow_none  # else the script could not choose any more
        return "spawn"

    monkeypatch.setattr(multiprocessing, "get_start_method", get_start_method)


@pytest.mark.usefixtures("spawning")
def test_workers_that_are_spawned_get_what_can_be_pickled(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=1)
    assert DataLoader(NUMBERS).num_workers == 1
    assert told(loaders) == (1, "")
    assert DataLoader(NUMBERS, collate_fn=lambda items: items).num_workers == 0
    assert DataLoader(Unsent(torch.arange(12))).num_workers == 0
    held, why_not = told(loaders)
    assert held == 1
    assert why_not.startswith(
        "Worker processes get their work by pickle here (spawn), and the loader's collate_fn cannot be "
        "pickled:"
    )
    # it has some already
    assert DataLoader(NUMBERS, num_workers=2, collate_fn=lambda items: items).num_workers == 1


@pytest.mark.usefixtures("spawning")
def test_large_data_are_not_copied_to_see_whether_they_can_be_sent(apply: Apply) -> None:
    apply("dataloader", num_workers=1)
    large = ManyArrays()
    tracemalloc.start()
    try:
        assert DataLoader(large).num_workers == 1
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_daemon_of_multiprocessing_starts_no_workers(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    loaders = apply("dataloader", num_workers=1)
    assert DataLoader(NUMBERS).num_workers == 0
    assert "is a daemon" in loaders.why_not


def test_what_needs_workers_goes_with_the_last_of_them(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=0)
    loader = DataLoader(
        NUMBERS,
        num_workers=2,
        persistent_workers=True,
        prefetch_factor=3,
        timeout=5,
        multiprocessing_context="fork",
    )
    assert (loader.num_workers, loader.persistent_workers, loader.prefetch_factor, loader.timeout) == (
        0,
        False,
        None,
        0,
    )
    assert [int(number) for (number,) in loader] == list(range(12))
    assert loaders.held == 1


def test_options_of_workers_for_a_loader_without_any_are_left_out(apply: Apply) -> None:
    loaders = apply("dataloader", persistent_workers=True, prefetch_factor=4)
    assert not DataLoader(NUMBERS).persistent_workers
    held, why_not = told(loaders)
    assert held == 0
    assert "no workers" in why_not


def test_only_the_loaders_of_the_lines_in_question(apply: Apply) -> None:
    loaders = apply("dataloader", here(), num_workers=2)
    changed = DataLoader(NUMBERS)
    other = DataLoader(NUMBERS)
    assert (changed.num_workers, other.num_workers, loaders.held) == (2, 0, 1)


def test_a_loader_that_is_so_already(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=2)
    DataLoader(NUMBERS, num_workers=2)
    assert told(loaders) == (0, "It is already so.")


def test_no_loader_at_all(apply: Apply) -> None:
    assert told(apply("dataloader", num_workers=2)) == (0, "No DataLoader was made there.")


def test_an_iterable_dataset_is_split_among_workers_only_if_it_splits_itself(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=2)
    assert DataLoader(Stream()).num_workers == 0
    assert (loaders.held, "all its data again" in loaders.why_not) == (0, True)
    assert DataLoader(SplitStream()).num_workers == 2
    assert loaders.held == 1


def test_pinned_memory_without_a_gpu_is_refused_and_the_rest_is_done(apply: Apply) -> None:
    loaders = apply("dataloader", pin_memory=True, num_workers=1)
    loader = DataLoader(NUMBERS)
    assert (loader.pin_memory, loader.num_workers, loaders.held) == (False, 1, 1)
    assert "GPU" in loaders.why_not


def test_pinned_memory_with_a_gpu(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    loaders = apply("dataloader", pin_memory=True)
    assert DataLoader(NUMBERS).pin_memory
    assert told(loaders) == (1, "")


def test_the_scripts_own_mistake_is_its_own(apply: Apply) -> None:
    loaders = apply("dataloader", num_workers=2)
    with pytest.raises(TypeError, match="unexpected"):
        DataLoader(NUMBERS, sise=3)
    with pytest.raises(ValueError, match="batch_size"):
        DataLoader(NUMBERS, batch_size=-1)
    assert loaders.held == 0


# copies


class Copies:
    """What `Tensor.to` and `Tensor.cuda` were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Any, ...]] = []
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        for name in ("to", "cuda"):
            monkeypatch.setattr(
                torch.Tensor, name, lambda tensor, *args, **kwargs: self.asked.append((args, kwargs))
            )


def test_copies_to_the_gpu_do_not_wait(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(monkeypatch)
    moving = apply("non_blocking")
    tensor = torch.ones(2)
    tensor.to("cuda")
    tensor.to(torch.device("cuda", 0), torch.float16, False)
    tensor.to(device="cuda:0", non_blocking=False)
    tensor.cuda(0)
    tensor.cuda(0, False)
    assert moving.held == 5
    tensor.to("cuda", non_blocking=True)  # already so
    tensor.to(torch.float16)
    tensor.to("cpu")
    tensor.to(tensor)
    assert moving.held == 5
    assert copies.asked == [
        (("cuda",), {"non_blocking": True}),
        ((torch.device("cuda", 0), torch.float16, True), {}),
        ((), {"device": "cuda:0", "non_blocking": True}),
        ((0,), {"non_blocking": True}),
        ((0, True), {}),
        (("cuda",), {"non_blocking": True}),
        ((torch.float16,), {}),
        (("cpu",), {}),
        ((tensor,), {}),
    ]


def test_only_the_copies_of_the_lines_in_question(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(monkeypatch)
    moving = apply("non_blocking", here())
    torch.ones(1).to("cuda")
    torch.ones(1).to("cuda")
    assert [kwargs for _, kwargs in copies.asked] == [{"non_blocking": True}, {}]
    assert moving.held == 1


def test_copies_without_a_gpu(apply: Apply) -> None:
    assert told(apply("non_blocking")) == (0, "There is no CUDA GPU to copy to.")


# optimizers


def test_gradients_become_none_and_the_losses_stay_the_same_bits(apply: Apply) -> None:
    plain = losses()
    zeroing = apply("zero_grad")
    assert losses() == plain
    assert told(zeroing) == (5, "")
    model = nn.Linear(1, 1)
    model(torch.ones(1)).backward()
    model.zero_grad(False)
    assert model.weight.grad is None
    model.zero_grad()
    assert zeroing.held == 6


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
def test_fused_optimizers(apply: Apply, make: Any) -> None:
    plain = losses(make=make)
    fusing = apply("optimizer", fused=True)
    assert losses(make=make, foreach=True) == pytest.approx(plain, rel=1e-4)
    assert told(fusing) == (1, "")
    optimizer = make(
        [
            {"params": [nn.Parameter(torch.ones(1))]},
            {"params": iter([nn.Parameter(torch.ones(1))]), "lr": 0.5},
        ]
    )
    assert [(group["fused"], group["foreach"]) for group in optimizer.param_groups] == [(True, None)] * 2
    assert fusing.held == 2


def test_foreach_optimizers(apply: Apply) -> None:
    plain = losses(make=torch.optim.RMSprop)
    changing = apply("optimizer", foreach=True)
    assert losses(make=torch.optim.RMSprop) == pytest.approx(plain, rel=1e-4)
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))])
    assert optimizer.param_groups[0]["foreach"]
    assert told(changing) == (2, "")
    torch.optim.SGD([nn.Parameter(torch.ones(1))], fused=True)
    assert changing.held == 2


def test_optimizers_without_foreach(apply: Apply) -> None:
    plain = losses(make=torch.optim.RMSprop, foreach=True)
    changing = apply("optimizer", foreach=False)
    assert losses(make=torch.optim.RMSprop, foreach=True) == pytest.approx(plain, rel=1e-4)
    optimizer = torch.optim.RMSprop([nn.Parameter(torch.ones(1))], foreach=True)
    assert optimizer.param_groups[0]["foreach"] is False
    assert told(changing) == (2, "")


class OnGpu(torch.Tensor):
    """One that says so."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True


def test_foreach_is_what_torch_chooses_on_a_gpu(apply: Apply) -> None:
    changing = apply("optimizer", foreach=True)
    optimizer = torch.optim.SGD([{"params": [torch.ones(1).as_subclass(OnGpu).requires_grad_()]}])
    assert optimizer.param_groups[0]["foreach"] is None
    assert told(changing) == (0, "Nothing to change: on a GPU torch uses foreach by default.")


def test_a_dataset_on_the_gpu_gets_no_workers(apply: Apply) -> None:
    loading = apply("dataloader", num_workers=2)
    assert DataLoader(TensorDataset(torch.ones(4).as_subclass(OnGpu))).num_workers == 0
    assert told(loading) == (0, "The dataset keeps tensors on the GPU, which forked workers cannot use.")


@pytest.mark.parametrize("refuses", [True, False])
def test_a_gpu_without_the_type_is_not_cast_to(
    apply: Apply, monkeypatch: pytest.MonkeyPatch, *, refuses: bool
) -> None:
    class Refused(torch.autocast):
        def __init__(self, device: str, *, dtype: torch.dtype) -> None:
            if refuses:
                raise RuntimeError(
                    "Current CUDA Device does not support bfloat16. Please switch dtype to float16."
                )
            super().__init__(device, dtype=dtype, enabled=False)

    casting = apply("autocast", dtype="bfloat16")
    monkeypatch.setattr("diagnose.run.child.interventions.autocast._Ours", Refused)
    assert Net()(torch.ones(1, 4)).dtype is torch.float32
    why = (
        "torch refuses it: Current CUDA Device"
        if refuses
        else "torch has no autocast to torch.bfloat16 on this cpu."
    )
    assert casting.held == 0 and casting.why_not.startswith(why)


class Custom(torch.optim.Optimizer):
    def __init__(self, params: Any) -> None:
        super().__init__(params, {})


def test_optimizers_that_cannot_be_fused(apply: Apply) -> None:
    fusing = apply("optimizer", fused=True)
    Custom([nn.Parameter(torch.ones(1))])
    assert told(fusing) == (0, "Custom has no fused implementation.")
    with pytest.raises(TypeError, match="params argument given to the optimizer"):
        torch.optim.SGD(torch.ones(1))
    with pytest.raises(TypeError, match="not iterable"):
        torch.optim.SGD(3)
    # torch refuses it, now or at the first step
    parameters = iter([nn.Parameter(torch.ones(1, dtype=torch.complex64))])
    optimizer = torch.optim.SGD(parameters)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(1, dtype=torch.complex64)
    optimizer.step()
    assert (len(optimizer.param_groups[0]["params"]), optimizer.param_groups[0]["fused"], fusing.held) == (
        1,
        False,
        0,
    )


def test_an_optimizer_that_torch_refuses_to_fuse_is_made_as_it_was(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(
        optimizer: Any,
        params: Any,
        lr: float = 0.1,
        *,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        original(optimizer, params, lr)
        if fused:
            raise RuntimeError("not on this device")

    original = torch.optim.SGD.__init__
    monkeypatch.setattr(torch.optim.SGD, "__init__", refuse)
    fusing = apply("optimizer", fused=True)
    optimizer = torch.optim.SGD(iter([{"params": iter([nn.Parameter(torch.ones(1))])}]), 0.5)
    assert (
        len(optimizer.param_groups[0]["params"]),
        optimizer.param_groups[0]["fused"],
        optimizer.defaults["lr"],
    ) == (1, None, 0.5)
    assert told(fusing) == (0, "torch refuses it: not on this device")


def test_sparse_gradients_end_a_fused_step_before_it_fails(apply: Apply) -> None:
    fusing = apply("optimizer", fused=True)
    embedding = nn.Embedding(3, 2, sparse=True)
    optimizer = torch.optim.SGD(embedding.parameters(), lr=1.0)
    before = embedding.weight.detach().clone()
    for _ in range(2):
        optimizer.zero_grad()
        embedding(torch.tensor([1])).sum().backward()
        optimizer.step()
    assert torch.equal(before - embedding.weight, torch.tensor([[0.0, 0], [2, 2], [0, 0]]))
    assert (fusing.held, "sparse" in fusing.why_not) == (0, True)


# flags


@pytest.fixture
def flags() -> Iterator[None]:
    before = torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()
    yield
    assert (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()) == before


def test_flags_are_kept(flags: None, apply: Apply) -> None:
    wanted = {"cudnn_benchmark": True, "matmul_precision": "high", "flash_sdp": False, "math_sdp": True}
    changed = apply("backend_flags", **wanted)
    assert (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()) == (True, "high")
    assert told(changed) == (3, "")  # math_sdp is on by itself
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_flash_sdp(True)
    torch._C._set_cudnn_benchmark(False)  # behind our back
    changed.tick(1)
    assert (torch.backends.cudnn.benchmark, torch.backends.cuda.flash_sdp_enabled(), changed.held) == (
        True,
        False,
        3,
    )
    changed.remove()
    assert (changed.held, torch.backends.cuda.flash_sdp_enabled()) == (3, True)


def test_flags_that_the_script_sets_itself(flags: None, apply: Apply) -> None:
    changed = apply("backend_flags", cudnn_benchmark=True, matmul_precision="high")
    assert changed.held == 2
    torch.backends.cudnn.benchmark = True
    assert changed.held == 1
    torch.set_float32_matmul_precision("high")
    assert told(changed) == (0, "It is already so.")
    changed.remove()
    # the script's will
    assert (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()) == (True, "high")
    torch.backends.cudnn.benchmark = False
    torch.set_float32_matmul_precision("highest")


def test_tf32_is_two_flags_of_which_one_is_on_by_itself(flags: None, apply: Apply) -> None:
    changed = apply("backend_flags", allow_tf32=True)
    assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (True, True)
    assert told(changed) == (1, "")
    torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.backends.cuda.matmul.allow_tf32
    changed.remove()
    assert not torch.backends.cuda.matmul.allow_tf32


# models


class Probe(nn.Module):
    """Keeps what its layer gave, and returns it in all kinds of containers."""

    def forward(self, inputs: torch.Tensor) -> dict[str, Any]:
        self.seen = self.layer(inputs)
        return {
            "out": self.seen,
            "more": (self.seen, [self.seen], "text"),
            "whole": torch.ones(1, dtype=torch.int64),
        }

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_models_in_half_precision_return_float32(apply: Apply, dtype: str) -> None:
    casting = apply("autocast", dtype=dtype)
    model = Probe()
    result = model(torch.ones(2, 4))
    assert model.seen.dtype is getattr(torch, dtype)
    assert result["out"].dtype is result["more"][0].dtype is result["more"][1][0].dtype is torch.float32
    assert (result["more"][2], result["whole"].dtype) == ("text", torch.int64)
    assert told(casting) == (1, "")
    with pytest.raises(RuntimeError, match="shape"):
        model(torch.ones(2, 5))
    assert model(torch.ones(2, 4))["out"].dtype is torch.float32  # an exception leaves nothing behind
    assert casting.held == 3


def test_bfloat16_trains_as_well(apply: Apply) -> None:
    plain = losses()
    casting = apply("autocast", dtype="bfloat16")
    changed = losses()
    assert changed != plain
    assert changed == pytest.approx(plain, rel=0.05)
    assert told(casting) == (5, "")


def losses_by_hand(make: Any, clip: bool, **arguments: Any) -> list[float]:
    """The loop of `losses` as its author would write it with autocast and a GradScaler."""
    torch.manual_seed(0)
    net = Net()
    optimizer = make(net.parameters(), lr=0.1, **arguments)
    scaler = torch.amp.GradScaler("cpu")
    found = []
    for _ in range(8):
        inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
        with torch.autocast("cpu", torch.float16):
            outputs = net(inputs)
        loss = F.mse_loss(outputs.float(), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(
    ("make", "arguments"),
    [(torch.optim.SGD, {}), (torch.optim.Adam, {}), (torch.optim.Adam, {"fused": True})],
)
@pytest.mark.parametrize("clip", [False, True])
def test_float16_scales_the_losses_as_its_author_would(
    apply: Apply, make: Any, arguments: dict[str, Any], clip: bool
) -> None:
    by_hand = losses_by_hand(make, clip, **arguments)
    casting = apply("autocast", dtype="float16")
    raw: list[float] = []

    def after_backward(model: Any) -> None:
        raw.append(model.second.bias.grad.item())
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)

    changed = losses(make=make, steps=8, after_backward=after_backward, **arguments)
    assert changed == by_hand
    assert max(map(abs, raw)) > 1000
    assert told(casting) == (8, "")


def test_a_step_whose_gradients_overflow_is_left_out_and_the_scale_becomes_smaller(apply: Apply) -> None:
    apply("autocast", dtype="float16")
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0**-10)
    weights, gradients = [], []
    for _ in range(3):
        optimizer.zero_grad()
        (
            model(torch.ones(1, 1)) * 2.0
        ).sum().backward()  # 2 · 65536 is too much for float16, so is 2 · 32768, 2 · 16384 is not
        gradients.append(model.weight.grad.item())  # type: ignore[union-attr]
        optimizer.step()
        weights.append(model.weight.item())
    assert gradients == [float("inf"), float("inf"), 2.0**15]
    assert weights == [1, 1, 1 - 2.0**-9]


def test_several_optimizers_share_a_scale(apply: Apply) -> None:
    apply("autocast", dtype="float16")
    models = [nn.Linear(1, 1, bias=False) for _ in range(2)]
    for model in models:
        nn.init.ones_(model.weight)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.5) for model in models]
    for model in models:
        (model(torch.ones(1, 1)) * 0.25).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    assert [model.weight.item() for model in models] == [0.875, 0.875]


def test_half_precision_is_refused_to_scripts_that_have_it(apply: Apply) -> None:
    model = Net()
    casting = apply("autocast")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(torch.ones(2, 4)).dtype is torch.bfloat16
    assert told(casting) == (0, "The script uses autocast already.")
    switched_on = apply("autocast")
    torch.set_autocast_enabled("cpu", True)
    model(torch.ones(2, 4))
    torch.set_autocast_enabled("cpu", False)
    assert told(switched_on) == (0, "The script uses autocast already.")
    scaling = apply("autocast", dtype="float16")
    torch.amp.GradScaler("cpu")
    model(torch.ones(2, 4))
    assert told(scaling) == (0, "The script scales its losses already.")
    doubles = apply("autocast")
    assert Net().double()(torch.ones(2, 4, dtype=torch.float64)).dtype is torch.float64
    assert told(doubles) == (0, "The model's parameters are float64 already.")


def test_a_closure_ends_the_scaling_of_losses(apply: Apply) -> None:
    def run() -> list[float]:
        torch.manual_seed(0)
        model, inputs = Net(), torch.randn(16, 4)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(3)]

    plain = run()
    casting = apply("autocast", dtype="float16")
    assert run() == plain
    assert (casting.held, "closure" in casting.why_not) == (0, True)


def test_checkpoints_are_recomputed_as_they_were(apply: Apply) -> None:
    class Checkpointed(Net):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            hidden = torch.utils.checkpoint.checkpoint(self.first, inputs, use_reentrant=False)
            return self.second(torch.relu(hidden))

    casting = apply("autocast")
    assert losses(Checkpointed) == losses()
    assert told(casting) == (10, "")


def test_calls_of_other_lines_and_of_other_threads(apply: Apply) -> None:
    model, seen = Probe(), []
    casting = apply("autocast", here())
    seen.append((model(torch.ones(1, 4)), model.seen.dtype))
    seen.append((model(torch.ones(1, 4)), model.seen.dtype))
    assert [dtype for _, dtype in seen] == [torch.bfloat16, torch.float32]
    everywhere = apply("autocast")
    thread = threading.Thread(target=lambda: seen.append((model(torch.ones(1, 4)), model.seen.dtype)))
    thread.start()
    thread.join()
    assert (seen[-1][1], casting.held, everywhere.held) == (torch.bfloat16, 1, 1)


def test_the_line_of_the_models_class_is_a_site_too(apply: Apply) -> None:
    casting = apply("autocast", inspect.getsourcelines(Probe)[1])
    Probe()(torch.ones(1, 4))
    Net()(torch.ones(1, 4))
    assert casting.held == 1


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.layouts: list[bool] = []

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        self.layouts.append(pictures.is_contiguous(memory_format=torch.channels_last))
        return self.norm(self.conv(pictures))


def test_convolutions_and_pictures_become_channels_last(apply: Apply) -> None:
    torch.manual_seed(0)
    model, pictures = Pictures(), torch.randn(2, 3, 8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plain = model(pictures)
    laying = apply("channels_last")
    for _ in range(2):
        result = model(pictures)
    assert torch.allclose(result, plain, atol=1e-5)
    assert model.layouts == [False, True, True]
    assert model.conv.weight.is_contiguous(memory_format=torch.channels_last)
    assert optimizer.param_groups[0]["params"][0] is model.conv.weight
    assert told(laying) == (1, "")


def test_volumes_become_channels_last_too(apply: Apply) -> None:
    laying = apply("channels_last")
    model = nn.Conv3d(3, 4, 3)
    with torch.inference_mode():
        model(torch.randn(2, 3, 8, 8, 8))
    assert model.weight.is_contiguous(memory_format=torch.channels_last_3d)
    assert laying.held == 1
    model(torch.randn(2, 3, 8, 8, 8)).sum().backward()  # made in inference mode, but no inference tensor


def test_lazy_models_become_channels_last_when_they_have_weights(apply: Apply) -> None:
    laying = apply("channels_last")
    model = nn.LazyConv2d(4, 3)
    model(torch.randn(2, 3, 8, 8))
    assert laying.held == 0
    model(torch.randn(2, 3, 8, 8))
    assert laying.held == 1


def test_models_without_another_layout(apply: Apply) -> None:
    laying = apply("channels_last")
    Net()(torch.ones(2, 4))
    assert told(laying) == (0, "The model has no two- or three-dimensional convolutions.")
    again = apply("channels_last")
    Pictures().to(memory_format=torch.channels_last)(torch.randn(2, 3, 8, 8))  # type: ignore[call-overload]
    assert told(again) == (0, "The convolutions are channels_last already.")


class Net2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs).tanh()


@pytest.fixture
def compiler() -> Iterator[Any]:
    """Other tests are told that nothing is compiled."""
    import torch._dynamo

    yield torch._dynamo
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def test_models_are_compiled_whole(apply: Apply, compiler: Any) -> None:
    plain = losses(lambda: nn.Sequential(nn.Linear(4, 8), Net2()))
    compiling = apply("compile", backend="eager")
    assert losses(lambda: nn.Sequential(nn.Linear(4, 8), Net2())) == plain
    assert told(compiling) == (1, "")
    stats = compiler.utils.counters["stats"]
    assert stats["unique_graphs"] == 1
    assert not compiler.utils.counters["graph_break"]


def test_a_compiler_that_fails_leaves_the_model_as_it_was(apply: Apply, compiler: Any) -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        raise ValueError("no such instruction")

    plain = losses()
    compiling = apply("compile", backend=backend)
    assert losses() == plain
    assert compiling.held == 0
    assert "no such instruction" in compiling.why_not


def test_a_mode_that_the_compiler_does_not_know(apply: Apply, compiler: Any) -> None:
    plain = losses()
    unknown = apply("compile", mode="warp")
    assert losses() == plain
    assert (unknown.held, "warp" in unknown.why_not) == (0, True)


def test_a_script_that_compiles_is_left_alone(apply: Apply, compiler: Any) -> None:
    compiling = apply("compile", backend="eager")
    torch.compile(Net(), backend="eager")(torch.ones(2, 4))
    assert told(compiling) == (0, "The script compiles already.")


# evaluation


def test_models_are_called_in_inference_mode(apply: Apply) -> None:
    torch.manual_seed(0)
    model, inputs = Net().eval(), torch.randn(2, 4)
    plain = model(inputs)
    inferring = apply("inference_mode")
    results = [model(inputs) for _ in range(5)]
    assert [result.is_inference() for result in results] == [False, False, True, True, True]
    assert all(torch.equal(result, plain) for result in results)
    assert told(inferring) == (3, "")


def test_a_backward_or_an_optimizer_ends_inference_mode(apply: Apply) -> None:
    model, inputs = Net(), torch.randn(2, 4)
    inferring = apply("inference_mode")
    for _ in range(3):
        model(inputs).sum()
    assert inferring.held == 1
    nn.Linear(1, 1).weight.sum().backward()
    assert told(inferring) == (0, "The script calls backward.")
    assert model(inputs).requires_grad
    again = apply("inference_mode")
    assert losses(steps=1)
    assert told(again) == (0, "The script makes an optimizer: it trains.")


def test_what_asks_for_its_gradient_is_given_one(apply: Apply) -> None:
    model, inputs = Net(), torch.randn(2, 4, requires_grad=True)
    inferring = apply("inference_mode")
    for _ in range(4):
        assert model(inputs).requires_grad
    assert (inferring.held, "gradient" in inferring.why_not) == (0, True)


class Residual(nn.Module):
    """The output of the convolution goes to the norm and elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        convolved = self.conv(pictures)
        return convolved + self.norm(convolved)


def with_statistics(model: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for _ in range(3):
        model(torch.randn(8, 3, 8, 8) * 3 + 1)
    return model.eval()


def test_norms_are_folded_at_the_second_call_in_evaluation(apply: Apply) -> None:
    model: Any = with_statistics(nn.Sequential(Pictures(), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)))
    pictures, before = torch.randn(2, 3, 8, 8), dict(model.named_modules())
    plain = model(pictures)
    folding = apply("fold_conv_norm")
    model.train()(pictures)
    model.load_state_dict(with_statistics(model).state_dict())
    plain = model(pictures)
    assert folding.held == 0
    assert torch.allclose(model(pictures), plain, atol=1e-5)
    assert told(folding) == (2, "")
    assert isinstance(model[0].norm, nn.Identity)
    assert torch.allclose(model(pictures), plain, atol=1e-5)
    model.train()(pictures)
    assert dict(model.named_modules()) == before
    assert told(folding) == (0, "The model goes back to training.")


def test_a_norm_whose_convolution_is_needed_elsewhere_stays(apply: Apply) -> None:
    model: Any = with_statistics(Residual())
    pictures = torch.randn(2, 3, 8, 8)
    plain = model(pictures)
    folding = apply("fold_conv_norm")
    assert all(torch.equal(model(pictures), plain) for _ in range(3))
    assert isinstance(model.norm, nn.BatchNorm2d)
    assert (folding.held, "goes elsewhere" in folding.why_not) == (0, True)


def test_an_optimizer_brings_folded_norms_back(apply: Apply) -> None:
    model: Any = with_statistics(Pictures())
    folding = apply("fold_conv_norm")
    for _ in range(2):
        model(torch.randn(2, 3, 8, 8))
    assert isinstance(model.norm, nn.Identity)
    torch.optim.SGD(model.parameters(), lr=0.1)
    assert isinstance(model.norm, nn.BatchNorm2d)
    assert folding.held == 0


# looking for faults


def test_anomaly_mode_stays_off(apply: Apply) -> None:
    switching = apply("anomaly_mode_off")
    torch.autograd.set_detect_anomaly(True)
    assert not torch.is_anomaly_enabled()
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Anomaly"),
        torch.autograd.detect_anomaly(),
    ):
        assert not torch.is_anomaly_enabled()
    assert told(switching) == (3, "")
    torch.autograd.set_detect_anomaly(False)
    assert switching.held == 3


def test_the_cache_is_not_emptied(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[int] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(1))
    keeping = apply("empty_cache_off")
    torch.cuda.empty_cache()
    assert (emptied, keeping.held) == ([], 1)
    keeping.remove()
    torch.cuda.empty_cache()
    assert emptied == [1]


def test_only_the_anomaly_mode_of_the_lines_in_question(apply: Apply) -> None:
    switching = apply("anomaly_mode_off", 1)
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
    assert told(switching) == (0, "Nothing switched anomaly mode on there.")


def test_the_scripts_own_profiler_records_nothing(apply: Apply) -> None:
    silencing = apply("own_profiler_off")
    assert silencing.why_not == "The script started no profiler of torch's."
    for _ in range(2):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            torch.ones(1) + 1
            assert not torch.autograd._profiler_enabled()
        assert not profiler.key_averages()
    assert told(silencing) == (2, "")


# the process


def test_what_lives_after_the_first_step_is_frozen(apply: Apply) -> None:
    freezing = apply("gc_freeze")
    assert (gc.get_freeze_count(), freezing.held) == (0, 0)
    for number in (1, 2):
        freezing.tick(number)
        assert gc.get_freeze_count() > 1000
    assert told(freezing) == (1, "")
    freezing.remove()
    assert gc.get_freeze_count() == 0


def test_nothing_is_frozen_where_the_collector_is_off(apply: Apply) -> None:
    freezing = apply("gc_freeze")
    gc.disable()
    try:
        freezing.tick(1)
    finally:
        gc.enable()
    assert told(freezing) == (0, "The cyclic garbage collector is switched off.")


def test_the_number_of_threads_is_kept(apply: Apply) -> None:
    before = torch.get_num_threads()
    wanted = before + 1
    keeping = apply("threads", count=wanted)
    torch.set_num_threads(before)
    assert (torch.get_num_threads(), keeping.held) == (wanted, 1)
    torch.set_num_threads(wanted)
    assert told(keeping) == (0, "It is already so.")
    torch.set_num_threads(before)
    keeping.remove()
    assert (torch.get_num_threads(), keeping.held) == (before, 1)


def test_workers_of_loaders_keep_their_one_thread(apply: Apply) -> None:
    before = torch.get_num_threads()
    keeping = apply("threads", count=before + 1)
    worker: dict[str, Any] = {"__name__": "torch.utils.data._utils.worker", "torch": torch}
    exec("torch.set_num_threads(1)", worker)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    keeping.tick(1)
    assert torch.get_num_threads() == before + 1
    torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.live
def test_threads_of_other_libraries_come_from_the_environment() -> None:
    spec = {"name": "threads", "arguments": {"count": 1}, "sites": []}
    changes = environment_of([spec], {"OMP_NUM_THREADS": "1"})
    assert (changes["OMP_NUM_THREADS"], changes["MKL_NUM_THREADS"]) == ("1", "1")
    assert run_fresh("", spec, environment=changes)[1] == [[0, "It is already so."]]
    changes = environment_of([spec], {"OMP_NUM_THREADS": "2"})
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    changes = environment_of([spec], {})
    assert json.loads(changes[BEFORE] or "") == {"OMP_NUM_THREADS": None, "MKL_NUM_THREADS": None}
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]


def test_the_process_is_bound_to_cores(apply: Apply) -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    binding = apply("affinity", cores=[core])
    assert os.sched_getaffinity(0) == {core}
    assert told(binding) == ((1, "") if len(before) > 1 else (0, "It is already so."))
    binding.remove()
    assert os.sched_getaffinity(0) == before
    refused = apply("affinity", cores=[4000])
    assert (refused.held, "4000" in refused.why_not, os.sched_getaffinity(0)) == (0, True, before)


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder that is searched for allocators; empty."""
    monkeypatch.setattr(environment, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(environment.ctypes.util, "find_library", lambda name: None)
    return tmp_path


@pytest.mark.live
@pytest.mark.long
def test_an_allocator_is_loaded_before_everything_else(libraries: Path) -> None:
    (some_library,) = {
        line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libm.so" in line
    }
    allocator = libraries / "libtcmalloc_minimal.so.4"
    shutil.copy(some_library, allocator)  # no allocator, but a library that can be loaded
    spec = {"name": "allocator", "arguments": {"library": "tcmalloc"}, "sites": []}
    assert environment_of([spec], {"LD_PRELOAD": "/x.so"})["LD_PRELOAD"] == f"{allocator}:/x.so"
    changes = environment_of([spec], {})
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    already = environment_of([spec], {"LD_PRELOAD": str(allocator)})
    assert already == {}
    found = run_fresh("", spec, environment={"LD_PRELOAD": str(allocator)})[1]
    assert found == [[0, "The process uses tcmalloc already."]]


@pytest.mark.live
def test_glibcs_malloc_keeps_what_is_freed() -> None:
    spec = {"name": "allocator", "arguments": {"library": "glibc"}, "sites": []}
    changes = environment_of([spec], {})
    assert (changes["MALLOC_MMAP_MAX_"], changes["MALLOC_TRIM_THRESHOLD_"]) == ("0", "17179869184")
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    already = {"MALLOC_TRIM_THRESHOLD_": "1000000000"}
    assert run_fresh("", spec, environment=already)[1] == [[0, "It is already so."]]


def test_an_allocator_that_is_not_installed(libraries: Path, apply: Apply) -> None:
    assert environment_of([{"name": "allocator", "arguments": {"library": "jemalloc"}}], {}) == {}
    assert told(apply("allocator", library="jemalloc")) == (
        0,
        "jemalloc is not installed; Debian's package is libjemalloc2.",
    )


@pytest.mark.long
def test_openmp_is_told_before_python_starts(libraries: Path, apply: Apply) -> None:
    spec = {"name": "openmp", "arguments": {"wait": "passive", "bind": "close"}, "sites": []}
    changes = environment_of([spec], {})
    assert (changes["OMP_WAIT_POLICY"], changes["OMP_PROC_BIND"]) == ("passive", "close")
    assert run_fresh("", spec, environment=changes)[1] == [[1, ""]]
    already = {"OMP_WAIT_POLICY": "passive", "OMP_PROC_BIND": "close"}
    assert run_fresh("", spec, environment=already)[1] == [[0, "It is already so."]]
    assert told(apply("openmp", wait="passive")) == (0, "The environment of the process does not ask for it.")
    assert told(apply("openmp", library="omp")) == (0, "omp is not installed; Debian's package is libomp5.")


def test_segments_that_grow() -> None:
    spec = {"name": "expandable_segments"}
    both = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    assert [environment_of([spec], {})[name] for name in both] == ["expandable_segments:True"] * 2
    given = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False,roundup_power2_divisions:[256:1,512:2]"}
    changes = environment_of([spec], given)
    assert {changes[name] for name in both} == {
        "roundup_power2_divisions:[256:1,512:2],expandable_segments:True"
    }


def test_segments_without_and_with_a_gpu_in_use(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    growing = apply("expandable_segments")
    assert growing.held == 0
    for name, value in environment_of([{"name": "expandable_segments"}], {}).items():
        monkeypatch.setenv(name, value or "")
    assert told(growing) == (0, "The script did not use a CUDA GPU.")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert told(growing) == (1, "")
    monkeypatch.delenv(BEFORE)
    assert told(growing) == (0, "It is already so.")


def test_launches_do_not_block(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment_of([{"name": "launch_blocking_off"}], {}) == {}
    changes = environment_of([{"name": "launch_blocking_off"}], {"CUDA_LAUNCH_BLOCKING": "1"})
    assert changes["CUDA_LAUNCH_BLOCKING"] is None
    monkeypatch.setenv(BEFORE, changes[BEFORE] or "")
    assert told(apply("launch_blocking_off")) == (1, "")


def test_launches_that_the_script_makes_blocking(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "0")
    unblocking = apply("launch_blocking_off")
    assert told(unblocking) == (0, "CUDA_LAUNCH_BLOCKING was not set.")
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    os.environ["DIAGNOSE_TEST"] = "2"
    assert ("CUDA_LAUNCH_BLOCKING" in os.environ, os.environ.pop("DIAGNOSE_TEST")) == (False, "2")
    assert told(unblocking) == (1, "")


# processes together


@pytest.fixture
def process_group() -> Iterator[None]:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_arguments_of_distributed_data_parallel(apply: Apply, process_group: None) -> None:
    parallel = nn.parallel.DistributedDataParallel
    plain = losses(lambda: parallel(Net()))
    changed = apply("ddp", gradient_as_bucket_view=True, bucket_cap_mb=1)
    assert losses(lambda: parallel(Net())) == plain
    assert told(changed) == (1, "")
    model = parallel(Net(), None, None, 0)
    assert (model.gradient_as_bucket_view, model.bucket_bytes_cap) == (True, 1 << 20)
    parallel(Net(), gradient_as_bucket_view=True, bucket_cap_mb=1)
    assert changed.held == 2
    unknown = apply("ddp", static_graph=True)
    unknown.wanted["magic"] = True  # as an argument that this torch does not have yet
    parallel(Net())
    assert (unknown.held, "magic" in unknown.why_not) == (0, True)


# together with the step clock, and with each other


class Ticks:
    """Listens to a clock, as the session does."""

    def __init__(self) -> None:
        self.count = 0

    def tick(self, source: object) -> None:
        self.count += 1

    def clock_upgraded(self, kind: str) -> None:
        self.count = 0

    def optimizer_constructed(self, optimizer: Any, frame: Any) -> None: ...


@pytest.fixture
def clock() -> Iterator[Callable[[], Ticks]]:
    """Starts one; it lies around what has been installed before."""
    clocks: list[Clock] = []

    def start() -> Ticks:
        listener = Ticks()
        clocks.append(Clock(listener))
        clocks[-1].install()
        return listener

    yield start
    for each in clocks:
        each.remove()


@pytest.mark.parametrize("name", ["autocast", "compile", "channels_last", "inference_mode", "fold_conv_norm"])
def test_the_clock_ticks_at_every_call_of_a_model_that_is_not_trained(
    apply: Apply, compiler: Any, clock: Callable[[], Ticks], name: str
) -> None:
    model = with_statistics(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    changing = apply(name, **({"backend": "eager"} if name == "compile" else {}))
    ticks = clock()
    for _ in range(5):
        model(torch.randn(2, 3, 8, 8))
    assert ticks.count == 5
    assert changing.held == {"autocast": 5, "inference_mode": 3}.get(name, 1)


@pytest.mark.parametrize("name", ["autocast", "compile"])
def test_the_clock_ticks_at_every_step_of_an_optimizer(
    apply: Apply, compiler: Any, clock: Callable[[], Ticks], name: str
) -> None:
    changing = apply(name, **({"backend": "eager"} if name == "compile" else {"dtype": "float16"}))
    ticks = clock()
    assert losses(steps=4)
    assert (ticks.count, changing.held) == (4, {"autocast": 4, "compile": 1}[name])


def test_every_fix_at_once_leaves_a_script_whole(flags: None, compiler: Any, apply: Apply) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "affinity": {"cores": list(os.sched_getaffinity(0))},
        "allocator": {"library": "jemalloc"},
        "backend_flags": {"matmul_precision": "high"},
        "compile": {"backend": "eager"},
        "dataloader": {"num_workers": 1},
        "optimizer": {"fused": True},
        "threads": {"count": torch.get_num_threads()},
    }
    plain = losses()
    everything = [apply(name, **arguments.get(name, {})) for name in FIXES]
    assert losses() == pytest.approx(plain, rel=0.05)
    assert {name for name, each in zip(FIXES, everything, strict=True) if each.held} == {
        *("autocast", "backend_flags", "compile", "optimizer", "zero_grad")
    }
    assert all(each.held or each.why_not.endswith(".") for each in everything)

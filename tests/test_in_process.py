"""`diagnose.record`: a loop is recorded from inside its program, which is afterwards as it was."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import diagnose
from diagnose.document.stored import read_document
from diagnose.errors import UsageError

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample_traces" / "input-wait" / "sick.py"

# A loop of its own, all of whose time is the loader's, and what of torch our hooks would change.
PRELUDE = """
import gc, json, os, sys, threading, time
import torch
from torch import nn
from torch.autograd import profiler
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader, Dataset, dataloader
from torch.utils.data._utils import fetch
import diagnose

class Slow(Dataset):
    def __len__(self):
        return 240
    def __getitem__(self, index):
        time.sleep(0.0005)
        return torch.full((64,), float(index))

loader = DataLoader(Slow(), batch_size=4)
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(batch):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()

def hooks():
    owners = (
        torch, torch.Tensor, torch.cuda, torch.autograd, nn.Module, torch.optim.Optimizer, DataLoader, dataloader._BaseDataLoaderIter,
        fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher, profiler.profile, torch.amp.GradScaler,
        nn.parallel.DistributedDataParallel, nn.parallel.DataParallel, os,
    )
    return [
        {(owner, name): value for owner in owners for name, value in list(vars(owner).items()) if callable(value)},
        dict(optimizers._global_optimizer_post_hooks), dict(optimizers._global_optimizer_pre_hooks), list(gc.callbacks),
        sys.getprofile(), torch.autograd._profiler_enabled(), os.environ.get("KINETO_LOG_LEVEL"),
    ]

def open_files():
    gc.collect()
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return sorted(os.readlink(link) for link in links if os.path.exists(link))

train(next(iter(loader)))  # what torch makes at its first use is not ours
before = hooks()
"""


class Program:
    """A program that has run: its streams, what it told, and what it recorded."""

    def __init__(self, folder: Path, code: str, *, prelude: str = PRELUDE) -> None:
        (folder / "program.py").write_text(prelude + textwrap.dedent(code))
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"} | {
            "PYTHONPATH": path,
            "OMP_NUM_THREADS": "1",  # layers this small are slower on more
        }
        command = [sys.executable, "-W", "error", "program.py"]
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        self.folder, self.returncode, self.stdout, self.stderr = (
            folder,
            ran.returncode,
            ran.stdout,
            ran.stderr,
        )

    @property
    def told(self) -> Any:
        """What it printed as JSON."""
        assert self.returncode == 0, self.stderr
        return json.loads(self.stdout)

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def found(self, name: str) -> dict[str, str]:
        """What the report in the folder finds, best first, and where: also what the noise of a
        busy machine keeps out of the plan.
        """
        findings = [one for one in self.json(f"{name}/report.json")["findings"] if one["state"] == "fires"]
        return {
            one["rule"]: "".join(f"{line['file']}:{line['line']}" for line in one["culprits"][:1])
            for one in findings
        }

    def waits(self, name: str) -> dict[str, str]:
        """The rules that say that input is waited for, and where: workers are advised only where a core is
        free.
        """
        return {rule: place for rule, place in self.found(name).items() if rule.startswith("input-wait")}

    def waits_at(self, name: str, loop: str, *loading: str) -> bool:
        """Whether that is in the loop; where no core is free, one of the lines that load is named instead."""
        return bool(self.waits(name)) and all(
            place == loop or (rule == "input-wait-no-core" and place in loading)
            for rule, place in self.waits(name).items()
        )

    def line_of(self, text: str) -> int:
        lines = (self.folder / "program.py").read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Program]:
    return lambda code, **options: Program(tmp_path, code, **options)


TWICE = """
    told = {}
    with diagnose.record("with_steps", steps=4) as first:
        told["empty"] = first._repr_html_()
        for batch in loader:  # the first loop
            train(batch)
            first.step()
            if first.done:
                break
        told["done"] = first.done
        told["gone"] = hooks()[0] == before[0]  # already before the block is left
    told["first"], told["repr"], told["html"] = first.document.headline, repr(first), first._repr_html_()

    with diagnose.record("by_optimizer", steps=4, stacks=False) as second:
        try:
            with diagnose.record("nested"):
                raise AssertionError("nested")
        except diagnose.in_process.UsageError as error:
            told["nested"] = str(error)
        for batch in loader:
            train(batch)
    told["gone again"] = hooks() == before
    told["files again"] = [name for name in open_files() if "with_steps" in name or "by_optimizer" in name]
    second.step()
    told["recorded"] = second.done
    json.dump(told, sys.stdout)
"""


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Two blocks in one process: with calls of `step`, and without."""
    return Program(tmp_path_factory.mktemp("twice"), TWICE)


def test_steps_are_what_the_loop_says(twice: Program) -> None:
    steps = twice.json("with_steps/rank0/steps.json")
    assert (steps["clock"], steps["ticks_per_step"]) == ("step", 1)
    assert {phase["name"]: len(phase["tick_ns"]) - 1 for phase in steps["phases"][1:]} == {
        "plain": 10,
        "parts": 8,
        "timeline": 4,
        "detail": 1,
    }
    assert twice.told["done"]


def test_without_calls_of_step_the_optimizer_is_the_clock(twice: Program) -> None:
    steps = twice.json("by_optimizer/rank0/steps.json")
    assert (steps["clock"], [phase["name"] for phase in steps["phases"]]) == (
        "optimizer",
        ["warmup", "plain", "parts", "timeline"],
    )
    assert twice.told["recorded"]


def test_torch_and_the_process_are_as_before(twice: Program) -> None:
    assert twice.told["gone"]
    assert twice.told["gone again"]
    assert twice.told["files again"] == []


def test_blocks_cannot_be_nested(twice: Program) -> None:
    assert "another block is being recorded" in twice.told["nested"]
    assert not (twice.folder / "nested").exists()


def test_what_was_made_before_the_block_is_known_but_for_its_place(twice: Program) -> None:
    facts = twice.json("with_steps/rank0/facts.json")
    (loader,), (optimizer,), (model,) = facts["loaders"], facts["optimizers"], facts["models"]
    assert (loader["num_workers"], loader["batch_size"], loader["dataset_length"], loader["file"]) == (
        0,
        4,
        240,
        "",
    )
    assert (optimizer["class"], optimizer["tensor_count"], optimizer["file"]) == ("SGD", 2, "")
    assert (model["class"], model["line"]) == ("Linear", twice.line_of("model(batch).sum()"))
    assert "sources" not in facts  # there are no cells


def test_the_report_names_the_line_of_the_loop(twice: Program) -> None:
    loop, loading = (f"program.py:{twice.line_of(text)}" for text in ("# the first loop", "time.sleep"))
    assert twice.waits_at("with_steps", loop, loading)
    assert twice.waits("by_optimizer")


def test_the_folder_is_like_that_of_a_launched_run(twice: Program) -> None:
    for name in ("with_steps", "by_optimizer"):
        read_document(json.dumps(twice.json(f"{name}/report.json")).encode())  # of the promised shape
        record = twice.json(f"{name}/run.json")
        assert (record["target"], record["argv"], record["module"], record["in_process"]) == (
            "program.py",
            ["program.py"],
            False,
            True,
        )
        assert (record["ended"], record["exit_code"], record["settings"]["steps"]) == ("finished", 0, 4)
        assert not (twice.folder / name / "live").exists()


def test_the_program_hears_only_where_the_report_is(twice: Program) -> None:
    lines = twice.stderr.splitlines()
    assert [line.partition(" is ")[0] for line in lines] == ["diagnose: the report"] * 2
    assert [(twice.folder / line.partition(" is ")[2]).is_file() for line in lines] == [True, True]


def test_it_shows_what_was_found(twice: Program) -> None:
    told = twice.told
    assert told["first"] in told["repr"]
    assert "no step has ended yet" in told["empty"]
    assert told["first"].split("`")[0] in html.unescape(told["html"]).replace("\N{NO-BREAK SPACE}", " ")
    assert 'href="with_steps/report.' in told["html"]


@pytest.mark.long
def test_a_block_is_watched_until_it_is_left(run: Callable[..., Program]) -> None:
    program = run("""
    end = time.monotonic() + 12
    with diagnose.watch("watched", steps=2, plain_steps=5, stacks=False) as recorder:
        while time.monotonic() < end:
            for batch in loader:
                train(batch)
                recorder.step()
        told = {"done": recorder.done, "shown": recorder._repr_html_()}
    told["threads"] = threading.active_count()
    told["gone"] = hooks() == before
    print(json.dumps(told))
    """)
    told = program.told
    assert told["gone"]
    assert told["threads"] == 1
    assert not told["done"]
    assert "watching, step" in told["shown"]
    watched = program.json("watched/report.json")["watched"]
    assert watched["steps"] > 100
    assert watched["curve"]["input_ms"][0] > 1  # four items of half a millisecond


def test_an_error_in_the_loop_stays_the_programs_own(run: Callable[..., Program]) -> None:
    program = run(
        """
        try:
            with diagnose.record("out", steps=2) as recorder:
                for number, batch in enumerate(loader):
                    train(batch)
                    recorder.step()
                    if number == 30:
                        raise ValueError("mine")
        except ValueError as error:
            assert error.__context__ is None and error.__traceback__.tb_next is None
            assert hooks() == before
            raise
        """
    )
    assert program.returncode == 1
    assert program.stderr.endswith("ValueError: mine\n")
    assert (program.json("out/run.json")["ended"], program.json("out/run.json")["exit_code"]) == (
        "crashed",
        1,
    )
    assert program.waits("out")


@pytest.mark.long
def test_a_loop_of_two_steps_gives_what_is_possible(run: Callable[..., Program]) -> None:
    program = run(
        """
        with diagnose.record("out") as recorder:
            for number, batch in enumerate(loader):
                train(batch)
                recorder.step()
                if number == 3:
                    break
        assert hooks() == before and not torch.autograd._profiler_enabled()
        json.dump(repr(recorder), sys.stdout)
        """
    )
    document = program.json("out/report.json")
    read_document(json.dumps(document).encode())  # of the promised shape
    assert (document["steps"]["cold"], document["steps"]["clock"]) == (True, "step")
    assert document["headline"] in program.told


@pytest.mark.long
def test_a_full_disk_is_said_and_costs_the_program_nothing(run: Callable[..., Program]) -> None:
    program = run(
        """
        import errno, os

        def full(*args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        os.posix_fallocate = full
        with diagnose.record("out") as recorder:
            for batch in loader:
                train(batch)
                break
        json.dump([repr(recorder), os.path.exists("out")], sys.stdout)
        """
    )
    said, is_there = program.told
    assert said.startswith("<diagnose.record: nothing was recorded: ") and not is_there
    assert said.endswith("out cannot be written to (No space left on device)>")


def test_a_failure_of_ours_is_said_and_costs_the_program_nothing(run: Callable[..., Program]) -> None:
    program = run(
        """
        import diagnose.pipeline
        def report(source, out):
            raise ZeroDivisionError("ours")
        diagnose.pipeline.report = report
        with diagnose.record("out", steps=2, stacks=False) as recorder:
            for batch in loader:
                train(batch)
        json.dump([repr(recorder), recorder._repr_html_(), recorder.report], sys.stdout)
        """
    )
    told, html_told, report = program.told
    assert "the analysis failed (ZeroDivisionError: ours)" in told
    assert "ZeroDivisionError" in html_told
    assert report is None
    assert program.json("out/run.json")["ended"] == "finished"
    assert program.stderr.startswith("diagnose: the analysis failed")


@pytest.mark.long
def test_a_block_that_cannot_begin_leaves_nothing(run: Callable[..., Program]) -> None:
    program = run(
        """
        def failing(folder, record):
            raise OSError("disk full")
        usual, diagnose.in_process.write_record = __import__("diagnose.in_process").in_process.write_record, failing
        with diagnose.record("out"):
            told = hooks() == before and not os.path.exists("out")
        diagnose.in_process.write_record = usual
        with diagnose.record("out", steps=2, stacks=False) as recorder:
            for batch in loader:
                train(batch)
        json.dump([told, recorder.document.steps.complete], sys.stdout)
        """
    )
    assert program.told == [True, 2]


@pytest.mark.long
def test_a_block_without_a_step_says_so(run: Callable[..., Program]) -> None:
    program = run(
        """
        with diagnose.record("out") as recorder:
            pass
        assert hooks() == before
        json.dump(recorder._repr_html_(), sys.stdout)
        """
    )
    assert program.json("out/report.json")["steps"]["clock"] == "none"
    assert "No complete step was recorded" in program.told


@pytest.mark.long
def test_a_block_that_ends_for_lack_of_memory_says_so(run: Callable[..., Program]) -> None:
    program = run(
        """
        try:
            with diagnose.record("out") as recorder:
                for number, batch in enumerate(loader):
                    train(batch)
                    recorder.step()
                    if number == 1:
                        torch.empty(10**15)
        except RuntimeError:
            json.dump(recorder.document.headline, sys.stdout)
        """
    )
    assert program.told.startswith("Memory ran out before a complete step was recorded (program.py:")


@pytest.mark.long
def test_ctrl_c_in_the_end_of_a_phase_leaves_no_profiler_running(run: Callable[..., Program]) -> None:
    program = run(
        """
        from diagnose.run.child.phases import phases
        def interrupted(cuda):
            if (open := recorder._session._phases)._name == "timeline" and len(open._times.ns) > 2:
                raise KeyboardInterrupt
        usual, phases.synchronize = phases.synchronize, interrupted
        try:
            with diagnose.record("out", steps=2) as recorder:
                for batch in loader:
                    train(batch)
                    recorder.step()
        except KeyboardInterrupt:
            told = hooks() == before
        phases.synchronize = usual
        with diagnose.record("again", steps=2, stacks=False) as again:
            for batch in loader:
                train(batch)
        json.dump([told, again.document.steps.complete], sys.stdout)
        """
    )
    assert program.told == [True, 2]
    assert program.json("out/run.json")["ended"] == "interrupted"


@pytest.mark.long
def test_an_inference_is_recorded_by_its_forwards(run: Callable[..., Program]) -> None:
    program = run(
        """
        with diagnose.record("out", steps=2, stacks=False) as recorder:
            with torch.no_grad():
                for batch in loader:
                    model(batch)
        json.dump(hooks() == before, sys.stdout)
        """
    )
    assert program.told
    document = program.json("out/report.json")
    assert (document["steps"]["clock"], document["steps"]["complete"]) == ("forward", 2)
    assert program.json("out/rank0/facts.json")["optimizers"] == []


DEFINITION = """
def apply(batch):
    train(batch)
    return model.weight.sum().item()
"""
LOOP = """
with diagnose.record("out", steps=4) as recorder:
    for batch in loader:
        apply(batch)
        recorder.step()
"""
NOTEBOOK = f"""
import linecache
from types import SimpleNamespace
counts = {{}}
sys.modules["IPython"] = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=SimpleNamespace(_filename_map=counts)))

def run_cell(name, number, text):
    counts[name] = number
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), globals())

run_cell(names[0], 2, {DEFINITION!r})
run_cell(names[1], 3, {LOOP!r})
json.dump(hooks() == before, sys.stdout)
"""
KERNEL = ("/tmp/ipykernel_17/11.py", "/tmp/ipykernel_17/22.py")
TERMINAL = ("<ipython-input-2-aa>", "<ipython-input-3-bb>")


@pytest.mark.parametrize(
    "names",
    [pytest.param(names, marks=pytest.mark.long) for names in (KERNEL, TERMINAL)],
    ids=["kernel", "terminal"],
)
def test_cells_of_a_notebook_are_the_users_own_code(
    run: Callable[..., Program], names: tuple[str, str]
) -> None:
    program = run(f"names = {names!r}\n" + NOTEBOOK)
    assert program.told
    assert program.json("out/run.json")["target"] == "notebook"
    assert program.waits_at("out", "cell 3:3", f"program.py:{program.line_of('time.sleep')}")
    document = program.json("out/report.json")
    lines = {(line["file"], line["line"]): line["source"] for line in document["lines"]}
    assert lines["cell 3", 3] == "for batch in loader:"
    assert lines["cell 2", 4] == "return model.weight.sum().item()"
    assert not [file for file, _ in lines if "ipykernel" in file or "<" in file]


@pytest.mark.long
def test_a_model_that_was_compiled_before_is_not_compiled_again(run: Callable[..., Program]) -> None:
    program = run(
        """
        from torch._dynamo.utils import counters
        model = torch.compile(model, backend="eager")
        for batch in loader:
            train(batch)
        gc.set_threshold(1)  # collections come in the midst of the model, where what they call is not the model's
        before, compiled = hooks(), counters["frames"]["total"]
        with diagnose.record("out", steps=2, stacks=False) as recorder:
            for batch in loader:
                train(batch)
                recorder.step()
        train(batch)
        json.dump([compiled, counters["frames"]["total"], hooks() == before], sys.stdout)
        """
    )
    assert program.told == [1, 1, True]


@pytest.mark.long
def test_another_thread_may_train(run: Callable[..., Program]) -> None:
    program = run(
        """
        def loop():
            for batch in loader:
                train(batch)
                recorder.step()
        with diagnose.record("out", steps=2) as recorder:
            thread = threading.Thread(target=loop, name="trainer")
            thread.start()
            thread.join()
        json.dump(hooks() == before, sys.stdout)
        """
    )
    assert program.told, program.stderr
    assert program.json("out/rank0/steps.json")["thread"] == "trainer", program.stderr
    assert (program.folder / "out" / "report.json").exists(), program.stderr
    assert program.json("out/report.json")["steps"]["complete"] == 2


def test_forked_processes_record_nothing_and_leave_the_recording_alone(run: Callable[..., Program]) -> None:
    program = run(
        """
        torch.set_num_threads(1)  # a forked process that computes waits for ever for the other threads, with or without us
        with diagnose.record("out", steps=2, stacks=False) as recorder:
            for number, batch in enumerate(loader):
                if number in (0, 20):  # before the first step, and in the plain phase
                    child = os.fork()
                    if not child:
                        break
                    assert os.waitpid(child, 0)[1] == 0
                train(batch)
                recorder.step()
            else:
                child = os.getpid()
        if not child:
            train(batch)
            os._exit(not (recorder.document is None and hooks()[1:] == before[1:]))
        json.dump(recorder.document.steps.complete, sys.stdout)
        """
    )
    assert program.told == 2
    assert program.stderr.count("the report is") == 1


@pytest.mark.long
def test_workers_that_outlive_the_block_write_no_more(run: Callable[..., Program]) -> None:
    program = run(
        """
        workers = DataLoader(Slow(), batch_size=4, num_workers=1, persistent_workers=True)
        with diagnose.record("out", steps=2, stacks=False) as recorder:
            for batch in workers:
                train(batch)
        size = os.path.getsize("out/rank0/loading.bin")
        for batch in workers:
            pass
        json.dump([size > 0, os.path.getsize("out/rank0/loading.bin") - size], sys.stdout)
        """
    )
    assert program.told == [True, 0]


def test_under_the_command_a_block_leaves_the_recording_to_it(
    run: Callable[..., Program], tmp_path: Path
) -> None:
    program = run(
        """
        command = [sys.executable, "-m", "diagnose", "--steps", "2", "--no-stacks", "--out", "launched", "loop.py"]
        import subprocess
        ran = subprocess.run(command, capture_output=True, text=True)
        json.dump([ran.returncode, ran.stdout, os.path.exists("inner")], sys.stdout)
        """,
        prelude=_loop_file(tmp_path),
    )
    assert program.told == [0, "False None\n", False]
    assert program.json("launched/run.json")["ended"] == "stopped"


def _loop_file(folder: Path) -> str:
    """Writes loop.py, which tells of its recorder when it is stopped; the prelude of what launches it."""
    loop = """
    with diagnose.record("inner") as recorder:
        try:
            while True:
                for batch in loader:
                    train(batch)
                    recorder.step()
        finally:
            print(recorder.done, recorder.report)
    """
    (folder / "loop.py").write_text(PRELUDE + textwrap.dedent(loop))
    return "import json, os, sys\n"


@pytest.mark.long
def test_the_top_finding_is_that_of_a_launched_run(tmp_path: Path) -> None:
    source = SAMPLE.read_text().replace("STEPS = 150", "STEPS = 80")
    (tmp_path / "launched.py").write_text(source)
    head, loop = source.split("    for signals, labels in loader:")
    body, tail = loop.split("    elapsed = ")
    block = textwrap.indent("    for signals, labels in loader:" + body, "    ")
    inside = f"{head}    with diagnose.record('inside', steps=4):\n{block}    elapsed = {tail}"
    program = Program(tmp_path, inside, prelude="import diagnose\n")
    assert program.returncode == 0, program.stderr
    command = [sys.executable, "-m", "diagnose", "--steps", "4", "--out", "launched", "launched.py"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=True,
        timeout=300,
    )
    inside, launched = program.found("inside"), program.found("launched")
    assert next(iter(inside)) == next(iter(launched))
    line = program.line_of("in loader:")
    loading = [program.line_of(text) for text in ("zlib.decompress(", "samples.mean(")]
    assert program.waits_at("inside", f"program.py:{line}", *(f"program.py:{one}" for one in loading))
    # without import and block
    assert program.waits_at(
        "launched", f"launched.py:{line - 2}", *(f"launched.py:{one - 1}" for one in loading)
    )


# ---- without torch


def test_the_package_shows_record_and_imports_it_when_asked() -> None:
    code = (
        "import sys, diagnose; assert 'record' in dir(diagnose); assert not {'torch', "
        "'diagnose.in_process'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert callable(diagnose.record)
    with pytest.raises(AttributeError, match="no attribute 'recrod'"):
        diagnose.recrod  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 2.5}, {"plain_steps": -1}, {"device": "gpu"}])
def test_wrong_settings_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        diagnose.record(**wrong)


# ---- several ranks

RANKS = """
import json, os, sys, tempfile
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
import diagnose

torch.set_num_threads(1)

def train(rank, meeting):
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    model = DistributedDataParallel(nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    told = []
    for name in ("out", "out"):  # the second block finds a folder that holds something
        with diagnose.record(name, steps=4) as recorder:
            for step in range(1000):
                optimizer.zero_grad()
                model(torch.ones(8 + 8 * rank, 16)).square().mean().backward()
                optimizer.step()
                recorder.step()
                if recorder.done:
                    break
        distributed.barrier()  # for ever, if the ranks had left their loops at different steps
        told.append([step, str(recorder.folder), recorder.document is not None, repr(recorder)])
    with open(f"told{rank}.json", "w") as file:
        json.dump(told, file)
    distributed.destroy_process_group()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(train, args=(f"file://{folder}/meeting",), nprocs=2, start_method="spawn")
"""


@pytest.mark.long
def test_all_ranks_record_into_one_folder_and_rank_0_writes_the_report(run: Callable[..., Program]) -> None:
    program = run("", prelude=RANKS)
    assert program.returncode == 0, program.stderr
    first, second = program.json("told0.json"), program.json("told1.json")
    assert [one[:2] for one in first] == [one[:2] for one in second]
    assert [one[2] for one in (*first, *second)] == [True, True, False, False]
    assert all("recorded as rank 1" in one[3] for one in second)
    assert (
        sorted(line.partition(" is ")[0] for line in program.stderr.splitlines())
        == ["diagnose: the report"] * 2
    )
    for name in ("out", "out-2"):
        steps = [program.json(f"{name}/rank{rank}/steps.json")["phases"] for rank in range(2)]
        ticks = [
            [(phase["name"], phase["first_tick"], len(phase["tick_ns"])) for phase in phases]
            for phases in steps
        ]
        assert ticks[0] == ticks[1]
        assert [count - 1 for name, _, count in ticks[0] if name not in ("warmup", "parts")] == [10, 4, 1]
        assert [phases[3]["input_elements"] for phases in steps] == [[8 * 16] * 4, [16 * 16] * 4]
        document = program.json(f"{name}/report.json")
        read_document(json.dumps(document).encode())  # of the promised shape
        assert [row["rank"] for row in document["ranks"]["rows"]] == [0, 1]
        assert sorted(path.name for path in (program.folder / name).glob("live*")) == []


@pytest.fixture
def rank_1(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The store of a process group in which this process is rank 1, and nobody is rank 0."""
    import torch

    from diagnose.run.job import rendezvous as rendezvous

    store = torch.distributed.HashStore()
    monkeypatch.setattr(rendezvous, "_group", lambda: SimpleNamespace(get_rank=lambda: 1))
    monkeypatch.setattr(rendezvous, "_store", lambda: store)
    monkeypatch.setattr(rendezvous, "_blocks", 0)
    monkeypatch.setattr(rendezvous, "_FOR_FOLDER_S", 0.1)
    return store


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (None, "rank 0, which leads, records nothing"),
        ("over", "has left its block"),
        ('["elsewhere", "/"]', "on the machine of rank 0 (elsewhere)"),
    ],
)
def test_a_rank_that_cannot_join_says_so_and_does_nothing(
    told: str | None, why: str, rank_1: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if told is not None:
        rank_1.set("diagnose/block1", told)
    with diagnose.record(tmp_path / "out") as recorder:
        recorder.step()
        assert not recorder.done  # or it would leave its loop alone
    assert why in repr(recorder)
    assert capsys.readouterr().err.count(why) == 1
    assert not (tmp_path / "out").exists()


def test_a_rank_without_a_process_group_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with diagnose.record(tmp_path / "out") as recorder:
        pass
    assert "call init_process_group before the block" in capsys.readouterr().err
    assert recorder.folder is None


def test_a_recorder_serves_once_and_a_folder_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diagnose import in_process

    (tmp_path / "out").mkdir()
    assert in_process._new_folder(tmp_path / "out") == tmp_path / "out"
    (tmp_path / "out" / "kept").touch()
    assert in_process._new_folder(tmp_path / "out") == tmp_path / "out-2"
    monkeypatch.setattr(in_process, "_left_alone", lambda: "not now")
    recorder = diagnose.record(tmp_path / "out")
    with recorder:
        pass
    with pytest.raises(UsageError, match="has been used"), recorder:
        pass

"""What measures on a machine with a GPU, as far as it goes without: tasks and budget, tables of a
folder of results, what is missing.
"""

import json
import re
import shutil
import sys
import time
import tomllib
from pathlib import Path

import pytest

from benchmarks import case_studies, gpu, machine, results, stages
from benchmarks.record import LARGEST_BYTES, why_too_large
from benchmarks.samples import FOLDER, SAMPLES
from benchmarks.tasks import ALL_DONE, SOME_FAILED, SOME_LEFT, Task, called, records, run_tasks, summary
from diagnose.measure.recording import load_recording

MACHINE = {
    "gpu": "NVIDIA Test",
    "driver": "580.1",
    "torch": "2.11.0",
    "cuda": "13.0",
    "python": "3.12.3",
    "cores": 16,
    "cpu": "a processor",
}


def tasks_that(calls, **does):
    """A task for each name; what it does is its line, or its failure."""

    def task(name, result):
        def do(seconds):
            calls.append(name)
            if isinstance(result, Exception):
                raise result
            return result

        return Task("stage", name, 10.0, do)

    return [task(name, result) for name, result in does.items()]


# ---- running tasks


def test_what_was_done_is_not_done_again(tmp_path):
    calls = []
    first = run_tasks(tasks_that(calls, a="well", b="well"), tmp_path, 1000)
    again = run_tasks(tasks_that(calls, a="well", b="well", c="well"), tmp_path, 1000)
    assert calls == ["a", "b", "c"]
    assert [record.name for record in again.done] == ["a", "b", "c"]
    assert (first.exit_code, again.exit_code) == (ALL_DONE, ALL_DONE)


def test_a_task_that_fails_costs_only_itself_and_is_tried_again_last(tmp_path):
    calls = []
    first = run_tasks(tasks_that(calls, a=RuntimeError("its own traceback"), b="well"), tmp_path, 1000)
    assert calls == ["a", "b"]
    assert first.exit_code == SOME_FAILED
    assert "failed: stage/a: RuntimeError: its own traceback" in summary(first)
    calls.clear()
    again = run_tasks(tasks_that(calls, a="well now", b="well", c="well"), tmp_path, 1000)
    assert calls == ["c", "a"]
    assert again.exit_code == ALL_DONE


def test_nothing_is_begun_that_takes_longer_than_what_is_left(tmp_path):
    """Of 10 s, a task that is guessed to take 10 s is begun only at once;
    a shorter one behind it still fits.
    """
    calls = []
    slow, quick = tasks_that(calls, slow="well"), [Task("quick", "one", 1.0, lambda seconds: "well")]
    outcome = run_tasks([*slow, *quick], tmp_path, 9.0)
    assert calls == []
    assert [str(task) for task in outcome.left] == ["stage/slow"]
    assert [str(record) for record in outcome.done] == ["quick/one"]
    assert outcome.exit_code == SOME_LEFT
    assert "stage: 0 done, 0 failed, 1 left" in summary(outcome)


def test_a_stage_is_expected_to_take_as_long_as_its_longest_piece_did(tmp_path):
    run_tasks([Task("stage", "first", 0.0, lambda seconds: time.sleep(0.4) or "well")], tmp_path, 1000)
    assert [str(task) for task in run_tasks([Task("stage", "second", 0.0, str)], tmp_path, 0.2).left] == [
        "stage/second"
    ]
    assert run_tasks([Task("stage", "second", 99.0, str)], tmp_path, 20.0).left == []


def test_a_damaged_record_counts_for_nothing(tmp_path):
    calls = []
    run_tasks(tasks_that(calls, a="well"), tmp_path, 1000)
    next(tmp_path.rglob("a.json")).write_text("{")
    assert records(tmp_path) == []
    run_tasks(tasks_that(calls, a="well"), tmp_path, 1000)
    assert calls == ["a", "a"]


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    child = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; "
        "time.sleep(60)']); time.sleep(60)"
    )
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="took longer than 2 s"):
        called([sys.executable, "-c", child], tmp_path, {}, 2.0)
    # the grandchild holds the pipes: they close only when it has ended too
    assert time.monotonic() - started < 30


def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    """With tasks of our own: the first call has no time for the second task; tables of
    what there is can be made all the same.
    """
    calls = []
    tasks = [
        *tasks_that(calls, quick="well"),
        Task("other", "slow", 600.0, lambda seconds: calls.append("slow") or "well"),
    ]
    monkeypatch.setattr(stages, "all_tasks", lambda out, device: tasks)
    command = ["--rehearse", "--out", str(tmp_path / "out")]
    assert gpu.main([*command, "--budget", "300"]) == SOME_LEFT
    assert "other: 0 done, 0 failed, 1 left (at most about 10 minutes)" in capsys.readouterr().out
    assert gpu.main(["--tables", str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out" / "tables.json").read_text())["pieces"][0]["name"] == "quick"
    assert gpu.main([*command, "--budget", "1000"]) == ALL_DONE
    assert calls == ["quick", "slow"]
    assert gpu.main([*command, "--only", "no/such*"]) == gpu.CANNOT


# ---- what machine this is


def test_what_is_needed_is_what_the_package_depends_on():
    declared = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    names = {re.match(r"[\w-]+", one)[0].replace("-", "_") for one in declared}
    assert names == {*machine.NEEDED, *machine.NOT_NEEDED_HERE}


def test_all_that_is_missing_is_said_at_once(monkeypatch, capsys):
    monkeypatch.setattr(machine, "_imports", lambda name: name not in ("msgspec", "tabulate", "torch"))
    assert gpu.main(["--out", "never-written"]) == gpu.CANNOT
    said = capsys.readouterr().err
    assert "python -m pip install tabulate msgspec" in said
    assert "torch cannot be imported" in said
    assert not Path("never-written").exists()


def test_a_machine_without_a_gpu_is_told_so(monkeypatch):
    monkeypatch.setattr("torch.version.cuda", "13.0")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert ["sees no GPU" in one for one in machine.obstacles()] == [True]
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert machine.obstacles() == []
    monkeypatch.setattr("torch.__version__", "2.3.1")
    assert ["too old" in one for one in machine.obstacles()] == [True]
    assert machine.obstacles(without_gpu=True) == []


def test_results_of_two_machines_do_not_mix(tmp_path):
    assert gpu._claimed(tmp_path, MACHINE) == ""
    assert gpu._claimed(tmp_path, MACHINE | {"cpu": "another", "cores": 8}) == ""
    assert "choose another folder" in gpu._claimed(tmp_path, MACHINE | {"gpu": "NVIDIA Other"})


# ---- the tasks


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_every_sample_is_recorded_once_and_every_remedy_with_a_sample_verified(device, tmp_path):
    tasks = stages.all_tasks(tmp_path, device)
    assert len({str(task) for task in tasks}) == len(tasks)
    recorded = [task.name for task in tasks if task.stage in ("pairs", "samples", "cpu-samples")]
    assert sorted(recorded) == sorted(
        str(sample) for sample in SAMPLES if device == "cuda" or sample.needs != "gpu"
    )
    assert {task.name for task in tasks if task.stage in ("verify", "cpu-verify")} == {
        one.case for one in stages.automatic(device)
    }
    assert {task.name.partition("/")[0] for task in tasks if task.stage == "stories"} == {"gpt", "resnet"}


def test_the_tasks_come_in_the_order_of_what_they_tell_in_a_minute(tmp_path):
    tasks = stages.all_tasks(tmp_path, "cuda")
    in_turn = list(dict.fromkeys(task.stage for task in tasks))
    assert in_turn[:6] == ["first-light", "costs", "pairs", "samples", "verify", "unchanged"]
    assert {stage for stage in in_turn[-3:]} == {"stories", "story-verify", "story-duels"}
    assert str(tasks[0]) == "first-light/environment"


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_six_pairs_and_four_verifications_come_before_their_like(device, tmp_path):
    """A name in the tables that no sample has would be left out without a word."""
    tasks = stages.all_tasks(tmp_path, device)
    assert len([task for task in tasks if task.stage == "pairs"]) == 12
    verified = [task.name for task in tasks if task.stage == "verify"]
    assert verified[:4] == list(stages.VERIFIED_FIRST[device])


def test_samples_that_need_a_gpu_come_first(tmp_path):
    recorded = [
        task.name
        for task in stages.all_tasks(tmp_path, "cuda")
        if task.stage in ("pairs", "samples", "cpu-samples")
    ]
    needs = {str(sample): sample.needs for sample in SAMPLES}
    assert [needs[name] for name in recorded] == sorted((needs[name] for name in recorded), reverse=True)


def test_a_recording_too_large_to_commit_is_named(tmp_path, monkeypatch):
    sample = next(one for one in SAMPLES if str(one) == "row-loop/sick")

    def recorder(sample, run, seconds):
        shutil.copytree(sample.run, run)
        (run / "rank0" / "noise.bin").write_bytes(bytes(LARGEST_BYTES))

    monkeypatch.setattr(stages, "run_recorder", recorder)
    (task,) = [
        one for one in stages.all_tasks(tmp_path, "cpu") if one.stage == "samples" and one.name == str(sample)
    ]
    assert "not to be committed" in task.do(60.0)
    assert why_too_large(LARGEST_BYTES) == ""


@pytest.mark.parametrize(
    ("plan", "state", "left"),
    [
        (["gc-pauses"], "measured", "not held against it yet"),
        (["gc-pauses"], "not_held", "did not take hold"),
        ([], "measured", "the rule is not in the plan of this recording"),
    ],
)
def test_a_verified_fix_leaves_what_its_twin_is_held_against(plan, state, left, tmp_path, monkeypatch):
    def diagnosed(*arguments, cwd, seconds):
        run = Path(arguments[1])
        run.mkdir(exist_ok=True)
        (run / "report.json").write_text(json.dumps({"plan": [{"rule": rule} for rule in plan]}))
        if arguments[0] == "verify":
            (run / "verify.json").write_text(json.dumps({"tried": [tried_out() | {"state": state}]}))

    monkeypatch.setattr("benchmarks.verified.diagnosed", diagnosed)
    monkeypatch.setattr(
        "benchmarks.verified.recorded", lambda *given, judged, **where: diagnosed(*given, **where)
    )
    (task,) = [one for one in stages.all_tasks(tmp_path, "cpu") if str(one) == "verify/gc-pauses"]
    said = task.do(300.0)
    kept = json.loads((tmp_path / "verified" / "gc-pauses.json").read_text())
    assert kept["case"] == "gc-pauses"
    assert left in (kept.get("twin_verdict") or kept["why_not"])
    assert said == ("faster by 20–30 %" if plan and state == "measured" else kept["why_not"])


def test_a_fix_for_which_there_was_no_time_is_tried_again(tmp_path, monkeypatch):
    def diagnosed(*arguments, cwd, seconds):
        run = Path(arguments[1])
        run.mkdir(exist_ok=True)
        (run / "report.json").write_text(json.dumps({"plan": [{"rule": "gc-pauses"}]}))
        (run / "verify.json").write_text(json.dumps({"tried": [tried_out() | {"state": "no_time"}]}))

    monkeypatch.setattr("benchmarks.verified.diagnosed", diagnosed)
    monkeypatch.setattr(
        "benchmarks.verified.recorded", lambda *given, judged, **where: diagnosed(*given, **where)
    )
    tasks = [one for one in stages.all_tasks(tmp_path, "cpu") if str(one) == "verify/gc-pauses"]
    assert run_tasks(tasks, tmp_path, 1000).exit_code == SOME_FAILED


# ---- the tables


def tried_out():
    """A fix as verify.json tells of it: 8 ms before, 6 ms after."""
    change = {
        "pairs": 4,
        "outliers": 0,
        "change": -0.25,
        "low": -0.3,
        "high": -0.2,
        "noise": 0.01,
        "before_ms": 8.0,
        "after_ms": 6.0,
    }
    change["saved_ms"] = [1.6, 2.0, 2.4]
    return {
        "rule": "gc-pauses", "title": "Freeze", "intervention": "gc_freeze", "arguments": {}, "safety": "exact", "state": "measured",
        "why": "", "predicted_ms": {"best_guess": 1.0, "low": 0.5, "high": 2.0},
        "verdict": "faster", "change": change, "curve": None, "memory": {},
        "results": {"agreement": "same", "compared": 40, "deviation": 0.0, "tolerance": 0.01, "same_data": True},
        "batch_sizes": None, "step_from": 5, "step_to": 50,
    }  # fmt: skip


@pytest.fixture
def measured(tmp_path):
    """As a machine leaves it: two recordings, a verified fix, a healthy script
    against itself, costs, and no study yet.
    """
    for name in ("sick", "healthy"):
        shutil.copytree(FOLDER / "row-loop" / name, tmp_path / "row-loop" / name)
    tried = tried_out()
    saved = {
        "machine.json": MACHINE,
        "verified/gc.json": {"case": "gc", "proof": {"tried": [tried]}, "twin": None, "twin_verdict": "not held against it yet"},
        "verified/other.json": {"case": "other", "why_not": "nothing was tried"},
        "unchanged/row-loop.json": {"case": "row-loop", "verdict": "no_change", **tried["change"]},
        "costs/launches.json": {
            "kind": "launches", "plain_us": 100.0, "hooked_us": 101.0, "ratios": [1.0, 1.02],
            "phases_ms": {"plain": 0.1, "timeline": 0.13},
        },
    }  # fmt: skip
    for name, content in saved.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


def test_tables_of_a_folder_that_was_brought_here(measured):
    text = results.write_tables(measured)
    assert "NVIDIA Test (driver 580.1, CUDA 13.0)" in text
    assert "could not be made" not in text
    # step 8 ms, best guess 1 ms, measured 2 ms: the predicted step of 7 ms is 1 ms beyond the 6 ms measured,
    # 17 %
    assert "| gc | gc-pauses | 8.00 ms | 0.50–2.0 ms | 1.6–2.4 ms | faster | +17 % | yes |" in text
    assert "| many short launches | 100 | 101 | 1.010 | 1.000–1.020 of 2 | 1.30 | – |" in text
    assert "| row-loop | no change, -30.0 to -20.0 % | 1.0 % | 4 |" in text
    assert "`other`: nothing was tried" in text
    assert "Not recorded yet." in text  # the case studies
    numbers = json.loads((measured / "tables.json").read_text())
    assert numbers["machine"] == MACHINE
    assert {one["sample"] for one in numbers["samples"]} == {"row-loop/sick", "row-loop/healthy"}
    assert [one["name"] for one in numbers["predictions"]] == ["row-loop"]


def test_the_page_keeps_the_parts_of_other_machines(measured, tmp_path):
    page = tmp_path / "accuracy.md"
    page.write_text("# How often the diagnosis is right\n\nOn a CPU.\n")
    for _ in range(2):  # writing it again replaces
        headings = results.write_page(measured, page)
    text = page.read_text()
    assert text.startswith(
        "# How often the diagnosis is right\n\nOn a CPU.\n\n# How often the diagnosis is right, on "
        "NVIDIA Test\n"
    )
    assert [text.count(f"{heading}\n") for heading in headings] == [1] * 5


def test_a_rehearsal_does_not_reach_the_page(measured, tmp_path, capsys):
    (measured / "machine.json").write_text(json.dumps(MACHINE | {"gpu": None}))
    assert gpu.main(["--write", str(measured)]) == gpu.CANNOT
    assert gpu.main(["--write", str(tmp_path / "nowhere")]) == gpu.CANNOT
    assert "holds nothing to write" in capsys.readouterr().err
    with pytest.raises(ValueError, match="without a GPU"):
        results.write_page(measured, tmp_path / "accuracy.md")
    assert not (tmp_path / "accuracy.md").exists()


def test_a_part_that_cannot_be_made_costs_only_itself(measured):
    (measured / "costs" / "launches.json").write_text("{}")
    made = results.parts(results.Results(measured))
    assert [heading for heading, part in made.items() if "could not be made: KeyError" in part] == [
        "# What the recorder costs, on NVIDIA Test"
    ]


def test_recordings_are_kept_beside_the_scripts_if_they_are_small(tmp_path):
    out, target = tmp_path / "out", tmp_path / "samples"
    for name in ("sick", "healthy"):
        shutil.copytree(FOLDER / "row-loop" / name, out / "mnist" / name)
    (out / "mnist" / "sick" / "rank0" / "noise.bin").write_bytes(bytes(LARGEST_BYTES))
    lines = results.keep_recordings(out, target)
    assert [line for line in lines if line.startswith("mnist/sick: not copied: ")]
    assert (target / "mnist" / "healthy" / "run.json").is_file()
    assert not (target / "mnist" / "sick").exists()


# ---- case studies


@pytest.mark.parametrize("study", case_studies.all_case_studies(), ids=lambda study: study.name)
def test_every_mistake_is_in_the_script_and_every_rule_exists(study):
    from diagnose.judge.rules import load_rules

    assert {rule for one in study.mistakes for rule in one.rules} | set(study.also) <= set(load_rules())
    assert all(study.line_number(one.line) for one in study.mistakes if one.line)


@pytest.mark.live
@pytest.mark.long
def test_a_case_study_from_end_to_end(tmp_path, monkeypatch):
    """On a CPU and in seconds: the numbers mean nothing, but every task leaves
    what the next one and the study need.
    """
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # a toy is slower on more
    (study,) = [one for one in case_studies.all_case_studies() if one.name == "gpt"]
    assert "Not recorded yet." in case_studies.told(study, tmp_path)
    case_studies.recorded(study, "before", tmp_path)
    case_studies.verified(study, tmp_path, budget_s=1.0)
    case_studies.held(study, tmp_path, budget_s=1.0)
    case_studies.recorded(study, "after", tmp_path)
    text = case_studies.told(study, tmp_path)
    assert "| attention is written out | `before.py:" in text
    assert "| loss and norm are read in every step | `before.py:" in text
    assert "costs nothing without a GPU" in text
    assert "nothing was written: no fix that it can write proved faster" in text
    assert "`after.py`, made by hand" in text
    assert (tmp_path / "gpt" / "applied.py").read_bytes() == study.script("before").read_bytes()
    assert json.loads((tmp_path / "gpt" / "after.report.json").read_text())["run"]["target"] == "after.py"
    assert not (tmp_path / "gpt" / "after.report.html").exists()  # it can be made anywhere of the recording
    assert load_recording(tmp_path / "gpt" / "after").timeline is not None

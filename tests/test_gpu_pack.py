"""What a short lease of a GPU asks of the programme: it stops in time, and
another machine goes on from what it left.
"""

import json
import os
import subprocess
import sys
import tarfile
import time
import zipfile
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace

import psutil
import pytest

from benchmarks import brought, first_light, gpu, pack, recorder, stages
from benchmarks.machine import obstacles
from benchmarks.results import MACHINE
from benchmarks.tasks import SOME_FAILED, SOME_LEFT, Task, records, run_tasks

ELSEWHERE = {
    "gpu": None,
    "driver": None,
    "torch": "2.1.0",
    "cuda": None,
    "python": "3.12.3",
    "cores": 16,
    "cpu": "another",
}


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def written(folder, **files):
    for name, content in files.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


# ---- the pack


def test_what_is_packed_is_taken_up_and_what_can_be_made_again_is_not(tmp_path):
    out = written(
        tmp_path / "out",
        machine=b"{}",
        pieces__a=b"a",
        case__sick__run=b"run",
        stories__gpt__work__big=b"-",
        packages__x=b"-",
    )
    assert pack.refresh(tmp_path / "pack.tar.gz", out) == []
    assert pack.take_up(tmp_path / "pack.tar.gz", tmp_path / "there") == 3
    assert contents(tmp_path / "there") == {"machine": b"{}", "pieces/a": b"a", "case/sick/run": b"run"}


def test_files_that_are_there_are_newer_than_the_pack(tmp_path):
    pack.refresh(tmp_path / "pack.tar.gz", written(tmp_path / "out", answer=b"old", other=b"other"))
    there = written(tmp_path / "there", answer=b"new")
    assert pack.take_up(tmp_path / "pack.tar.gz", there) == 1
    assert contents(there) == {"answer": b"new", "other": b"other"}


def test_a_pack_that_would_be_too_large_comes_in_parts(tmp_path, monkeypatch):
    """Nine files of 100 kB that cannot be compressed, in parts of at most 400 kB, of which 128 kB
    are kept free: two or three in each.
    """
    monkeypatch.setattr(pack, "MOST_BYTES", 400_000)
    out, file = tmp_path / "out", tmp_path / "pack.tar.gz"
    written(out, **{f"file{number}": os.urandom(100_000) for number in range(9)}, large=os.urandom(400_000))
    assert pack.refresh(file, out) == ["large"]
    parts = pack.parts_of(file)
    assert [part.name for part in parts[:2]] == ["pack.tar.gz", "pack-2.tar.gz"]
    assert 3 <= len(parts) <= 5
    assert max(part.stat().st_size for part in parts) <= 400_000
    assert pack.take_up(file, tmp_path / "there") == 9
    for number in range(1, 9):
        (out / f"file{number}").unlink()
    pack.refresh(file, out)
    assert pack.parts_of(file) == [file]
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_pack_that_leads_out_of_its_folder_is_refused(tmp_path):
    with tarfile.open(tmp_path / "pack.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), BytesIO())
    with pytest.raises(ValueError, match="leads out"):
        pack.take_up(tmp_path / "pack.tar.gz", tmp_path / "there")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kept", [0, 100])
def test_a_damaged_pack_is_left_as_it_is(kept, tmp_path, capsys):
    file = tmp_path / "pack.tar.gz"
    pack.refresh(file, written(tmp_path / "out", noise=os.urandom(1000)))
    file.write_bytes(damaged := file.read_bytes()[:kept])
    assert gpu.main(["--rehearse", "--out", str(tmp_path / "there"), "--pack", str(file)]) == gpu.CANNOT
    assert "cannot be read" in capsys.readouterr().err
    assert file.read_bytes() == damaged


def test_a_pack_of_another_torch_is_refused(tmp_path, capsys):
    file = tmp_path / "pack.tar.gz"
    pack.refresh(file, written(tmp_path / "out", **{MACHINE: json.dumps(ELSEWHERE).encode()}))
    assert gpu.main(["--rehearse", "--out", str(tmp_path / "there"), "--pack", str(file)]) == gpu.CANNOT
    assert "choose another pack" in capsys.readouterr().err
    assert not (tmp_path / "there").exists()


def test_a_machine_that_goes_on_is_named_beside_the_first(tmp_path):
    first, same, other = (
        {**ELSEWHERE, "gpu": "NVIDIA Test", "driver": driver} for driver in ("580.1", "580.1", "590.2")
    )
    for known in (first, same, other, other):
        assert gpu._claimed(tmp_path, known) == ""
    told = json.loads((tmp_path / MACHINE).read_text())
    assert told == first | {"also": [other]}
    assert "driver 590.2" in gpu.in_words(told)


def test_a_pack_cannot_hold_itself(tmp_path):
    with pytest.raises(SystemExit):
        gpu.main(["--out", str(tmp_path), "--pack", str(tmp_path / "pack.tar.gz")])


# ---- a call that has to stop


def test_a_task_that_outlasts_the_call_is_ended_with_all_it_started_and_the_next_machine_goes_on(
    tmp_path, monkeypatch, capsys
):
    done, started = [], []

    def hang(seconds):
        done.append("hangs")
        if len(done) == 2:
            started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
            try:
                time.sleep(600)
            except Exception:  # whatever a task does about its own failures
                time.sleep(600)
        return "well now"

    tasks = [
        Task("first", "quick", 0.1, lambda seconds: done.append("quick") or "well"),
        Task("second", "hangs", 0.1, hang),
        Task("third", "long", 600.0, lambda seconds: done.append("long") or "well"),
    ]
    monkeypatch.setattr(stages, "all_tasks", lambda out, device: tasks)
    command = ["--rehearse", "--pack", str(tmp_path / "pack.tar.gz")]
    obstacles(without_gpu=True)  # what it imports is not to count
    began = time.monotonic()
    assert gpu.main([*command, "--out", str(tmp_path / "here"), "--budget", "4"]) == SOME_LEFT
    assert time.monotonic() - began < 30  # and not the ten minutes that it hangs
    assert done == ["quick", "hangs"]
    assert "when the time was over" in capsys.readouterr().out
    assert started[0].wait(10) != 0
    assert not psutil.pid_exists(started[0].pid)

    assert gpu.main([*command, "--out", str(tmp_path / "there"), "--budget", "1000"]) == 0
    assert done == ["quick", "hangs", "long", "hangs"]  # what failed comes last
    assert [record.said for record in records(tmp_path / "there")] == ["well", "well now", "well"]


def test_a_task_that_was_ended_is_not_begun_again_in_as_little_time(tmp_path):
    tasks = [Task("stage", "long", 0.0, lambda seconds: time.sleep(60))]
    assert run_tasks(tasks, tmp_path, 0.5).exit_code == SOME_FAILED
    (ended,) = records(tmp_path)
    assert run_tasks(tasks, tmp_path, 0.3).failed == [ended]  # as it was: it took half a second


def test_calls_of_ten_minutes_stop_in_time_and_half_an_hour_is_well_spent(tmp_path, monkeypatch):
    """The real tasks by a clock of their own, each taking a fifth longer than it was guessed."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("benchmarks.tasks.time", SimpleNamespace(monotonic=lambda: clock.now))

    def lasting(task):
        def do(seconds):
            clock.now += min(1.2 * task.guess_s, seconds)
            return "well"

        return replace(task, do=do)

    tasks = [lasting(task) for task in stages.all_tasks(tmp_path, "cuda")]
    file = tmp_path / "pack.tar.gz"
    seen = []
    for call in range(3):
        clock.now, out = 0.0, tmp_path / str(call)  # a fresh machine
        pack.take_up(file, out)
        outcome = run_tasks(
            tasks, out, 540, lambda out=out: pack.refresh(file, out) if len(records(out)) % 10 == 0 else None
        )
        pack.refresh(file, out)
        assert 480 < clock.now <= 540
        seen.append(
            {stage: [record for record in outcome.done if record.stage == stage] for stage in outcome.stages}
        )
    assert len(seen[0]["first-light"]) == len(first_light.QUESTIONS)
    assert len(seen[0]["costs"]) == 2
    assert len(seen[1]["pairs"]) == 12
    assert len(seen[2]["samples"]) == 40
    assert not seen[2]["stories"]


# ---- packages that were brought


def test_wheels_that_were_brought_go_into_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(brought, "BROUGHT", ("brought_here",))
    wheels, folder = tmp_path / "wheels", tmp_path / "out" / "packages"
    wheels.mkdir()
    assert brought.provide(wheels, folder) == ""  # it is for `obstacles` to say what is missing
    described = {
        "METADATA": "Metadata-Version: 2.1\nName: brought-here\nVersion: 1\nRequires-Dist: never-found\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(wheels / "brought_here-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("brought_here.py", "SAID = 'from the wheel'\n")
        for name, text in described.items():
            wheel.writestr(f"brought_here-1.dist-info/{name}", text)
    assert brought.provide(wheels, folder) == ""
    assert (folder / "brought_here.py").is_file()
    asked = [sys.executable, "-c", "import brought_here; print(brought_here.SAID)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "from the wheel\n"


def test_wheels_that_do_not_fit_are_said_to(tmp_path, monkeypatch):
    monkeypatch.setattr(brought, "BROUGHT", ("brought_here",))
    (tmp_path / "brought_here-1-cp27-cp27m-win32.whl").write_bytes(b"")
    said = brought.provide(tmp_path, tmp_path / "packages")
    assert said.startswith("brought_here could not be installed")
    assert not (tmp_path / "packages").exists()


# ---- recordings without reports


@pytest.mark.parametrize(
    ("ended", "steps", "code"), [("crashed", True, 3), ("finished", False, 1), ("stopped", True, 0)]
)
def test_a_recorder_that_recorded_nothing_says_so(ended, steps, code, tmp_path, monkeypatch, capsys):
    def launch(target, settings, out):
        assert (target.script, target.args, settings.steps) == ("train.py", ("--fast",), 2)
        if steps:
            written(out, rank0__steps=b"{}")
            (out / "rank0" / "steps").rename(out / "rank0" / "steps.json")
        return SimpleNamespace(ended=ended)

    monkeypatch.setattr(recorder, "launch", launch)
    assert recorder.main(["--out", str(tmp_path), "--steps", "2", "train.py", "--fast"]) == code
    assert ("nothing was recorded" in capsys.readouterr().err) == (code == 1)


# ---- first light, and a rehearsal


def test_the_last_answer_counts_and_a_line_that_was_cut_off_does_not(tmp_path):
    lines = [
        {"question": "queue", "answer": 1},
        {"question": "ahead", "answer": 2},
        {"question": "queue", "answer": 3},
    ]
    (tmp_path / first_light.ANSWERS).write_text("\n".join(map(json.dumps, lines)) + '\n{"question": "wai')
    assert first_light.answers(tmp_path) == {"queue": 3, "ahead": 2}
    assert first_light.answers(tmp_path / "nowhere") == {}
    text = first_light.page(tmp_path)
    assert "**queue**: After how many launches" in text
    assert text.count("Not answered yet.") == len(first_light.QUESTIONS) - 2


def test_a_question_without_an_answer_is_a_failure(tmp_path, monkeypatch):
    ended = subprocess.CompletedProcess((), 1, "printed before the end\n", "RuntimeError: CUDA error")
    monkeypatch.setattr(first_light, "called", lambda *given: ended)
    with pytest.raises(RuntimeError, match="no answer, exit code 1\nRuntimeError: CUDA error"):
        first_light.answered(first_light.QUESTIONS[0], tmp_path, 60)
    assert not (tmp_path / first_light.ANSWERS).exists()


@pytest.mark.long
@pytest.mark.live
def test_a_rehearsal_leaves_what_a_second_machine_does_not_do_again(tmp_path, capsys):
    """One question and one recording, for real: what is rehearsed without a GPU is what is done with one."""
    only = ["first-light/environment", "pairs/sleep/healthy"]
    command = ["--rehearse", "--pack", str(tmp_path / "pack.tar.gz"), "--only", *only]
    assert gpu.main([*command, "--out", str(tmp_path / "here")]) == 0
    assert "0 events of the GPU, plain steps deviate by" in capsys.readouterr().out
    assert first_light.answers(tmp_path / "here" / "first-light")["environment"]["gpu"] == []
    kept = tmp_path / "here" / "sleep" / "healthy"
    # no report that would be thrown away
    assert sorted(file.name for file in kept.iterdir()) == ["rank0", "run.json"]

    assert gpu.main([*command, "--out", str(tmp_path / "there")]) == 0
    assert "FAILED" not in (said := capsys.readouterr().out)
    assert "first-light: 1 done, 0 failed, 0 left" in said
    assert contents(tmp_path / "there") == contents(tmp_path / "here")

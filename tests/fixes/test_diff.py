"""Findings in, a diff out that git and patch take, whatever the file is called and however it is encoded."""

import os
import shutil
import subprocess

import pytest

from diagnose.errors import DiagnoseError
from diagnose.fixes.patch.diff import FileChange, Patches, apply, fixes_diff
from diagnose.fixes.patch.unified import as_bytes

WORKERS = {"num_workers": 2, "persistent_workers": True}
SCRIPT = """\
import torch

loader = DataLoader(data)
optimizer = torch.optim.Adam(
    parameters,
    lr=1e-3,
)
optimizer.zero_grad(set_to_none=False)
"""


def finding(rule, intervention, arguments, *lines, file="train.py", source="", verdict=None, blamed=()):
    sites = [{"file": file, "line": line, "source": source} for line in lines]
    fix = {"intervention": intervention, "arguments": arguments, "safety": "exact", "call_sites": sites}
    culprits = [{"file": file, "line": line, "source": ""} for line in blamed]
    return {"rule": rule, "fix": fix, "culprits": culprits, "saving": {"verdict": verdict}}


def all_three():
    return [
        finding("threads", "threads", {"count": 2}),
        finding("no-workers", "dataloader", WORKERS, 3),
        finding("optimizer", "optimizer", {"fused": True}, 4),
        finding("zero", "zero_grad", {}, 8),
    ]


def test_what_was_measured_to_help_or_could_not_be_told_is_in(folder):
    for verdict in ("faster", "too_noisy"):
        assert fixes_diff([finding("r", "dataloader", WORKERS, 3, verdict=verdict)], folder).patched == ("r",)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def applied(command, folder, diff):
    done = subprocess.run([*command.split()], input=as_bytes(diff), cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done


def test_fixes_of_one_file_are_composed_at_their_original_lines(folder):
    patches = fixes_diff(all_three(), folder, "train.py")
    assert patches.patched == ("threads", "no-workers", "optimizer", "zero")
    assert not patches.unpatched
    assert patches.diff == (
        "--- a/train.py\n"
        "+++ b/train.py\n"
        "@@ -1,8 +1,11 @@\n"
        " import torch\n"
        " \n"
        "-loader = DataLoader(data)\n"
        "+torch.set_num_threads(2)\n"
        "+\n"
        "+loader = DataLoader(data, num_workers=2, persistent_workers=True)\n"
        " optimizer = torch.optim.Adam(\n"
        "     parameters,\n"
        "     lr=1e-3,\n"
        "+    fused=True,\n"
        " )\n"
        "-optimizer.zero_grad(set_to_none=False)\n"
        "+optimizer.zero_grad()\n"
    )


NAMES = ["train.py", "my job/the train.py", "größe.py", 'quo"te\\d.py', "tab\there.py", "sub/deep/b.py"]
CONTENTS = {
    "plain": SCRIPT.encode(),
    "windows": SCRIPT.replace("\n", "\r\n").encode(),
    "mark": b"\xef\xbb\xbf" + SCRIPT.encode(),
    "latin": b"# coding: latin-1\n" + SCRIPT.encode() + b"# gr\xf6\xdfe\n",
    "no end": SCRIPT.rstrip("\n").encode(),
    "feed": SCRIPT.encode() + "x = '\x0c\u2028'\n".encode(),
}


@pytest.mark.parametrize("command", ["git apply -", "patch -p1"])
@pytest.mark.parametrize(
    ("name", "kind"), [*((name, "plain") for name in NAMES), *(("train.py", kind) for kind in CONTENTS)]
)
def test_git_and_patch_take_the_diff(tmp_path, command, name, kind):
    path, content = tmp_path / name, CONTENTS[kind]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    first = 2 if kind == "latin" else 1
    findings = [
        finding("no-workers", "dataloader", WORKERS, first + 2, file=name),
        finding("zero", "zero_grad", {}, first + 7, file=name),
        finding("threads", "threads", {"count": 2}),
    ]
    patches = fixes_diff(findings, tmp_path, name)
    assert len(patches.patched) == 3
    applied(command, tmp_path, patches.diff)
    assert path.read_bytes() == patches.files[0].after != content
    path.write_bytes(content)
    assert apply(patches, tmp_path) == [path]
    assert path.read_bytes() == patches.files[0].after


def test_in_a_folder_below_a_repositorys_top_git_finds_the_file(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    patches = fixes_diff(all_three(), folder, "train.py")
    applied("git apply -", folder, patches.diff)
    assert (folder / "train.py").read_bytes() == patches.files[0].after


def test_several_files_make_one_diff(folder):
    (folder / "a.py").write_text("x.to(device)\n")
    patches = fixes_diff(
        [*all_three(), finding("copies", "non_blocking", {}, file="a.py", blamed=[1])], folder, "train.py"
    )
    applied("patch -p1", folder, patches.diff)
    assert (folder / "a.py").read_text() == "x.to(device, non_blocking=True)\n"
    assert [one.name for one in patches.files] == ["a.py", "train.py"]


def test_of_two_that_want_one_argument_otherwise_the_first_wins(folder):
    findings = [
        finding("first", "dataloader", {"num_workers": 2}, 3),
        finding("second", "dataloader", {"num_workers": 4, "pin_memory": True}, 3),
        finding("third", "dataloader", {"num_workers": 2}, 3),
        finding("fourth", "dataloader", {"num_workers": 2, "pin_memory": True}, 3),
    ]
    patches = fixes_diff(findings, folder)
    assert patches.patched == ("first", "fourth")
    assert "+loader = DataLoader(data, num_workers=2, pin_memory=True)\n" in patches.diff
    assert patches.unpatched == {
        "second": "the fix of `first`, which comes first, gives `num_workers` another value",
        "third": "the fix of `first` makes the same change",
    }


def test_what_an_earlier_fix_drops_is_not_set_again(folder):
    (folder / "train.py").write_text("loader = DataLoader(data, num_workers=8)\n")
    none, ahead = (
        finding("none", "dataloader", {"num_workers": 0}, 1),
        finding("ahead", "dataloader", {"prefetch_factor": 8}, 1),
    )
    assert set(fixes_diff([none, ahead], folder).unpatched) == {"ahead"}
    assert set(fixes_diff([ahead, none], folder).unpatched) == {"none"}


def test_one_site_named_twice_is_changed_once(folder):
    patches = fixes_diff([finding("optimizer", "optimizer", {"fused": True}, 4, 4, 5)], folder)
    assert patches.patched == ("optimizer",) and not patches.unpatched
    assert patches.diff.count("fused=True") == 1


def test_sites_that_cannot_be_changed_are_told_beside_those_that_were(folder):
    (folder / "train.py").write_text(
        "a = DataLoader(x)\nb = DataLoader(y, **more)\nc = DataLoader(z, num_workers=2, "
        "persistent_workers=True)\n"
    )
    patches = fixes_diff([finding("no-workers", "dataloader", WORKERS, 1, 2, 3)], folder)
    assert patches.patched == ("no-workers",)
    assert patches.unpatched == {
        "no-workers": "train.py:2: the call takes `**more`, which may hold `num_workers`"
    }


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (finding("r", "", {}, 3), "by hand"),
        (finding("r", None, {}, 3), "by hand"),
        (
            finding("r", "compile", {}, 3),
            "it changes where the model is built: see the snippet in the report",
        ),
        (finding("r", "dataloader", None, 3), "does not show the value"),
        (finding("r", "dataloader", WORKERS), "not known"),
        (finding("r", "dataloader", WORKERS, 3, verdict="slower"), "takes longer"),
        (finding("r", "dataloader", WORKERS, 3, verdict="no_change"), "takes as long"),
        (finding("r", "dataloader", WORKERS, 3, verdict="broken"), "broken"),
        (
            finding("r", "dataloader", WORKERS, 3, source="loader = DataLoader(date)"),
            "no longer as it was recorded",
        ),
        (finding("r", "dataloader", WORKERS, 300), "no call of"),
        (finding("r", "dataloader", WORKERS, 3, file="gone.py"), "not at hand"),
        (finding("r", "dataloader", WORKERS, 3, file="../out.py"), "not below"),
        (finding("r", "dataloader", WORKERS, 3, file="/usr/lib/out.py"), "not below"),
        (finding("r", "dataloader", WORKERS, 3, file="<stdin>"), "not at hand"),
        (finding("r", "threads", {"count": 2}), "not known"),
        (finding("r", "inference_mode", {}, blamed=[8]), "no `torch.no_grad()`"),
    ],
)
def test_what_is_not_patched_has_a_reason(folder, one, reason):
    patches = fixes_diff([one], folder)
    assert (patches.diff, patches.patched) == ("", ())
    assert reason in patches.unpatched["r"]


def test_the_recorded_line_is_the_one_changed(folder):
    assert fixes_diff(
        [finding("r", "dataloader", WORKERS, 3, source="loader = DataLoader(data)")], folder
    ).patched == ("r",)


def test_files_that_are_not_python_text_have_a_reason(folder):
    for content in (b"# coding: unheard-of\n", b"\xff\xfe\x00", b"x = (\n"):
        (folder / "train.py").write_bytes(content)
        assert fixes_diff(all_three(), folder, "train.py").patched == ()


def test_without_a_known_line_all_such_calls_of_the_script_are_changed(folder):
    patches = fixes_diff(
        [finding("optimizer", "optimizer", {"fused": True}, file="other.py", blamed=[7])], folder, "train.py"
    )
    assert patches.patched == ("optimizer",) and not patches.unpatched
    assert fixes_diff([finding("anomaly", "anomaly_mode_off", {})], folder, "train.py").unpatched.keys() == {
        "anomaly"
    }
    (folder / "train.py").write_text("import torch\nwith torch.autograd.detect_anomaly():\n    train()\n")
    found = fixes_diff([finding("anomaly", "anomaly_mode_off", {})], folder, "train.py")
    assert "+with torch.autograd.set_detect_anomaly(False):\n" in found.diff


def test_a_link_is_followed_to_the_file_inside_the_folder_and_not_out_of_it(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "train.py"
    outside.write_text(SCRIPT)
    (folder / "in.py").symlink_to(folder / "train.py")
    (folder / "out.py").symlink_to(outside)
    assert (
        fixes_diff([finding("r", "dataloader", WORKERS, 3, file="in.py")], folder).files[0].name == "train.py"
    )
    assert (
        "not below"
        in fixes_diff([finding("r", "dataloader", WORKERS, 3, file="out.py")], folder).unpatched["r"]
    )


def test_applying_refuses_a_changed_file_and_writes_none(folder):
    (folder / "a.py").write_text("x.to(device)\n")
    patches = fixes_diff(
        [*all_three(), finding("copies", "non_blocking", {}, file="a.py", blamed=[1])], folder, "train.py"
    )
    (folder / "train.py").write_text(SCRIPT + "# mine\n")
    with pytest.raises(DiagnoseError, match="has changed since"):
        apply(patches, folder)
    assert (folder / "a.py").read_text() == "x.to(device)\n"


def test_applying_keeps_permissions_and_leaves_nothing_behind(folder):
    os.chmod(folder / "train.py", 0o750)
    apply(fixes_diff(all_three(), folder, "train.py"), folder)
    assert (folder / "train.py").stat().st_mode & 0o777 == 0o750
    assert os.listdir(folder) == ["train.py"]
    assert not fixes_diff(all_three()[:1], folder, "train.py").diff


def changed(*names):
    return Patches("", (), {}, tuple(FileChange(name, b"old\n", b"new\n") for name in names))


@pytest.fixture
def two_files(tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_bytes(b"old\n")
    return tmp_path


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4])
def test_of_several_files_all_are_written_or_none(two_files, monkeypatch, fails_at):
    """The first two calls stage the files, the next two put them in place."""
    calls = []

    def failing(function):
        def called(*arguments, **options):
            calls.append(function)
            if len(calls) == fails_at:
                raise OSError(28, "No space left on device", str(two_files / "b.py"))
            return function(*arguments, **options)

        return called

    monkeypatch.setattr("shutil.copymode", failing(shutil.copymode))
    monkeypatch.setattr("os.replace", failing(os.replace))
    with pytest.raises(DiagnoseError, match="cannot be written") as raised:
        apply(changed("a.py", "b.py"), two_files)
    assert "nothing is changed" in raised.value.saw
    assert sorted(os.listdir(two_files)) == ["a.py", "b.py"]
    assert {(two_files / name).read_bytes() for name in ("a.py", "b.py")} == {b"old\n"}


def test_a_file_of_the_users_beside_it_stays(two_files):
    (two_files / "a.py.unfinished").write_bytes(b"mine")
    apply(changed("a.py"), two_files)
    assert (two_files / "a.py.unfinished").read_bytes() == b"mine"
    assert (two_files / "a.py").read_bytes() == b"new\n"

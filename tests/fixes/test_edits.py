"""Each kind of edit, against sources written by hand."""

import ast
import textwrap

import pytest

from diagnose.fixes.all import FIXES
from diagnose.fixes.patch.changes import patched
from diagnose.fixes.patch.script import ANYWHERE, NoPatch

WORKERS = {"num_workers": 2, "persistent_workers": True}


def edited(source, intervention, arguments=None, *, line=1):
    source = textwrap.dedent(source).lstrip("\n")
    new = patched(source, line, intervention, arguments or {})
    ast.parse(new)
    return new


def same(source, expected):
    return source == textwrap.dedent(expected).lstrip("\n")


def refusal(source, intervention, arguments=None, *, line=1):
    with pytest.raises(NoPatch) as refused:
        edited(source, intervention, arguments, line=line)
    return str(refused.value)


def test_every_intervention_is_patched_or_has_a_reason():
    for name, fix in FIXES.items():
        assert bool(fix.patch) != bool(fix.by_hand)
        if fix.by_hand:
            assert refusal("x = 1\n", name) == fix.by_hand


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("DataLoader(data)", "DataLoader(data, num_workers=2, persistent_workers=True)"),
        (
            "torch.utils.data.DataLoader(data, 64,)",
            "torch.utils.data.DataLoader(data, 64, num_workers=2, persistent_workers=True,)",
        ),
        (
            "DataLoader(data, num_workers=0)  # slow",
            "DataLoader(data, num_workers=2, persistent_workers=True)  # slow",
        ),
        ("DataLoader(data, num_workers = 0)", "DataLoader(data, num_workers = 2, persistent_workers = True)"),
        (
            "DataLoader(data, 64, True, None, None, 0, f)",
            "DataLoader(data, 64, True, None, None, 2, f, persistent_workers=True)",
        ),
        (
            "DataLoader(data, persistent_workers=False)",
            "DataLoader(data, persistent_workers=True, num_workers=2)",
        ),
        ("DataLoader(x for x in y)", "DataLoader((x for x in y), num_workers=2, persistent_workers=True)"),
        ("DataLoader(*data)", None),
        (
            "DataLoader(data, *more, num_workers=0)",
            "DataLoader(data, *more, num_workers=2, persistent_workers=True)",
        ),
        ("DataLoader(data, **options)", None),
        ("DataLoader(data, num_workers=0, **options)", None),
        (
            "DataLoader(data, num_workers=0, persistent_workers=False, **options)",
            "DataLoader(data, num_workers=2, persistent_workers=True, **options)",
        ),
        (
            "wrap(DataLoader(Data(DataLoader)))",
            "wrap(DataLoader(Data(DataLoader), num_workers=2, persistent_workers=True))",
        ),
        (
            "a, b = DataLoader(x), wrap(DataLoader(y))",
            "a, b = DataLoader(x, num_workers=2, persistent_workers=True), wrap(DataLoader(y, num_workers=2, "
            "persistent_workers=True))",
        ),
    ],
)
def test_a_loader_gets_workers(call, expected):
    if expected is None:
        assert "which may hold `" in refusal(call, "dataloader", WORKERS)
    else:
        assert edited(call, "dataloader", WORKERS) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("DataLoader(data, 64)", "DataLoader(data, 128)"),
        ("DataLoader(data, batch_size=64)", "DataLoader(data, batch_size=128)"),
        ("DataLoader(data)", "DataLoader(data, batch_size=128)"),
    ],
)
def test_a_loader_gets_larger_batches(call, expected):
    assert edited(call, "dataloader", {"batch_size": 128}) == expected


@pytest.mark.parametrize("line", range(1, 7))
def test_one_argument_a_line_stays_so_whichever_line_is_given(line):
    source = """
        loader = DataLoader(
            data,  # all of it
            batch_size=64,  # a power of two
            # shuffle=True,
        )
        rest = 1
        """
    if line == 6:
        assert "no call of `DataLoader` was found there" in refusal(source, "dataloader", WORKERS, line=6)
        return
    expected = """
        loader = DataLoader(
            data,  # all of it
            batch_size=64,  # a power of two
            # shuffle=True,
            num_workers=2,
            persistent_workers=True,
        )
        rest = 1
        """
    assert same(edited(source, "dataloader", WORKERS, line=line), expected)


def test_an_argument_a_line_without_a_trailing_comma():
    source = """
        loader = DataLoader(
            data,
            batch_size=64  # a power of two
        )
        """
    expected = """
        loader = DataLoader(
            data,
            batch_size=64,  # a power of two
            num_workers=2,
            persistent_workers=True
        )
        """
    assert same(edited(source, "dataloader", WORKERS), expected)


def test_arguments_below_the_parenthesis():
    source = """
        loader = DataLoader(data,
                            batch_size=64)
        """
    expected = """
        loader = DataLoader(data,
                            batch_size=64,
                            num_workers=2,
                            persistent_workers=True)
        """
    assert same(edited(source, "dataloader", WORKERS), expected)


def test_arguments_that_share_a_line_are_appended_to_it():
    source = """
        loader = DataLoader(
            data, batch_size=64  # a power of two
        )
        """
    expected = """
        loader = DataLoader(
            data, batch_size=64, num_workers=2, persistent_workers=True  # a power of two
        )
        """
    assert same(edited(source, "dataloader", WORKERS), expected)


def test_a_method_chain_over_several_lines_is_found_by_the_methods_line():
    source = "x = (batch\n     .float()\n     .to(device))\n"
    assert (
        edited(source, "non_blocking", line=3)
        == "x = (batch\n     .float()\n     .to(device, non_blocking=True))\n"
    )


def test_tabs_stay_tabs():
    source = "def f():\n\treturn DataLoader(\n\t\tdata,\n\t)\n"
    assert (
        edited(source, "dataloader", {"num_workers": 2}, line=2)
        == "def f():\n\treturn DataLoader(\n\t\tdata,\n\t\tnum_workers=2,\n\t)\n"
    )


def test_windows_line_ends_and_a_byte_order_mark_stay():
    source = "\ufeffloader = DataLoader(\r\n    data,\r\n)\r\nx = 1"
    assert (
        patched(source, 1, "dataloader", {"num_workers": 2})
        == "\ufeffloader = DataLoader(\r\n    data,\r\n    num_workers=2,\r\n)\r\nx = 1"
    )


def test_without_workers_what_needs_them_goes():
    source = """
        loader = DataLoader(
            data,
            num_workers=8,
            prefetch_factor=4,  # two were not enough
            persistent_workers=True,
        )
        """
    expected = """
        loader = DataLoader(
            data,
            num_workers=0,
        )
        """
    assert same(edited(source, "dataloader", {"num_workers": 0, "persistent_workers": False}), expected)
    one_line = (
        'DataLoader(data, num_workers=8, prefetch_factor=4, timeout=9, multiprocessing_context="fork", '
        "pin_memory=True)"
    )
    assert (
        edited(one_line, "dataloader", {"num_workers": 0})
        == "DataLoader(data, num_workers=0, pin_memory=True)"
    )


def test_a_comment_of_the_argument_before_survives():
    source = "f.zero_grad(a,  # mine\n            set_to_none=False)\n"
    assert edited(source, "zero_grad") == "f.zero_grad(a,  # mine\n            )\n"


def test_what_needs_workers_is_not_given_to_a_loader_without():
    assert "no workers" in refusal("DataLoader(data)", "dataloader", {"persistent_workers": True})
    assert "no workers" in refusal("DataLoader(data, num_workers=0)", "dataloader", {"prefetch_factor": 8})
    assert (
        edited("DataLoader(data, num_workers=n)", "dataloader", {"prefetch_factor": 8})
        == "DataLoader(data, num_workers=n, prefetch_factor=8)"
    )


@pytest.mark.parametrize(
    ("source", "intervention", "arguments"),
    [
        ("DataLoader(data, num_workers=2, persistent_workers=True)", "dataloader", WORKERS),
        ("DataLoader(data, num_workers=0)", "dataloader", {"num_workers": 0}),
        ("DataLoader(data)", "dataloader", {"num_workers": 0, "pin_memory": False}),
        ("x.to(device, non_blocking=True)", "non_blocking", {}),
        ("optimizer.zero_grad()", "zero_grad", {}),
        ("optimizer.zero_grad(True)", "zero_grad", {}),
        ("torch.optim.Adam(p, fused=True)", "optimizer", {"fused": True}),
        ("torch.autograd.set_detect_anomaly(False)", "anomaly_mode_off", {}),
        ("import torch\ntorch.set_num_threads(4)", "threads", {"count": 4}),
        ("import torch\ntorch.backends.cudnn.benchmark = True", "backend_flags", {"cudnn_benchmark": True}),
        ("DDP(model)", "ddp", {"find_unused_parameters": False}),
    ],
)
def test_what_is_so_already_is_left(source, intervention, arguments):
    line = ANYWHERE if intervention in ("threads", "backend_flags") else 1
    assert refusal(source, intervention, arguments, line=line) == "it is already so"


@pytest.mark.parametrize(
    ("source", "intervention", "arguments", "expected"),
    [
        ("torch.optim.Adam(p)", "optimizer", {"fused": True}, "torch.optim.Adam(p, fused=True)"),
        ("optim.SGD(p, lr=1, foreach=True)", "optimizer", {"fused": True}, "optim.SGD(p, lr=1, fused=True)"),
        ("AdamW(p, fused=False, lr=1)", "optimizer", {"fused": True}, "AdamW(p, fused=True, lr=1)"),
        ("RMSprop(p, foreach=False)", "optimizer", {"foreach": True}, "RMSprop(p, foreach=True)"),
        (
            "Adadelta(p, 1, 0.9, 1e-6, 0, False)",
            "optimizer",
            {"foreach": True},
            "Adadelta(p, 1, 0.9, 1e-6, 0, True)",
        ),
        (
            "DDP(model, device_ids=[0])",
            "ddp",
            {"static_graph": True},
            "DDP(model, device_ids=[0], static_graph=True)",
        ),
        (
            "DDP(m, find_unused_parameters=True)",
            "ddp",
            {"find_unused_parameters": False},
            "DDP(m, find_unused_parameters=False)",
        ),
        ("optimizer.zero_grad(set_to_none=False)", "zero_grad", {}, "optimizer.zero_grad()"),
        ("optimizer.zero_grad(\n    set_to_none=False,\n)", "zero_grad", {}, "optimizer.zero_grad()"),
        ("optimizer.zero_grad(False)", "zero_grad", {}, "optimizer.zero_grad()"),
        ("x.to(device)", "non_blocking", {}, "x.to(device, non_blocking=True)"),
        (
            "f(x.cuda(), y.cuda(0))",
            "non_blocking",
            {},
            "f(x.cuda(non_blocking=True), y.cuda(0, non_blocking=True))",
        ),
        ("x.to(device, non_blocking=False)", "non_blocking", {}, "x.to(device, non_blocking=True)"),
        (
            "torch.autograd.set_detect_anomaly(True)",
            "anomaly_mode_off",
            {},
            "torch.autograd.set_detect_anomaly(False)",
        ),
        ("set_detect_anomaly(mode=True)", "anomaly_mode_off", {}, "set_detect_anomaly(mode=False)"),
        (
            "with f(), autograd.detect_anomaly(check_nan=True):  # NaN?\n    x()\n",
            "anomaly_mode_off",
            {},
            "with f(), autograd.set_detect_anomaly(False):  # NaN?\n    x()\n",
        ),
        ("with torch.no_grad():\n    x()\n", "inference_mode", {}, "with torch.inference_mode():\n    x()\n"),
        ("@torch.no_grad()\ndef f(): ...\n", "inference_mode", {}, "@torch.inference_mode()\ndef f(): ...\n"),
    ],
)
def test_edits_on_one_line(source, intervention, arguments, expected):
    assert edited(source, intervention, arguments) == expected


@pytest.mark.parametrize(
    ("source", "intervention", "arguments", "reason"),
    [
        ("x.to(device, torch.float32, True)", "non_blocking", {}, "by position"),
        ("Lion(p)", "optimizer", {"fused": True}, "no call of"),
        ("RMSprop(p)", "optimizer", {"fused": True}, "no call of"),
        ("Adam(p, **options)", "optimizer", {"fused": True}, "which may hold"),
        ("Adam(p, fused=False, **options)", "optimizer", {"fused": True}, "which may hold"),
        ("DDP(m, ids, out, 0, True, True)", "ddp", {"static_graph": True}, "by position"),
        ("scores = model(x)", "inference_mode", {}, "no `torch.no_grad()`"),
        ("with no_grad(): x()", "inference_mode", {}, "imported first"),
        ("x = (", "zero_grad", {}, "cannot be read"),
        ("x = 1\ry = 2\r", "zero_grad", {}, "line ends"),
        ("import torch as t", "threads", {"count": 2}, "does not import `torch`"),
        ("import torch", "backend_flags", {"other": 2}, "no line of code is known"),
        ("import torch", "something", {}, "by hand"),
        (
            "import torch\ntorch.set_num_threads(1)\ntorch.set_num_threads(4)",
            "threads",
            {"count": 2},
            "several places (lines 2, 3)",
        ),
        (
            "import torch\ncudnn.benchmark = x = False",
            "backend_flags",
            {"cudnn_benchmark": True},
            "together with",
        ),
        (
            "import torch\ntorch.backends.cuda.matmul.allow_tf32 = False",
            "backend_flags",
            {"matmul_precision": "high"},
            "line 2 decides the same",
        ),
        ("Adam(p, differentiable=True)", "optimizer", {"fused": True}, "differentiable"),
        ("Adam(p, fused=True)", "optimizer", {"foreach": True}, "fused"),
        (
            "torch.set_float32_matmul_precision('high')\nimport torch",
            "backend_flags",
            {"allow_tf32": True},
            "line 1 decides",
        ),
    ],
)
def test_what_cannot_be_patched_has_a_reason(source, intervention, arguments, reason):
    assert reason in refusal(source, intervention, arguments)


@pytest.mark.parametrize(
    ("call", "intervention", "arguments", "reason"),
    [
        (
            "DataLoader(data, num_workers=args.workers)",
            "dataloader",
            {"num_workers": 2},
            "`num_workers` is given by `args.workers`: make that 2",
        ),
        (
            "DataLoader(data, num_workers=W, persistent_workers=W > 0)",
            "dataloader",
            {"persistent_workers": True},
            "`persistent_workers` is given by `W > 0`: make that True",
        ),
        (
            "DataLoader(data, num_workers=2, multiprocessing_context=how)",
            "dataloader",
            {"num_workers": 0},
            "`multiprocessing_context` is given by `how`: it would have to go",
        ),
        (
            "torch.autograd.set_detect_anomaly(args.debug)",
            "anomaly_mode_off",
            {},
            "`mode` is given by `args.debug`: make that False",
        ),
        (
            "model.zero_grad(set_to_none=cfg.none)",
            "zero_grad",
            {},
            "`set_to_none` is given by `cfg.none`: make that True",
        ),
    ],
)
def test_what_an_expression_gives_is_left_to_the_user(call, intervention, arguments, reason):
    assert refusal(call, intervention, arguments) == reason


def test_a_setting_from_an_expression_is_left_to_the_user():
    source = "import torch\ntorch.set_num_threads(args.threads)\n"
    assert (
        refusal(source, "threads", {"count": 2}, line=ANYWHERE)
        == "line 2 sets it to `args.threads`: make that 2"
    )


@pytest.mark.parametrize(
    "call",
    ["DataLoader(d, batch_sampler=s)", "DataLoader(d, 1, False, None, s)", "DataLoader(d, batch_size=None)"],
)
def test_a_loader_that_does_not_make_its_batches_gets_no_size_of_them(call):
    assert "batch" in refusal(call, "dataloader", {"batch_size": 64})


@pytest.mark.parametrize(
    ("head", "call", "intervention", "arguments", "where"),
    [
        ("from mine import Adam", "Adam(p)", "optimizer", {"fused": True}, "mine.Adam"),
        ("from .optim import Adam", "Adam(p)", "optimizer", {"fused": True}, ".optim.Adam"),
        ("from . import optim", "optim.Adam(p)", "optimizer", {"fused": True}, "..optim.Adam"),
        ("import mine.optim as o", "o.Adam(p)", "optimizer", {"fused": True}, "mine.optim.Adam"),
        ("class Adam: pass", "Adam(p)", "optimizer", {"fused": True}, ".Adam"),
        (
            "try: from apex.optimizers import Adam\nexcept ImportError: from torch.optim import Adam",
            "Adam(p)",
            "optimizer",
            {"fused": True},
            "apex.optimizers.Adam",
        ),
        ("from mine import DataLoader", "DataLoader(d)", "dataloader", WORKERS, "mine.DataLoader"),
        ("from jax import no_grad", "with no_grad(): x()", "inference_mode", {}, "jax.no_grad"),
    ],
)
def test_what_only_has_the_name_of_torchs_is_left(head, call, intervention, arguments, where):
    source = f"{head}\n{call}\n"
    said = refusal(source, intervention, arguments, line=source.count("\n"))
    assert f"is `{where}` there, which is not torch's" in said


def test_torchs_own_is_found_beside_its_namesake():
    source = "import torch\nfrom mine import Adam\nAdam(p)\ntorch.optim.Adam(p)\n"
    assert edited(source, "optimizer", {"fused": True}, line=ANYWHERE) == source.replace(
        "torch.optim.Adam(p)", "torch.optim.Adam(p, fused=True)"
    )


@pytest.mark.parametrize(
    ("head", "setting", "intervention", "arguments", "added"),
    [
        ("import numexpr", "numexpr.set_num_threads(8)", "threads", {"count": 2}, "torch.set_num_threads(2)"),
        (
            "from numexpr import set_num_threads",
            "set_num_threads(8)",
            "threads",
            {"count": 2},
            "torch.set_num_threads(2)",
        ),
        (
            "from cfg import cfg",
            "cfg.cudnn.benchmark = False",
            "backend_flags",
            {"cudnn_benchmark": True},
            "torch.backends.cudnn.benchmark = True",
        ),
    ],
)
def test_a_setting_of_somebody_elses_is_none_of_torchs(head, setting, intervention, arguments, added):
    new = edited(f"import torch\n{head}\n{setting}\n", intervention, arguments, line=ANYWHERE)
    assert new == f"import torch\n{head}\n\n{added}\n{setting}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if '--deterministic' in sys.argv:\n    {}\n", ""),
        ("def never():\n    {}\n", ""),
        ("def seed():\n    {}\ndef main():\n    if slow:\n        seed()\n", "main()\n"),
        ("class A:\n    def f(self):\n        {}\n", "A().f()\n"),
    ],
)
def test_a_setting_that_is_not_known_to_run_is_left(before, after):
    source = "import torch\n" + before.format("torch.backends.cudnn.benchmark = False") + after
    said = refusal(source, "backend_flags", {"cudnn_benchmark": True}, line=ANYWHERE)
    assert (
        said
        == f"line {source[: source.index('.benchmark')].count(chr(10)) + 1} sets it, which is not known to run"
    )


def test_a_setting_below_the_imports_of_functions_that_run_is_changed():
    source = (
        "from torch.backends import cudnn as c\ndef seed():\n    c.benchmark = False\n"
        'def main():\n    with x:\n        seed()\nif __name__ == "__main__":\n    main()\n'
    )
    assert edited(source, "backend_flags", {"cudnn_benchmark": True}, line=ANYWHERE) == source.replace(
        "False", "True"
    )


def test_a_function_imported_by_its_own_name_is_replaced_by_its_full_name():
    source = (
        "import torch.nn as nn\nimport torch\nfrom torch.autograd import detect_anomaly\nwith "
        "detect_anomaly():\n    x()\n"
    )
    assert edited(source, "anomaly_mode_off", line=4) == source.replace(
        "with detect_anomaly()", "with torch.autograd.set_detect_anomaly(False)"
    )


def test_settings_go_below_the_imports():
    source = '''
        """A script."""
        from __future__ import annotations

        import torch.nn  # binds torch
        from torch import optim
        try:
            import apex
        except ImportError:
            apex = None

        def main():
            import math
        if __name__ == "__main__":
            main()
            import sys
        import late
        '''
    expected = '''
        """A script."""
        from __future__ import annotations

        import torch.nn  # binds torch
        from torch import optim
        try:
            import apex
        except ImportError:
            apex = None

        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")

        def main():
            import math
        if __name__ == "__main__":
            main()
            import sys
        import late
        '''
    assert same(
        edited(source, "backend_flags", {"cudnn_benchmark": True, "matmul_precision": "high"}), expected
    )


def test_one_setting_may_take_several_lines():
    new = edited("import torch\nx = 1\n", "backend_flags", {"allow_tf32": True, "flash_sdp": False})
    assert new.splitlines()[2:-1] == [
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cudnn.allow_tf32 = True",
        "torch.backends.cuda.enable_flash_sdp(False)",
    ]


def test_a_setting_that_the_script_makes_is_changed_there():
    source = (
        "import torch\nfrom torch.backends import cudnn\ndef main():\n    cudnn.benchmark = False  # "
        "slow\n    torch.set_num_threads(8)\nif __name__ == '__main__':\n    main()\n"
    )
    flags = edited(source, "backend_flags", {"cudnn_benchmark": True})
    assert flags == source.replace("benchmark = False", "benchmark = True")
    assert edited(source, "threads", {"count": 2}) == source.replace("threads(8)", "threads(2)")


def test_the_edit_of_a_file_without_a_last_newline():
    assert edited("import torch", "threads", {"count": 2}) == "import torch\n\ntorch.set_num_threads(2)"

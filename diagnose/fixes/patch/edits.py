"""What each automatic fix changes in the source, at the call whose line is known: the functions that
`diagnose.fixes.all` names. They raise NoPatch with the reason where they cannot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import libcst as cst

from diagnose.fixes.fix import SEE, Arguments, Fix
from diagnose.fixes.patch.arguments import (
    NOT_GIVEN,
    NOWHERE,
    code_of,
    known_value,
    literal,
    value_of,
    with_argument,
    without_argument,
)
from diagnose.fixes.patch.script import Change, NoPatch, Script, name_of

# Where torch takes an argument by position too.
LOADER_POSITIONS = {
    "batch_size": 1,
    "batch_sampler": 4,
    "num_workers": 5,
    "pin_memory": 7,
    "timeout": 9,
    "multiprocessing_context": 11,
}
FOREACH_POSITIONS = {"Adadelta": 5, "Adamax": 5, "ASGD": 6, "Adagrad": 6, "RMSprop": 8}
# a DataLoader without workers refuses them
NEED_WORKERS = ("persistent_workers", "prefetch_factor", "timeout", "multiprocessing_context")
WITH_FUSED = {"SGD", "Adam", "AdamW", "Adagrad"}
WITH_FOREACH = WITH_FUSED | {"Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"}
MOST_DDP_POSITIONS = 5  # of those further back the order differs between versions
DEFAULTS = {
    "batch_size": 1,
    "multiprocessing_context": None,
    "num_workers": 0,
    "persistent_workers": False,
    "pin_memory": False,
    "prefetch_factor": None,
    "fused": None,
    "foreach": None,
    "non_blocking": False,
    "find_unused_parameters": False,
    "gradient_as_bucket_view": False,
    "static_graph": False,
}


def dataloader(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    return [change for call in _calls(script, {"DataLoader"}, line) for change in _of_loader(call, arguments)]


def _of_loader(call: cst.Call, arguments: Arguments) -> list[Change]:
    wanted = dict(arguments)
    if "batch_size" in wanted:
        _check_batched(call)
    workers = (
        _set(call, {"num_workers": wanted.pop("num_workers")}, LOADER_POSITIONS)
        if "num_workers" in wanted
        else []
    )
    needing = [name for name in wanted if name in NEED_WORKERS]
    if "num_workers" not in arguments and needing and value_of(call, "num_workers", 5) in (0, NOT_GIVEN):
        raise NoPatch(f"this DataLoader has no workers, which `{needing[0]}` needs")
    if arguments.get("num_workers") != 0:
        return workers + _set(call, wanted, LOADER_POSITIONS)
    rest = _set(
        call, {name: value for name, value in wanted.items() if name not in needing}, LOADER_POSITIONS
    )
    return workers + (_dropped(call, NEED_WORKERS, LOADER_POSITIONS) if workers else []) + rest


def _check_batched(call: cst.Call) -> None:
    """Raises NoPatch for a loader whose batches something else makes."""
    if value_of(call, "batch_sampler", LOADER_POSITIONS["batch_sampler"]) not in (NOT_GIVEN, None):
        raise NoPatch("the loader's `batch_sampler` makes its batches: change their size there")
    if value_of(call, "batch_size", LOADER_POSITIONS["batch_size"]) is None:
        raise NoPatch("the loader makes no batches: what its data set returns is one already")


def optimizer(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    called = f"an optimizer of torch's that takes {' and '.join(f'`{name}`' for name in arguments)}"
    calls = _calls(script, WITH_FUSED if "fused" in arguments else WITH_FOREACH, line, called)
    return [change for call in calls for change in _of_optimizer(call, arguments)]


def _of_optimizer(call: cst.Call, arguments: Arguments) -> list[Change]:
    """torch takes only one of ``fused``, ``foreach`` and ``differentiable``."""
    if value_of(call, "differentiable") not in (NOT_GIVEN, False):
        raise NoPatch("the optimizer is differentiable, which excludes the others")
    if "foreach" in arguments and value_of(call, "fused") not in (NOT_GIVEN, None, False):
        raise NoPatch("the optimizer is fused, which does more")
    positions = {"foreach": FOREACH_POSITIONS.get(name_of(call), NOWHERE)}
    found = _set(call, arguments, positions)
    return found + (_dropped(call, ["foreach"], positions) if found and arguments.get("fused") else [])


def ddp(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    calls = _calls(script, {"DistributedDataParallel", "DDP"}, line)
    if any(sum(arg.keyword is None for arg in call.args) > MOST_DDP_POSITIONS for call in calls):
        raise NoPatch("the call gives too many arguments by position")
    return [change for call in calls for change in _set(call, arguments, {})]


def zero_grad(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    calls = [
        call
        for call in _methods(script, {"zero_grad"}, line)
        if known_value(call, "set_to_none", 0, "make that True") not in (True, NOT_GIVEN)
    ]
    return [change for call in calls for change in _dropped(call, ["set_to_none"], {"set_to_none": 0})]


def non_blocking(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    return [change for call in _methods(script, {"to", "cuda"}, line) for change in _of_copy(call)]


def _of_copy(call: cst.Call) -> list[Change]:
    """Of `to` several signatures take ``non_blocking`` by position: a bare True or
    False among its arguments may be that.
    """
    if any(arg.keyword is None and isinstance(literal(arg.value), bool) for arg in call.args):
        raise NoPatch("the call gives `non_blocking` by position")
    return _set(call, {"non_blocking": True}, {})


def anomaly_mode_off(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    calls = _calls(script, {"set_detect_anomaly", "detect_anomaly"}, line)
    switches = [call for call in calls if name_of(call) == "set_detect_anomaly"]
    blocks = [call for call in calls if name_of(call) == "detect_anomaly"]
    # detect_anomaly switches it on whatever its arguments; the other takes its place in
    # `with` and leaves the block as it stands.
    return [change for call in switches for change in _set(call, {"mode": False}, {"mode": 0})] + [
        _called_instead(script, call, "autograd.set_detect_anomaly", "False") for call in blocks
    ]


def inference_mode(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    if not script.calls({"no_grad"}, line):
        raise NoPatch(f"there is no `torch.no_grad()` at that line to replace: {SEE}")
    return [_called_instead(script, call, "inference_mode", "") for call in _calls(script, {"no_grad"}, line)]


def _calls(script: Script, names: Collection[str], line: int, called: str = "") -> list[cst.Call]:
    """Of functions and classes of torch's: one that the file takes from elsewhere only has the same name."""
    found = _methods(script, names, line, called)
    own = [call for call in found if not script.not_torchs(call)]
    if not own:
        raise NoPatch(f"`{name_of(found[0])}` is `{script.not_torchs(found[0])}` there, which is not torch's")
    return own


def _methods(script: Script, names: Collection[str], line: int, called: str = "") -> list[cst.Call]:
    found = script.calls(names, line)
    if not found:
        raise NoPatch(
            f"no call of {called or ' or '.join(f'`{name}`' for name in sorted(names))} was found there"
        )
    return found


def _set(call: cst.Call, arguments: Arguments, positions: Mapping[str, int]) -> list[Change]:
    """The arguments that are not so yet."""
    found = []
    for name, value in arguments.items():
        position = positions.get(name, NOWHERE)
        now = known_value(call, name, position, f"make that {code_of(value)}")
        if now is NOT_GIVEN:
            now = DEFAULTS.get(name, NOT_GIVEN)
        if type(now) is not type(value) or now != value:
            found.append(
                Change(
                    call,
                    name,
                    code_of(value),
                    partial(with_argument, name=name, value=value, position=position),
                )
            )
    return found


def _dropped(call: cst.Call, names: Sequence[str], positions: Mapping[str, int]) -> list[Change]:
    """Also of arguments that are not given: nobody else may set them then."""
    for name in names:
        known_value(call, name, positions.get(name, NOWHERE), "it would have to go")
    makers = {
        name: partial(without_argument, name=name, position=positions.get(name, NOWHERE)) for name in names
    }
    for made in makers.values():
        made(call)  # raises NoPatch if it cannot be done
    return [Change(call, name, "", made) for name, made in makers.items()]


def _called_instead(script: Script, call: cst.Call, name: str, argument: str) -> Change:
    """Another function of torch, reached the same way; by its full name where
    the old one was imported by its own.
    """
    if isinstance(call.func, cst.Attribute):
        func: cst.BaseExpression = call.func.with_changes(attr=cst.Name(name.split(".")[-1]))
    elif script.has_torch():
        func = cst.parse_expression(f"torch.{name}")
    else:
        raise NoPatch(f"`torch.{name}` would have to be imported first")
    args = [cst.Arg(cst.parse_expression(argument))] if argument else []
    return Change(call, "function", name, lambda node: node.with_changes(func=func, args=args))

"""Each automatic fix is stated once, and what states it agrees with the class that makes it."""

import ast
import inspect
import pkgutil
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

import diagnose
from diagnose.fixes.all import FIXES, check
from diagnose.fixes.patch import edits
from diagnose.judge.rules import load_rules
from diagnose.measure.metrics import METRICS
from diagnose.run.child import interventions
from diagnose.run.child.interventions import Intervention
from diagnose.run.child.interventions.base import Sites
from diagnose.run.child.places import Places

PACKAGE = Path(diagnose.__file__).parent
ROOT = PACKAGE.parent
EACH = pytest.mark.parametrize("fix", FIXES.values(), ids=FIXES)
SITES = Sites((), Places("/job", "/job"))


def child_of(fix):
    return pkgutil.resolve_name(f"{interventions.__name__}.{fix.child}")


def parameters_of(fix):
    """Those of its class that a rule may give."""
    parameters = dict(inspect.signature(child_of(fix)).parameters)
    assert next(iter(parameters)) == "sites"
    del parameters["sites"]
    return parameters


@EACH
def test_its_class_takes_the_same_arguments(fix):
    parameters = parameters_of(fix)
    assert sorted(parameters) == sorted(argument.name for argument in fix.arguments)
    assert {parameter.kind for parameter in parameters.values()} <= {inspect.Parameter.KEYWORD_ONLY}


@EACH
def test_it_needs_arguments_where_its_class_does_nothing_without(fix):
    defaults = {parameter.default for parameter in parameters_of(fix).values()}
    assert fix.needs_arguments == (bool(defaults) and defaults <= {inspect.Parameter.empty, None, False})


@EACH
def test_its_class_can_be_made(fix):
    required = [
        name for name, parameter in parameters_of(fix).items() if parameter.default is inspect.Parameter.empty
    ]
    assert isinstance(child_of(fix)(SITES, **{name: [2] for name in required}), Intervention)


@EACH
def test_it_has_a_patch_or_a_reason(fix):
    assert bool(fix.patch) != bool(fix.by_hand)
    if fix.patch:
        patch = pkgutil.resolve_name(f"diagnose.fixes.patch.{fix.patch}")
        assert list(inspect.signature(patch).parameters) == ["script", "line", "fix", "arguments"]
        if fix.patch.startswith("settings:"):
            assert all(argument.settings for argument in fix.arguments)


@EACH
def test_its_tolerance_is_a_share(fix):
    assert 0 < fix.tolerance < 1


@EACH
def test_its_arguments_have_a_largest_number_or_are_not_searched_for(fix):
    for argument in fix.arguments:
        assert argument.largest is None or argument.largest() >= 1


@EACH
def test_what_it_does_is_documented(fix):
    page = (ROOT / "docs" / "fixes.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{fix.name}` ")] or ["make docs"]
    assert fix.what and fix.what in row
    assert all(f"`{argument.name}`" in row for argument in fix.arguments)


def test_every_class_that_makes_a_fix_is_named_by_one():
    below = [
        pkgutil.resolve_name(f"{interventions.__name__}.{module.name}")
        for module in pkgutil.iter_modules(interventions.__path__)
    ]
    made = {
        f"{module.__name__.rpartition('.')[2]}:{name}"
        for module in below
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Intervention) and value.__module__ == module.__name__
    }
    bases = {
        "base:Intervention",
        "constructors:ConstructorIntervention",
        "evaluation:EvaluationIntervention",
        "forwards:ForwardIntervention",
        "serving:OtherForm",
    }
    assert made - bases == {fix.child for fix in FIXES.values()}


def test_every_rule_gives_its_fix_what_it_takes():
    for rule in load_rules().values():
        if rule.fix.intervention:
            fix = FIXES[rule.fix.intervention]
            check(fix.name, rule.fix.arguments, rule.id)
            given = {name: [2] if value in METRICS else value for name, value in rule.fix.arguments.items()}
            assert isinstance(child_of(fix)(SITES, **given), Intervention)


@pytest.mark.parametrize("argument", FIXES["dataloader"].arguments, ids=lambda argument: argument.name)
def test_a_patched_loader_argument_stands_where_torch_takes_it(argument):
    parameters = inspect.signature(DataLoader.__init__).parameters
    parameter = parameters[argument.name]
    by_position = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    position = list(parameters).index(argument.name) - 1 if by_position else None
    assert edits.LOADER_POSITIONS.get(argument.name) == position
    assert edits.DEFAULTS[argument.name] == parameter.default or argument.name == "persistent_workers"


@pytest.mark.parametrize("name", sorted(edits.WITH_FOREACH))
def test_foreach_stands_where_torch_takes_it(name):
    parameters = inspect.signature(getattr(torch.optim, name).__init__).parameters
    by_position = parameters["foreach"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    position = list(parameters).index("foreach") - 1 if by_position else None
    assert edits.FOREACH_POSITIONS.get(name) == position


def tables(tree):
    """The literals at least half of which are names of fixes, and what is compared with one."""
    words = {"allocator", "compile", "optimizer", "threads"}  # of rows, marks and torch's own names too
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
            names = {part.value for part in compared if isinstance(part, ast.Constant)} & set(FIXES)
            if names - words:
                yield node.lineno, names
        elements = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = {part.value for part in elements if isinstance(part, ast.Constant)} & set(FIXES)
        if len(names) > 1 and 2 * len(names) >= len(elements):
            yield node.lineno, names


@pytest.mark.parametrize(
    "code", ['x == "non_blocking"', '("ddp", "threads")', '{"ddp": 1, "gc_freeze": 2, "x": 3}']
)
def test_a_second_table_is_seen(code):
    assert list(tables(ast.parse(code)))


@pytest.mark.parametrize(
    "path",
    [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "fixes"],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_nothing_else_tells_fixes_apart_by_name(path):
    assert list(tables(ast.parse(path.read_text(encoding="utf-8")))) == []

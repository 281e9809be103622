"""Imports go one way (docs/architecture.md), and nothing heavy is imported
where an instant answer is promised.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "diagnose"
CHILD = "diagnose.run.child"

# A module imports from its own room and from the rooms before it.
ORDER = [
    "errors",
    "trace",
    "run",
    "measure",
    "fixes",
    "judge",
    "predict",
    "ranks",
    "watched",
    "profiles",
    "document",
    "verify",
    "compare",
    "snapshot",
    "report",
    "pipeline",
    "fleet",
    "in_process",
    "integrations",
    "agents",
    "commands",
    "__main__",
]
EXCEPTIONS: set[tuple[str, str]] = set()  # (importing module, imported module)
# What one fix in the user's process stands for, and is not there without.
IN_THE_CHILD = {f"{CHILD}.interventions.serving": {"onnxruntime"}}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_names(name: str) -> set[str]:
    """What a module imports anywhere in it, as absolute dotted names down to the imported attribute."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            start = ".".join(part for part in (base, node.module) if part)
            found |= {f"{start}.{alias.name}" for alias in node.names}
    return found


def room(name: str) -> str:
    """The part of ``diagnose`` that a module or one of its attributes belongs to;
    empty for the package's own attributes.
    """
    first = name.split(".")[1]
    return first if first in ORDER else ""


def is_ours(name: str) -> bool:
    return name.startswith("diagnose.")


@pytest.mark.parametrize("name", [name for name in MODULES if name != "diagnose"])
def test_every_module_has_a_room(name):
    assert room(name) or name.startswith(CHILD)


@pytest.mark.parametrize("name", [name for name in MODULES if is_ours(name)])
def test_a_module_imports_only_from_its_own_room_and_those_before_it(name):
    before = {"", *ORDER[: ORDER.index(room(name)) + 1]}
    against = {
        other
        for other in imported_names(name)
        if is_ours(other) and room(other) not in before and (name, other) not in EXCEPTIONS
    }
    assert not against


def test_the_package_itself_imports_nothing():
    assert not imported_names("diagnose")


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(CHILD)])
def test_code_in_the_users_process_imports_the_standard_library_torch_and_itself(name):
    allowed = {"torch", "_diagnose_child", "sitecustomize", *sys.stdlib_module_names}
    allowed |= IN_THE_CHILD.get(name, set())
    assert not {
        other
        for other in imported_names(name)
        if other.split(".")[0] not in allowed and not other.startswith(CHILD)
    }


@pytest.mark.parametrize("name", ["diagnose.commands.main", "diagnose.pipeline"])
def test_torch_is_not_imported_by(name):
    code = f"import sys, {name}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent).returncode == 0

"""The recording begins when torch has run, however it is looked up and imported."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
import types
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from diagnose.run.child.import_hook import _Watcher

from .running import Recorded

NAME = "watched_module"


class Arming:
    """A watcher of a module in `folder`, and what the module looked like whenever it called back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: list[bool] = []  # whether the module had run to its end
        self.watcher = _Watcher(NAME, lambda: self.seen.append(hasattr(sys.modules[NAME], "end")))
        sys.meta_path.insert(0, self.watcher)

    def write(self, source: str = "end = True", name: str = NAME) -> None:
        (self.folder / f"{name}.py").write_text(source)
        importlib.invalidate_caches()


@pytest.fixture
def arming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arming]:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    armed = Arming(tmp_path)
    armed.write()
    yield armed
    for name in [name for name in sys.modules if name.startswith(NAME) or name.startswith("other_module")]:
        del sys.modules[name]


def import_other(arming: Arming) -> None:
    arming.write("", "other_module")
    importlib.import_module("other_module")


def test_it_is_imported(arming: Arming) -> None:
    module = importlib.import_module(NAME)
    assert arming.seen == [True]
    assert arming.watcher not in sys.meta_path
    # nothing of ours is left
    assert module.__spec__ is not None and vars(module.__spec__.loader).keys() == {"name", "path"}


def test_it_is_looked_up_often_before(arming: Arming) -> None:
    specs = [importlib.util.find_spec(NAME) for _ in range(3)]
    threads = [threading.Thread(target=importlib.util.find_spec, args=(NAME,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in specs and arming.seen == []
    importlib.import_module(NAME)
    assert arming.seen == [True]
    kept = specs[0]
    assert kept is not None and kept.loader is not None
    kept.loader.exec_module(importlib.util.module_from_spec(kept))  # once more: nobody is called
    assert arming.seen == [True]


def test_a_part_of_it_is_looked_up(arming: Arming) -> None:
    package = arming.folder / NAME
    package.mkdir()
    (package / "__init__.py").write_text("end = True")
    (package / "part.py").write_text("")
    importlib.invalidate_caches()
    assert importlib.util.find_spec(f"{NAME}.part") is not None  # that imports the package
    assert arming.seen == [True]


def test_another_name_that_begins_like_it(arming: Arming) -> None:
    arming.write("", f"{NAME}_utils")
    importlib.import_module(f"{NAME}_utils")
    assert arming.seen == []
    importlib.import_module(NAME)
    assert arming.seen == [True]


def test_its_first_import_fails_half_way(arming: Arming) -> None:
    arming.write(
        "import sys\nif not hasattr(sys, 'once_failed'):\n    sys.once_failed = True\n    raise "
        "ImportError('half')\nend = True"
    )
    try:
        with pytest.raises(ImportError, match="half"):
            importlib.import_module(NAME)
        import_other(arming)
        assert arming.seen == []
        importlib.import_module(NAME)
        assert arming.seen == [True]
    finally:
        del sys.once_failed  # type: ignore[attr-defined]


def test_it_is_reloaded(arming: Arming) -> None:
    importlib.reload(importlib.import_module(NAME))
    assert arming.seen == [True]


def test_it_is_loaded_when_it_is_used(arming: Arming) -> None:
    spec = importlib.util.find_spec(NAME)
    assert spec is not None and spec.loader is not None
    lazy = spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    lazy.exec_module(module)
    import_other(arming)
    assert arming.seen == []
    assert module.end
    assert arming.seen == [True]


class Finder(importlib.abc.MetaPathFinder):
    """A script's own, which does something with what another finder found."""

    def __init__(
        self, change: Callable[[importlib.machinery.ModuleSpec], None], others: Callable[[], Sequence[object]]
    ) -> None:
        self._change, self._others = change, others

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME:
            return None
        for finder in self._others():
            spec = None if finder is self else finder.find_spec(fullname, path, target)  # type: ignore[attr-defined]
            if spec is not None:
                self._change(spec)
                return spec  # type: ignore[no-any-return]
        return None


def _reload(spec: importlib.machinery.ModuleSpec) -> None:
    assert spec.origin is not None
    spec.loader = importlib.machinery.SourceFileLoader(NAME, spec.origin)


@pytest.mark.parametrize("position", [0, 1])
def test_another_finder_asks_all_others_and_loads_it_with_a_loader_of_its_own(
    arming: Arming, position: int
) -> None:
    sys.meta_path.insert(position, Finder(_reload, lambda: sys.meta_path))
    importlib.import_module(NAME)
    if position == 0:
        assert arming.seen == []  # nobody has told
        import_other(arming)
    assert arming.seen == [True]
    arming.write("", "other_module_2")
    assert importlib.import_module("other_module_2") is not None


def test_another_finder_in_front_never_asks(arming: Arming) -> None:
    sys.meta_path.insert(0, Finder(lambda spec: None, lambda: [importlib.machinery.PathFinder]))
    importlib.import_module(NAME)
    import_other(arming)
    assert arming.seen == [True]


def test_a_loader_of_many_modules(arming: Arming) -> None:
    """A zip file has one loader for all that is in it."""
    (arming.folder / f"{NAME}.py").unlink()
    archive = arming.folder / "modules.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"{NAME}.py", "import other_module_in_zip\nend = True")
        packed.writestr("other_module_in_zip.py", "")
    sys.path.insert(0, str(archive))
    assert importlib.util.find_spec(NAME) is not None
    importlib.import_module("other_module_in_zip")
    assert arming.seen == []
    importlib.import_module(NAME)
    assert arming.seen == [True]


def test_a_loader_that_cannot_be_changed(arming: Arming) -> None:
    class Fixed(importlib.abc.Loader):
        __slots__ = ()

        def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
            return None

        def exec_module(self, module: types.ModuleType) -> None:
            module.end = True  # type: ignore[attr-defined]

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    def fix(spec: importlib.machinery.ModuleSpec) -> None:
        spec.loader = Fixed()

    sys.meta_path.append(Finder(fix, lambda: [importlib.machinery.PathFinder]))
    sys.meta_path[-1], sys.meta_path[1] = sys.meta_path[1], sys.meta_path[-1]
    importlib.import_module(NAME)
    import_other(arming)
    assert arming.seen == [True]


def test_accelerate_is_imported_before_torch(
    run_script: Callable[..., Recorded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("accelerate", exc_type=ImportError)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    run = run_script("accelerated", "100")
    assert run.outcome.ended == "stopped"
    assert run.steps_in("timeline") == 4
    assert run.facts["optimizers"][0]["class"] == "SGD"


def test_libraries_that_look_for_torch_before_it_is_imported(run_script: Callable[..., Recorded]) -> None:
    run = run_script("looked_up")
    assert (run.outcome.ended, run.stderr) == ("stopped", "")
    assert run.steps_in("timeline") == 4

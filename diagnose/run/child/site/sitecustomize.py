"""Arms the recorder in every Python process of the run, then makes way for
whatever else is called sitecustomize.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _arm() -> None:
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(_FOLDER)
    spec = spec_from_file_location(
        "_diagnose_child", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    if spec is None or spec.loader is None:
        raise ImportError(package)
    sys.modules[spec.name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    import_module("_diagnose_child.import_hook").arm()


sys.path[:] = [entry for entry in sys.path if entry != _FOLDER]
sys.path_importer_cache.pop(_FOLDER, None)
if os.environ.get("DIAGNOSE_RUN"):
    try:
        _arm()
    except Exception as error:  # the script must run, with or without us
        sys.stderr.write(f"diagnose: nothing will be recorded: {error!r}\n")
del sys.modules["sitecustomize"]
# another one, if there is one; else this raises the very ModuleNotFoundError that Python's start-up expects
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402,F401

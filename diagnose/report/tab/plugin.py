"""The tab's server side: a dynamic plugin that TensorBoard finds by its entry point.

Every request reads what lies on disk now.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from tensorboard.util import tb_logging
from werkzeug import wrappers
from werkzeug.wsgi import wrap_file

from diagnose.document.stored import REPORT, NotOurs, to_json
from diagnose.document.text import clean
from diagnose.errors import DiagnoseError
from diagnose.report.tab.folder import document_in, in_one_line, picture_in, trace_in
from diagnose.report.tab.runs import Run, Runs

# what a request waits for a walk of the log folder; the tab asks again where that was not enough
PATIENCE_S = 0.5
_LOGGER = tb_logging.get_logger()
_TYPES = {".js": "text/javascript", ".css": "text/css"}


class _Unknown(Exception):
    """The request names no run that is there."""


class DiagnosePlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # TensorBoard has no types
    """Shows the runs below `--logdir` that have a report of ours."""

    plugin_name = "diagnose"

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._logdir = context.logdir or ""
        self._runs = Runs(self._logdir)

    def is_active(self) -> bool:
        """Whether there is a run to show; runs that were seen once are believed in."""
        return bool(self._runs.known().runs or self._runs.look(PATIENCE_S).runs)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Diagnose")

    def get_plugin_apps(self) -> dict[str, Any]:
        answers = {
            "/runs": self._list,
            "/fragment": self._fragment,
            "/picture": self._picture,
            "/compare": self._compare,
            "/trace": self._trace,
        }
        assets = {f"/{name}": _asset(name) for name in ("index.js", "tab.css", "page.js", "page.css")}
        return {route: _app(answer) for route, answer in (assets | answers).items()}

    def _list(self, request: wrappers.Request) -> wrappers.Response:
        listing = self._runs.look(PATIENCE_S)
        rows = sorted((run.row for run in listing.runs.values()), key=lambda row: (-row["when"], row["run"]))
        body = {
            "logdir": clean(self._logdir),
            "searching": listing.searching,
            "cut": listing.cut,
            "runs": rows,
        }
        return http_util.Respond(request, to_json(body), "application/json")

    def _fragment(self, request: wrappers.Request) -> wrappers.Response:
        from diagnose.report.page import fragment

        return http_util.Respond(
            request, fragment(document_in(self._run(request, "run").folder)), "text/html"
        )

    def _picture(self, request: wrappers.Request) -> wrappers.Response:
        return http_util.Respond(request, picture_in(self._run(request, "run").folder), "application/json")

    def _compare(self, request: wrappers.Request) -> wrappers.Response:
        from diagnose.compare.comparison import compare
        from diagnose.report.comparison import comparison_html

        a, b = self._run(request, "a"), self._run(request, "b")
        comparison = compare(document_in(a.folder), document_in(b.folder), (a.row["name"], b.row["name"]))
        return http_util.Respond(request, comparison_html(comparison), "text/html")

    def _trace(self, request: wrappers.Request) -> wrappers.Response:
        """The trace as a download, passed on in pieces: it can have gigabytes."""
        run = self._run(request, "run")
        path = trace_in(run.folder)
        if path is None:
            raise DiagnoseError("This run's folder holds no trace.")
        headers = {
            "Content-Disposition": f'attachment; filename="{_file_name(run, path)}"',
            "Content-Length": str(path.stat().st_size),
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-cache, must-revalidate",
        }
        kind = "application/gzip" if path.suffix == ".gz" else "application/octet-stream"
        body = [] if request.method == "HEAD" else wrap_file(request.environ, path.open("rb"))
        return wrappers.Response(body, headers=headers, content_type=kind, direct_passthrough=True)

    def _run(self, request: wrappers.Request, parameter: str) -> Run:
        """The run that a request names: one of those that were found, or none."""
        key = request.args.get(parameter, "")
        run = self._runs.known().runs.get(key) or self._runs.look(PATIENCE_S).runs.get(key)
        if run is None:
            raise _Unknown("No run of that name is in the log folder now.")
        return run


Answer = Callable[[wrappers.Request], wrappers.Response]


def _app(answer: Answer) -> Any:
    """The answer as a WSGI application that tells errors in a sentence."""

    @wrappers.Request.application
    def app(request: wrappers.Request) -> wrappers.Response:
        try:
            return answer(request)
        except _Unknown as error:
            return http_util.Respond(request, str(error), "text/plain", code=404)
        except NotOurs:
            return http_util.Respond(
                request, f"This {REPORT} is not one of diagnose any more.", "text/plain", code=422
            )
        except DiagnoseError as error:
            return http_util.Respond(request, in_one_line(error), "text/plain", code=422)
        except Exception as error:
            _LOGGER.exception("The Diagnose tab cannot answer %s", request.path)
            said = (
                f"diagnose itself failed: {type(error).__name__}. The traceback is in what TensorBoard "
                "printed; please report it."
            )
            return http_util.Respond(request, said, "text/plain", code=500)

    return app


def _asset(name: str) -> Answer:
    def answer(request: wrappers.Request) -> wrappers.Response:
        from diagnose.report.page import assets

        content = (
            assets()[name]
            if name.startswith("page.")
            else (resources.files("diagnose.report.tab") / name).read_bytes()
        )
        return http_util.Respond(request, content, _TYPES[Path(name).suffix])

    return answer


def _file_name(run: Run, path: Path) -> str:
    """A name for the download that no header and no file system misreads."""
    name = re.sub(r"[^0-9A-Za-z._-]+", "-", run.row["name"]).strip("-.")[-80:]
    return f"{name or 'run'}.trace.json{path.suffix if path.suffix == '.gz' else ''}"

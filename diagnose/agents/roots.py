"""The folders that an agent may name files in. Nothing outside them is read or run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Outside(ValueError):
    """A path that is not inside the folders that were given, or is not there."""


class Roots:
    """``folders``: those that the server was started for; where the client has roots of its own, only what
    lies in both.
    """

    def __init__(self, folders: Sequence[Path], of_client: Iterable[str] = ()) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._of_client = [folder for uri in of_client if (folder := _folder_of(uri))]
        self._is_limited = bool(list(of_client))

    @property
    def home(self) -> Path:
        """Where relative paths start. Raises Outside where the client's roots leave nothing."""
        for folder in [*self._folders, *self._of_client]:
            if self._holds(folder):
                return folder
        raise Outside("none of this client's roots lies in a folder that diagnose was started for")

    def existing(self, name: str) -> Path:
        """A file or folder in them, links followed. Raises Outside."""
        if "://" in name:
            raise Outside(f"{name} is a URL: only files below {self.home} are read")
        path = (self.home / name).resolve()
        if not self._holds(path):
            raise Outside(f"{name} is outside {self.home}")
        if not path.exists():
            raise Outside(f"{name} does not exist below {self.home}")
        return path

    def typed(self, name: str) -> str:
        """An existing file or folder as a command line takes it, from `home` on: what looks like a command of
        ours or an option is a file all the same. Raises Outside.
        """
        path, home = self.existing(name), self.home
        if not path.is_relative_to(home):
            return str(path)
        short = str(path.relative_to(home))
        is_plain = ("/" in short or path.suffix == ".py") and not short.startswith("-")
        return short if is_plain else f"./{short}"

    def module(self, name: str) -> None:
        """Whether `python -m NAME` runs a file in them. Raises Outside."""
        if not all(part.isidentifier() for part in name.split(".")):
            raise Outside(f"{name} is no name of a module")
        base = self.home.joinpath(*name.split("."))
        for file in (base.with_suffix(".py"), base / "__main__.py"):
            if file.is_file() and self._holds(file.resolve()):
                return
        raise Outside(f"the module {name} is not below {self.home}")

    def _holds(self, path: Path) -> bool:
        is_ours = any(path.is_relative_to(folder) for folder in self._folders)
        return is_ours and (
            not self._is_limited or any(path.is_relative_to(folder) for folder in self._of_client)
        )


def _folder_of(uri: str) -> Path | None:
    """Of a `file://` URI; None for any other."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)).resolve() if parts.scheme == "file" else None

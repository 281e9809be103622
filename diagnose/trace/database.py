"""An SQLite database that somebody else wrote, read without trusting it."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from diagnose.errors import TraceUnreadable

_ROWS = 20_000  # at a time
_LONGEST_TEXT = 2**20
_STEPS = 50_000_000_000  # of SQLite's machine, for one query: minutes
_STEPS_AT_ONCE = 1_000_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}


class Database:
    """Only its tables are read: views and virtual tables, which may run anything, are none."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tables = {
            str(name): {str(column[1]) for column in connection.execute(f"pragma table_info({quoted(name)})")}
            for name, sql in connection.execute("select name, sql from sqlite_master where type = 'table'")
            if isinstance(name, str) and not str(sql).upper().startswith("CREATE VIRTUAL")
        }
        connection.set_authorizer(self._authorized)

    def rows(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        """Some at a time. Raises sqlite3.Error."""
        cursor = self._connection.execute(query)
        while rows := cursor.fetchmany(_ROWS):
            yield rows

    def _authorized(self, action: int, what: str | None, *_: str | None) -> int:
        allowed = action in _ALLOWED and (action != sqlite3.SQLITE_READ or what in self.tables)
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def quoted(name: str) -> str:
    """As an identifier."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def opened(blocks: Iterable[bytes], name: str, do: str) -> Iterator[Database]:
    """The database that these bytes are, from a copy that nobody can write to.

    Raises TraceUnreadable, with ``do``, also where it turns out to be damaged while it is read.
    """
    with tempfile.NamedTemporaryFile(prefix="diagnose-", suffix=".sqlite") as copy:
        try:
            copy.writelines(blocks)
            copy.flush()
        except OSError as error:
            raise TraceUnreadable(
                f"There is no room to uncompress {name}.",
                saw=f"{tempfile.gettempdir()}: {error.strerror}",
                do="Set TMPDIR to a folder with more room.",
            ) from error
        if _is_cut(Path(copy.name)):
            raise TraceUnreadable(f"{name} is cut off, and no whole database.", do=do)
        try:
            uri = f"{Path(copy.name).as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
                _secure(connection)
                yield Database(connection)
        except sqlite3.Error as error:
            raise TraceUnreadable(
                f"{name} is damaged or no whole database.", saw=f"SQLite says: {error}", do=do
            ) from error


def _is_cut(path: Path) -> bool:
    """By its head, which tells of so many pages (https://www.sqlite.org/fileformat.html, 1.3)."""
    with path.open("rb") as file:
        head = file.read(100)
    page_bytes, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    return path.stat().st_size < pages * (2**16 if page_bytes == 1 else page_bytes)


def _secure(connection: sqlite3.Connection) -> None:
    for setting in ("trusted_schema = off", "cell_size_check = on", "mmap_size = 0"):
        connection.execute(f"pragma {setting}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    left = _STEPS

    def out_of_time() -> bool:
        nonlocal left
        left -= _STEPS_AT_ONCE
        return left < 0

    connection.set_progress_handler(out_of_time, _STEPS_AT_ONCE)

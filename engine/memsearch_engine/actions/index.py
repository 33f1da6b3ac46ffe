"""Store the actions of each turn in ``actions.db``: changed files, and commands with their results.

Only text is stored. The caller removes secrets first. The database is derived: it can be made again
from archived conversations. Readers need no write access. A missing or damaged file reads as empty.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from memsearch_engine.actions import work
from memsearch_engine.agents.transcripts.model import Turn, TurnName
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home, private
from memsearch_engine.core.migrations import (
    OpenedOnce,
    open_shared,
    placeholders,
    read_rows,
    tables_of,
    transaction,
    write_ahead,
)

_LAYOUT = 1
_SCHEMA = """
CREATE TABLE turns (
  id INTEGER PRIMARY KEY, agent TEXT NOT NULL,\
 session TEXT NOT NULL, turn TEXT NOT NULL, memory TEXT NOT NULL,
  entry TEXT NOT NULL, at REAL NOT NULL, outside INTEGER NOT NULL, UNIQUE (agent, session, turn));
CREATE INDEX turns_session ON turns(session, at);
CREATE TABLE acts (
  turn INTEGER NOT NULL REFERENCES turns(id), n INTEGER NOT NULL,\
 command TEXT NOT NULL, head TEXT NOT NULL, path TEXT NOT NULL,
  failed INTEGER NOT NULL, complaint TEXT NOT NULL, PRIMARY KEY (turn, n)) WITHOUT ROWID;
CREATE INDEX acts_command ON acts(command) WHERE command<>'';
CREATE INDEX acts_path ON acts(path) WHERE path<>'';
CREATE TABLE signs (
  turn INTEGER NOT NULL REFERENCES turns(id), n INTEGER NOT NULL,\
 sign TEXT NOT NULL, PRIMARY KEY (sign, turn, n)) WITHOUT ROWID;
CREATE INDEX signs_turn ON signs(turn);
PRAGMA user_version=1;
"""
_MAX_TURNS = 200_000
_MAX_ACTS = 400  # per turn
_MAX_WORKED = 20_000  # runs that are returned
_BUSY_S = 10.0


class AgentAction(msgspec.Struct, kw_only=True):
    """One action of an agent: it ran ``command`` or wrote to ``path``; the other one is empty.

    Attributes:
        memory: the memory folder.
        entry: id of the note about the turn.
        at: start of the turn, in seconds since 1970.
        outside: whether the turn read content from outside the machine.
        n: position among the actions of the turn, from 0.
        head: the program with its subcommand, such as ``alembic upgrade``.
        failed: whether the command failed.
        complaint: the most specific error line that a failed command printed.
    """

    agent: str
    session: str
    turn: str
    memory: str
    entry: str
    at: float
    outside: bool
    n: int
    command: str
    head: str
    path: str
    failed: bool
    complaint: str

    @property
    def place(self) -> tuple[float, str, int]:
        """Key that sorts the actions of a session by time."""
        return self.at, self.turn, self.n


_COLUMNS = (
    "t.agent, t.session, t.turn, t.memory, t.entry, t.at, "
    "t.outside, a.n, a.command, a.head, a.path, a.failed, a.complaint"
)
_FROM = "acts a JOIN turns t ON t.id=a.turn"


class ActionIndex(OpenedOnce):
    """The actions of one home folder. An object must not be shared between threads."""

    def __init__(self, home: Home) -> None:
        super().__init__()
        self.home = home
        self.path = home.root / "actions.db"

    # -- writing

    def put(self, turn: Turn, memory: str, entry: str, at: float) -> None:
        """Store the actions of a turn and replace those stored before.

        Args:
            turn: without secrets.
            memory: memory folder of the note about the turn.
            entry: id of that note.
            at: start of the turn, in seconds since 1970.

        Raises:
            Unreachable: the database can't be written.
        """
        acts, signs = _of(turn, memory)
        key = (turn.agent, turn.session, turn.turn)
        try:
            db = self._db()
            with transaction(db):
                self._drop(
                    db,
                    db.execute(
                        "SELECT id FROM turns WHERE agent=? AND session=? AND turn=?", key
                    ).fetchall(),
                )
                cursor = db.execute(
                    "INSERT INTO turns (agent, session, turn, memory, entry, at, outside) "
                    "VALUES (?,?,?,?,?,?,?)",
                    (*key, memory, entry, at, turn.outside),
                )
                name = cursor.lastrowid
                db.executemany(
                    "INSERT INTO acts (turn, n, command, head, path, failed, complaint) "
                    "VALUES (?,?,?,?,?,?,?)",
                    [(name, *act) for act in acts],
                )
                db.executemany(
                    "INSERT OR IGNORE INTO signs (turn, n, sign) VALUES (?,?,?)",
                    [(name, *sign) for sign in signs],
                )
                oldest = db.execute("SELECT id FROM turns WHERE id<=?", ((name or 0) - _MAX_TURNS,))
                self._drop(db, oldest.fetchall())
        except (sqlite3.Error, OSError) as error:
            raise Unreachable(
                f"{self.path} can't be written: {error}", "move it aside: it is made again"
            ) from error

    @staticmethod
    def _drop(db: sqlite3.Connection, names: list[tuple[int]]) -> None:
        for table, column in (("acts", "turn"), ("signs", "turn"), ("turns", "id")):
            db.executemany(f"DELETE FROM {table} WHERE {column}=?", names)

    def _open(self) -> sqlite3.Connection:
        self.home.ensure()
        private(self.path)
        db = open_shared(self.path, _BUSY_S)
        try:
            write_ahead(db)
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA secure_delete=ON")
            with transaction(db):
                layout = db.execute("PRAGMA user_version").fetchone()[0]
                if layout > _LAYOUT:
                    raise sqlite3.OperationalError("a newer memsearch has written it")
                if layout != _LAYOUT:  # the data is derived, so an older layout is deleted
                    for table in tables_of(db):
                        db.execute(f"DROP TABLE {table}")
                    for statement in _SCHEMA.split(";"):
                        db.execute(statement)
        except sqlite3.Error:
            db.close()
            raise
        return db

    # -- reading

    def names(self, among: Sequence[TurnName]) -> set[TurnName]:
        """Those of some turns that are stored."""
        marks = ",".join(["(?,?,?)"] * len(among))
        found = self._read(
            "SELECT agent, session, turn FROM turns"
            f" WHERE (agent, session, turn) IN (VALUES {marks})",
            [part for name in among for part in name],
        )
        return {(agent, session, turn) for agent, session, turn in found}

    def of_command(self, memories: list[str], command: str) -> list[AgentAction]:
        """All runs of exactly this command, newest first."""
        return self._acts(memories, "a.command=?", [command])

    def of_path(self, memories: list[str], name: str) -> list[AgentAction]:
        """All writes to a file or folder with this path or end of a path, newest first."""
        like = _like(name)
        where = "a.path<>'' AND (a.path=? OR a.path LIKE ? ESCAPE '!' OR a.path LIKE ? ESCAPE '!')"
        return self._acts(memories, where, [name, f"%/{like}", f"{like}/%"])

    def of_sign(self, memories: list[str], signs: Iterable[str]) -> list[AgentAction]:
        """All failures with one of these signatures (``work.signature``), newest first."""
        names = list(signs)
        where = f"SELECT turn, n FROM signs WHERE sign IN ({placeholders(len(names))})"
        return self._acts(memories, f"(a.turn, a.n) IN ({where})", names)

    def failures(
        self, memories: list[str], words: Iterable[str], limit: int = 500
    ) -> list[tuple[AgentAction, str]]:
        """(action, signature) of failures with any of *words* in their signature, newest first."""
        terms = list(words)
        where, values = _in(memories)
        either = " OR ".join("s.sign LIKE ? ESCAPE '!'" for _ in terms) or "0"
        query = (
            f"SELECT {_COLUMNS}, s.sign FROM signs s JOIN acts a USING (turn, n) "
            f"JOIN turns t ON t.id=a.turn WHERE ({either}) AND {where} ORDER BY t.at DESC LIMIT ?"
        )
        rows = self._read(query, [*(f"%{_like(term)}%" for term in terms), *values, limit])
        return [(_act(row[:-1]), row[-1]) for row in rows]

    def runs(
        self, memories: list[str], words: Iterable[str], limit: int = 5000
    ) -> list[AgentAction]:
        """Runs of commands that contain any of *words*, newest first."""
        terms = list(words)
        either = " OR ".join("a.command LIKE ? ESCAPE '!'" for _ in terms) or "0"
        return self._acts(
            memories, f"a.command<>'' AND ({either})", [f"%{_like(term)}%" for term in terms], limit
        )

    def that_worked(self, memories: list[str]) -> list[AgentAction]:
        """The newest runs of all commands that did not fail, newest first."""
        return self._acts(memories, "a.command<>'' AND NOT a.failed", [], _MAX_WORKED)

    def of_turn(self, agent: str, session: str, turn: str) -> list[AgentAction]:
        """The actions of a turn, in order."""
        return self._acts([], "t.agent=? AND t.session=? AND t.turn=?", [agent, session, turn])[
            ::-1
        ]

    def after(self, act: AgentAction) -> list[AgentAction]:
        """The actions of the same session after *act*, in order."""
        found = self._acts(
            [], "t.agent=? AND t.session=? AND t.at>=?", [act.agent, act.session, act.at], 5000
        )
        return [other for other in reversed(found) if other.place > act.place]

    def paths_named(self, memories: list[str], name: str) -> set[str]:
        """The written paths that end with *name* or are in a folder with that name."""
        return {act.path for act in self.of_path(memories, name)}

    def read_outside(self, act: AgentAction) -> bool:
        """Whether the session had read content from outside the machine before *act* ended."""
        query = "SELECT 1 FROM turns WHERE agent=? AND session=? AND at<=? AND outside LIMIT 1"
        return any(self._read(query, (act.agent, act.session, act.at)))

    def _acts(
        self, memories: list[str], what: str, values: list[Any], limit: int = 2000
    ) -> list[AgentAction]:
        where, more = _in(memories)
        query = (
            f"SELECT {_COLUMNS} FROM {_FROM} WHERE {what} AND {where} "
            "ORDER BY t.at DESC, t.turn DESC, a.n DESC LIMIT ?"
        )
        return [_act(row) for row in self._read(query, [*values, *more, limit])]

    def _read(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return read_rows(self.path, query, values, _BUSY_S)


def _of(turn: Turn, memory: str) -> tuple[list[tuple[Any, ...]], list[tuple[int, str]]]:
    """The rows of the tables ``acts`` and ``signs`` for a turn, without the id of the turn."""
    root = memory.removesuffix("/.memsearch/memory")
    acts: list[tuple[Any, ...]] = []
    signs: list[tuple[int, str]] = []
    settled = turn.status == "done" or not turn.tools
    for n, tool in enumerate(turn.tools[:_MAX_ACTS]):
        for path in work.files(tool.name, tool.input):
            if not tool.failed:
                acts.append(
                    (
                        len(acts),
                        "",
                        "",
                        work.within(os.path.join(turn.cwd, path), root, turn.cwd)[
                            : work.MAX_COMMAND
                        ],
                        False,
                        "",
                    )
                )
        if not work.runs(tool.name, tool.input) or work.refusal(tool) is not None:
            continue
        command = work.command(tool.name, tool.input, root, turn.cwd)
        if command is None:  # a script: stored without its text
            acts.append((len(acts), "", "", "", tool.failed, ""))
            continue
        cut_off = not settled and n == len(turn.tools) - 1
        unknown = command.is_masked and not tool.failed and not work.is_clean(tool.output)
        # the result is unknown, or of no use
        if cut_off or unknown or (command.is_looking and not tool.failed):
            continue
        complaints = work.complaints(tool.output) if tool.failed else []
        signs += [(len(acts), str(_whole(work.signature(line)))) for line in complaints]
        acts.append(
            (
                len(acts),
                command.text,
                command.head,
                "",
                tool.failed,
                complaints[0] if complaints else "",
            )
        )
    return [tuple(_whole(value) for value in act) for act in acts], signs


def _whole(value: object) -> object:
    """Replace lone surrogates in a string, which can't be encoded. Other values are unchanged."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _act(row: tuple[Any, ...]) -> AgentAction:
    values = dict(zip(AgentAction.__struct_fields__, row))
    return AgentAction(
        **values | {"outside": bool(values["outside"]), "failed": bool(values["failed"])}
    )


def _in(memories: list[str]) -> tuple[str, list[str]]:
    return (f"t.memory IN ({placeholders(len(memories))})", memories) if memories else ("1", [])


def _like(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")

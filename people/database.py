"""The answers of a study in one SQLite file: every change is one transaction, so a kill at any moment loses none.

The file is in WAL mode and flushed to the disk at every change. Tokens are stored as their SHA-256 alone, so that
whoever has the file cannot go on in somebody's place.
"""

import hashlib
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ecsuite.people.stages import (
    AWAY,
    FINISHED,
    GAME,
    INSTRUCTIONS,
    LEFT,
    QUESTIONS_STAGE,
    QUIZ_STAGE,
    WAITING,
)
from ecsuite.runtime.errors import ConfigError, DamagedError, shown

FORMAT = 1
"""Number of the tables below, kept as SQLite's `user_version`."""
SYNCHRONOUS = "FULL"
"""When SQLite waits for the disk: at each change."""
TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE participants (
    id INTEGER PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    worker TEXT UNIQUE,
    dataset TEXT NOT NULL,
    grammar TEXT NOT NULL,
    protocol TEXT NOT NULL,
    seed INTEGER NOT NULL,
    stage TEXT NOT NULL,
    started_at REAL NOT NULL,
    finished_at REAL,
    last_seen REAL NOT NULL,
    step INTEGER NOT NULL DEFAULT 0,
    kind TEXT,
    thing INTEGER,
    shown_at REAL,
    shown_available INTEGER,
    num_available INTEGER NOT NULL,
    num_looks INTEGER NOT NULL DEFAULT 0,
    score INTEGER NOT NULL DEFAULT 0,
    num_quiz_attempts INTEGER NOT NULL DEFAULT 0,
    names_objects INTEGER NOT NULL DEFAULT 0,
    has_sound INTEGER NOT NULL DEFAULT 1,
    chain INTEGER,
    generation INTEGER,
    teacher INTEGER,
    taught TEXT,
    pair INTEGER,
    seat INTEGER
);
CREATE TABLE answers (
    participant INTEGER NOT NULL REFERENCES participants(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    example INTEGER NOT NULL,
    kind TEXT NOT NULL,
    thing INTEGER NOT NULL,
    num_available INTEGER NOT NULL,
    num_looks INTEGER NOT NULL,
    typed TEXT NOT NULL,
    is_right INTEGER NOT NULL,
    points INTEGER NOT NULL,
    shown_at REAL NOT NULL,
    answered_at REAL NOT NULL,
    response_ms REAL,
    PRIMARY KEY (participant, step)
) WITHOUT ROWID;
CREATE TABLE changes (
    participant INTEGER NOT NULL REFERENCES participants(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    num_before INTEGER NOT NULL,
    num_after INTEGER NOT NULL,
    cause TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX changes_of ON changes (participant);
CREATE TABLE replies (
    participant INTEGER NOT NULL REFERENCES participants(id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    reply TEXT NOT NULL,
    PRIMARY KEY (participant, question)
) WITHOUT ROWID;
"""

STAGES = (INSTRUCTIONS, QUIZ_STAGE, WAITING, GAME, QUESTIONS_STAGE, FINISHED, LEFT, AWAY)
MOST = 1_000_000
"""Highest number of steps, things, looks and so on that is taken from a file."""
SMALLEST = {"points": -MOST, "score": -MOST, "thing": -1}
"""The lowest numbers of columns where these are below 0; an attention check is about thing -1."""
HIGHEST = {"seed": 2**31 - 1, "score": 1000 * MOST, "seat": 1}
"""The highest numbers of columns where these are not `MOST`."""
LATEST = 1e11
"""Highest number of seconds since 1970, and of milliseconds of an answer."""

Row = dict[str, Any]


class Database:
    """The file of a study; one thread at a time may use it.

    Args:
        file: Made if it is not there and `settings` are given.
        settings: Stored in a new file.

    Raises:
        ConfigError: If the file is not there, or of another version.
        DamagedError: If it is no such file, or SQLite finds it damaged.
    """

    def __init__(self, file: Path, settings: Mapping[str, str] | None = None) -> None:
        self.file = file
        is_new = not file.exists()
        if is_new and settings is None:
            raise ConfigError(
                f"{file}: no such file: expected the answers of a study, which `ecsuite people serve` makes"
            )
        try:
            self._connection = sqlite3.connect(
                file, isolation_level=None, timeout=20, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._run(f"PRAGMA synchronous = {SYNCHRONOUS}")
            self._run("PRAGMA journal_mode = WAL")
            self._run("PRAGMA foreign_keys = ON")
            self._run("PRAGMA secure_delete = ON")  # so that what a participant withdraws leaves the file
            if is_new and settings is not None:
                self._make(settings)
            version = self._run("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise _unusable(file, error) from None
        if version != FORMAT:
            self.close()
            raise ConfigError(
                f"{file}: expected a database of format {FORMAT}, got {version}; read it with the version of ecsuite "
                "that made it"
            )
        try:
            fault = None if is_new else self._fault()
        except sqlite3.DatabaseError as error:
            raise _unusable(file, error) from None
        if fault is not None:
            self.close()
            raise DamagedError(f"{file}: {fault}: edited or damaged; restore a copy of it")

    def _fault(self) -> str | None:
        """What no server has written, or SQLite finds damaged; None: nothing."""
        if (found := self._run("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            return str(found).partition("\n")[0]
        if (found := self._run("PRAGMA foreign_key_check").fetchone()) is not None:
            return f"a row of {found[0]} is of a participant that there is not"
        with closing(sqlite3.connect(":memory:")) as empty:
            empty.executescript(TABLES)
            tables = {
                name: empty.execute(f"PRAGMA table_info({name})").fetchall()
                for name in ("settings", "participants", "answers", "changes", "replies")
            }
        for table, expected in tables.items():
            if [tuple(each) for each in self._run(f"PRAGMA table_info({table})")] != expected:
                return f"the table {table} has other columns"
            for _, column, kind, is_needed, _, is_key in expected:
                types = [kind.lower()] + ([] if is_needed or is_key else ["null"])
                wrong = f"typeof({column}) NOT IN ({', '.join(map(repr, types))})"
                if column == "stage":
                    wrong += f" OR stage NOT IN ({', '.join(map(repr, STAGES))})"
                elif kind == "INTEGER":
                    least, most = SMALLEST.get(column, 0), HIGHEST.get(column, MOST)
                    wrong += f" OR {column} NOT BETWEEN {least} AND {most}"
                elif kind == "REAL":
                    wrong += f" OR abs({column}) > {LATEST}"
                found = self._run(f"SELECT {column} FROM {table} WHERE {wrong} LIMIT 1").fetchone()
                if found is not None:
                    return f"{table}.{column}: {shown(found[0])}, which is no {kind} that is stored there"
        return None

    def _make(self, settings: Mapping[str, str]) -> None:
        with self.transaction():
            for statement in TABLES.split(";"):
                self._run(statement)
            for name, value in {"secret": secrets.token_hex(32), **settings}.items():
                self._run("INSERT INTO settings VALUES (?, ?)", name, value)
            self._run(f"PRAGMA user_version = {FORMAT:d}")

    def _run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __del__(self) -> None:
        """Close the file of a command that ended with an error."""
        if "_connection" in vars(self):
            self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes within are made, or none is; others wait."""
        self._run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # SQLite has ended it where the disk is full
                self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def setting(self, name: str, missing: str | None = None) -> str:
        """A stored setting; `missing` where there is none, which has to be given where that can be."""
        found = self._run("SELECT value FROM settings WHERE name = ?", name).fetchone()
        if found is None and missing is not None:
            return missing
        if found is None:
            raise DamagedError(
                f"{self.file}: it has no setting {name!r}: edited or damaged; restore a copy of it"
            )
        return str(found[0])

    def store_setting(self, name: str, value: str) -> None:
        """Replace a setting."""
        self._run("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, value)

    def participant(self, token: str) -> Row | None:
        """The participant of a token, None if there is none."""
        found = self._run("SELECT * FROM participants WHERE token_hash = ?", hashed(token)).fetchone()
        return dict(found) if found else None

    def participant_of_worker(self, worker: str) -> Row | None:
        """The participant with an ID, as it is stored; None if there is none."""
        found = self._run("SELECT * FROM participants WHERE worker = ?", worker).fetchone()
        return dict(found) if found else None

    def participants(self) -> list[Row]:
        """All participants, in the order in which they began."""
        return [dict(row) for row in self._run("SELECT * FROM participants ORDER BY id")]

    def answers(self, participant: int | None = None) -> list[Row]:
        """The answers of one participant, or all, by participant and step."""
        where, values = ("", ()) if participant is None else (" WHERE participant = ?", (participant,))
        return [
            dict(row)
            for row in self._run(f"SELECT * FROM answers{where} ORDER BY participant, step", *values)
        ]

    def answer(self, participant: int, step: int) -> Row | None:
        """The answer of a step, None if there is none."""
        found = self._run(
            "SELECT * FROM answers WHERE participant = ? AND step = ?", participant, step
        ).fetchone()
        return dict(found) if found else None

    def table(self, name: str) -> list[Row]:
        """All rows of `changes` or `replies`."""
        assert name in ("changes", "replies")
        return [dict(row) for row in self._run(f"SELECT * FROM {name} ORDER BY participant")]

    def condition_counts(self, active_since: float, visiting_since: float) -> dict[tuple[str, str], int]:
        """By dataset and grammar, how many have finished or were seen since a time, without pairs that ended early.

        Args:
            active_since: The time for those whose game has begun.
            visiting_since: The time for all others.
        """
        rows = self._run(
            "SELECT dataset, grammar, COUNT(*) FROM participants WHERE stage NOT IN ('left', 'away') AND ("
            "finished_at IS NOT NULL OR last_seen >= CASE WHEN shown_at IS NULL THEN ? ELSE ? END) "
            "GROUP BY dataset, grammar",
            visiting_since,
            active_since,
        )
        return {(dataset, grammar): count for dataset, grammar, count in rows}

    def rows_of_chains(self) -> list[Row]:
        """The participants of chains, with when they ended the game (None: they have not) and failed checks."""
        rows = self._run(
            "SELECT participants.*, "
            "CASE WHEN stage IN ('questions', 'finished') THEN MAX(answered_at) END AS ended_at, "
            "COALESCE(SUM(answers.kind = 'attention' AND NOT is_right), 0) AS num_failed "
            "FROM participants LEFT JOIN answers ON participant = id WHERE chain IS NOT NULL GROUP BY id"
        )
        return [dict(row) for row in rows]

    def partner(self, pair: int, participant: int) -> Row | None:
        """The other participant of a pair; None if there is none any more."""
        found = self._run(
            "SELECT * FROM participants WHERE pair = ? AND id != ?", pair, participant
        ).fetchone()
        return dict(found) if found else None

    def next_pair(self) -> int:
        """The number of the next pair."""
        return self._last("pair") + 1

    def judge(self, participant: int, step: int, is_right: bool, points: int) -> None:
        """Store what came of an answer that others judge."""
        self._run(
            "UPDATE answers SET is_right = ?, points = ? WHERE participant = ? AND step = ?",
            int(is_right),
            points,
            participant,
            step,
        )

    def next_id(self) -> int:
        """The number of the next participant."""
        return self._last("id") + 1

    def _last(self, column: str) -> int:
        """The highest number that was given, also to somebody who has withdrawn: exports name people by it."""
        highest = self._run(f"SELECT COALESCE(MAX({column}), 0) FROM participants").fetchone()[0]
        return max(int(highest), int(self.setting(f"last {column}", "0")))

    def insert(self, table: str, values: Mapping[str, Any]) -> None:
        """Add a row; names of tables and columns are those of this package, never what was sent."""
        places = ", ".join("?" * len(values))
        self._run(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", *values.values())

    def update(self, participant: int, values: Mapping[str, Any]) -> None:
        """Change columns of a participant."""
        columns = ", ".join(f"{name} = ?" for name in values)
        self._run(f"UPDATE participants SET {columns} WHERE id = ?", *values.values(), participant)

    def reply(self, participant: int, question: str, reply: str) -> None:
        """Store the reply to a question, in place of an earlier one."""
        self._run("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", participant, question, reply)

    def forget(self, participant: int) -> None:
        """Delete all that a participant gave, also from the log of changes, and their play of rounds."""
        shutil.rmtree(play_folder(self.file, participant), ignore_errors=True)
        with self.transaction():
            for column in ("id", "pair"):
                self.store_setting(f"last {column}", str(self._last(column)))
            self._run("DELETE FROM participants WHERE id = ?", participant)
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")


def play_folder(file: Path, participant: int) -> Path:
    """The run folder of the play of rounds of a participant, beside the file of the answers."""
    return file.with_name(f"P{participant:03}")


def hashed(token: str) -> str:
    """The SHA-256 of a token; tokens have 192 random bits, so that no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def _unusable(file: Path, error: sqlite3.DatabaseError) -> Exception:
    """The error for a file that SQLite can't use."""
    if isinstance(error, sqlite3.OperationalError):
        return ConfigError(
            f"{file}: can't be used: {error}; expected a folder that can be written, with free space"
        )
    return DamagedError(f"{file}: not a database of a study, or damaged: {error}; restore a copy of it")
